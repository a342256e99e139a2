/* SPDX-License-Identifier: BSD-3-Clause */
/* What overlap.c measures, by hand: origin: poll for the post, copy, compute, flag; target: flag, compute,
 * poll for the completion. What no library hides either, the machine does not let it. */
#ifndef TRUERMA_BENCH_LIMIT_OVERLAP_H
#define TRUERMA_BENCH_LIMIT_OVERLAP_H

#include "process.h"

/* Process 0: measures and prints the cells of puts of `size` bytes, of both sides, T_comp as options->values
 * tells. */
void limit_overlap_measure(struct limit_process *process, const struct bench_options *options, size_t size);

/* Process 1: the target's half of so many epochs. */
void limit_overlap_serve(struct limit_process *process, const struct limit_order *order);

#endif
