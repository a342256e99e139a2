/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line that every benchmark program has, and the pinning of a process. Knows no MPI.
 *
 * A program states which dimensions it has (modes, operations, flavours, sizes, values) and what it runs when
 * nothing is asked for; the command line may choose among them. Everything here is called by one thread. */
#ifndef TRUERMA_BENCH_OPTIONS_H
#define TRUERMA_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MAX_ITEMS = 64 };

/* A list of numbers: sizes in bytes, or a program's own values. */
struct bench_numbers {
    int count;
    long long item[BENCH_MAX_ITEMS];
};

/* What a program measures. A dimension that is NULL does not exist for it, and its option is refused. */
struct bench_program {
    const char *name;
    const char *summary; /* one sentence for --help */
    const char *modes;   /* comma-separated names, all run by default */
    const char *ops;     /* the same */
    const char *flavours;
    const char *sizes;       /* default list, bytes, K and M understood */
    const char *values;      /* default list of the program's own dimension */
    const char *values_help; /* what the values are */
    int reps;                /* default number of samples per cell (0: 31) */
    int budget_ms;           /* default time per cell (0: 60) */
};

struct bench_options {
    const struct bench_program *program;
    const char *modes, *ops, *flavours; /* the chosen subset, comma-separated */
    struct bench_numbers sizes, values;
    int reps;                  /* samples per cell */
    double budget_ms;          /* time per cell that the number of iterations is chosen by */
    double warm_ms;            /* use of a created window before it is measured */
    double patience_ms;        /* time in all to wait for a machine at its best, see bench.h */
    struct bench_numbers best; /* what it is like then, nanoseconds: a word from CPU to CPU, bench_pace_ns;
                                  none: as the program finds it */
    bool threads;              /* MPI_THREAD_MULTIPLE is asked for, as mpi4py does */
    const char *turns;         /* where turns are handed out, see turn.h; NULL: alone */
    const char *pin;           /* NULL: not pinned; "auto": round robin; else a list of CPUs */
};

/* Parses the command line. Returns 0, or 1 when the program is to end successfully (--help), or 2 when the
 * command line is wrong. Help and messages are printed if `speak`. The result points into argv and `program`.
 */
int bench_options_parse(struct bench_options *options, const struct bench_program *program, int argc,
                        char **argv, bool speak);

/* Whether `name` is among the comma-separated `list`; false for a NULL list. */
bool bench_list_has(const char *list, const char *name);

/* Copies entry number `index` of a comma-separated list to `entry` (of `room` bytes); false when there are
 * not so many. */
bool bench_list_entry(const char *list, int index, char *entry, size_t room);

/* Binds the calling process to one CPU: the `rank`-th of the list `pin`, round robin, or of all that it is
 * allowed for "auto". Returns 0, or -1 after a message on stderr. */
int bench_pin(const char *pin, int rank);

#endif
