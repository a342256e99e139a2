/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI benchmark programs share: start and end, windows, timed repetition, checked results.
 *
 * The programs are plain MPI programs, the same under the host MPI alone and beneath TrueRMA. All functions
 * are collective over MPI_COMM_WORLD unless they say otherwise, and are called by one thread. */
#ifndef TRUERMA_BENCH_BENCH_H
#define TRUERMA_BENCH_BENCH_H

#include "measure.h"
#include "options.h"
#include "turn.h"

#include <mpi.h>

struct bench {
    struct bench_options options;
    int rank, ranks;
    _Atomic unsigned *meeting; /* how often ranks have come to a meeting, see bench.c */
};

/* Starts MPI, parses the command line, pins the rank. Ends the process after --help (0), a wrong command
 * line, or a number of ranks outside min_ranks..max_ranks (2). */
void bench_begin(struct bench *bench, const struct bench_program *program, int argc, char **argv,
                 int min_ranks, int max_ranks);

/* Ends MPI. Returns the exit status for main. */
int bench_end(void);

/* A window and the memory that it was made on. */
struct bench_window {
    MPI_Win win;
    char *base;
    size_t bytes;
    bool created; /* the memory is ours to free */
};

/* Makes a window over `comm` with `bytes` on this rank (zeroed, on a page's beginning for "create";
 * displacement unit 1); `flavour` is "create" or "allocate". Freed by bench_window_free. Collective over
 * `comm`. */
void bench_window_make(struct bench_window *window, const char *flavour, size_t bytes, MPI_Comm comm);
void bench_window_free(struct bench_window *window);

/* What is repeated and timed. Every rank runs all functions; those that are NULL are left out. */
struct bench_task {
    void *context;
    void (*open)(void *context);                 /* before each sample, not timed */
    void (*run)(void *context, long iterations); /* timed; after it comes a barrier */
    void (*close)(void *context);                /* after each sample, not timed */
    long (*check)(void *context);                /* after each sample; the number of words found wrong */
    long least;                                  /* iterations per sample at least (0: 1) */
    long most;                                   /* and at most (0: any) */
    long before; /* iterations before each sample, not timed: the first one after a check takes the lines away
                    from who has looked at them */
    bool each;   /* every iteration is a sample of its own, and no host barrier stands between them */
    bool warm;   /* is used for the options' warm_ms before the first sample: a created window's traffic earns
                    its adoption (src/core/win/win_adopt.h) meanwhile */
    bool together; /* a sample lasts from the first rank's begin to the last rank's end, on all ranks */
};

/* Lets the programs have a turn that this one takes turns with (turn.h); nothing without them. */
void bench_give_turn(const struct bench *bench, enum bench_turn_end end);

/* Warms up, chooses the iterations per sample by the options' budget and repeats; samples during which
 * another tenant slowed a core down, or a virtual machine's CPUs went apart, are taken again, up to three
 * times as many. While the options' patience lasts, it is waited until they are near each other and fast, and
 * what was measured while they were not is measured again. Other programs have their turns between samples,
 * and after the last one. Each rank's own times are in its `samples`. A wrong word anywhere
 * ends the run through bench_verify. */
void bench_run(const struct bench *bench, const struct bench_task *task, struct bench_samples *samples);

/* The same for up to BENCH_MAX_TURNS tasks that are compared with each other (none of them `each`): a sample
 * of the first, one of the second and so on, then again; `samples` has an entry for each. */
enum { BENCH_MAX_TURNS = 3 };
void bench_run_in_turns(const struct bench *bench, const struct bench_task *tasks, int count,
                        struct bench_samples *samples);

/* Ends all ranks with exit status 1 if `wrong` is not 0 on any of them, which says "CHECK FAILED". */
void bench_verify(const struct bench *bench, long wrong, const char *what);

/* Whether there are more ranks than CPUs. Not collective. */
bool bench_is_crowded(const struct bench *bench);

/* Prints the cell from rank `from`'s samples, on rank 0; fills in the program's name and the number of ranks.
 */
void bench_emit(const struct bench *bench, struct bench_cell *cell, struct bench_samples *samples, int from);

/* The largest size, or value, that was asked for. Not collective. */
long long bench_largest(const struct bench_numbers *numbers);

#endif
