/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided: all blocks lie in a window, and whoever needs one gets it from its owner, who is busy with
 * blocks of its own. As in SPLASH-2, two barriers a step tell when blocks are final: A(k,k) before it is used
 * to solve, L(i,k) and U(k,j) before they are used to update. After the update none is needed: what step k +
 * 1 changes first, its owner has updated itself, and a block that others may still be getting is never
 * written again.
 */
#include "lu.h"

#include "app_memory.h"

#include <stdlib.h>

/* All ranks have come so far, and what they stored in their blocks is there for others to get. */
static void synchronise(struct lu *lu, MPI_Win win) {
    app_timer_start(lu->timer, APP_PHASE_WAITING);
    MPI_Win_sync(win);
    MPI_Barrier(lu->grid.comm);
    MPI_Win_sync(win);
    app_timer_stop(lu->timer, APP_PHASE_WAITING);
}

/* Returns block (i, j): in my own memory, or in the buffer. */
static const double *fetch(struct lu *lu, MPI_Win win, int i, int j, double *buffer) {
    if (lu_is_mine(lu, i, j))
        return lu_block(lu, i, j);
    const int owner = lu_owner(lu, i, j), count = lu_span(lu, j);
    app_timer_start(lu->timer, APP_PHASE_COMMUNICATION);
    MPI_Get(buffer, count, MPI_DOUBLE, owner, lu_displacement(lu, i, j), count, MPI_DOUBLE, win);
    app_timer_start(lu->timer, APP_PHASE_WAITING);
    MPI_Win_flush(owner, win);
    app_timer_stop(lu->timer, APP_PHASE_WAITING);
    app_timer_stop(lu->timer, APP_PHASE_COMMUNICATION);
    return buffer;
}

/* The first half of step k: A(k,k) factored by its owner, and used by all that have blocks beside or below
 * it. */
static void factor_and_solve(struct lu *lu, MPI_Win win, int k, double *buffer) {
    if (lu_is_mine(lu, k, k))
        lu_factor(lu, k);
    synchronise(lu, win);
    if (lu_solves(lu, k))
        lu_solve(lu, k, fetch(lu, win, k, k, buffer));
    synchronise(lu, win);
}

void factorise_rma(struct lu *lu, MPI_Win win) {
    const struct grid *g = &lu->grid;
    const size_t size = (size_t)lu->b * (size_t)lu->b;
    double *buffer = app_memory_allocate(size, sizeof(double));
    double *u_buffers = app_memory_allocate((size_t)lu->my_cols * size, sizeof(double));
    const double **u = app_memory_allocate((size_t)lu->my_cols, sizeof *u);
    for (int k = 0; k < lu->nblocks; k++) {
        factor_and_solve(lu, win, k, buffer);
        for (int j = lu_first_col(lu, k + 1); j < lu->nblocks; j += g->cols)
            u[j / g->cols] = fetch(lu, win, k, j, u_buffers + (size_t)(j / g->cols) * size);
        for (int i = lu_first_row(lu, k + 1); i < lu->nblocks; i += g->rows) {
            const double *l = fetch(lu, win, i, k, buffer);
            for (int j = lu_first_col(lu, k + 1); j < lu->nblocks; j += g->cols)
                lu_update(lu, i, j, k, l, u[j / g->cols]);
        }
        app_progress(lu->options, k + 1, lu->nblocks);
    }
    free(u);
    free(u_buffers);
    free(buffer);
}

/* A block that is here or on its way. */
struct incoming {
    double *buffer;
    const double *block;
    MPI_Request request;
};

static void incoming_open(struct incoming *in, size_t size) {
    in->buffer = app_memory_allocate(size, sizeof(double));
    in->request = MPI_REQUEST_NULL;
}

/* Asks for block (i, j), if there is one so far out. */
static void incoming_start(struct lu *lu, MPI_Win win, int i, int j, struct incoming *in) {
    if (i >= lu->nblocks || j >= lu->nblocks)
        return;
    if (lu_is_mine(lu, i, j)) {
        in->block = lu_block(lu, i, j);
        return;
    }
    const int count = lu_span(lu, j);
    in->block = in->buffer;
    app_timer_start(lu->timer, APP_PHASE_COMMUNICATION);
    MPI_Rget(in->buffer, count, MPI_DOUBLE, lu_owner(lu, i, j), lu_displacement(lu, i, j), count, MPI_DOUBLE,
             win, &in->request);
    app_timer_stop(lu->timer, APP_PHASE_COMMUNICATION);
}

static void incoming_wait(struct lu *lu, struct incoming *in) {
    app_timer_start(lu->timer, APP_PHASE_WAITING);
    MPI_Wait(&in->request, MPI_STATUS_IGNORE);
    app_timer_stop(lu->timer, APP_PHASE_WAITING);
}

/* The second half of step k. While a row of blocks is updated, the L of the next row comes in; in the first
 * row, while one block is updated, so does the U of the next. */
static void update_overlapped(struct lu *lu, MPI_Win win, int k, struct incoming l[2], struct incoming *u) {
    const struct grid *g = &lu->grid;
    const int first_row = lu_first_row(lu, k + 1), first_col = lu_first_col(lu, k + 1);
    if (first_row >= lu->nblocks || first_col >= lu->nblocks)
        return;
    incoming_start(lu, win, first_row, k, &l[0]);
    incoming_start(lu, win, k, first_col, &u[first_col / g->cols]);
    for (int i = first_row, turn = 0; i < lu->nblocks; i += g->rows, turn = !turn) {
        incoming_wait(lu, &l[turn]);
        incoming_start(lu, win, i + g->rows, k, &l[!turn]);
        for (int j = first_col; j < lu->nblocks; j += g->cols) {
            struct incoming *here = &u[j / g->cols];
            if (i == first_row) {
                incoming_wait(lu, here);
                incoming_start(lu, win, k, j + g->cols, here + 1);
            }
            lu_update(lu, i, j, k, l[turn].block, here->block);
        }
    }
}

void factorise_rma_nb(struct lu *lu, MPI_Win win) {
    const size_t size = (size_t)lu->b * (size_t)lu->b;
    struct incoming l[2], *u = app_memory_allocate((size_t)lu->my_cols, sizeof *u);
    incoming_open(&l[0], size);
    incoming_open(&l[1], size);
    for (int j = 0; j < lu->my_cols; j++)
        incoming_open(&u[j], size);
    for (int k = 0; k < lu->nblocks; k++) {
        factor_and_solve(lu, win, k, l[0].buffer);
        update_overlapped(lu, win, k, l, u);
        app_progress(lu->options, k + 1, lu->nblocks);
    }
    for (int j = 0; j < lu->my_cols; j++)
        free(u[j].buffer);
    free(u);
    free(l[1].buffer);
    free(l[0].buffer);
}
