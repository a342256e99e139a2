/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line that all applications share, by getopt_long, and each application's own options from a
 * table.
 *
 *     static long iterations = -1; // negative: as the class says
 *     static const struct app_option own[] = {
 *         {.name = "iterations", .kind = APP_OPTION_INTEGER, .value.integer = &iterations,
 *          .minimum = 1, .maximum = 1000, .help = "number of iterations (default: the class's)"}};
 *     static const struct app_description mg = {.name = "mg", .summary = "...", .classes = "SWAB",
 *                                               .options = own, .option_count = 1};
 *
 *     static int run(const struct app_options *options); // returns an exit status
 *
 *     int main(int argc, char **argv)
 *     {
 *         return app_main(&mg, argc, argv, run);
 *     }
 */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* How data travels between ranks: --comm. */
enum app_comm {
    APP_COMM_P2P,   /* p2p: MPI_Isend, MPI_Irecv */
    APP_COMM_RMA,   /* rma: one-sided, each transfer finished before the work goes on */
    APP_COMM_RMA_NB /* rma-nb: one-sided, transfers in flight while the work goes on */
};

/* Where window memory comes from: --window. */
enum app_flavour {
    APP_WINDOW_CREATE,  /* create: MPI_Win_create on the application's own memory */
    APP_WINDOW_ALLOCATE /* allocate: MPI_Win_allocate */
};

enum app_option_kind {
    APP_OPTION_INTEGER, /* value.integer, within [minimum, maximum] */
    APP_OPTION_REAL,    /* value.real, within [minimum, maximum] */
    APP_OPTION_CHOICE,  /* value.choice becomes the index of the word within choices */
    APP_OPTION_FLAG     /* value.flag becomes true; takes no argument */
};

/* One option of one application. The variable that `value` points to holds the default before the call. */
struct app_option {
    const char *name; /* without the leading -- */
    enum app_option_kind kind;
    union {
        long *integer;
        double *real;
        int *choice;
        bool *flag;
    } value;
    double minimum, maximum;    /* limits, both allowed; integers must be exact as doubles */
    const char *const *choices; /* ends with NULL; for APP_OPTION_CHOICE */
    const char *help;           /* one line */
};

struct app_description {
    const char *name;    /* as typed: "mg" */
    const char *summary; /* one line for --help */
    const char *classes; /* the letters that --class takes, the first is the default: "SWAB" */
    const struct app_option *options;
    size_t option_count;
};

/* The values of the common options. */
struct app_options {
    const struct app_description *application;
    enum app_comm comm;       /* --comm=p2p|rma|rma-nb, default rma-nb */
    enum app_flavour flavour; /* --window=create|allocate, default create */
    char problem_class;       /* --class=X */
    bool progress;            /* --progress: rank 0 says on stderr how far it is */
    bool json;                /* --json[=FILE]: the report as JSON instead of text */
    const char *json_file;    /* NULL: stdout; points into argv */
};

/*
 * The whole of an application: initialises MPI, reads the command line, calls `run` on every rank if there is
 * nothing to say against it, finalises MPI. Returns the exit status: that of `run`, 0 after --help,
 * APP_EXIT_USAGE after a wrong option.
 */
int app_main(const struct app_description *application, int argc, char **argv,
             int (*run)(const struct app_options *options));

/* What app_options_parse returns when the application is to run; anything else is an exit status. */
enum { APP_OPTIONS_RUN = -1 };

/*
 * Reads the command line into `options` and the application's variables. Collective over MPI_COMM_WORLD,
 * after MPI_Init. Returns APP_OPTIONS_RUN on every rank, or on every rank the same exit status: 0 after
 * --help, APP_EXIT_USAGE after a wrong option, about which rank 0 said one line on stderr. Not thread-safe
 * (getopt_long).
 */
int app_options_parse(const struct app_description *application, int argc, char **argv,
                      struct app_options *options);

/* The place of the problem's class in a table with a value for each of S, W, A and B. */
enum { APP_CLASSES = 4 };
int app_class_index(const struct app_options *options);

/* The words as typed on the command line: "rma-nb", "create". */
const char *app_comm_name(enum app_comm comm);
const char *app_flavour_name(enum app_flavour flavour);

/* With --progress, rank 0 of MPI_COMM_WORLD says "NAME: STEP of STEPS" on stderr at most once per second, and
 * at the last step. */
void app_progress(const struct app_options *options, long step, long steps);

#endif
