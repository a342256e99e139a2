/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_SIDE_H
#define TRMA_ACC_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../move/move_copy.h"
#include "../move/move_cursor.h"
#include "acc_element.h"

/*
 * One side of an update (origin, result or target), walked element by element: movers pair bytes, accumulate
 * pairs elements. What lies ahead is a run of elements at a constant distance; a side is used by one thread.
 */
struct trma_side {
    uintptr_t address; /* of the next element */
    size_t n;          /* elements ahead in this run; 0 once nothing is left */
    ptrdiff_t stride;  /* bytes from one to the next; the extent in an array */
    const struct trma_element_shape *shape;
    struct trma_cursor cursor;
};

/* Places the side on its first element. `extent` consists of elements of that shape. */
void trma_acc_side_init(struct trma_side *side, const struct trma_extent *extent,
                        const struct trma_element_shape *shape);

/* Loads the next run once the one at hand is used up. */
void trma_acc_side_load(struct trma_side *side);

/* Steps over n elements, at most those at hand. */
static inline void trma_acc_side_step(struct trma_side *side, size_t n) {
    side->address += (uintptr_t)n * (uintptr_t)side->stride;
    side->n -= n;
    if (side->n == 0) {
        trma_acc_side_load(side);
    }
}

#endif
