/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's own counter of last-level cache misses of the calling process in user code
 * (perf_event_open(2)), where the machine has one and lets it be read. Called by one thread. */
#ifndef TRUERMA_BENCH_COUNTER_H
#define TRUERMA_BENCH_COUNTER_H

#include <stdint.h>

/* Opens the counter, stopped at 0. Returns its descriptor, to be closed with close(), or -1 where there is
 * none. */
int bench_counter_open(void);

/* Lets it run on, and stops it. Both do nothing for -1. */
void bench_counter_run(int counter);
void bench_counter_stop(int counter);

/* What it has counted since it was opened; 0 for -1. */
uint64_t bench_counter_read(int counter);

#endif
