/* SPDX-License-Identifier: BSD-3-Clause */
/* Is L U equal to A? Every rank works out its own blocks of A - L U; the factors come by broadcast, in all
 * variants. */
#include "lu.h"

#include "app_memory.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum part { PART_L, PART_U };

/* Where L and U share a block, on the diagonal, leaves one of them: L with its ones, or U. */
static const double *part_of_diagonal(const struct lu *lu, enum part part, int k, const double *block,
                                      double *copy) {
    const int size = lu_extent(lu, k);
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++) {
            const size_t at = (size_t)j * (size_t)lu->b + (size_t)i;
            if (part == PART_L)
                copy[at] = i > j ? block[at] : i == j ? 1.0 : 0.0;
            else
                copy[at] = i <= j ? block[at] : 0.0;
        }
    return copy;
}

/* Subtracts L(:,k) U(k,:) from my blocks of the residual, which lie as the blocks of A do. */
static void subtract(struct lu *lu, int k, double *residual, double *l_buffer, double *u_buffers) {
    const struct grid *g = &lu->grid;
    const size_t size = (size_t)lu->b * (size_t)lu->b;
    const int first_row = lu_first_row(lu, k), first_col = lu_first_col(lu, k);
    const double **u = app_memory_allocate((size_t)lu->my_cols, sizeof *u);
    for (int j = first_col; j < lu->nblocks; j += g->cols) {
        double *buffer = u_buffers + (size_t)(j / g->cols) * size;
        u[j / g->cols] = lu_broadcast_in_col(lu, k, j, buffer);
        if (j == k)
            u[j / g->cols] = part_of_diagonal(lu, PART_U, k, u[j / g->cols], buffer);
    }
    for (int i = first_row; i < lu->nblocks; i += g->rows) {
        const double *l = lu_broadcast_in_row(lu, i, k, l_buffer);
        if (i == k)
            l = part_of_diagonal(lu, PART_L, k, l, l_buffer);
        for (int j = first_col; j < lu->nblocks; j += g->cols)
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, lu_extent(lu, i), lu_extent(lu, j),
                        lu_extent(lu, k), -1.0, l, lu->b, u[j / g->cols], lu->b, 1.0,
                        residual + lu_displacement(lu, i, j), lu->b);
    }
    free(u);
}

static double largest_in_block(const struct lu *lu, int i, int j, const double *block) {
    double max = 0;
    for (int col = 0; col < lu_extent(lu, j); col++)
        for (int row = 0; row < lu_extent(lu, i); row++)
            max = larger_error(max, fabs(block[(size_t)col * (size_t)lu->b + (size_t)row]));
    return max;
}

double lu_residual(struct lu *lu) {
    const struct grid *g = &lu->grid;
    const size_t size = (size_t)lu->b * (size_t)lu->b;
    double *residual = app_memory_allocate((size_t)lu->my_rows * (size_t)lu->my_cols * size, sizeof(double));
    double *l_buffer = app_memory_allocate(size, sizeof(double));
    double *u_buffers = app_memory_allocate((size_t)lu->my_cols * size, sizeof(double));
    double max[2] = {0, 0}; /* of A, of A - L U */
    for (int i = g->row; i < lu->nblocks; i += g->rows)
        for (int j = g->col; j < lu->nblocks; j += g->cols) {
            double *block = residual + lu_displacement(lu, i, j);
            lu_make_block(lu, i, j, block);
            max[0] = larger_error(max[0], largest_in_block(lu, i, j, block));
        }
    for (int k = 0; k < lu->nblocks; k++)
        subtract(lu, k, residual, l_buffer, u_buffers);
    for (int i = g->row; i < lu->nblocks; i += g->rows)
        for (int j = g->col; j < lu->nblocks; j += g->cols)
            max[1] = larger_error(max[1], largest_in_block(lu, i, j, residual + lu_displacement(lu, i, j)));
    MPI_Allreduce(MPI_IN_PLACE, max, 2, MPI_DOUBLE, MPI_MAX, g->comm);
    free(u_buffers);
    free(l_buffer);
    free(residual);
    return max[1] / (DBL_EPSILON * lu->n * max[0]);
}
