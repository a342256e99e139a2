/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_options.h"

#include "app_check.h"

#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const comm_names[] = {"p2p", "rma", "rma-nb", NULL};
static const char *const flavour_names[] = {"create", "allocate", NULL};
static const char class_names[APP_CLASSES + 1] = "SWAB";

/* getopt_long's return values: the common options, then the application's by their place in its table. */
enum {
    OPTION_COMM = 256,
    OPTION_WINDOW,
    OPTION_CLASS,
    OPTION_JSON,
    OPTION_PROGRESS,
    OPTION_HELP,
    OPTION_OWN
};

const char *app_comm_name(enum app_comm comm) {
    return comm_names[comm];
}

const char *app_flavour_name(enum app_flavour flavour) {
    return flavour_names[flavour];
}

int app_class_index(const struct app_options *options) {
    return (int)(strchr(class_names, options->problem_class) - class_names);
}

/* The state of one command line being read: the first complaint is kept, and said by rank 0 later. */
struct parser {
    const struct app_description *application;
    bool help;
    char complaint[256];
};

static void complain(struct parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(struct parser *parser, const char *format, ...) {
    if (parser->complaint[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->complaint, sizeof parser->complaint, format, arguments);
    va_end(arguments);
}

static int read_choice(struct parser *parser, const char *option, const char *text,
                       const char *const *choices) {
    char allowed[128] = "";
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) == 0)
            return i;
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i > 0 ? ", " : "", choices[i]);
    }
    complain(parser, "--%s=%s: allowed are %s", option, text, allowed);
    return 0;
}

static double read_number(struct parser *parser, const struct app_option *option, const char *text) {
    bool integer = option->kind == APP_OPTION_INTEGER;
    char *end;
    errno = 0;
    double number = integer ? (double)strtol(text, &end, 10) : strtod(text, &end);
    /* written so that a NaN fails */
    bool good =
        errno == 0 && end != text && *end == '\0' && number >= option->minimum && number <= option->maximum;
    if (!good)
        complain(parser, "--%s=%s: allowed is %s from %.15g to %.15g", option->name, text,
                 integer ? "an integer" : "a number", option->minimum, option->maximum);
    return number;
}

static void read_own(struct parser *parser, const struct app_option *option, const char *text) {
    switch (option->kind) {
    case APP_OPTION_INTEGER:
        *option->value.integer = (long)read_number(parser, option, text);
        break;
    case APP_OPTION_REAL:
        *option->value.real = read_number(parser, option, text);
        break;
    case APP_OPTION_CHOICE:
        *option->value.choice = read_choice(parser, option->name, text, option->choices);
        break;
    case APP_OPTION_FLAG:
        *option->value.flag = true;
        break;
    }
}

static char read_class(struct parser *parser, const char *text) {
    const char *classes = parser->application->classes;
    if (strlen(text) != 1 || strchr(classes, text[0]) == NULL) {
        complain(parser, "--class=%s: allowed is one letter of %s", text, classes);
        return classes[0];
    }
    return text[0];
}

static void print_help(const struct app_description *application) {
    printf("%s: %s\n\nusage: mpiexec -n RANKS %s [OPTIONS]\n\n", application->name, application->summary,
           application->name);
    printf("  --comm=p2p|rma|rma-nb     two-sided, one-sided, one-sided and overlapped (default rma-nb)\n"
           "  --window=create|allocate  window on the program's memory, or on MPI's (default create)\n"
           "  --class=C                 size of the problem, one letter of %s (default %c)\n"
           "  --json[=FILE]             report as JSON, to stdout or to FILE\n"
           "  --progress                say how far it is, on stderr\n"
           "  --help                    this text\n",
           application->classes, application->classes[0]);
    for (size_t i = 0; i < application->option_count; i++) {
        const struct app_option *option = &application->options[i];
        char left[128];
        int used = snprintf(left, sizeof left, "--%s", option->name);
        const char *meta[] = {
            [APP_OPTION_INTEGER] = "=N", [APP_OPTION_REAL] = "=X", [APP_OPTION_CHOICE] = "="};
        if (option->kind != APP_OPTION_FLAG)
            used += snprintf(left + used, sizeof left - (size_t)used, "%s", meta[option->kind]);
        for (int c = 0; option->kind == APP_OPTION_CHOICE && option->choices[c] != NULL; c++)
            used += snprintf(left + used, sizeof left - (size_t)used, "%s%s", c > 0 ? "|" : "",
                             option->choices[c]);
        printf("  %-25s %s\n", left, option->help);
    }
}

