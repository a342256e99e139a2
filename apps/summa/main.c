/* SPDX-License-Identifier: BSD-3-Clause */
/* summa: C = A B for dense matrices on a grid of ranks. See README.md. */
#include "summa.h"

#include "app_check.h"
#include "app_memory.h"
#include "app_options.h"
#include "app_report.h"
#include "app_window.h"

#include <stdlib.h>
#include <string.h>

static long order = -1; /* negative: as the class says */
static const long class_orders[APP_CLASSES] = {256, 1024, 2048, 4096};
static long panel_width = 64;
static long repeats = 1;

static const struct app_option own_options[] = {
    {.name = "n",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &order,
     .minimum = 1,
     .maximum = 40000,
     .help = "order of the matrices (default: the class's; S 256, W 1024, A 2048, B 4096)"},
    {.name = "panel",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &panel_width,
     .minimum = 1,
     .maximum = 40000,
     .help = "columns of A, and rows of B, that are fetched at a time (default 64)"},
    {.name = "repeats",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &repeats,
     .minimum = 1,
     .maximum = 1000000,
     .help = "how often the product is formed; times are for all of them (default 1)"},
};

static const struct app_description summa_description = {
    .name = "summa",
    .summary = "matrix product on a grid of ranks, panels of A and B fetched as they are needed",
    .classes = "SWAB",
    .options = own_options,
    .option_count = sizeof own_options / sizeof own_options[0],
};

/* Up to here, every element is also compared with a product by the definition. */
enum { COMPARE_UP_TO = 512 };

static void multiply_all(struct summa *s, const struct app_options *options, MPI_Win a, MPI_Win b) {
    for (long repeat = 0; repeat < repeats; repeat++) {
        memset(s->c, 0, (size_t)s->rows * (size_t)s->cols * sizeof(double));
        switch (options->comm) {
        case APP_COMM_P2P:
            multiply_p2p(s);
            break;
        case APP_COMM_RMA:
            multiply_rma(s, a, b);
            break;
        case APP_COMM_RMA_NB:
            multiply_rma_nb(s, a, b);
            break;
        }
        app_progress(options, repeat + 1, repeats);
    }
}

/* The product, timed, with A and B in plain memory. */
static void run_two_sided(struct summa *s, const struct app_options *options, size_t block) {
    s->a = app_memory_allocate(block, sizeof(double));
    s->b = app_memory_allocate(block, sizeof(double));
    summa_fill(s);
    MPI_Barrier(s->grid.comm);
    app_timer_start(s->timer, APP_PHASE_TOTAL);
    multiply_all(s, options, MPI_WIN_NULL, MPI_WIN_NULL);
    app_timer_stop(s->timer, APP_PHASE_TOTAL);
    free(s->b);
    free(s->a);
}

/* The same with A and B in windows. */
static void run_one_sided(struct summa *s, const struct app_options *options, size_t block) {
    struct app_window a, b;
    const size_t bytes = block * sizeof(double);
    app_window_make(&a, options->flavour, bytes, sizeof(double), MPI_INFO_NULL, s->grid.comm);
    app_window_make(&b, options->flavour, bytes, sizeof(double), MPI_INFO_NULL, s->grid.comm);
    s->a = a.base;
    s->b = b.base;
    MPI_Win_lock_all(0, a.win);
    MPI_Win_lock_all(0, b.win);
    summa_fill(s);
    MPI_Win_sync(a.win); /* what I stored is there for others to get, after the barrier */
    MPI_Win_sync(b.win);
    MPI_Barrier(s->grid.comm);
    app_timer_start(s->timer, APP_PHASE_TOTAL);
    multiply_all(s, options, a.win, b.win);
    app_timer_stop(s->timer, APP_PHASE_TOTAL);
    MPI_Win_unlock_all(b.win);
    MPI_Win_unlock_all(a.win);
    app_window_free(&b);
    app_window_free(&a);
}

static int report_result(struct summa *s, const struct app_options *options) {
    double seconds = app_timer_collect(s->timer, s->grid.comm).maximum[APP_PHASE_TOTAL];
    struct app_report report;
    app_report_begin(&report, options, s->grid.comm);
    app_report_integer(&report, "n", s->n);
    app_report_integer(&report, "panel", panel_width);
    app_report_integer(&report, "grid rows", s->grid.rows);
    app_report_integer(&report, "grid columns", s->grid.cols);
    app_report_integer(&report, "repeats", repeats);
    app_report_figure(&report, "speed", 2.0 * s->n * s->n * s->n * (double)repeats / seconds * 1e-9,
                      "Gflop/s");
    app_report_verify_bound(&report, "residual", summa_residual(s), 1.0);
    if (s->n <= COMPARE_UP_TO)
        app_report_verify_bound(&report, "elements", summa_compare(s), 1.0);
    return app_report_end(&report, s->timer);
}

static int run(const struct app_options *options) {
    struct app_timer timer = {0};
    if (order < 0)
        order = class_orders[app_class_index(options)];
    struct summa s = {.n = (int)order, .timer = &timer};
    grid_open(&s.grid, MPI_COMM_WORLD);
    int status;
    if (s.n < s.grid.rows || s.n < s.grid.cols) {
        status = app_refuse("summa: a grid of %d x %d ranks needs n of at least %d, not %d", s.grid.rows,
                            s.grid.cols, s.grid.rows > s.grid.cols ? s.grid.rows : s.grid.cols, s.n);
    } else {
        blas_use_one_thread();
        summa_plan(&s, (int)panel_width);
        const size_t block = (size_t)s.rows * (size_t)s.cols;
        s.c = app_memory_allocate(block, sizeof(double));
        if (options->comm == APP_COMM_P2P)
            run_two_sided(&s, options, block);
        else
            run_one_sided(&s, options, block);
        status = report_result(&s, options);
        free(s.c);
        summa_free(&s);
    }
    grid_close(&s.grid);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&summa_description, argc, argv, run);
}
