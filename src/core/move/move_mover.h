/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_MOVER_H
#define TRMA_MOVE_MOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "../trma_hidden.h"
#include "../trma_status.h"
#include "move_copy.h"
#include "move_pair.h"

/*
 * Movers: one table per way of carrying bytes. A mover gets the pairs of one operation in one or more
 * batches, in type-map order; the array is the caller's and gone when the call returns, the memory that it
 * names stays until the movement is finished. A mover may
 * - finish before it returns: it leaves `outstanding` alone;
 * - finish later: trma_move_begin before it returns, trma_move_end (from any thread) when the bytes are in
 * place. Thread-safe: any number of calls at once, for different and for equal paths.
 */
struct trma_mover {
    const char *name;
    enum trma_status (*put)(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                            struct trma_outstanding *outstanding);
    enum trma_status (*get)(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                            struct trma_outstanding *outstanding);
    /* Called by trma_move_test while something is pending, for movers that need a thread to go on; NULL when
     * not needed. */
    void (*progress)(struct trma_outstanding *outstanding);
};

/* Load/store: pairs whose target addresses are valid in this process. Finishes before it returns, never
 * fails. */
extern TRMA_HIDDEN const struct trma_mover trma_move_mover_map;

/* Cross-memory attach: process_vm_writev/readv. Finishes before it returns. */
extern TRMA_HIDDEN const struct trma_mover trma_move_mover_cma;

/*
 * From now on `mover` carries the mapped parts of operations of `least` bytes and more; smaller ones stay
 * with load/store. NULL: load/store for all. Pairs then have addresses of this process on both sides, as for
 * trma_move_mover_map. Only before there are windows, which note whether they must wait for movers; `mover`
 * must stay.
 */
void trma_move_mover_set(const struct trma_mover *mover, size_t least);

/* One more movement is under way. */
static inline void trma_move_begin(struct trma_outstanding *outstanding) {
    /* Relaxed: the thread that waits for it is the one that begins it, or is synchronised with that by its
     * caller. */
    atomic_fetch_add_explicit(&outstanding->pending, 1, memory_order_relaxed);
}

/* One movement is finished: `status` is TRMA_OK, or why its bytes are not (all) in place. The last touch of
 * *outstanding. */
static inline void trma_move_end(struct trma_outstanding *outstanding, enum trma_status status) {
    if (status != TRMA_OK) {
        int none = TRMA_OK;
        atomic_compare_exchange_strong_explicit(&outstanding->failure, &none, (int)status,
                                                memory_order_relaxed, memory_order_relaxed);
    }
    /* Release: the bytes, and the failure, are visible to who sees nothing pending any more. */
    atomic_fetch_sub_explicit(&outstanding->pending, 1, memory_order_release);
}

#endif
