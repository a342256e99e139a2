/* SPDX-License-Identifier: BSD-3-Clause */
/* Is C right? Judged against elements made anew, not against the blocks of A and B in memory. */
#include "summa.h"

#include "app_memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* y = M x for an n-vector, this rank doing the rows and columns of its blocks; all ranks get all of y. */
static void multiply_vector(const struct summa *s, enum matrix which, const double *x, double *y) {
    int top = piece_start(s->n, s->grid.rows, s->grid.row);
    int left = piece_start(s->n, s->grid.cols, s->grid.col);
    memset(y, 0, (size_t)s->n * sizeof *y);
    for (int j = 0; j < s->cols; j++)
        for (int i = 0; i < s->rows; i++) {
            double element = which == MATRIX_C ? s->c[(size_t)j * (size_t)s->rows + (size_t)i]
                                               : matrix_element(which, top + i, left + j);
            y[top + i] += element * x[left + j];
        }
    MPI_Allreduce(MPI_IN_PLACE, y, s->n, MPI_DOUBLE, MPI_SUM, s->grid.comm);
}

double summa_residual(const struct summa *s) {
    double *x = app_memory_allocate(4 * (size_t)s->n, sizeof *x);
    double *bx = x + s->n, *abx = bx + s->n, *cx = abx + s->n;
    for (int i = 0; i < s->n; i++)
        x[i] = matrix_element(MATRIX_X, i, 0);
    multiply_vector(s, MATRIX_B, x, bx);
    multiply_vector(s, MATRIX_A, bx, abx);
    multiply_vector(s, MATRIX_C, x, cx);
    double max = 0;
    for (int i = 0; i < s->n; i++)
        max = larger_error(max, fabs(cx[i] - abx[i]));
    free(x);
    return max / (DBL_EPSILON * s->n * s->n);
}

double summa_compare(const struct summa *s) {
    int top = piece_start(s->n, s->grid.rows, s->grid.row);
    int left = piece_start(s->n, s->grid.cols, s->grid.col);
    const size_t n = (size_t)s->n;
    double *row = app_memory_allocate(n * (size_t)(s->cols + 1), sizeof *row);
    double *b = row + n; /* my columns of B, one after the other */
    for (int j = 0; j < s->cols; j++)
        for (int k = 0; k < s->n; k++)
            b[(size_t)j * n + (size_t)k] = matrix_element(MATRIX_B, k, left + j);
    double max = 0;
    for (int i = 0; i < s->rows; i++) {
        for (int k = 0; k < s->n; k++)
            row[k] = matrix_element(MATRIX_A, top + i, k);
        for (int j = 0; j < s->cols; j++) {
            double sum = 0;
            for (int k = 0; k < s->n; k++)
                sum += row[k] * b[(size_t)j * n + (size_t)k];
            max = larger_error(max, fabs(sum - s->c[(size_t)j * (size_t)s->rows + (size_t)i]));
        }
    }
    free(row);
    MPI_Allreduce(MPI_IN_PLACE, &max, 1, MPI_DOUBLE, MPI_MAX, s->grid.comm);
    return max / (DBL_EPSILON * s->n);
}
