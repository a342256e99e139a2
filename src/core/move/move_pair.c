/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_pair.h"

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* How many whole blocks of `fine` fit into `room` (at least one does). */
static size_t whole_blocks(const struct trma_cursor *fine, size_t room) {
    return fine->blocks == 1 ? 1 : smaller(fine->blocks, room / fine->length);
}

bool trma_move_pair_next(struct trma_cursor *origin, struct trma_cursor *target, struct trma_pair *pair) {
    if (origin->blocks == 0 || target->blocks == 0) {
        return false;
    }
    const size_t origin_left = origin->length - origin->consumed;
    const size_t target_left = target->length - target->consumed;
    pair->origin = origin->address + origin->consumed;
    pair->target = target->address + target->consumed;
    if (origin->consumed == 0 && target->consumed == 0 && origin_left == target_left) {
        pair->length = origin->length;
        pair->count = smaller(origin->blocks, target->blocks);
        pair->origin_stride = origin->stride;
        pair->target_stride = target->stride;
        trma_move_cursor_step_blocks(origin, pair->count);
        trma_move_cursor_step_blocks(target, pair->count);
    } else if (origin->consumed == 0 && origin_left <= target_left) {
        pair->length = origin->length;
        pair->count = whole_blocks(origin, target_left);
        pair->origin_stride = origin->stride;
        pair->target_stride = (ptrdiff_t)origin->length;
        trma_move_cursor_step_bytes(target, pair->count * pair->length);
        trma_move_cursor_step_blocks(origin, pair->count);
    } else if (target->consumed == 0 && target_left <= origin_left) {
        pair->length = target->length;
        pair->count = whole_blocks(target, origin_left);
        pair->origin_stride = (ptrdiff_t)target->length;
        pair->target_stride = target->stride;
        trma_move_cursor_step_bytes(origin, pair->count * pair->length);
        trma_move_cursor_step_blocks(target, pair->count);
    } else {
        *pair = trma_move_pair_dense(pair->origin, pair->target, smaller(origin_left, target_left));
        trma_move_cursor_step_bytes(origin, pair->length);
        trma_move_cursor_step_bytes(target, pair->length);
    }
    return true;
}

size_t trma_move_pair_count_on_side(const struct trma_pair *pair, const struct trma_path *path,
                                    bool *is_mapped) {
    if (trma_move_path_side(path, pair->target, pair->length, is_mapped) < pair->length) {
        return 0;
    }
    const ptrdiff_t stride = pair->target_stride;
    const bool is_below = !*is_mapped && pair->target < path->mapped_low;
    size_t
        room; /* bytes that the first block can be moved in the stride's direction without leaving its side */
    if (stride == 0 || path->mapped_low == path->mapped_high) {
        return pair->count;
    }
    if (stride > 0) {
        if (!*is_mapped && !is_below) {
            return pair->count;
        }
        room = (*is_mapped ? path->mapped_high : path->mapped_low) - pair->length - pair->target;
    } else {
        if (is_below) {
            return pair->count;
        }
        room = pair->target - (*is_mapped ? path->mapped_low : path->mapped_high);
    }
    const size_t step = stride > 0 ? (size_t)stride : (size_t)0 - (size_t)stride;
    return smaller(pair->count, room / step + 1);
}
