/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict that every application's verification rests on: what is wrong must come out as wrong. */
#include "app_check.h"
#include "app_report.h"

#include <math.h>
#include <stdio.h>

static int failures;

static const struct app_description description = {.name = "test", .summary = "", .classes = "S"};

/* The exit status of a report with one check: against a reference, or against a bound when `reference` is
 * NaN. */
static int verdict(double value, double reference, double limit) {
    struct app_options options = {.application = &description, .problem_class = 'S', .json = true};
    struct app_timer timer = {0};
    struct app_report report;
    app_report_begin(&report, &options, MPI_COMM_WORLD);
    app_report_verify_bound(&report, "good", 0.0, 0.0);
    if (isnan(reference))
        app_report_verify_bound(&report, "bound", value, limit);
    else
        app_report_verify(&report, "reference", value, reference, limit);
    return app_report_end(&report, &timer);
}

static void expect(const char *what, int status, int wanted) {
    if (status == wanted)
        return;
    fprintf(stderr, "FAILED: %s: exit status %d, not %d\n", what, status, wanted);
    failures++;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    expect("equal", verdict(2.0, 2.0, 0.0), APP_EXIT_VERIFIED);
    expect("within the limit", verdict(-2.0 - 1e-9, -2.0, 1e-9), APP_EXIT_VERIFIED);
    expect("beyond the limit", verdict(2.0 + 3e-9, 2.0, 1e-9), APP_EXIT_FAILED);
    expect("wrong sign", verdict(-2.0, 2.0, 1e-9), APP_EXIT_FAILED);
    expect("not a number", verdict(NAN, 2.0, 1e-9), APP_EXIT_FAILED);
    expect("infinite", verdict(INFINITY, 2.0, 1e-9), APP_EXIT_FAILED);
    expect("reference 0, within", verdict(1e-10, 0.0, 1e-9), APP_EXIT_VERIFIED);
    expect("reference 0, beyond", verdict(1e-8, 0.0, 1e-9), APP_EXIT_FAILED);
    expect("bound, within", verdict(-0.5, NAN, 1.0), APP_EXIT_VERIFIED);
    expect("bound, beyond", verdict(-1.5, NAN, 1.0), APP_EXIT_FAILED);
    expect("bound, not a number", verdict(NAN, NAN, 1.0), APP_EXIT_FAILED);
    /* rank 0's value counts, on every rank */
    expect("wrong on rank 0", verdict(rank == 0 ? 1.0 : 2.0, 2.0, 1e-9), APP_EXIT_FAILED);

    struct app_options options = {.application = &description, .problem_class = 'S', .json = true};
    struct app_timer timer = {0};
    struct app_report report;
    app_report_begin(&report, &options, MPI_COMM_WORLD);
    expect("nothing checked", app_report_end(&report, &timer), APP_EXIT_FAILED);

    MPI_Finalize();
    return failures != 0;
}
