/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_PAIR_H
#define TRMA_MOVE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "move_cursor.h"
#include "move_path.h"

/*
 * Pairs: what movers carry. `count` blocks of `length` bytes, each side with its own stride: a column against
 * a row is one pair, however long. Plain data, valid without the layouts that it came from.
 */
struct trma_pair {
    uintptr_t origin;
    uintptr_t target; /* in the target's address space; in this one for movers of mapped memory */
    size_t length;
    size_t count;
    ptrdiff_t origin_stride;
    ptrdiff_t target_stride;
};

/* One dense stretch as a pair. */
static inline struct trma_pair trma_move_pair_dense(uintptr_t origin, uintptr_t target, size_t size) {
    return (struct trma_pair){.origin = origin,
                              .target = target,
                              .length = size,
                              .count = 1,
                              .origin_stride = (ptrdiff_t)size,
                              .target_stride = (ptrdiff_t)size};
}

/* Steps over the first n blocks. */
static inline void trma_move_pair_step(struct trma_pair *pair, size_t n) {
    pair->origin += (uintptr_t)n * (uintptr_t)pair->origin_stride;
    pair->target += (uintptr_t)n * (uintptr_t)pair->target_stride;
    pair->count -= n;
}

/*
 * Takes the next blocks that the two cursors can go together, in type-map order of both. False when nothing
 * is left. The two hold the same number of bytes. Blocks of one side that lie within one block of the other,
 * or that have the same length on both, make one pair, whatever their number.
 */
bool trma_move_pair_next(struct trma_cursor *origin, struct trma_cursor *target, struct trma_pair *pair);

/*
 * How many of the pair's first blocks lie wholly in (*is_mapped true) or wholly out of the part of the target
 * that `path` has mapped, the same for all of them. 0 when the first block straddles a border.
 */
size_t trma_move_pair_count_on_side(const struct trma_pair *pair, const struct trma_path *path,
                                    bool *is_mapped);

#endif
