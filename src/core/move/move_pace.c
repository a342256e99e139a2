/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_pace.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Relaxed wherever it is used: a number by itself. */
static _Atomic uint64_t least;

/* Acquire and release: who measures may do so in memory that the last one has used. */
static void measure_once(trma_move_pace_measure *measure) {
    static atomic_flag is_measuring = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set_explicit(&is_measuring, memory_order_acquire)) {
        const uint64_t known = atomic_load_explicit(&least, memory_order_relaxed);
        const uint64_t pace = measure();
        if (known == 0 || pace < known) {
            atomic_store_explicit(&least, pace, memory_order_relaxed);
        }
        atomic_flag_clear_explicit(&is_measuring, memory_order_release);
    }
}

uint64_t trma_move_pace_past(trma_move_pace_measure *measure) {
    static atomic_flag has_begun = ATOMIC_FLAG_INIT;

    if (atomic_load_explicit(&least, memory_order_relaxed) == 0 &&
        !atomic_flag_test_and_set_explicit(&has_begun, memory_order_relaxed)) {
        measure_once(measure);
    }
    return atomic_load_explicit(&least, memory_order_relaxed);
}

void trma_move_pace_doubt(trma_move_pace_measure *measure) {
    static atomic_uint doubts;
    const unsigned before = atomic_fetch_add_explicit(&doubts, 1, memory_order_relaxed);

    if ((before & (before + 1)) == 0) {
        measure_once(measure);
    }
}
