/* SPDX-License-Identifier: BSD-3-Clause */
#include "summa.h"

#include "app_memory.h"

#include <cblas.h>
#include <stdint.h>
#include <stdlib.h>

int piece_start(int n, int pieces, int k) {
    return (int)((int64_t)n * k / pieces);
}

static int min(int a, int b) {
    return a < b ? a : b;
}

void summa_plan(struct summa *s, int width) {
    const struct grid *g = &s->grid;
    s->rows = piece_start(s->n, g->rows, g->row + 1) - piece_start(s->n, g->rows, g->row);
    s->cols = piece_start(s->n, g->cols, g->col + 1) - piece_start(s->n, g->cols, g->col);
    s->npanels = 0;
    s->panels = app_memory_allocate((size_t)(s->n / width + g->rows + g->cols), sizeof *s->panels);
    int widest = 0;
    /* A panel ends where it is wide enough, or where a block of A or of B ends. */
    for (int from = 0, a_col = 0, b_row = 0; from < s->n;) {
        int a_start = piece_start(s->n, g->cols, a_col), a_end = piece_start(s->n, g->cols, a_col + 1);
        int b_start = piece_start(s->n, g->rows, b_row), b_end = piece_start(s->n, g->rows, b_row + 1);
        int end = min(from + width, min(a_end, b_end));
        s->panels[s->npanels++] = (struct panel){
            .width = end - from,
            .a_col = a_col,
            .b_row = b_row,
            .a_at = (size_t)(from - a_start) * (size_t)s->rows,
            .b_at = (size_t)(from - b_start) * (size_t)s->cols,
        };
        if (end - from > widest)
            widest = end - from;
        a_col += end == a_end;
        b_row += end == b_end;
        from = end;
    }
    s->a_panel = (size_t)widest * (size_t)s->rows;
    s->b_panel = (size_t)widest * (size_t)s->cols;
}

void summa_free(struct summa *s) {
    free(s->panels);
}

void summa_fill(struct summa *s) {
    int top = piece_start(s->n, s->grid.rows, s->grid.row);
    int left = piece_start(s->n, s->grid.cols, s->grid.col);
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < s->cols; j++) {
            s->a[(size_t)j * (size_t)s->rows + (size_t)i] = matrix_element(MATRIX_A, top + i, left + j);
            s->b[(size_t)i * (size_t)s->cols + (size_t)j] = matrix_element(MATRIX_B, top + i, left + j);
        }
}

void summa_update(struct summa *s, const struct panel *panel, const double *a, const double *b) {
    /* B is stored by rows: to a BLAS that thinks in columns it is the transposed panel. */
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, s->rows, s->cols, panel->width, 1.0, a, s->rows, b,
                s->cols, 1.0, s->c, s->rows);
}
