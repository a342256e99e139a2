/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_STATISTICS_H
#define TRMA_WIN_STATISTICS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * What is counted per target and per window when statistics are wanted. Counters are approximate under
 * several threads on one window (a count may get lost), never torn.
 */
enum trma_count_kind {
    TRMA_COUNT_PUT,
    TRMA_COUNT_GET,
    TRMA_COUNT_ACCUMULATE,
    TRMA_COUNT_GET_ACCUMULATE,
    TRMA_COUNT_FETCH_AND_OP,
    TRMA_COUNT_COMPARE_AND_SWAP,
    TRMA_COUNT_KINDS
};

struct trma_target_counts {
    _Atomic uint64_t operations[TRMA_COUNT_KINDS];
    _Atomic uint64_t bytes[TRMA_COUNT_KINDS];
    _Atomic uint64_t deferred; /* operations that had to wait for the target's post */
    _Atomic uint64_t helped;   /* pieces that the target, waiting, did itself (node_help.h, node_joint.h) */
};

/* Synchronisation calls that can wait. */
enum trma_wait_kind {
    TRMA_WAIT_FENCE,
    TRMA_WAIT_START,
    TRMA_WAIT_COMPLETE,
    TRMA_WAIT_POST,
    TRMA_WAIT_WAIT,
    TRMA_WAIT_LOCK,
    TRMA_WAIT_UNLOCK,
    TRMA_WAIT_LOCK_ALL,
    TRMA_WAIT_UNLOCK_ALL,
    TRMA_WAIT_FLUSH,
    TRMA_WAIT_KINDS
};

struct trma_wait_counts {
    uint64_t calls[TRMA_WAIT_KINDS];
    uint64_t nanoseconds[TRMA_WAIT_KINDS];
};

static inline void trma_win_count(struct trma_target_counts *counts, enum trma_count_kind kind,
                                  uint64_t bytes) {
    /* Load and store instead of an atomic add: a lost count is harmless, a locked instruction per put is not.
     */
    atomic_store_explicit(&counts->operations[kind],
                          atomic_load_explicit(&counts->operations[kind], memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&counts->bytes[kind],
                          atomic_load_explicit(&counts->bytes[kind], memory_order_relaxed) + bytes,
                          memory_order_relaxed);
}

/* "put", "get", …; "fence", "complete", …: for reports. */
const char *trma_win_count_name(enum trma_count_kind kind);
const char *trma_win_wait_name(enum trma_wait_kind kind);

#endif
