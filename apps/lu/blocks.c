/* SPDX-License-Identifier: BSD-3-Clause */
/* How the matrix is dealt out. */
#include "lu.h"

/* How many of the blocks 0..count-1 fall to place `mine` of `all` when dealt out in turn. */
static int share(int count, int mine, int all) {
    return (count - mine + all - 1) / all;
}

/* The first number from `from` on that falls to place `mine` of `all`. */
static int first_share(int from, int mine, int all) {
    return from + (mine - from % all + all) % all;
}

size_t lu_plan(struct lu *lu) {
    lu->nblocks = (lu->n + lu->b - 1) / lu->b;
    lu->my_rows = share(lu->nblocks, lu->grid.row, lu->grid.rows);
    lu->my_cols = share(lu->nblocks, lu->grid.col, lu->grid.cols);
    return (size_t)lu->my_rows * (size_t)lu->my_cols * (size_t)lu->b * (size_t)lu->b;
}

int lu_extent(const struct lu *lu, int i) {
    int left = lu->n - i * lu->b;
    return left < lu->b ? left : lu->b;
}

int lu_span(const struct lu *lu, int j) {
    return lu->b * lu_extent(lu, j);
}

int lu_first_row(const struct lu *lu, int from) {
    return first_share(from, lu->grid.row, lu->grid.rows);
}

int lu_first_col(const struct lu *lu, int from) {
    return first_share(from, lu->grid.col, lu->grid.cols);
}

int lu_owner(const struct lu *lu, int i, int j) {
    return grid_rank(&lu->grid, i % lu->grid.rows, j % lu->grid.cols);
}

int lu_is_mine(const struct lu *lu, int i, int j) {
    return i % lu->grid.rows == lu->grid.row && j % lu->grid.cols == lu->grid.col;
}

MPI_Aint lu_displacement(const struct lu *lu, int i, int j) {
    int owner_cols = share(lu->nblocks, j % lu->grid.cols, lu->grid.cols);
    MPI_Aint number = (MPI_Aint)(i / lu->grid.rows) * owner_cols + j / lu->grid.cols;
    return number * lu->b * lu->b;
}

double *lu_block(const struct lu *lu, int i, int j) {
    return lu->blocks + lu_displacement(lu, i, j);
}

void lu_make_block(const struct lu *lu, int i, int j, double *block) {
    const int top = i * lu->b, left = j * lu->b;
    for (int col = 0; col < lu_extent(lu, j); col++)
        for (int row = 0; row < lu_extent(lu, i); row++) {
            double element = matrix_element(MATRIX_A, top + row, left + col);
            block[(size_t)col * (size_t)lu->b + (size_t)row] =
                top + row == left + col ? element + lu->n : element;
        }
}

void lu_fill(struct lu *lu) {
    for (int i = lu->grid.row; i < lu->nblocks; i += lu->grid.rows)
        for (int j = lu->grid.col; j < lu->nblocks; j += lu->grid.cols)
            lu_make_block(lu, i, j, lu_block(lu, i, j));
}
