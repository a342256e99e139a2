/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-sided: owners broadcast their blocks as they become final. Nothing else keeps the ranks in step. */
#include "lu.h"

#include "app_memory.h"

#include <stdlib.h>

static const double *broadcast(struct lu *lu, int i, int j, double *buffer, int root, MPI_Comm comm) {
    double *block = lu_is_mine(lu, i, j) ? lu_block(lu, i, j) : buffer;
    app_timer_start(lu->timer, APP_PHASE_WAITING);
    MPI_Bcast(block, lu_span(lu, j), MPI_DOUBLE, root, comm);
    app_timer_stop(lu->timer, APP_PHASE_WAITING);
    return block;
}

const double *lu_broadcast_in_row(struct lu *lu, int i, int j, double *buffer) {
    return broadcast(lu, i, j, buffer, j % lu->grid.cols, lu->grid.row_comm);
}

const double *lu_broadcast_in_col(struct lu *lu, int i, int j, double *buffer) {
    return broadcast(lu, i, j, buffer, i % lu->grid.rows, lu->grid.col_comm);
}

void factorise_p2p(struct lu *lu) {
    const struct grid *g = &lu->grid;
    const size_t size = (size_t)lu->b * (size_t)lu->b;
    double *buffer = app_memory_allocate(size, sizeof(double));
    double *u_buffers = app_memory_allocate((size_t)lu->my_cols * size, sizeof(double));
    const double **u = app_memory_allocate((size_t)lu->my_cols, sizeof *u);
    for (int k = 0; k < lu->nblocks; k++) {
        if (lu_is_mine(lu, k, k))
            lu_factor(lu, k);
        const double *diagonal = NULL;
        if (k % g->rows == g->row)
            diagonal = lu_broadcast_in_row(lu, k, k, buffer);
        if (k % g->cols == g->col)
            diagonal = lu_broadcast_in_col(lu, k, k, buffer);
        if (diagonal != NULL)
            lu_solve(lu, k, diagonal);

        for (int j = lu_first_col(lu, k + 1); j < lu->nblocks; j += g->cols)
            u[j / g->cols] = lu_broadcast_in_col(lu, k, j, u_buffers + (size_t)(j / g->cols) * size);
        for (int i = lu_first_row(lu, k + 1); i < lu->nblocks; i += g->rows) {
            const double *l = lu_broadcast_in_row(lu, i, k, buffer);
            for (int j = lu_first_col(lu, k + 1); j < lu->nblocks; j += g->cols)
                lu_update(lu, i, j, k, l, u[j / g->cols]);
        }
        app_progress(lu->options, k + 1, lu->nblocks);
    }
    free(u);
    free(u_buffers);
    free(buffer);
}
