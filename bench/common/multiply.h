/* SPDX-License-Identifier: BSD-3-Clause */
/* The computation of the process-skew experiment: a naive product of two n x n matrices. */
#ifndef TRUERMA_BENCH_MULTIPLY_H
#define TRUERMA_BENCH_MULTIPLY_H

/* Room for three matrices of order n, the first two filled. Given back with free(). */
double *bench_matrices(int n);

/* Multiplies the first by the second into the third; nothing for n = 0. */
void bench_multiply(double *matrices, int n);

#endif
