/* SPDX-License-Identifier: BSD-3-Clause */
#include "layout.h"
#include "matrix.h"
#include "solve.h"
#include "spread.h"

#include "app_check.h"
#include "app_report.h"

#include <mpi.h>

/* The classes of NPB 3, and the published eigenvalue estimate. */
static const struct problem {
    int n;
    int nonzeros;
    int steps;
    double shift;
    double zeta;
} problems[APP_CLASSES] = {
    {1400, 7, 15, 10.0, 8.5971775078648},
    {7000, 8, 15, 12.0, 10.362595087124},
    {14000, 11, 15, 20.0, 17.130235054029},
    {75000, 13, 75, 60.0, 22.712745482631},
};

static const double relative_error_limit = 1e-10;

static const struct app_description description = {
    .name = "cg", .summary = "conjugate gradients on a random sparse matrix (NAS CG)", .classes = "SWAB"};

/* NPB's count of floating-point operations of the whole benchmark. */
static double operations(const struct problem *problem) {
    double row = problem->nonzeros * (problem->nonzeros + 1.0);
    return 2.0 * problem->steps * problem->n * (3.0 + row + 25.0 * (5.0 + row) + 3.0);
}

static int run(const struct app_options *options) {
    const struct problem *problem = &problems[app_class_index(options)];
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!layout_possible(ranks))
        return app_refuse("cg: the number of ranks must be a power of two, at most 65536, not %d", ranks);

    struct app_timer timer = {0};
    struct layout layout = layout_make(MPI_COMM_WORLD, problem->n);
    struct matrix matrix = matrix_make(&layout, problem->nonzeros, problem->shift);
    struct spread spread;
    spread_open(&spread, MPI_COMM_WORLD, options, &layout, &matrix, &timer);
    struct solver solver;
    solver_open(&solver, &spread);

    double residual, zeta = 0.0;
    solver_reset(&solver);
    solver_step(&solver, &residual); /* as NPB does: one step to touch everything, which does not count */

    MPI_Barrier(MPI_COMM_WORLD);
    app_timer_reset(&timer);
    app_timer_start(&timer, APP_PHASE_TOTAL);
    solver_reset(&solver);
    for (int step = 1; step <= problem->steps; step++) {
        zeta = problem->shift + solver_step(&solver, &residual);
        app_progress(options, step, problem->steps);
    }
    app_timer_stop(&timer, APP_PHASE_TOTAL);

    struct app_report report;
    app_report_begin(&report, options, MPI_COMM_WORLD);
    app_report_integer(&report, "n", problem->n);
    app_report_integer(&report, "steps", problem->steps);
    app_report_figure(&report, "speed", operations(problem) / timer.elapsed[APP_PHASE_TOTAL] * 1e-6,
                      "Mflop/s");
    app_report_figure(&report, "residual", residual, "");
    app_report_verify(&report, "zeta", zeta, problem->zeta, relative_error_limit);
    int status = app_report_end(&report, &timer);

    solver_close(&solver);
    spread_close(&spread);
    matrix_free(&matrix);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&description, argc, argv, run);
}
