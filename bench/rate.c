/* SPDX-License-Identifier: BSD-3-Clause */
/* Many operations per synchronisation, each on its own location: bandwidth, and with 8 bytes the message
 * rate.
 *
 * pscw: an epoch of N operations; the time is the origin's, from one epoch to the next. lock_all: N
 * operations and one flush, the target waits in a barrier. The data changes with every sample and is compared
 * as a whole. memcpy, from 4 KiB on: the limit, the same pieces copied within the origin's process, sampled
 * in turns with both windows. */
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
    char *memory; /* of the limit: as many, which take the window's place */
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

/* The limit likewise, without MPI; the other rank waits. */
static void run_copy(void *context, long iterations) {
    struct rate *rate = context;
    for (long i = 0; i < iterations && rate->rank == origin; i++) {
        for (int piece = 0; piece < rate->ops; piece++) {
            size_t at = (size_t)piece * rate->size;
            memcpy(rate->put ? rate->memory + at : rate->buffer + at,
                   rate->put ? rate->buffer + at : rate->memory + at, rate->size);
            __asm__ volatile("" ::: "memory"); /* every copy is made */
        }
    }
}

static void open_copy(void *context) {
    struct rate *rate = context;
    size_t bytes = (size_t)rate->ops * rate->size;
    rate->round++;
    if (rate->rank != origin)
        return;
    bench_fill(rate->put ? rate->buffer : rate->memory, bytes, rate->round);
    bench_fill(rate->put ? rate->memory : rate->buffer, bytes, ~rate->round);
}

static long check_copy(void *context) {
    const struct rate *rate = context;
    if (rate->rank != origin)
        return 0;
    return bench_wrong(rate->put ? rate->memory : rate->buffer, (size_t)rate->ops * rate->size, rate->round,
                       0);
}

static struct bench_task task_of(struct rate *rate) {
    if (rate->memory != NULL)
        return (struct bench_task){
            .context = rate, .open = open_copy, .run = run_copy, .check = check_copy, .before = 1};
    return (struct bench_task){.context = rate,
                               .open = open_round,
                               .run = rate->pscw ? run_pscw : run_lock_all,
                               .close = close_round,
                               .check = check,
                               .before = 1,
                               .warm = rate->window.created};
}

/* The flavours in turns, a window of each alive, from and to one buffer, and the limit: they are compared.
 * `what` says what they have in common. */
static void measure(const struct bench *bench, const struct rate *what, const char *mode, const char *op) {
    static struct bench_samples samples[BENCH_MAX_TURNS];
    struct rate rate[BENCH_MAX_TURNS];
    struct bench_task task[BENCH_MAX_TURNS];
    char flavour[BENCH_MAX_TURNS][32];
    const size_t bytes = (size_t)what->ops * what->size, least_limited = 4 << 10;
    char *buffer = bench_memory(bytes);
    int count = 0;
    while (count < BENCH_MAX_TURNS &&
           bench_list_entry(bench->options.flavours, count, flavour[count], sizeof flavour[count])) {
        rate[count] = *what;
        rate[count].buffer = buffer;
        bench_window_make(&rate[count].window, flavour[count], bytes, MPI_COMM_WORLD);
        task[count] = task_of(&rate[count]);
        count++;
    }
    const int windows = count;
    if (what->size >= least_limited && strcmp(bench->options.flavours, program.flavours) == 0) {
        /* The last window is an allocated one; this rank's own memory in it is used by nothing else. */
        rate[count] = rate[windows - 1];
        rate[count].memory = rate[windows - 1].window.base;
        task[count] = task_of(&rate[count]);
        strcpy(flavour[count++], "memcpy");
    }
    bench_run_in_turns(bench, task, count, samples);
    for (int i = 0; i < count; i++) {
        struct bench_cell cell = {
            .mode = mode, .op = op, .flavour = flavour[i], .size = (long long)what->size};
        cell.bytes = (double)bytes;
        cell.ops = what->ops;
        cell.extra[0].name = "burst";
        cell.extra[0].value = what->ops;
        bench_emit(bench, &cell, &samples[i], origin);
        if (i < windows)
            bench_window_free(&rate[i].window);
    }
    free(buffer);
}

static void measure_sizes(const struct bench *bench, struct rate *rate, const char *mode, const char *op) {
    const struct bench_options *options = &bench->options;
    rate->put = strcmp(op, "put") == 0;
    rate->pscw = strcmp(mode, "pscw") == 0;
    for (int v = 0; v < options->values.count; v++) {
        for (int s = 0; s < options->sizes.count; s++) {
            rate->ops = (int)options->values.item[v];
            rate->size = (size_t)options->sizes.item[s];
            measure(bench, rate, mode, op);
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
    char mode[32], op[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++)
            measure_sizes(&bench, &rate, mode, op);
    }
    MPI_Group_free(&rate.peer);
    MPI_Group_free(&world);
    return bench_end();
}
