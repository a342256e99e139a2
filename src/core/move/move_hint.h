/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_HINT_H
#define TRMA_MOVE_HINT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is known of a place in memory, to choose the way of the next copy there. Relaxed, all here: threads
 * that mislead one another lose time, not data. Thread-safe.
 */
static inline unsigned trma_move_hint_get(const atomic_uint *hint) {
    return atomic_load_explicit(hint, memory_order_relaxed);
}

static inline void trma_move_hint_set(atomic_uint *hint, unsigned value) {
    atomic_store_explicit(hint, value, memory_order_relaxed);
}

/* Which of `slots` keeps what is known of `place`. Fibonacci hashing (Knuth 6.4): the upper bits of the
 * product depend on all of the place. */
static inline size_t trma_move_hint_slot(uint64_t place, size_t slots) {
    return (size_t)(place * UINT64_C(0x9E3779B97F4A7C15) >> 32) % slots;
}

#endif
