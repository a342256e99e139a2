/* SPDX-License-Identifier: BSD-3-Clause */
/* quake: elastic waves from an explosion in a solid block, on a staggered grid. See README.md. */
#include "app_check.h"
#include "app_options.h"
#include "app_report.h"
#include "app_timer.h"
#include "simulation.h"
#include "verify.h"

#include <mpi.h>
#include <stddef.h>

static long points = 0; /* 0: the class's */
static const int class_points[APP_CLASSES] = {32, 64, 128, 192};
static long steps = 0;
static int serial_check = 0;

static const char *const serial_check_words[] = {"auto", "yes", "no", NULL};
enum { SERIAL_AUTO, SERIAL_YES, SERIAL_NO };

static const struct app_option own_options[] = {
    {.name = "points",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &points,
     .minimum = 24,
     .maximum = 512,
     .help = "grid points along each side of a rank's block (default S 32, W 64, A 128, B 192)"},
    {.name = "steps",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &steps,
     .minimum = 1,
     .maximum = 1000000,
     .help = "time steps (default: until the wave has passed the receivers, which is the least)"},
    {.name = "serial-check",
     .kind = APP_OPTION_CHOICE,
     .value.choice = &serial_check,
     .choices = serial_check_words,
     .help = "compare with the same run on one rank (default auto: classes S and W, up to 64 points)"},
};

static const struct app_description quake = {
    .name = "quake",
    .summary =
        "elastic waves, staggered grid, 4th order in space; weak scaling (default 128^3 points per rank)",
    .classes = "ASWB",
    .options = own_options,
    .option_count = sizeof own_options / sizeof own_options[0],
};

static int run(const struct app_options *options) {
    int rank_count, ranks_along[AXES] = {0, 0, 0};
    const int open_ends[AXES] = {0, 0, 0};
    MPI_Comm cart;
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    MPI_Dims_create(rank_count, AXES, ranks_along);
    MPI_Cart_create(MPI_COMM_WORLD, AXES, ranks_along, open_ends, 0, &cart);

    const int n = points > 0 ? (int)points : class_points[app_class_index(options)];
    struct experiment experiment = experiment_plan(n, ranks_along);
    if (steps > 0 && steps < experiment.steps_recorded) {
        MPI_Comm_free(&cart);
        return app_refuse("quake: --steps=%ld: the wave needs %ld steps to pass the receivers", steps,
                          experiment.steps_recorded);
    }
    if (steps > 0)
        experiment.steps = steps;

    struct app_timer timer = {0};
    struct simulation simulation;
    simulation_create(&simulation, &experiment, options, cart, &timer);
    app_timer_reset(&timer);
    MPI_Barrier(cart);
    app_timer_start(&timer, APP_PHASE_TOTAL);
    simulation_run(&simulation);
    app_timer_stop(&timer, APP_PHASE_TOTAL);
    const struct app_timing timing = app_timer_collect(&timer, cart);

    struct app_report report;
    app_report_begin(&report, options, cart);
    app_report_integer(&report, "points x", experiment.global[0]);
    app_report_integer(&report, "points y", experiment.global[1]);
    app_report_integer(&report, "points z", experiment.global[2]);
    app_report_integer(&report, "steps", experiment.steps);
    const double updates =
        (double)experiment.steps * experiment.global[0] * experiment.global[1] * experiment.global[2];
    app_report_figure(&report, "speed", updates / timing.maximum[APP_PHASE_TOTAL] / 1e6, "Mpoints/s");
    verify_arrival(&report, &simulation, cart);
    if (rank_count > 1 && (serial_check == SERIAL_YES || (serial_check == SERIAL_AUTO && n <= 64)))
        verify_against_serial(&report, &simulation, cart);
    simulation_destroy(&simulation);
    const int status = app_report_end(&report, &timer);
    MPI_Comm_free(&cart);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&quake, argc, argv, run);
}
