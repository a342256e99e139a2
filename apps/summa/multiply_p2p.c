/* SPDX-License-Identifier: BSD-3-Clause */
/* SUMMA as published: panel by panel, whoever has it broadcasts it along its row (A) or its column (B). */
#include "summa.h"

#include "app_memory.h"

#include <stdlib.h>

static void broadcast(struct summa *s, double *panel, int count, int root, MPI_Comm comm) {
    app_timer_start(s->timer, APP_PHASE_WAITING);
    MPI_Bcast(panel, count, MPI_DOUBLE, root, comm);
    app_timer_stop(s->timer, APP_PHASE_WAITING);
}

void multiply_p2p(struct summa *s) {
    const struct grid *g = &s->grid;
    double *a_buffer = app_memory_allocate(s->a_panel, sizeof(double));
    double *b_buffer = app_memory_allocate(s->b_panel, sizeof(double));
    for (int k = 0; k < s->npanels; k++) {
        const struct panel *panel = &s->panels[k];
        double *a = panel->a_col == g->col ? s->a + panel->a_at : a_buffer;
        double *b = panel->b_row == g->row ? s->b + panel->b_at : b_buffer;
        broadcast(s, a, panel->width * s->rows, panel->a_col, g->row_comm);
        broadcast(s, b, panel->width * s->cols, panel->b_row, g->col_comm);
        summa_update(s, panel, a, b);
    }
    free(b_buffer);
    free(a_buffer);
}
