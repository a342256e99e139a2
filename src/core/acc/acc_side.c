/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_side.h"

void trma_acc_side_init(struct trma_side *side, const struct trma_extent *extent,
                        const struct trma_element_shape *shape) {
    side->shape = shape;
    trma_move_cursor_init(&side->cursor, extent->layout, extent->address, extent->count);
    trma_acc_side_load(side);
}

/*
 * The parts of an element with a hole inside come one by one. They cannot be told from the cursor's blocks,
 * which join the end of one element with the beginning of the next.
 */
static void load_parted(struct trma_side *side) {
    const struct trma_element_shape *shape = side->shape;
    uintptr_t address;

    side->n = trma_move_cursor_next(&side->cursor, shape->blocks[0].length, &side->address) != 0;
    for (size_t b = 1; b < shape->n_blocks; b++) {
        trma_move_cursor_next(&side->cursor, shape->blocks[b].length, &address);
    }
    side->stride = (ptrdiff_t)shape->extent;
}

void trma_acc_side_load(struct trma_side *side) {
    struct trma_cursor *cursor = &side->cursor;
    const size_t size = side->shape->size;

    if (side->shape->n_blocks > 1) {
        load_parted(side);
        return;
    }
    side->address = cursor->address;
    if (cursor->blocks == 0) {
        side->n = 0;
    } else if (cursor->length == size) { /* a block per element */
        side->n = cursor->blocks;
        side->stride = cursor->stride;
        trma_move_cursor_step_blocks(cursor, cursor->blocks);
    } else { /* many in one block */
        side->n = cursor->length / size;
        side->stride = (ptrdiff_t)size;
        trma_move_cursor_step_blocks(cursor, 1);
    }
}
