/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of the limit-crowd program share: a target and k origins by hand, over one shared
 * mapping, each pinned. The target measures and gives orders; the origins sleep in between. Who waits within
 * an order polls, and with more processes than CPUs gives its CPU away in between. Nothing here is
 * thread-safe. */
#ifndef TRUERMA_BENCH_LIMIT_CROWD_H
#define TRUERMA_BENCH_LIMIT_CROWD_H

#include "../common/measure.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    CROWD_LINE = 128 /* two cache lines: neighbours are fetched in pairs */,
    CROWD_MOST = 1023 /* origins */
};

/* Of one origin; each word is alone in its lines. */
struct crowd_origin {
    _Alignas(CROWD_LINE) _Atomic uint64_t posted;
    _Alignas(CROWD_LINE) _Atomic uint64_t completed;
    _Alignas(CROWD_LINE) _Atomic uint64_t word;   /* that only it updates */
    _Alignas(CROWD_LINE) double begin_us, end_us; /* of the last order */
    uint64_t added;                               /* what it has added to its word, or the common one */
};

struct crowd_shared {
    _Alignas(CROWD_LINE) atomic_long orders;       /* given so far */
    long iterations;                               /* of the last one; 0: end */
    _Alignas(CROWD_LINE) atomic_long done;         /* orders, by all origins together */
    atomic_long wrong;                             /* what the origins found wrong */
    _Alignas(CROWD_LINE) _Atomic uint64_t word;    /* that all update */
    _Alignas(CROWD_LINE) _Atomic uint64_t arrived; /* at barriers */
    struct crowd_origin origin[];
};

/* A process's view. */
struct crowd {
    struct crowd_shared *shared;
    int others; /* origins */
    int place;  /* this process's: 0 the target, 1 … others the origins */
    bool crowded;
    uint64_t step; /* barriers and epochs so far: all count the same */
    uint64_t seen; /* an origin's: its word's last value that it knows */
};

/* Polls until a word that only grows has come to `value`; returns what it was then. */
static inline uint64_t crowd_await(const struct crowd *crowd, const _Atomic uint64_t *word, uint64_t value) {
    uint64_t now;
    while ((now = atomic_load_explicit(word, memory_order_acquire)) < value) {
        if (crowd->crowded)
            sched_yield();
    }
    return now;
}

/* All processes: none returns before all have come here. */
static inline void crowd_meet(struct crowd *crowd) {
    atomic_fetch_add_explicit(&crowd->shared->arrived, 1, memory_order_acq_rel);
    crowd_await(crowd, &crowd->shared->arrived, ++crowd->step * (uint64_t)(crowd->others + 1));
}

/* One process's part of making a window by hand, so that every process can write into every other's part, of
 * `bytes`; of a word from each to the next one; and of freeing it. Created: the parts are mapped by all
 * already, and they tell one another where; allocated: each makes shared memory of its own and maps the
 * others'. Returns how many words were wrong; the times are this process's. */
long crowd_window_use(struct crowd *crowd, bool created, size_t bytes, double *make_us, double *free_us);

/* What created windows consist of; called by the process that all others come from. Ends the program when
 * there is no memory. `processes` as many as there will be. */
void crowd_window_prepare(int processes, size_t bytes);

#endif
