/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C = A B for n x n matrices on a grid of ranks. Each rank holds one block of each matrix; all three are cut
 * alike, into grid.rows pieces downwards and grid.cols pieces across, as even as possible.
 *
 * A and C are stored by columns and B by rows, so that a panel of A (some columns of a block) and a panel of
 * B (some rows of a block) are each one contiguous piece of their owner's memory.
 */
#ifndef SUMMA_SUMMA_H
#define SUMMA_SUMMA_H

#include <mpi.h>
#include <stddef.h>

#include "app_timer.h"
#include "dense.h"

/* A run of consecutive columns of A, and of the same rows of B, that lies in one block of each. */
struct panel {
    int width;
    int a_col, b_row;  /* grid column of the ranks that have it of A, grid row of those that have it of B */
    size_t a_at, b_at; /* where it begins in their blocks, in doubles */
};

struct summa {
    struct grid grid;
    int n;          /* order of the matrices */
    int rows, cols; /* of this rank's blocks */
    double *a, *b, *c;
    struct panel *panels; /* from left to right in A */
    int npanels;
    size_t a_panel, b_panel; /* doubles in the largest panels that this rank works with */
    struct app_timer *timer;
};

/* Where piece k of n elements cut into `pieces` begins; k may be `pieces`. */
int piece_start(int n, int pieces, int k);

/* Cuts n (at least as large as the grid's sides) into blocks and into panels of at most `width`. The caller
 * has set grid and n, and brings a, b and c, each of rows * cols doubles. */
void summa_plan(struct summa *s, int width);
void summa_free(struct summa *s);

/* Makes the elements of this rank's blocks of A and B. */
void summa_fill(struct summa *s);

/* C += (panel of A) (panel of B) for this rank's block of C. */
void summa_update(struct summa *s, const struct panel *panel, const double *a, const double *b);

/*
 * The ways to bring the panels to the ranks that need them. Each adds A B to C and is collective. Windows
 * hold the blocks of A and of B, with displacements in doubles, and must be in a passive epoch at all
 * targets; nobody may write into A or B until all ranks have returned.
 */
void multiply_p2p(struct summa *s);                       /* broadcasts along rows and columns */
void multiply_rma(struct summa *s, MPI_Win a, MPI_Win b); /* panels are got, then used */
void multiply_rma_nb(struct summa *s, MPI_Win a,
                     MPI_Win b); /* the next panels come in while these are used */

/* Largest element of C x - A (B x) for a pseudo-random vector x, in units of n^2 epsilon: the rounding errors
 * of that many additions of numbers below 1/8, were they all to point the same way. Collective. */
double summa_residual(const struct summa *s);

/* Largest difference between C and a product worked out element by element without BLAS, in units of n
 * epsilon; n^3 slow operations. Collective. */
double summa_compare(const struct summa *s);

#endif
