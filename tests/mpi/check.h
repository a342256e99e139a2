/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_TEST_CHECK_H
#define TRMA_TEST_CHECK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * For MPI test programs that know nothing of TrueRMA: the same program runs on the host MPI alone and beneath
 * TrueRMA. A failed check is told with its place and counted; check_finish gives the exit code.
 */
extern int check_rank;
extern int check_ranks;

void check_begin(int *argc, char ***argv);
/* As check_begin with a thread level, which must be provided. */
void check_begin_threads(int *argc, char ***argv, int level);
/* Sums failures of all ranks, prints "N passed, M failed" on rank 0, finalizes. Returns main's exit code. */
int check_finish(void);
/* Checks that passed and failed in this process so far, for programs that cannot use check_finish. */
void check_counts(int counts[2]);

void check_one(bool passed, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define CHECK(condition)           check_one((condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_THAT(condition, ...) check_one((condition), __FILE__, __LINE__, __VA_ARGS__)
/* Two integers are equal. */
#define CHECK_SAME(actual, expected)                                                                         \
    check_same((long long)(actual), (long long)(expected), __FILE__, __LINE__, #actual)
void check_same(long long actual, long long expected, const char *file, int line, const char *text);
/* A call gives this error class (MPI_SUCCESS included). */
#define CHECK_CLASS(call, expected) check_class((call), (expected), __FILE__, __LINE__, #call)
void check_class(int code, int expected, const char *file, int line, const char *text);

/* Window flavours that tests are repeated for. */
enum check_flavor {
    CHECK_CREATE,
    CHECK_ALLOCATE,
    CHECK_SHARED,
    CHECK_ALLOC_MEM,
    CHECK_DYNAMIC,
    CHECK_ADOPTED, /* ordinary memory with whole pages, which TrueRMA is asked to make mapped (hosts ignore
                      the hint) */
    CHECK_FLAVORS,
    CHECK_SMALL_UPDATES = CHECK_FLAVORS /* allocated, with the hint that updates are of single numbers: for
                                           the tests of updates only */
};

struct check_window {
    enum check_flavor flavor;
    MPI_Win win;
    void *base;
    void *memory;      /* of adopted windows: what was allocated */
    size_t size;       /* bytes to be used */
    size_t bytes;      /* that the window has, or more */
    MPI_Aint *origins; /* per rank: added to byte displacements; the address in dynamic windows, else 0 */
    int ranks;
};

/* A window of `size` bytes on every rank of comm, displacement unit 1, memory zeroed. Collective. */
void check_window_make(struct check_window *window, enum check_flavor flavor, size_t size, MPI_Comm comm);
void check_window_free(struct check_window *window);
const char *check_flavor_name(enum check_flavor flavor);
/* Displacement of byte `offset` at `rank`. */
MPI_Aint check_disp(const struct check_window *window, int rank, size_t offset);

/* Runs body with a window of `size` bytes of one flavour; of each but CHECK_SMALL_UPDATES. */
void check_one_flavor(enum check_flavor flavor, size_t size, void (*body)(struct check_window *window));
void check_each_flavor(size_t size, void (*body)(struct check_window *window));

/* Whether TrueRMA is beneath, and how the memory of `rank` in `win` is then reached: TRMA_Win_get_path's
 * word; "alone" when it is not. */
bool check_is_truerma(void);
const char *check_path(MPI_Win win, int rank);

/* The rank `step` places further round the ring of all ranks; step may be negative. */
int check_neighbour(int step);

/* A number below `limit` from a generator whose state is *state; the same on every machine. */
unsigned check_random(uint64_t *state, unsigned limit);

/* A number that depends on all three, for filling and checking. */
uint64_t check_pattern(uint64_t a, uint64_t b, uint64_t c);

#endif
