/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_CURSOR_H
#define TRMA_MOVE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "move_layout.h"

/*
 * Cursors: walk the bytes of `count` elements of a layout in type-map order. A cursor is plain data of its
 * owner's (no clean-up), refers to the layout, and is used by one thread at a time.
 */

/* One level of the walk: the elements themselves, or a loop of the layout's. */
struct trma_cursor_level {
    const struct trma_run *begin;
    const struct trma_run *at;
    const struct trma_run *end;
    uintptr_t base; /* where this iteration starts */
    size_t left;    /* iterations, this one included */
    ptrdiff_t stride;
};

struct trma_cursor {
    /* What lies ahead at once: `blocks` equal blocks, of the first of which `consumed` bytes are used up. 0
     * blocks: the end. */
    uintptr_t address;
    size_t length;
    size_t blocks;
    ptrdiff_t stride;
    size_t consumed;
    unsigned depth;
    struct trma_cursor_level levels[TRMA_MOVE_LOOP_DEPTH + 1]; /* only those up to `depth` are initialised */
};

/* Places the cursor on the first byte; `base` is the buffer's address, to which the layout's offsets are
 * added. */
void trma_move_cursor_init(struct trma_cursor *cursor, const struct trma_layout *layout, uintptr_t base,
                           size_t count);

/*
 * Gives the next stretch, at most `limit` bytes: its address in *address, and its length; adjacent blocks are
 * merged. 0 when nothing is left or `limit` is 0.
 */
size_t trma_move_cursor_next(struct trma_cursor *cursor, size_t limit, uintptr_t *address);

/* Loads the next blocks once those at hand are used up. */
void trma_move_cursor_load(struct trma_cursor *cursor);

/* Steps over n bytes, at most what is left of the current block. */
static inline void trma_move_cursor_step_bytes(struct trma_cursor *cursor, size_t n) {
    cursor->consumed += n;
    if (cursor->consumed == cursor->length) {
        cursor->consumed = 0;
        cursor->address += (uintptr_t)cursor->stride;
        if (--cursor->blocks == 0) {
            trma_move_cursor_load(cursor);
        }
    }
}

/* Steps over n whole blocks, at most those at hand; nothing of the current one is used up yet. */
static inline void trma_move_cursor_step_blocks(struct trma_cursor *cursor, size_t n) {
    cursor->address += (uintptr_t)n * (uintptr_t)cursor->stride;
    cursor->blocks -= n;
    if (cursor->blocks == 0) {
        trma_move_cursor_load(cursor);
    }
}

#endif