/* getopt_long's table: the common options, then the application's. To be freed by the caller. */
static struct option *make_table(const struct app_description *application) {
    static const struct option common[] = {
        {"comm", required_argument, NULL, OPTION_COMM},   {"window", required_argument, NULL, OPTION_WINDOW},
        {"class", required_argument, NULL, OPTION_CLASS}, {"json", optional_argument, NULL, OPTION_JSON},
        {"progress", no_argument, NULL, OPTION_PROGRESS}, {"help", no_argument, NULL, OPTION_HELP},
    };
    const size_t count = sizeof common / sizeof common[0];
    struct option *table = calloc(count + application->option_count + 1, sizeof *table);
    if (table == NULL)
        app_abort("no memory for %zu options", application->option_count);
    memcpy(table, common, sizeof common);
    for (size_t i = 0; i < application->option_count; i++) {
        const struct app_option *option = &application->options[i];
        int argument = option->kind == APP_OPTION_FLAG ? no_argument : required_argument;
        table[count + i] = (struct option){option->name, argument, NULL, OPTION_OWN + (int)i};
    }
    return table;
}

static void parse(struct parser *parser, int argc, char **argv, struct app_options *options) {
    struct option *table = make_table(parser->application);
    opterr = 0; /* every rank parses, but only rank 0 shall speak */
    for (;;) {
        int at = optind;
        int which = getopt_long(argc, argv, ":", table, NULL);
        if (which == -1)
            break;
        switch (which) {
        case OPTION_COMM:
            options->comm = (enum app_comm)read_choice(parser, "comm", optarg, comm_names);
            break;
        case OPTION_WINDOW:
            options->flavour = (enum app_flavour)read_choice(parser, "window", optarg, flavour_names);
            break;
        case OPTION_CLASS:
            options->problem_class = read_class(parser, optarg);
            break;
        case OPTION_JSON:
            options->json = true;
            options->json_file = optarg;
            break;
        case OPTION_PROGRESS:
            options->progress = true;
            break;
        case OPTION_HELP:
            parser->help = true;
            break;
        case ':':
            complain(parser, "%s needs a value; see --help", argv[at]);
            break;
        case '?':
            complain(parser, "unknown or malformed option %s; see --help", argv[at]);
            break;
        default:
            read_own(parser, &parser->application->options[which - OPTION_OWN], optarg);
            break;
        }
    }
    if (optind < argc)
        complain(parser, "unexpected argument %s; see --help", argv[optind]);
    free(table);
}

int app_options_parse(const struct app_description *application, int argc, char **argv,
                      struct app_options *options) {
    *options = (struct app_options){.application = application,
                                    .comm = APP_COMM_RMA_NB,
                                    .flavour = APP_WINDOW_CREATE,
                                    .problem_class = application->classes[0]};
    struct parser parser = {.application = application};
    parse(&parser, argc, argv, options);

    /* A job may be started with other options for other ranks: what rank 0 makes of its own is what all do.
     */
    int status = APP_OPTIONS_RUN;
    if (parser.help)
        status = APP_EXIT_VERIFIED;
    else if (parser.complaint[0] != '\0')
        status = APP_EXIT_USAGE;
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);

    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (status == APP_OPTIONS_RUN && parser.complaint[0] != '\0')
        app_abort("%s: %s", application->name, parser.complaint);
    if (status == APP_EXIT_VERIFIED && rank == 0)
        print_help(application);
    else if (status == APP_EXIT_USAGE)
        app_refuse("%s: %s", application->name, parser.complaint);
    return status;
}

int app_main(const struct app_description *application, int argc, char **argv,
             int (*run)(const struct app_options *options)) {
    MPI_Init(&argc, &argv);
    struct app_options options;
    int status = app_options_parse(application, argc, argv, &options);
    if (status == APP_OPTIONS_RUN)
        status = run(&options);
    MPI_Finalize();
    return status;
}

void app_progress(const struct app_options *options, long step, long steps) {
    static double last;
    int rank;
    if (!options->progress)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double now = MPI_Wtime();
    if (rank != 0 || (now - last < 1.0 && step < steps))
        return;
    last = now;
    fprintf(stderr, "%s: %ld of %ld\n", options->application->name, step, steps);
}
