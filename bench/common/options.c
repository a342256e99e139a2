/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bench_list_entry(const char *list, int index, char *entry, size_t room) {
    if (list == NULL)
        return false;
    for (; index > 0; index--) {
        list = strchr(list, ',');
        if (list == NULL)
            return false;
        list++;
    }
    size_t length = strcspn(list, ",");
    if (length == 0 || length >= room)
        return false;
    memcpy(entry, list, length);
    entry[length] = '\0';
    return true;
}

bool bench_list_has(const char *list, const char *name) {
    char entry[64];
    for (int i = 0; bench_list_entry(list, i, entry, sizeof entry); i++) {
        if (strcmp(entry, name) == 0)
            return true;
    }
    return false;
}

/* A number with an optional K, M or G (powers of 1024); false when it is none. */
static bool number_parse(const char *text, long long *number) {
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *number < 0)
        return false;
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift != 0)
        end++;
    if (*end != '\0' || *number > (1LL << 40) >> shift)
        return false;
    *number <<= shift;
    return true;
}

static bool numbers_parse(const char *list, struct bench_numbers *numbers) {
    char entry[32];
    numbers->count = 0;
    for (int i = 0; bench_list_entry(list, i, entry, sizeof entry); i++) {
        if (i >= BENCH_MAX_ITEMS || !number_parse(entry, &numbers->item[i]))
            return false;
        numbers->count = i + 1;
    }
    int commas = 0;
    for (const char *c = list; *c != '\0'; c++)
        commas += *c == ',';
    return numbers->count == commas + 1;
}

static bool subset_parse(const char *what, const char *asked, const char *all, bool speak) {
    char entry[64] = "";
    int i = 0;
    for (; bench_list_entry(asked, i, entry, sizeof entry); i++) {
        if (!bench_list_has(all, entry))
            break;
        entry[0] = '\0';
    }
    if (entry[0] == '\0' && i > 0)
        return true;
    if (speak)
        fprintf(stderr, "--%s: '%s' is not among: %s\n", what, entry[0] ? entry : asked,
                all ? all : "(none)");
    return false;
}

static void help(const struct bench_options *options) {
    const struct bench_program *program = options->program;
    printf(
        "%s: %s\n\nOne JSON object per measured cell is printed by rank 0; data is checked in every run.\n\n",
        program->name, program->summary);
    if (program->modes != NULL)
        printf("  --mode LIST       synchronisation, among: %s\n", program->modes);
    if (program->ops != NULL)
        printf("  --op LIST         operations, among: %s\n", program->ops);
    if (program->flavours != NULL)
        printf("  --flavour LIST    windows, among: %s\n", program->flavours);
    if (program->sizes != NULL)
        printf("  --size LIST       bytes, K and M understood (default %s)\n", program->sizes);
    if (program->values != NULL)
        printf("  --values LIST     %s (default %s)\n", program->values_help, program->values);
    printf(
        "  --reps N          samples per cell (default %d)\n"
        "  --budget-ms T     time per cell that the number of iterations is chosen by (default %g)\n"
        "  --warm-ms T       use of a created window before it is measured (default 0)\n"
        "  --patience-ms T   time in all to wait until CPUs are near each other and fast (default 0)\n"
        "  --best-ns A,B     how fast they can be: a word between two of them, and the pace, as cells tell\n"
        "                    them (default: as the program finds)\n"
        "  --turns DIR,N     program N of those that bench/turns.py hands out turns to\n"
        "  --threads         ask for MPI_THREAD_MULTIPLE, as mpi4py does\n"
        "  --pin auto|LIST   bind rank r to the r-th CPU of the list, round robin\n"
        "  --help            print this\n",
        options->reps, options->budget_ms);
}

/* The defaults are the program's own lists, known to be right. */
static void defaults(struct bench_options *options, const struct bench_program *program) {
    *options = (struct bench_options){.program = program,
                                      .modes = program->modes,
                                      .ops = program->ops,
                                      .flavours = program->flavours,
                                      .reps = program->reps > 0 ? program->reps : 31,
                                      .budget_ms = program->budget_ms > 0 ? program->budget_ms : 60};
    if (program->sizes != NULL)
        numbers_parse(program->sizes, &options->sizes);
    if (program->values != NULL)
        numbers_parse(program->values, &options->values);
}

