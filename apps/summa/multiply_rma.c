/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided SUMMA: nobody sends. A rank gets the panels it needs from whoever has them, at its own pace and
 * in its own order; its own panels it uses where they are.
 */
#include "summa.h"

#include "app_memory.h"

#include <stdlib.h>

/* Where a panel of A or of B is to be found. */
struct source {
    const double *block; /* this rank's own block of the matrix */
    MPI_Win win;
    int owner;
    size_t at; /* in doubles, in the owner's block */
    int count; /* doubles */
};

static struct source source_of_a(const struct summa *s, const struct panel *panel, MPI_Win win) {
    const struct grid *g = &s->grid;
    return (struct source){s->a, win, grid_rank(g, g->row, panel->a_col), panel->a_at,
                           panel->width * s->rows};
}

static struct source source_of_b(const struct summa *s, const struct panel *panel, MPI_Win win) {
    const struct grid *g = &s->grid;
    return (struct source){s->b, win, grid_rank(g, panel->b_row, g->col), panel->b_at,
                           panel->width * s->cols};
}

static int is_mine(const struct summa *s, const struct source *from) {
    return from->owner == grid_rank(&s->grid, s->grid.row, s->grid.col);
}

/* Each rank begins with panels of another block and goes round, so that not everybody asks the same rank at
 * the same time (the diagonal shift of SRUMMA). */
static const struct panel *panel_in_my_order(const struct summa *s, int k) {
    const struct grid *g = &s->grid;
    int shift = (int)((long)s->npanels * (g->row + g->col) / (g->rows + g->cols));
    return &s->panels[(k + shift) % s->npanels];
}

/* Fetches a panel and returns where it is: in the buffer, or in this rank's own block. */
static const double *fetch(struct summa *s, struct source from, double *buffer) {
    if (is_mine(s, &from))
        return from.block + from.at;
    app_timer_start(s->timer, APP_PHASE_COMMUNICATION);
    MPI_Get(buffer, from.count, MPI_DOUBLE, from.owner, (MPI_Aint)from.at, from.count, MPI_DOUBLE, from.win);
    app_timer_start(s->timer, APP_PHASE_WAITING);
    MPI_Win_flush(from.owner, from.win);
    app_timer_stop(s->timer, APP_PHASE_WAITING);
    app_timer_stop(s->timer, APP_PHASE_COMMUNICATION);
    return buffer;
}

void multiply_rma(struct summa *s, MPI_Win a, MPI_Win b) {
    double *a_buffer = app_memory_allocate(s->a_panel, sizeof(double));
    double *b_buffer = app_memory_allocate(s->b_panel, sizeof(double));
    for (int k = 0; k < s->npanels; k++) {
        const struct panel *panel = panel_in_my_order(s, k);
        const double *a_panel = fetch(s, source_of_a(s, panel, a), a_buffer);
        const double *b_panel = fetch(s, source_of_b(s, panel, b), b_buffer);
        summa_update(s, panel, a_panel, b_panel);
    }
    free(b_buffer);
    free(a_buffer);
}

/* The same, but what is not mine is only asked for: it is there once the request is complete. */
static const double *fetch_start(struct summa *s, struct source from, double *buffer, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    if (is_mine(s, &from))
        return from.block + from.at;
    app_timer_start(s->timer, APP_PHASE_COMMUNICATION);
    MPI_Rget(buffer, from.count, MPI_DOUBLE, from.owner, (MPI_Aint)from.at, from.count, MPI_DOUBLE, from.win,
             request);
    app_timer_stop(s->timer, APP_PHASE_COMMUNICATION);
    return buffer;
}

/* A panel of A and one of B that are here or on their way. */
struct incoming {
    const struct panel *panel;
    double *a_buffer, *b_buffer;
    const double *a, *b;
    MPI_Request requests[2];
};

static void incoming_start(struct summa *s, struct incoming *in, int k, MPI_Win a, MPI_Win b) {
    in->panel = panel_in_my_order(s, k);
    in->a = fetch_start(s, source_of_a(s, in->panel, a), in->a_buffer, &in->requests[0]);
    in->b = fetch_start(s, source_of_b(s, in->panel, b), in->b_buffer, &in->requests[1]);
}

static void incoming_wait(struct summa *s, struct incoming *in) {
    app_timer_start(s->timer, APP_PHASE_WAITING);
    MPI_Waitall(2, in->requests, MPI_STATUSES_IGNORE);
    app_timer_stop(s->timer, APP_PHASE_WAITING);
}

void multiply_rma_nb(struct summa *s, MPI_Win a, MPI_Win b) {
    struct incoming in[2];
    for (int i = 0; i < 2; i++) {
        in[i].a_buffer = app_memory_allocate(s->a_panel, sizeof(double));
        in[i].b_buffer = app_memory_allocate(s->b_panel, sizeof(double));
    }
    incoming_start(s, &in[0], 0, a, b);
    for (int k = 0; k < s->npanels; k++) {
        struct incoming *now = &in[k % 2];
        incoming_wait(s, now);
        if (k + 1 < s->npanels)
            incoming_start(s, &in[(k + 1) % 2], k + 1, a, b);
        summa_update(s, now->panel, now->a, now->b);
    }
    for (int i = 0; i < 2; i++) {
        free(in[i].b_buffer);
        free(in[i].a_buffer);
    }
}
