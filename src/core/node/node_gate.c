/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_gate.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "../mem/mem_adopt.h"
#include "../mem/mem_heap.h"
#include "node_peer.h"
#include "node_wait.h"

enum { YIELDS_PER_LIVENESS = 4096 };

/* A write of the largest size that one system call takes lasts less, on a machine with anything else to do
 * too. */
static const uint64_t close_timeout_ns = 10000000000;

static struct trma_gate *own;
static atomic_bool is_stuck; /* somebody was killed inside */
static pid_t owner; /* the process whose gate it is; a forked child inherits a mapping of its parent's */
static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool close_own(void) {
    struct trma_gate *gate = trma_node_gate_self();

    return gate && trma_node_gate_close(gate);
}

static void open_own(void) {
    trma_node_gate_open(trma_node_gate_self());
}

struct trma_gate *trma_node_gate_self(void) {
    static const struct trma_adopt_writers writers = {.hold = close_own, .let = open_own};
    void *memory = NULL;

    pthread_mutex_lock(&own_mutex);
    if (owner != getpid()) {
        owner = getpid();
        own = trma_mem_heap_allocate(TRMA_HEAP_CONTROL, sizeof(struct trma_gate), 64, &memory) == TRMA_OK
                  ? memory
                  : NULL;
        trma_mem_adopt_keep_out(&writers);
    }
    struct trma_gate *gate = own;
    pthread_mutex_unlock(&own_mutex);
    return gate;
}

static bool is_closed(struct trma_gate *gate, memory_order order) {
    return atomic_load_explicit(&gate->closed, order) % 2;
}

/* False when the owner, for whom this is try number `tries`, has ended. */
static bool wait_for_owner(const struct trma_peer *peer, unsigned tries) {
    sched_yield();
    return tries % YIELDS_PER_LIVENESS || trma_node_peer_is_alive(peer);
}

bool trma_node_gate_try(struct trma_gate *gate) {
    /* Sequentially consistent, as the owner's store to `closed` and load of `inside`: at least one of the two
     * sees the other. */
    atomic_fetch_add_explicit(&gate->inside, 1, memory_order_seq_cst);
    if (!is_closed(gate, memory_order_seq_cst)) {
        return true;
    }
    atomic_fetch_sub_explicit(&gate->inside, 1, memory_order_relaxed);
    return false;
}

enum trma_status trma_node_gate_enter(struct trma_gate *gate, const struct trma_peer *peer) {
    for (unsigned tries = 1;; tries++) {
        if (trma_node_gate_try(gate)) {
            return TRMA_OK;
        }
        if (!wait_for_owner(peer, tries)) {
            return TRMA_ERR_PEER_DEAD;
        }
    }
}

bool trma_node_gate_read_try(struct trma_gate *gate, unsigned *sequence) {
    /* Acquire: what is read afterwards is what lies behind an open gate. */
    *sequence = atomic_load_explicit(&gate->closed, memory_order_acquire);
    return *sequence % 2 == 0;
}

enum trma_status trma_node_gate_read_begin(struct trma_gate *gate, const struct trma_peer *peer,
                                           unsigned *sequence) {
    for (unsigned tries = 1;; tries++) {
        if (trma_node_gate_read_try(gate, sequence)) {
            return TRMA_OK;
        }
        if (!wait_for_owner(peer, tries)) {
            return TRMA_ERR_PEER_DEAD;
        }
    }
}

bool trma_node_gate_close(struct trma_gate *gate) {
    if (atomic_load_explicit(&is_stuck, memory_order_relaxed)) {
        return false;
    }
    uint64_t start = trma_node_clock_ns();
    /* Sequentially consistent: see trma_node_gate_try. A reader that saw the old number looks again. */
    atomic_fetch_add_explicit(&gate->closed, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&gate->inside, memory_order_seq_cst)) {
        if (trma_node_clock_ns() - start > close_timeout_ns) {
            atomic_store_explicit(&is_stuck, true, memory_order_relaxed);
            trma_node_gate_open(gate);
            return false;
        }
        sched_yield();
    }
    return true;
}

void trma_node_gate_open(struct trma_gate *gate) {
    /* Release: who passes from now on writes into the new pages. */
    atomic_fetch_add_explicit(&gate->closed, 1, memory_order_release);
}