static bool list_option(const char *what, const char *fallback, struct bench_numbers *numbers, bool speak) {
    if (fallback != NULL && numbers_parse(optarg, numbers))
        return true;
    if (speak && fallback == NULL)
        fprintf(stderr, "--%s: this program has no such dimension\n", what);
    else if (speak)
        fprintf(stderr, "--%s: '%s' is not a comma-separated list of up to %d numbers such as %s\n", what,
                optarg, BENCH_MAX_ITEMS, fallback);
    return false;
}

int bench_options_parse(struct bench_options *options, const struct bench_program *program, int argc,
                        char **argv, bool speak) {
    static const struct option known[] = {{"mode", required_argument, NULL, 'm'},
                                          {"op", required_argument, NULL, 'o'},
                                          {"flavour", required_argument, NULL, 'f'},
                                          {"size", required_argument, NULL, 's'},
                                          {"values", required_argument, NULL, 'v'},
                                          {"reps", required_argument, NULL, 'r'},
                                          {"budget-ms", required_argument, NULL, 'b'},
                                          {"warm-ms", required_argument, NULL, 'w'},
                                          {"patience-ms", required_argument, NULL, 'P'},
                                          {"best-ns", required_argument, NULL, 'B'},
                                          {"turns", required_argument, NULL, 'T'},
                                          {"threads", no_argument, NULL, 't'},
                                          {"pin", required_argument, NULL, 'p'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    defaults(options, program);
    optind = 0; /* from the start, also when called again */
    opterr = speak;
    int c;
    bool good = true;
    while (good && (c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        long long number;
        switch (c) {
        case 'm':
            options->modes = optarg;
            good = subset_parse("mode", optarg, program->modes, speak);
            break;
        case 'o':
            options->ops = optarg;
            good = subset_parse("op", optarg, program->ops, speak);
            break;
        case 'f':
            options->flavours = optarg;
            good = subset_parse("flavour", optarg, program->flavours, speak);
            break;
        case 's':
            good = list_option("size", program->sizes, &options->sizes, speak);
            break;
        case 'v':
            good = list_option("values", program->values, &options->values, speak);
            break;
        case 'r':
        case 'b':
        case 'w':
        case 'P':
            good = number_parse(optarg, &number) && number > 0 && number <= 1000000;
            if (!good && speak)
                fprintf(stderr, "'%s' is not a number from 1 to 1000000\n", optarg);
            if (c == 'r')
                options->reps = (int)number;
            else if (c == 'w')
                options->warm_ms = (double)number;
            else if (c == 'P')
                options->patience_ms = (double)number;
            else
                options->budget_ms = (double)number;
            break;
        case 'B':
            good = numbers_parse(optarg, &options->best) && options->best.count == 2;
            if (!good && speak)
                fprintf(stderr, "--best-ns: '%s' is not two numbers of nanoseconds such as 60,4000\n",
                        optarg);
            break;
        case 'T':
            options->turns = optarg;
            break;
        case 't':
            options->threads = true;
            break;
        case 'p':
            options->pin = optarg;
            break;
        case 'h':
            if (speak) {
                defaults(options, program);
                help(options);
            }
            return 1;
        default:
            good = false;
        }
    }
    if (good && optind < argc) {
        if (speak)
            fprintf(stderr, "'%s': no such argument; see --help\n", argv[optind]);
        good = false;
    }
    return good ? 0 : 2;
}

/* The CPU for `rank` among those the process is allowed to use. */
static int cpu_auto(int rank) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return -1;
    int skip = rank % CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0)
            return cpu;
    }
    return -1;
}

int bench_pin(const char *pin, int rank) {
    if (pin == NULL)
        return 0;
    long long cpu = -1;
    struct bench_numbers cpus;
    if (strcmp(pin, "auto") == 0)
        cpu = cpu_auto(rank);
    else if (numbers_parse(pin, &cpus))
        cpu = cpus.item[rank % cpus.count];
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (cpu >= 0 && cpu < CPU_SETSIZE)
        CPU_SET((int)cpu, &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) == 0)
        return 0;
    fprintf(stderr,
            "--pin: rank %d cannot be bound by '%s': use auto, or a list of CPUs that this process may use\n",
            rank, pin);
    return -1;
}
