/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark's random sparse symmetric matrix: a sum of n weighted outer products of sparse random
 * vectors, whose weights fall geometrically from 1 to 0.1, plus (0.1 - shift) on the diagonal. (Bailey et
 * al., The NAS Parallel Benchmarks, RNR-94-007, section 3.3; the order in which the random numbers are drawn
 * is that of NPB's generator.)
 */
#ifndef CG_MATRIX_H
#define CG_MATRIX_H

#include "layout.h"

/* One rank's block, by compressed rows. Row and column numbers count from the start of the block. */
struct matrix {
    int rows;
    long *start; /* rows + 1 of them: where the row begins in the next two */
    int *column;
    double *value;
};

/*
 * Makes this rank's block of the matrix with n = layout->n, `nonzeros` random elements per vector. Not
 * collective: every rank draws all random numbers, and keeps what is its own.
 */
struct matrix matrix_make(const struct layout *layout, int nonzeros, double shift);
void matrix_free(struct matrix *matrix);

/* out[i] = (A in)[i] for the rows i of `rows` (numbers within the block); `in` has the block's columns. */
void matrix_multiply(const struct matrix *matrix, struct range rows, const double *in, double *out);

#endif
