/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_cursor.h"

void trma_move_cursor_load(struct trma_cursor *cursor) {
    for (;;) {
        struct trma_cursor_level *level = &cursor->levels[cursor->depth];
        if (level->at == level->end) {
            if (level->left > 1) {
                level->left--;
                level->base += (uintptr_t)level->stride;
                level->at = level->begin;
            } else if (cursor->depth > 0) {
                cursor->depth--;
            } else {
                cursor->blocks = 0;
                return;
            }
            continue;
        }
        const struct trma_run *run = level->at;
        const uintptr_t address = level->base + (uintptr_t)run->offset;
        level->at += 1 + run->body;
        if (run->body == 0) {
            cursor->address = address;
            cursor->length = run->length;
            cursor->blocks = run->count;
            cursor->stride = run->stride;
            return;
        }
        cursor->levels[++cursor->depth] = (struct trma_cursor_level){
            .begin = run + 1,
            .at = run + 1,
            .end = run + 1 + run->body,
            .base = address,
            .left = run->count,
            .stride = run->stride,
        };
    }
}

void trma_move_cursor_init(struct trma_cursor *cursor, const struct trma_layout *layout, uintptr_t base,
                           size_t count) {
    struct trma_cursor_level *elements = &cursor->levels[0];
    cursor->consumed = 0;
    cursor->depth = 0;
    /* No elements or no bytes: a level without runs and iterations, which ends at once. */
    *elements =
        (struct trma_cursor_level){.begin = layout->runs, .at = layout->runs, .end = layout->runs, .left = 0};
    if (count == 0 || layout->n_runs == 0) {
        cursor->blocks = 0;
        return;
    }
    if (layout->n_runs == 1) {
        /* A single run, of one block or going on regularly in the next element: all elements are one run of
         * blocks. */
        const struct trma_run *run = layout->runs;
        const bool is_block = run->count == 1;
        if (is_block || (uintptr_t)layout->extent == run->count * (uintptr_t)run->stride) {
            cursor->address = base + (uintptr_t)run->offset;
            cursor->length = run->length;
            cursor->blocks = run->count * count;
            cursor->stride = is_block ? layout->extent : run->stride;
            if (cursor->stride == (ptrdiff_t)cursor->length) {
                cursor->length *= cursor->blocks;
                cursor->blocks = 1;
            }
            return;
        }
    }
    elements->end += layout->n_runs;
    elements->base = base;
    elements->left = count;
    elements->stride = layout->extent;
    trma_move_cursor_load(cursor);
}

size_t trma_move_cursor_next(struct trma_cursor *cursor, size_t limit, uintptr_t *address) {
    const uintptr_t start = cursor->address + cursor->consumed;
    size_t n = 0;
    while (n < limit && cursor->blocks > 0 && cursor->address + cursor->consumed == start + n) {
        const size_t left = cursor->length - cursor->consumed;
        const size_t part = left < limit - n ? left : limit - n;
        trma_move_cursor_step_bytes(cursor, part);
        n += part;
    }
    *address = start;
    return n;
}
