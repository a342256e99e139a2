/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a communication a computation hides (Lai et al., section 5.5), from samples of three tasks that
 * were taken in turns. Knows no MPI. */
#ifndef TRUERMA_BENCH_HIDDEN_H
#define TRUERMA_BENCH_HIDDEN_H

#include "measure.h"

enum bench_overlap_task { BENCH_COMM, BENCH_COMP, BENCH_TOTAL, BENCH_OVERLAP_TASKS };

struct bench_overlap {
    double overlap; /* (T_comm + T_comp - T_total) / T_comm: the median of what each turn gives */
    double comm_us, comp_us;
};

/*
 * Iterations of each task per sample, equally many, so that what the first one costs more is the same in all:
 * T_total of so many takes a fifth of a millisecond, but there are four at least. In a virtual machine a
 * computation of 2 ms varies by some hundredths, as interrupts come into each; of 0.1 ms most have none: many
 * short samples tell what a few long ones cannot.
 */
long bench_overlap_iterations(double comm_us, double comp_us);

/* Of one side's samples, equally many of each task; sorts them. */
struct bench_overlap bench_overlap_of(struct bench_samples samples[BENCH_OVERLAP_TASKS]);

/* Notes it in the cell, with T_comp in percent of what T_comm was expected to be. */
void bench_overlap_note(struct bench_cell *cell, double percent, const struct bench_overlap *overlap);

#endif
