/* SPDX-License-Identifier: BSD-3-Clause */
/* lu: blocked LU factorisation of a dense matrix on a grid of ranks. See README.md. */
#include "lu.h"

#include "app_memory.h"
#include "app_report.h"
#include "app_window.h"

#include <stdlib.h>

static long order = -1; /* negative, both: as the class says */
static long block_size = -1;

static const struct app_option own_options[] = {
    {.name = "n",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &order,
     .minimum = 1,
     .maximum = 40000,
     .help = "order of the matrix (default: the class's; S 256, W 1024, A 2048, B 4096)"},
    {.name = "block",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &block_size,
     .minimum = 1,
     .maximum = 4096,
     .help = "rows and columns of a block (default: the class's; S 32, W 64, A 64, B 128)"},
};

static const struct app_description lu_description = {
    .name = "lu",
    .summary = "blocked LU factorisation without pivoting, blocks fetched as they are needed",
    .classes = "SWAB",
    .options = own_options,
    .option_count = sizeof own_options / sizeof own_options[0],
};

static void choose_size(const struct app_options *options) {
    static const long orders[APP_CLASSES] = {256, 1024, 2048, 4096};
    static const long block_sizes[APP_CLASSES] = {32, 64, 64, 128};
    const int problem = app_class_index(options);
    order = order > 0 ? order : orders[problem];
    block_size = block_size > 0 ? block_size : block_sizes[problem];
    if (block_size > order)
        block_size = order;
}

/* The factorisation, timed, with the blocks in plain memory. The caller frees the blocks. */
static void run_two_sided(struct lu *lu, size_t doubles) {
    lu->blocks = app_memory_allocate(doubles, sizeof(double));
    lu_fill(lu);
    MPI_Barrier(lu->grid.comm);
    app_timer_start(lu->timer, APP_PHASE_TOTAL);
    factorise_p2p(lu);
    app_timer_stop(lu->timer, APP_PHASE_TOTAL);
}

/* The same with the blocks in a window, which the caller frees. */
static void run_one_sided(struct lu *lu, size_t doubles, struct app_window *window) {
    app_window_make(window, lu->options->flavour, doubles * sizeof(double), sizeof(double), MPI_INFO_NULL,
                    lu->grid.comm);
    lu->blocks = window->base;
    lu_fill(lu);
    MPI_Win_lock_all(0, window->win);
    MPI_Barrier(lu->grid.comm);
    app_timer_start(lu->timer, APP_PHASE_TOTAL);
    if (lu->options->comm == APP_COMM_RMA)
        factorise_rma(lu, window->win);
    else
        factorise_rma_nb(lu, window->win);
    app_timer_stop(lu->timer, APP_PHASE_TOTAL);
    MPI_Win_unlock_all(window->win);
}

static int report_result(struct lu *lu) {
    const struct app_timer timed = *lu->timer; /* the check communicates as well */
    double seconds = app_timer_collect(&timed, lu->grid.comm).maximum[APP_PHASE_TOTAL];
    struct app_report report;
    app_report_begin(&report, lu->options, lu->grid.comm);
    app_report_integer(&report, "n", lu->n);
    app_report_integer(&report, "block", lu->b);
    app_report_integer(&report, "grid rows", lu->grid.rows);
    app_report_integer(&report, "grid columns", lu->grid.cols);
    app_report_figure(&report, "speed", 2.0 / 3.0 * lu->n * lu->n * lu->n / seconds * 1e-9, "Gflop/s");
    app_report_verify_bound(&report, "residual", lu_residual(lu), 1.0);
    return app_report_end(&report, &timed);
}

static int run(const struct app_options *options) {
    choose_size(options);
    blas_use_one_thread();
    struct app_timer timer = {0};
    struct app_window window;
    struct lu lu = {.n = (int)order, .b = (int)block_size, .timer = &timer, .options = options};
    grid_open(&lu.grid, MPI_COMM_WORLD);
    size_t doubles = lu_plan(&lu);
    if (options->comm == APP_COMM_P2P)
        run_two_sided(&lu, doubles);
    else
        run_one_sided(&lu, doubles, &window);
    int status = report_result(&lu);
    if (options->comm == APP_COMM_P2P)
        free(lu.blocks);
    else
        app_window_free(&window);
    grid_close(&lu.grid);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&lu_description, argc, argv, run);
}
