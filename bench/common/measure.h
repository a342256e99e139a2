/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock, test patterns, statistics and the output line of a cell. Knows no MPI. */
#ifndef TRUERMA_BENCH_MEASURE_H
#define TRUERMA_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_SAMPLES = 4096, BENCH_EXTRAS = 4 };

/* Microseconds on the clock that all processes of the machine share (CLOCK_MONOTONIC). */
double bench_now_us(void);

/* Keeps the CPU in user code for about `us` microseconds of work: a fixed number of operations, measured at
 * the first call, so that a process that loses its CPU computes longer. Not thread-safe. */
void bench_compute(double us);

/*
 * Nanoseconds of a fixed piece of work that keeps all units of a core busy. Where two virtual CPUs share a
 * core with another tenant of the machine, it takes 1.2 to 1.8 times as long while that one computes. Not
 * thread-safe.
 */
double bench_pace_ns(void);

/* Memory of `bytes` on a page's beginning, every page touched; ends the process when there is none. Owned by
 * the caller, given back with free(). */
void *bench_memory(size_t bytes);

/* Word `index` of the pattern `seed`. */
static inline uint64_t bench_word(uint64_t seed, size_t index) {
    return (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + index * UINT64_C(0x100000001b3);
}

/* Writes the pattern into `bytes` bytes at `memory`; a last part of a word gets the word's first bytes. */
void bench_fill(void *memory, size_t bytes, uint64_t seed);

/* Number of words at `memory` that are not the pattern's, the first `skip` and last `skip` words left out. */
long bench_wrong(const void *memory, size_t bytes, uint64_t seed, size_t skip);

/* Samples of one cell, each in microseconds per iteration. */
struct bench_samples {
    double ping_ns;  /* what a word took from one rank's CPU to another's meanwhile; 0: unknown */
    double pace_ns;  /* bench_pace_ns of the slowest rank; 0: unknown. Both: the median over samples */
    long iterations; /* each sample is the mean of; 0: not told */
    int count;
    double us[BENCH_MAX_SAMPLES];
};

/* Adds a sample; those beyond the room are dropped. */
void bench_sample(struct bench_samples *samples, double us);

/* Sorts the samples; returns their median. */
double bench_median(struct bench_samples *samples);

/* What was measured. Names that are NULL are not printed. */
struct bench_cell {
    const char *bench, *mode, *op, *flavour, *side;
    long long size; /* bytes of one operation */
    int ranks;
    bool threads;  /* with MPI_THREAD_MULTIPLE */
    bool in_turns; /* with those that it is compared with, see turn.h */
    double bytes;  /* bytes moved per iteration; 0: no bandwidth is printed */
    double ops;    /* operations per iteration; 0: no rate is printed */
    struct {
        const char *name;
        double value;
    } extra[BENCH_EXTRAS]; /* further parameters or results, up to the first NULL name */
};

/* Sorts the samples and prints the cell as one line of JSON: median_us, p10, p90, min (µs), reps, and from
 * the median gb_s (10^9 bytes/s) and mops (10^6 operations/s). `checked` is true because a failed check ends
 * the run. ping_ns, pace_ns and iterations where they are known. */
void bench_print(const struct bench_cell *cell, struct bench_samples *samples);

#endif
