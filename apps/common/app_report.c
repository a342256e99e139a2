/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_report.h"

#include "app_check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void app_report_begin(struct app_report *report, const struct app_options *options, MPI_Comm comm) {
    *report = (struct app_report){.options = options, .comm = comm};
}

static void add_value(struct app_report *report, struct app_report_value value) {
    if (report->value_count == APP_REPORT_LINES)
        app_abort("a report holds at most %d values", APP_REPORT_LINES);
    report->values[report->value_count++] = value;
}

void app_report_integer(struct app_report *report, const char *name, long value) {
    add_value(report,
              (struct app_report_value){.name = name, .unit = "", .value = (double)value, .integer = true});
}

void app_report_figure(struct app_report *report, const char *name, double value, const char *unit) {
    add_value(report, (struct app_report_value){.name = name, .unit = unit, .value = value});
}

static void add_check(struct app_report *report, struct app_report_check check) {
    if (report->check_count == APP_REPORT_LINES)
        app_abort("a report holds at most %d checks", APP_REPORT_LINES);
    check.good = check.error <= check.limit; /* false for NaN */
    report->checks[report->check_count++] = check;
}

void app_report_verify(struct app_report *report, const char *name, double value, double reference,
                       double limit) {
    double error = fabs(value - reference);
    if (reference != 0.0)
        error /= fabs(reference);
    add_check(report, (struct app_report_check){.name = name,
                                                .value = value,
                                                .reference = reference,
                                                .error = error,
                                                .limit = limit,
                                                .has_reference = true});
}

void app_report_verify_bound(struct app_report *report, const char *name, double value, double limit) {
    add_check(report,
              (struct app_report_check){.name = name, .value = value, .error = fabs(value), .limit = limit});
}

static bool all_good(const struct app_report *report) {
    bool good = report->check_count > 0;
    for (int i = 0; i < report->check_count; i++)
        good = good && report->checks[i].good;
    return good;
}

static void print_text(const struct app_report *report, const struct app_timing *timing, int ranks,
                       bool good) {
    const struct app_options *options = report->options;
    printf("%s class %c, %d ranks, comm %s, window %s\n", options->application->name, options->problem_class,
           ranks, app_comm_name(options->comm), app_flavour_name(options->flavour));
    for (int i = 0; i < report->value_count; i++) {
        const struct app_report_value *value = &report->values[i];
        printf(value->integer ? "  %-22s %.0f%s%s\n" : "  %-22s %.6g%s%s\n", value->name, value->value,
               value->unit[0] != '\0' ? " " : "", value->unit);
    }
    for (int phase = 0; phase < APP_PHASES; phase++)
        printf("  time %-17s %.6f s average, %.6f s maximum\n", app_phase_name(phase), timing->average[phase],
               timing->maximum[phase]);
    for (int i = 0; i < report->check_count; i++) {
        const struct app_report_check *check = &report->checks[i];
        if (check->has_reference)
            printf("  check %-16s %.13e, reference %.13e, relative error %.3e, limit %.1e: %s\n", check->name,
                   check->value, check->reference, check->error, check->limit,
                   check->good ? "good" : "WRONG");
        else
            printf("  check %-16s %.6e, limit %.1e: %s\n", check->name, check->value, check->limit,
                   check->good ? "good" : "WRONG");
    }
    puts(good ? "VERIFIED" : "FAILED");
    fflush(stdout);
}

/* JSON knows neither NaN nor infinity. */
static void print_json_number(FILE *out, double value) {
    if (isfinite(value))
        fprintf(out, "%.17g", value);
    else
        fputs("null", out);
}

static void print_json_member(FILE *out, const char *name, double value) {
    fprintf(out, ", \"%s\": ", name);
    print_json_number(out, value);
}

static void print_json(FILE *out, const struct app_report *report, const struct app_timing *timing, int ranks,
                       bool good) {
    const struct app_options *options = report->options;
    fprintf(
        out,
        "{\"application\": \"%s\", \"class\": \"%c\", \"ranks\": %d, \"comm\": \"%s\", \"window\": \"%s\",\n",
        options->application->name, options->problem_class, ranks, app_comm_name(options->comm),
        app_flavour_name(options->flavour));
    fputs(" \"values\": {", out);
    for (int i = 0; i < report->value_count; i++) {
        const struct app_report_value *value = &report->values[i];
        fprintf(out, "%s\n  \"%s\": {\"unit\": \"%s\"", i > 0 ? "," : "", value->name, value->unit);
        print_json_member(out, "value", value->value);
        fputc('}', out);
    }
    fputs("},\n \"time\": {", out);
    for (int phase = 0; phase < APP_PHASES; phase++) {
        fprintf(out, "%s\n  \"%s\": {\"unit\": \"s\"", phase > 0 ? "," : "", app_phase_name(phase));
        print_json_member(out, "average", timing->average[phase]);
        print_json_member(out, "maximum", timing->maximum[phase]);
        fputc('}', out);
    }
    fputs("},\n \"checks\": {", out);
    for (int i = 0; i < report->check_count; i++) {
        const struct app_report_check *check = &report->checks[i];
        fprintf(out, "%s\n  \"%s\": {\"good\": %s", i > 0 ? "," : "", check->name,
                check->good ? "true" : "false");
        print_json_member(out, "value", check->value);
        if (check->has_reference) {
            print_json_member(out, "reference", check->reference);
            print_json_member(out, "relative_error", check->error);
        }
        print_json_member(out, "limit", check->limit);
        fputc('}', out);
    }
    fprintf(out, "},\n \"verified\": %s}\n", good ? "true" : "false");
}

/* Returns whether all of it was written. */
static bool write_json(const struct app_report *report, const struct app_timing *timing, int ranks,
                       bool good) {
    const char *name = report->options->json_file;
    FILE *out = name != NULL ? fopen(name, "w") : stdout;
    if (out != NULL) {
        print_json(out, report, timing, ranks, good);
        bool written = ferror(out) == 0;
        written = (name != NULL ? fclose(out) : fflush(out)) == 0 && written;
        if (written)
            return true;
    }
    fprintf(stderr, "error: %s: the report cannot be written to %s: %s\n", report->options->application->name,
            name != NULL ? name : "stdout", strerror(errno));
    return false;
}

int app_report_end(struct app_report *report, const struct app_timer *timer) {
    struct app_timing timing = app_timer_collect(timer, report->comm);
    int rank, ranks;
    MPI_Comm_rank(report->comm, &rank);
    MPI_Comm_size(report->comm, &ranks);
    int status = APP_EXIT_FAILED;
    if (rank == 0) {
        bool good = all_good(report);
        bool written = true;
        if (report->options->json)
            written = write_json(report, &timing, ranks, good);
        else
            print_text(report, &timing, ranks, good);
        if (good && written)
            status = APP_EXIT_VERIFIED;
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, report->comm);
    return status;
}
