/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_gate.h"

#include <pthread.h>
#include <sched.h>

#include "../mem/mem_heap.h"
#include "node_peer.h"
#include "node_wait.h"

enum {
    CLOSE_TIMEOUT_NS = 1000000000, /* a write of the largest size that one system call takes lasts less */
    YIELDS_PER_LIVENESS = 4096
};

static struct trma_gate *own;

static void make_own(void) {
    void *memory = NULL;

    if (trma_mem_heap_allocate(TRMA_HEAP_CONTROL, sizeof(struct trma_gate), 64, &memory) == TRMA_OK) {
        own = memory;
    }
}

struct trma_gate *trma_node_gate_self(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_own);
    return own;
}

enum trma_status trma_node_gate_enter(struct trma_gate *gate, const struct trma_peer *peer) {
    for (unsigned tries = 1;; tries++) {
        /* Sequentially consistent, as the owner's store to `closed` and load of `inside`: at least one of the
         * two sees the other. */
        atomic_fetch_add_explicit(&gate->inside, 1, memory_order_seq_cst);
        if (!atomic_load_explicit(&gate->closed, memory_order_seq_cst)) {
            return TRMA_OK;
        }
        atomic_fetch_sub_explicit(&gate->inside, 1, memory_order_relaxed);
        sched_yield();
        if (tries % YIELDS_PER_LIVENESS == 0 && !trma_node_peer_is_alive(peer)) {
            return TRMA_ERR_PEER_DEAD;
        }
    }
}

bool trma_node_gate_close(struct trma_gate *gate) {
    uint64_t start = trma_node_clock_ns();

    atomic_store_explicit(&gate->closed, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&gate->inside, memory_order_seq_cst)) {
        if (trma_node_clock_ns() - start > CLOSE_TIMEOUT_NS) {
            trma_node_gate_open(gate);
            return false;
        }
        sched_yield();
    }
    return true;
}

void trma_node_gate_open(struct trma_gate *gate) {
    /* Release: who passes from now on writes into the new pages. */
    atomic_store_explicit(&gate->closed, 0, memory_order_release);
}
