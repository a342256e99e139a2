/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs on dense matrices (summa, lu) share: the grid of ranks and the numbers in the matrices.
 */
#ifndef APPS_DENSE_H
#define APPS_DENSE_H

#include <mpi.h>

/* Ranks as a grid of rows x cols, as square as the number of ranks allows, numbered row by row. */
struct grid {
    MPI_Comm comm;     /* all ranks */
    MPI_Comm row_comm; /* the ranks of my row; the rank in it is the column */
    MPI_Comm col_comm; /* the ranks of my column; the rank in it is the row */
    int rows, cols;
    int row, col; /* mine */
};

/* Collective over comm. */
void grid_open(struct grid *grid, MPI_Comm comm);
void grid_close(struct grid *grid);

/* The rank in grid->comm at that place. */
static inline int grid_rank(const struct grid *grid, int row, int col) {
    return row * grid->cols + col;
}

/* Which pseudo-random matrix; MATRIX_X is for vectors that check a result. */
enum matrix { MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_X };

/* Element (i, j) of a pseudo-random matrix: uniform in [-1/2, 1/2), a function of its arguments alone, so
 * that any rank can make any element and the matrix does not depend on the number of ranks. */
double matrix_element(enum matrix which, int i, int j);

/* The larger of two distances from what is right, where one that is not a number counts as infinite. */
double larger_error(double max, double error);

/* Keeps the BLAS to the calling thread: the ranks are the parallelism here. */
void blas_use_one_thread(void);

#endif
