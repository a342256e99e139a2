/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_stream.h"

#include <stdatomic.h>
#include <stdint.h>

/* Where the two sides of a copy lie, or would lie next. */
struct sides {
    atomic_uintptr_t to;
    atomic_uintptr_t from;
};

/* Relaxed, all: no more than hints. */
static bool are_at(const struct sides *sides, uintptr_t to, uintptr_t from) {
    return atomic_load_explicit(&sides->to, memory_order_relaxed) == to &&
           atomic_load_explicit(&sides->from, memory_order_relaxed) == from;
}

static void put_at(struct sides *sides, uintptr_t to, uintptr_t from) {
    atomic_store_explicit(&sides->to, to, memory_order_relaxed);
    atomic_store_explicit(&sides->from, from, memory_order_relaxed);
}

bool trma_move_stream_take(const void *to, const void *from, size_t size, size_t cache) {
    static struct {
        struct sides begin;
        struct sides next;
        atomic_size_t length;
    } run;
    static struct sides long_one; /* where the last run that was long enough began */
    const uintptr_t to_begin = (uintptr_t)to;
    const uintptr_t from_begin = (uintptr_t)from;
    const size_t least = cache / 8 * TRMA_MOVE_STREAM_EIGHTHS;

    if (cache == 0) {
        return false;
    }
    size_t length = atomic_load_explicit(&run.length, memory_order_relaxed);
    uintptr_t run_to = atomic_load_explicit(&run.begin.to, memory_order_relaxed);
    uintptr_t run_from = atomic_load_explicit(&run.begin.from, memory_order_relaxed);
    if (are_at(&run.next, to_begin, from_begin)) {
        length += size;
    } else {
        if (length >= least) {
            put_at(&long_one, run_to, run_from);
        } else if (are_at(&long_one, run_to, run_from)) {
            put_at(&long_one, 0, 0);
        }
        run_to = to_begin;
        run_from = from_begin;
        put_at(&run.begin, run_to, run_from);
        length = size;
    }
    put_at(&run.next, to_begin + size, from_begin + size);
    atomic_store_explicit(&run.length, length, memory_order_relaxed);
    return length >= least || are_at(&long_one, run_to, run_from);
}
