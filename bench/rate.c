/* SPDX-License-Identifier: BSD-3-Clause */
/* Many operations per synchronisation, each on its own location: bandwidth, and with 8 bytes the message
 * rate.
 *
 * pscw: an epoch of N operations; the time is the origin's, from one epoch to the next. lock_all: N
 * operations and one flush, the target waits in a barrier. The data changes with every sample and is compared
 * as a whole. */
#include "common/bench.h"

#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {.name = "rate",
                                             .summary = "bandwidth and message rate, two ranks",
                                             .modes = "pscw,lock_all",
                                             .ops = "put,get",
                                             .flavours = "create,allocate",
                                             .sizes = "8,64,512,1K,4K,16K,64K,256K,1M",
                                             .values = "32",
                                             .values_help = "operations per epoch or flush"};

enum { origin = 0, target = 1 };

struct rate {
    struct bench_window window;
    MPI_Group peer;
    int rank;
    bool put, pscw;
    size_t size;
    int ops;
    char *buffer; /* the origin's: `ops` pieces of `size` */
    uint64_t round;
};

static void burst(struct rate *rate) {
    MPI_Win win = rate->window.win;
    int bytes = (int)rate->size;
    for (int i = 0; i < rate->ops; i++) {
        size_t at = (size_t)i * rate->size;
        if (rate->put)
            MPI_Put(rate->buffer + at, bytes, MPI_BYTE, target, (MPI_Aint)at, bytes, MPI_BYTE, win);
        else
            MPI_Get(rate->buffer + at, bytes, MPI_BYTE, target, (MPI_Aint)at, bytes, MPI_BYTE, win);
    }
}

static void run_pscw(void *context, long iterations) {
    struct rate *rate = context;
    MPI_Win win = rate->window.win;
    for (long i = 0; i < iterations; i++) {
        if (rate->rank == origin) {
            MPI_Win_start(rate->peer, 0, win);
            burst(rate);
            MPI_Win_complete(win);
        } else {
            MPI_Win_post(rate->peer, 0, win);
            MPI_Win_wait(win);
        }
    }
}

static void run_lock_all(void *context, long iterations) {
    struct rate *rate = context;
    for (long i = 0; i < iterations && rate->rank == origin; i++) {
        burst(rate);
        MPI_Win_flush(target, rate->window.win);
    }
}

static void lock_self(struct rate *rate) {
    if (!rate->pscw)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rate->rank, 0, rate->window.win);
}

static void unlock_self(struct rate *rate) {
    if (!rate->pscw)
        MPI_Win_unlock(rate->rank, rate->window.win);
}

/* The side that sends holds the round's pattern, the other one something else. */
static void open_round(void *context) {
    struct rate *rate = context;
    uint64_t sent = ++rate->round, other = ~rate->round;
    size_t bytes = (size_t)rate->ops * rate->size;
    if (rate->rank == origin) {
        bench_fill(rate->buffer, bytes, rate->put ? sent : other);
    } else {
        lock_self(rate);
        bench_fill(rate->window.base, bytes, rate->put ? other : sent);
        unlock_self(rate);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rate->pscw)
        MPI_Win_lock_all(0, rate->window.win);
}

static void close_round(void *context) {
    struct rate *rate = context;
    if (!rate->pscw)
        MPI_Win_unlock_all(rate->window.win);
}

static long check(void *context) {
    struct rate *rate = context;
    size_t bytes = (size_t)rate->ops * rate->size;
    if ((rate->rank == origin) == rate->put)
        return 0; /* the other side received */
    if (!rate->put)
        return bench_wrong(rate->buffer, bytes, rate->round, 0);
    lock_self(rate);
    long wrong = bench_wrong(rate->window.base, bytes, rate->round, 0);
    unlock_self(rate);
    return wrong;
}

static void measure(const struct bench *bench, struct rate *rate, const char *mode, const char *op,
                    const char *flavour) {
    static struct bench_samples samples;
    size_t bytes = (size_t)rate->ops * rate->size;
    rate->put = strcmp(op, "put") == 0;
    rate->pscw = strcmp(mode, "pscw") == 0;
    rate->buffer = bench_memory(bytes);
    bench_window_make(&rate->window, flavour, bytes, MPI_COMM_WORLD);
    struct bench_task task = {.context = rate,
                              .open = open_round,
                              .run = rate->pscw ? run_pscw : run_lock_all,
                              .close = close_round,
                              .check = check,
                              .warm = rate->window.created};
    bench_run(bench, &task, &samples);
    struct bench_cell cell = {.mode = mode, .op = op, .flavour = flavour, .size = (long long)rate->size};
    cell.bytes = (double)bytes;
    cell.ops = rate->ops;
    cell.extra[0].name = "burst";
    cell.extra[0].value = rate->ops;
    bench_emit(bench, &cell, &samples, origin);
    bench_window_free(&rate->window);
    free(rate->buffer);
}

static void measure_sizes(const struct bench *bench, struct rate *rate, const char *mode, const char *op,
                          const char *flavour) {
    const struct bench_options *options = &bench->options;
    for (int v = 0; v < options->values.count; v++) {
        for (int s = 0; s < options->sizes.count; s++) {
            rate->ops = (int)options->values.item[v];
            rate->size = (size_t)options->sizes.item[s];
            measure(bench, rate, mode, op, flavour);
        }
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    struct rate rate = {.rank = bench.rank};
    int peer = 1 - bench.rank;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &rate.peer);
    char mode[32], op[32], flavour[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++) {
            for (int f = 0; bench_list_entry(options->flavours, f, flavour, sizeof flavour); f++)
                measure_sizes(&bench, &rate, mode, op, flavour);
        }
    }
    MPI_Group_free(&rate.peer);
    MPI_Group_free(&world);
    return bench_end();
}
