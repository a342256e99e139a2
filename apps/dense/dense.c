/* SPDX-License-Identifier: BSD-3-Clause */
#include "dense.h"

#include <cblas.h>
#include <math.h>
#include <stdint.h>

void grid_open(struct grid *grid, MPI_Comm comm) {
    int size, rank, dims[2] = {0, 0}, coords[2];
    const int periods[2] = {0, 0}, along_row[2] = {0, 1}, along_col[2] = {1, 0};
    MPI_Comm_size(comm, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(comm, 2, dims, periods, 0, &grid->comm);
    MPI_Comm_rank(grid->comm, &rank);
    MPI_Cart_coords(grid->comm, rank, 2, coords);
    MPI_Cart_sub(grid->comm, along_row, &grid->row_comm);
    MPI_Cart_sub(grid->comm, along_col, &grid->col_comm);
    grid->rows = dims[0];
    grid->cols = dims[1];
    grid->row = coords[0];
    grid->col = coords[1];
}

void grid_close(struct grid *grid) {
    MPI_Comm_free(&grid->row_comm);
    MPI_Comm_free(&grid->col_comm);
    MPI_Comm_free(&grid->comm);
}

double matrix_element(enum matrix which, int i, int j) {
    /* The finaliser of the generator splitmix64, over the element's place. */
    uint64_t z = (uint64_t)which << 62 ^ (uint64_t)i << 31 ^ (uint64_t)j;
    z = (z + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53 - 0.5;
}

double larger_error(double max, double error) {
    if (isnan(error))
        return INFINITY;
    return error > max ? error : max;
}

void blas_use_one_thread(void) {
    openblas_set_num_threads(1);
}
