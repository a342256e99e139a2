/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a task is repeated in one sample. Knows no MPI; nothing here is kept between calls. */
#ifndef TRUERMA_BENCH_PLAN_H
#define TRUERMA_BENCH_PLAN_H

#include <stdbool.h>

/* Within what limits. */
struct bench_plan_need {
    double sample_us; /* that a sample is to last */
    long least;       /* iterations at least, 1 or more */
    long most;        /* and at most (0: any) */
    bool is_crowded;  /* more ranks than CPUs */
};

/* Takes a sample of so many iterations: microseconds per iteration, the same on all ranks. */
typedef double bench_plan_sampler(void *context, long iterations);

/*
 * Growing warm-ups, until one lasts long enough to tell how long an iteration takes: *us, in microseconds.
 * With more ranks than CPUs that some iterations take long may be the time until each rank has had its turn:
 * more of them must take longer. Returns the iterations of the last one.
 *
 * It is long enough when two of as many iterations are, one after the other; the shorter one counts. One may
 * be the first of all, which makes pages, or have lost its processor: told by it, a sample was once a single
 * epoch, with lines that had just been looked at, where others were 160 (32 puts of 4 KiB in 12.5 instead of
 * 3.9 us).
 */
long bench_plan_grow(const struct bench_plan_need *need, bench_plan_sampler *sample, void *context,
                     double *us);

/* As many iterations of `us` each as last `sample_us`, within what is needed, but not less than `fewest`. */
long bench_plan_lasting(const struct bench_plan_need *need, double sample_us, double us, long fewest);

/* Tasks of few iterations, `mine`, get in `chosen` as many as the most of `others` that are not so many times
 * as many. */
void bench_plan_take_most(long *chosen, const long *mine, int count, const long *others, int n_others);

#endif
