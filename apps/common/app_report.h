/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an application says at its end: the problem, where the time went, figures, and whether the result is
 * right.
 *
 *     struct app_report report;
 *     app_report_begin(&report, &options, MPI_COMM_WORLD);
 *     app_report_integer(&report, "n", 32);
 *     app_report_figure(&report, "speed", 1.3e9, "flop/s");
 *     app_report_verify(&report, "norm", norm, 0.5307707005734e-04, 1e-8);
 *     return app_report_end(&report, &timer);
 *
 * All ranks make the same calls. The values of rank 0 count, so a value that differs between ranks is to be
 * reduced first. Text ends with a line VERIFIED or FAILED; JSON has "verified": true or false. Names become
 * JSON keys: letters, digits, blanks, _ and -.
 */
#ifndef APP_REPORT_H
#define APP_REPORT_H

#include "app_options.h"
#include "app_timer.h"

#include <mpi.h>
#include <stdbool.h>

enum { APP_REPORT_LINES = 32 }; /* the most values, and the most checks, of one report */

struct app_report_value {
    const char *name;
    const char *unit; /* "" without one */
    double value;
    bool integer;
};

struct app_report_check {
    const char *name;
    double value;
    double reference;
    double error; /* relative error, or the value itself when `reference` is absent */
    double limit;
    bool has_reference;
    bool good;
};

struct app_report {
    const struct app_options *options;
    MPI_Comm comm;
    int value_count, check_count;
    struct app_report_value values[APP_REPORT_LINES];
    struct app_report_check checks[APP_REPORT_LINES];
};

/* Starts a report; `options` and all names given later must stay until app_report_end. */
void app_report_begin(struct app_report *report, const struct app_options *options, MPI_Comm comm);

/* A parameter or a figure. Aborts the job beyond APP_REPORT_LINES of them, as the checks do. */
void app_report_integer(struct app_report *report, const char *name, long value);
void app_report_figure(struct app_report *report, const char *name, double value, const char *unit);

/* Right when |value - reference| <= limit * |reference| (for a reference of 0: |value| <= limit). NaN is
 * wrong. */
void app_report_verify(struct app_report *report, const char *name, double value, double reference,
                       double limit);

/* Right when |value| <= limit: residuals, drifts, counts of wrong elements (limit 0). NaN is wrong. */
void app_report_verify_bound(struct app_report *report, const char *name, double value, double limit);

/*
 * Prints the report on rank 0, to where --json says. Collective. Returns on every rank APP_EXIT_VERIFIED when
 * there is at least one check and all are good and the JSON file (if any) could be written, else
 * APP_EXIT_FAILED.
 */
int app_report_end(struct app_report *report, const struct app_timer *timer);

#endif
