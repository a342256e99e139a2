/* SPDX-License-Identifier: BSD-3-Clause */
/* What skew.c measures, by hand: a flag is post, a flag is complete. The limit of the skew cells. */
#ifndef TRUERMA_BENCH_LIMIT_SKEW_H
#define TRUERMA_BENCH_LIMIT_SKEW_H

#include "process.h"

/* Bytes that the origin puts in an epoch: a window has at least as many. */
enum { LIMIT_SKEW_PUTS = 16, LIMIT_SKEW_SIZE = 256 * 1024 };

/* Process 0: measures and prints the cell of one order of the target's matrices. */
void limit_skew_measure(struct limit_process *process, const struct bench_options *options, int order);

/* Process 1: the target's half of an epoch. */
void limit_skew_serve(struct limit_process *process, const struct limit_order *order);

#endif
