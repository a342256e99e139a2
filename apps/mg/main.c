/* SPDX-License-Identifier: BSD-3-Clause */
#include "multigrid.h"

#include "app_check.h"
#include "app_report.h"

#include <stddef.h>

/* The classes of NPB 3: edge 2^levels, V-cycles, and the published norm of the residual after them. */
static const struct problem {
    int levels;
    int iterations;
    struct weights smoother;
    double norm;
} problems[APP_CLASSES] = {
    {5, 4, {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0}, 0.5307707005734e-04},
    {7, 4, {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0}, 0.6467329375339e-05},
    {8, 4, {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0}, 0.2433365309069e-05},
    {8, 20, {-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0.0}, 0.1800564401355e-05},
};

static const double relative_error_limit = 1e-8;

/* NPB's count of floating-point operations per point and V-cycle. */
static const double operations_per_point = 58.0;

static const struct app_description description = {
    .name = "mg", .summary = "multigrid V-cycles on a periodic cube (NAS MG)", .classes = "SWAB"};

static int run(const struct app_options *options) {
    const struct problem *problem = &problems[app_class_index(options)];
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!multigrid_possible(problem->levels, ranks))
        return app_refuse("mg: class %c runs on a power of two of ranks, at most %d, not on %d",
                          options->problem_class, 1 << 3 * (problem->levels - 1), ranks);

    struct app_timer timer = {0};
    struct multigrid mg;
    multigrid_open(&mg, MPI_COMM_WORLD, options, problem->levels, problem->smoother, &timer);
    multigrid_charge(&mg);

    MPI_Barrier(MPI_COMM_WORLD);
    app_timer_start(&timer, APP_PHASE_TOTAL);
    multigrid_residual(&mg);
    for (int i = 1; i <= problem->iterations; i++) {
        multigrid_cycle(&mg);
        multigrid_residual(&mg);
        app_progress(options, i, problem->iterations);
    }
    double norm = multigrid_norm(&mg);
    app_timer_stop(&timer, APP_PHASE_TOTAL);

    double edge = 1 << problem->levels;
    struct app_report report;
    app_report_begin(&report, options, MPI_COMM_WORLD);
    app_report_integer(&report, "edge", 1L << problem->levels);
    app_report_integer(&report, "iterations", problem->iterations);
    app_report_figure(&report, "speed",
                      operations_per_point * problem->iterations * edge * edge * edge /
                          timer.elapsed[APP_PHASE_TOTAL] * 1e-6,
                      "Mflop/s");
    app_report_verify(&report, "norm", norm, problem->norm, relative_error_limit);
    int status = app_report_end(&report, &timer);
    multigrid_close(&mg);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&description, argc, argv, run);
}
