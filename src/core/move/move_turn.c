/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_turn.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../node/node_cache.h"

enum { LINE = 64 };

/* Bytes of an end: `end` if the second cache has room for both sides. Whole lines: no line belongs to two
 * parts of a stretch that begins with one. */
static size_t end_of(size_t size, size_t end) {
    const size_t cache = trma_node_cache_second_bytes();

    if (size < (cache == 0 ? TRMA_MOVE_TURN_LARGE_LEAST : cache / 2)) {
        return end;
    }
    const size_t large = cache == 0 ? TRMA_MOVE_TURN_OF_LARGE : cache / 8 * TRMA_MOVE_TURN_LARGE_EIGHTHS;
    const size_t half = size / 2 / LINE * LINE;
    return large < half ? large : half;
}

/* The last stretch. */
static struct {
    alignas(LINE) atomic_uintptr_t begin;
    atomic_uintptr_t end;
    atomic_bool is_turned; /* its last end came first */
    atomic_bool went_on;   /* others after it, that were not noted */
} last;

void trma_move_turn_went_on(void) {
    atomic_store_explicit(&last.went_on, true, memory_order_relaxed);
}

bool trma_move_turn_begins_at_end(const void *from, size_t size) {
    const uintptr_t begin = (uintptr_t)from;
    /* Relaxed, all: no more than hints. */
    const bool is_same = atomic_load_explicit(&last.begin, memory_order_relaxed) == begin;
    const bool goes_on = atomic_load_explicit(&last.end, memory_order_relaxed) == begin;
    const bool went_on = atomic_load_explicit(&last.went_on, memory_order_relaxed);
    const bool is_turned =
        is_same ? !went_on && !atomic_load_explicit(&last.is_turned, memory_order_relaxed) : !goes_on;

    atomic_store_explicit(&last.begin, begin, memory_order_relaxed);
    atomic_store_explicit(&last.end, begin + size, memory_order_relaxed);
    atomic_store_explicit(&last.is_turned, is_turned, memory_order_relaxed);
    atomic_store_explicit(&last.went_on, false, memory_order_relaxed);
    return is_turned;
}

struct trma_move_turn trma_move_turn_choose(const void *from, size_t size, size_t end) {
    const size_t most = end_of(size, end);

    return trma_move_turn_begins_at_end(from, size)
               ? (struct trma_move_turn){.low = most, .high = size - most}
               : (struct trma_move_turn){.low = size, .high = size};
}
