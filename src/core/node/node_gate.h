/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_GATE_H
#define TRMA_NODE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../mem/mem_ticket.h"
#include "../trma_status.h"
#include "node_help.h"
#include "node_stream.h"

/*
 * A process's gate: peers pass it while they write into its private memory by CMA, and the process closes it
 * for the moment in which it exchanges the pages behind that memory (adoption, giving back). One per process,
 * in its control heap, never freed. Readers do not pass it, they look at it before and after (a sequence
 * lock): what was read while pages were exchanged may be a page that was not filled yet, and is read again.
 */
struct trma_gate {
    _Alignas(64) atomic_uint closed; /* odd: closed; grows by one with each change */
    atomic_uint inside;              /* writes under way */
    atomic_uint wanted; /* an origin's traffic has earned an adoption: the owner looks at its windows when it
                           comes by */
    char padding[44];
    struct trma_stream_word stream; /* what the process streams; hardly ever written, as what precedes it */
    struct trma_help_trays trays;   /* the other way to that memory: there are some per process, too */
};

/* This process's own gate, made at the first call; NULL when no shared memory can be had. Thread-safe. */
struct trma_gate *trma_node_gate_self(void);

/*
 * Passes the gate of a peer before a write into its memory; waits while it is closed, and gives up, without
 * being inside, when is_alive(peer) says that its owner has ended (TRMA_ERR_PEER_DEAD).
 */
struct trma_peer;
enum trma_status trma_node_gate_enter(struct trma_gate *gate, const struct trma_peer *peer);

/* As trma_node_gate_enter, without waiting: false, and not inside, when it is closed. For the owner's own
 * threads as well. */
bool trma_node_gate_try(struct trma_gate *gate);

static inline void trma_node_gate_leave(struct trma_gate *gate) {
    /* Release: what was written is there before the owner, who acquires, exchanges the page. */
    atomic_fetch_sub_explicit(&gate->inside, 1, memory_order_release);
}

/*
 * For reads: waits while the gate is closed and gives in *sequence what trma_node_gate_read_is_good wants;
 * TRMA_ERR_PEER_DEAD as above. Whatever came of the read, an error included, counts only when that answers
 * true.
 */
enum trma_status trma_node_gate_read_begin(struct trma_gate *gate, const struct trma_peer *peer,
                                           unsigned *sequence);

/* The same without waiting: false when it is closed. */
bool trma_node_gate_read_try(struct trma_gate *gate, unsigned *sequence);

static inline bool trma_node_gate_read_is_good(struct trma_gate *gate, unsigned sequence) {
    /* The read was done by the kernel before the call returned; the fence keeps the load behind it. */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&gate->closed, memory_order_relaxed) == sequence;
}

/*
 * Closes one's own gate and waits until nobody is inside. False, and open again, when somebody stays inside
 * for longer than one system call's write can take (a process that was killed there); from then on it cannot
 * be closed any more. One thread at a time.
 */
bool trma_node_gate_close(struct trma_gate *gate);
void trma_node_gate_open(struct trma_gate *gate);

#endif
