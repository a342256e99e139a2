/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_GATE_H
#define TRMA_NODE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../mem/mem_ticket.h"
#include "../trma_status.h"

/*
 * A process's gate: peers pass it while they write into its private memory by CMA, and the process closes it
 * for the moment in which it exchanges the pages behind that memory (adoption, giving back). One per process,
 * in its control heap, never freed. Reading needs no gate: an old page and its copy hold the same.
 */
struct trma_gate {
    _Alignas(64) atomic_uint closed;
    atomic_uint inside; /* writes under way */
    atomic_uint wanted; /* an origin's traffic has earned an adoption: the owner looks at its windows when it
                           comes by */
    char padding[52];
};

/* This process's own gate, made at the first call; NULL when no shared memory can be had. Thread-safe. */
struct trma_gate *trma_node_gate_self(void);

/*
 * Passes the gate of a peer before a write into its memory; waits while it is closed, and gives up, without
 * being inside, when is_alive(peer) says that its owner has ended (TRMA_ERR_PEER_DEAD).
 */
struct trma_peer;
enum trma_status trma_node_gate_enter(struct trma_gate *gate, const struct trma_peer *peer);

static inline void trma_node_gate_leave(struct trma_gate *gate) {
    /* Release: what was written is there before the owner, who acquires, exchanges the page. */
    atomic_fetch_sub_explicit(&gate->inside, 1, memory_order_release);
}

/*
 * Closes one's own gate and waits until nobody is inside. False, and open again, when somebody stays inside
 * for longer than a write can take (a process that was killed there).
 */
bool trma_node_gate_close(struct trma_gate *gate);
void trma_node_gate_open(struct trma_gate *gate);

#endif
