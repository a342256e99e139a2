/* SPDX-License-Identifier: BSD-3-Clause */
/* Process skew (Lai et al., Table 1): the target posts, multiplies two n x n matrices in the naive way, and
 * waits; the origin starts, puts 16 times 256 KiB, and completes. A truly one-sided MPI finishes the origin's
 * epoch in the same time whatever n is. Each epoch begins with a barrier and is timed by itself, on either
 * side. */
#include "common/bench.h"
#include "common/multiply.h"

#include <stdlib.h>

static const struct bench_program program = {.name = "skew",
                                             .summary = "origin's time while the target computes, two ranks",
                                             .flavours = "create,allocate",
                                             .sizes = "256K",
                                             .values = "0,32,64,128,256,512",
                                             .values_help = "n, the order of the target's matrices",
                                             .budget_ms = 300};

enum { origin = 0, target = 1, puts = 16 };

struct skew {
    struct bench_window window;
    MPI_Group peer;
    size_t size;
    char *buffer; /* the origin's data: `puts` pieces of `size` */
    int n;
    double *matrices; /* the target's three matrices */
    uint64_t epoch;
};

static uint64_t *word_of(char *memory, const struct skew *skew, int put, bool last) {
    return (uint64_t *)(memory + (size_t)(put + last) * skew->size) - last;
}

/* The first and last word of each put carry the epoch's number. */
static void stamp(struct skew *skew) {
    for (int put = 0; put < puts; put++) {
        *word_of(skew->buffer, skew, put, false) = skew->epoch;
        *word_of(skew->buffer, skew, put, true) = skew->epoch;
    }
}

static long stamps_wrong(const struct skew *skew) {
    long wrong = 0;
    for (int put = 0; put < puts; put++) {
        wrong += *word_of(skew->window.base, skew, put, false) != skew->epoch;
        wrong += *word_of(skew->window.base, skew, put, true) != skew->epoch;
    }
    return wrong;
}

static long all_wrong(const struct skew *skew) {
    long wrong = stamps_wrong(skew);
    for (int put = 0; put < puts; put++)
        wrong += bench_wrong(skew->window.base + (size_t)put * skew->size, skew->size, (uint64_t)put, 1);
    return wrong;
}

static void origin_epoch(struct skew *skew) {
    MPI_Win_start(skew->peer, 0, skew->window.win);
    for (int put = 0; put < puts; put++) {
        size_t at = (size_t)put * skew->size;
        MPI_Put(skew->buffer + at, (int)skew->size, MPI_BYTE, target, (MPI_Aint)at, (int)skew->size, MPI_BYTE,
                skew->window.win);
    }
    MPI_Win_complete(skew->window.win);
}

static void target_epoch(struct skew *skew) {
    MPI_Win_post(skew->peer, 0, skew->window.win);
    bench_multiply(skew->matrices, skew->n);
    MPI_Win_wait(skew->window.win);
}

/* One epoch on both sides; returns this rank's time. */
static double epoch(const struct bench *bench, struct skew *skew, bool look_at_all) {
    skew->epoch++;
    if (bench->rank == origin)
        stamp(skew);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = bench_now_us();
    if (bench->rank == origin)
        origin_epoch(skew);
    else
        target_epoch(skew);
    double us = bench_now_us() - start;
    long wrong = 0;
    if (bench->rank == target)
        wrong = look_at_all ? all_wrong(skew) : stamps_wrong(skew);
    bench_verify(bench, wrong, "window after wait");
    return us;
}

/* The time of the slower rank. */
static double slowest(double us) {
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return us;
}

/* Lets others have a turn. Epochs like the measured one go before it then: what it finds in the caches is
 * what an epoch and the time until the next one leave there, as in a program that runs alone. */
static void give_turn(const struct bench *bench, struct skew *skew) {
    const double least_us = 5e3;
    double us = 0;
    bench_give_turn(bench, BENCH_TURN_SAMPLE);
    while (us < least_us)
        us += slowest(epoch(bench, skew, false));
}

/* How often the budget allows an epoch that took `us` on the slower rank, 3 times at least. */
static int repetitions(const struct bench_options *options, double us) {
    double possible = options->budget_ms * 1e3 / slowest(us);
    if (possible > options->reps)
        return options->reps;
    return possible < 3 ? 3 : (int)possible;
}

/* A created window is measured hot: used for a while before. */
static void warm(const struct bench *bench, struct skew *skew) {
    double us = 0;
    skew->n = 0;
    while (skew->window.created && us < bench->options.warm_ms * 1e3)
        us += slowest(epoch(bench, skew, false));
}

static void measure(const struct bench *bench, struct skew *skew, const char *flavour, int n) {
    static struct bench_samples samples;
    skew->n = n;
    skew->matrices = bench_matrices(n);
    epoch(bench, skew, true);
    int reps = repetitions(&bench->options, epoch(bench, skew, false)); /* after two warm-ups */
    samples.count = 0;
    for (int i = 1; i <= reps; i++) {
        if (bench_turn_is_taken())
            give_turn(bench, skew);
        bench_sample(&samples, epoch(bench, skew, i == reps));
    }
    struct bench_cell cell = {.mode = "pscw", .op = "put", .flavour = flavour, .size = (long long)skew->size};
    cell.extra[0].name = "n";
    cell.extra[0].value = n;
    cell.side = "origin";
    cell.bytes = (double)puts * (double)skew->size;
    bench_emit(bench, &cell, &samples, origin);
    cell.side = "target";
    cell.bytes = 0;
    bench_emit(bench, &cell, &samples, target);
    free(skew->matrices);
    bench_give_turn(bench, BENCH_TURN_CELL);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    struct skew skew = {.window = {.win = MPI_WIN_NULL}};
    int peer = 1 - bench.rank;
    MPI_Group_incl(world, 1, &peer, &skew.peer);
    char flavour[32];
    for (int s = 0; s < options->sizes.count; s++) {
        skew.size = (size_t)options->sizes.item[s];
        skew.buffer = bench_memory(puts * skew.size);
        for (int put = 0; put < puts; put++)
            bench_fill(skew.buffer + (size_t)put * skew.size, skew.size, (uint64_t)put);
        for (int f = 0; bench_list_entry(options->flavours, f, flavour, sizeof flavour); f++) {
            bench_window_make(&skew.window, flavour, puts * skew.size, MPI_COMM_WORLD);
            warm(&bench, &skew);
            for (int v = 0; v < options->values.count; v++)
                measure(&bench, &skew, flavour, (int)options->values.item[v]);
            bench_window_free(&skew.window);
        }
        free(skew.buffer);
    }
    MPI_Group_free(&skew.peer);
    MPI_Group_free(&world);
    return bench_end();
}
