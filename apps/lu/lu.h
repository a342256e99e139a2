/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocked LU factorisation without pivoting of an n x n matrix that is diagonally dominant, as in SPLASH-2:
 * the matrix is cut into blocks of b x b, block (i, j) belongs to the rank at (i mod rows, j mod columns) of
 * a grid, and each block is contiguous in its owner's memory, stored by columns. Blocks at the lower and
 * right edge may be smaller; their columns are b doubles apart like everywhere.
 */
#ifndef LU_LU_H
#define LU_LU_H

#include <mpi.h>
#include <stddef.h>

#include "app_options.h"
#include "app_timer.h"
#include "dense.h"

struct lu {
    struct grid grid;
    int n, b;
    int nblocks;          /* along an edge of the matrix */
    int my_rows, my_cols; /* rows and columns of blocks that are mine */
    double *blocks;       /* mine, one row of blocks after the other */
    struct app_timer *timer;
    const struct app_options *options;
};

/* Cuts the matrix; the caller has set grid, n and b. Returns how many doubles it has to provide as `blocks`.
 */
size_t lu_plan(struct lu *lu);

/* Makes the elements of a block (pseudo-random, n added on the diagonal), and of all blocks that are mine. */
void lu_make_block(const struct lu *lu, int i, int j, double *block);
void lu_fill(struct lu *lu);

/* How many rows of the matrix block row i has, or columns block column i; and how many doubles block (i, j)
 * spans. */
int lu_extent(const struct lu *lu, int i);
int lu_span(const struct lu *lu, int j);

/* The first block row i >= from that is mine (the next ones follow at grid.rows), and the same for columns.
 */
int lu_first_row(const struct lu *lu, int from);
int lu_first_col(const struct lu *lu, int from);

/* Whether block (i, j) is mine, and where it is then; its owner's rank in grid.comm, and its displacement in
 * doubles in the owner's memory, whoever that is. */
int lu_is_mine(const struct lu *lu, int i, int j);
double *lu_block(const struct lu *lu, int i, int j);
int lu_owner(const struct lu *lu, int i, int j);
MPI_Aint lu_displacement(const struct lu *lu, int i, int j);

/* The work of step k. A block that is not mine comes as a copy. */
void lu_factor(struct lu *lu, int k);                        /* A(k,k), mine, becomes L and U in one */
void lu_solve(struct lu *lu, int k, const double *diagonal); /* my A(i,k) become L(i,k), my A(k,j) U(k,j) */
void lu_update(struct lu *lu, int i, int j, int k, const double *l,
               const double *u); /* A(i,j) -= L(i,k) U(k,j) */

/* Which ranks take part in lu_solve of step k. */
int lu_solves(const struct lu *lu, int k);

/*
 * The ways to bring blocks to the ranks that need them. Each replaces A by L and U; collective. The window
 * holds the blocks, with displacements in doubles, in a passive epoch at all targets.
 */
void factorise_p2p(struct lu *lu);                 /* broadcasts along rows and columns of the grid */
void factorise_rma(struct lu *lu, MPI_Win win);    /* blocks are got, then used */
void factorise_rma_nb(struct lu *lu, MPI_Win win); /* the next block comes in while this one is used */

/* Broadcasts block (i, j) to all ranks that have blocks in block row i, or in block column j; to be called by
 * all of these. Returns the block: in my own memory, or in the buffer. */
const double *lu_broadcast_in_row(struct lu *lu, int i, int j, double *buffer);
const double *lu_broadcast_in_col(struct lu *lu, int i, int j, double *buffer);

/* Largest element of A - L U, in units of n epsilon times the largest element of A. A is made anew.
 * Collective. */
double lu_residual(struct lu *lu);

#endif
