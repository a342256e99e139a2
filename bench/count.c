/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fixed number of calls, for counting what they cost under a simulator of the processor (the experiments
 * instructions and misses): nothing is timed. Rank 0 is the origin of each; for aggregate, all ranks but 0
 * are, and rank 0 is the target. Before each epoch of pscw a message tells the origin that the target has
 * posted, in pscw_exposed one tells rank 0, the target there, that the origin has completed, so that what is
 * counted waits for nobody.
 */
#include "common/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {
    .name = "count",
    .summary = "so many calls and nothing else, to be counted by a simulator",
    .modes = "lock,flush,fetch_and_op,compare_and_swap,accumulate,pscw,pscw_empty,pscw_exposed,aggregate",
    .flavours = "create,allocate",
    .sizes = "8",
    .values = "1000",
    .values_help = "calls, or epochs"};

enum { puts_per_epoch = 16, room = 64 };

struct count {
    MPI_Win win;
    MPI_Group others; /* rank 0 alone, on the others; all others, on rank 0 */
    int rank, ranks, bytes;
    const char *mode;
    char *data;
};

static bool is(const struct count *count, const char *mode) {
    return strcmp(count->mode, mode) == 0;
}

/* One passive-target operation of rank 0 on rank 1, number `i`. */
static void operate(const struct count *count, uint64_t i) {
    uint64_t one = 1, before;
    if (is(count, "lock") || is(count, "flush"))
        MPI_Put(&i, sizeof i, MPI_BYTE, 1, 0, sizeof i, MPI_BYTE, count->win);
    else if (is(count, "fetch_and_op"))
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1, 0, MPI_SUM, count->win);
    else if (is(count, "compare_and_swap")) {
        uint64_t next = i + 1;
        MPI_Compare_and_swap(&next, &i, &before, MPI_UINT64_T, 1, 0, count->win);
    } else
        MPI_Accumulate(&one, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, MPI_SUM, count->win);
}

static void passive(const struct count *count, long calls) {
    bool locks_each = is(count, "lock");
    if (count->rank != 0)
        return;
    if (!locks_each)
        MPI_Win_lock_all(0, count->win);
    for (long i = 0; i < calls; i++) {
        if (locks_each)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, count->win);
        operate(count, (uint64_t)i);
        if (locks_each)
            MPI_Win_unlock(1, count->win);
        else
            MPI_Win_flush(1, count->win);
    }
    if (!locks_each)
        MPI_Win_unlock_all(count->win);
}

static void active(const struct count *count, long epochs) {
    for (uint64_t i = 0; i < (uint64_t)epochs; i++) {
        if (count->rank == 0) {
            for (int r = 1; r < count->ranks; r++)
                MPI_Recv(NULL, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_start(count->others, 0, count->win);
            for (int r = 1; r < count->ranks && is(count, "pscw"); r++)
                MPI_Put(&i, sizeof i, MPI_BYTE, r, 0, sizeof i, MPI_BYTE, count->win);
            MPI_Win_complete(count->win);
        } else {
            MPI_Win_post(count->others, 0, count->win);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            MPI_Win_wait(count->win);
        }
    }
}

/* The others complete before rank 0 waits for them. */
static void exposed(const struct count *count, long epochs) {
    for (long i = 0; i < epochs; i++) {
        if (count->rank == 0) {
            MPI_Win_post(count->others, 0, count->win);
            for (int r = 1; r < count->ranks; r++)
                MPI_Recv(NULL, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_wait(count->win);
        } else {
            MPI_Win_start(count->others, 0, count->win);
            MPI_Win_complete(count->win);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

static void aggregate(const struct count *count, long epochs) {
    for (long i = 0; i < epochs; i++) {
        if (count->rank == 0) {
            MPI_Win_post(count->others, 0, count->win);
            MPI_Win_wait(count->win);
            continue;
        }
        MPI_Win_start(count->others, 0, count->win);
        for (int p = 0; p < puts_per_epoch; p++) {
            size_t at = (size_t)p * (size_t)count->bytes;
            MPI_Aint part = (MPI_Aint)(count->rank - 1) * puts_per_epoch * count->bytes;
            MPI_Put(count->data + at, count->bytes, MPI_BYTE, 0, part + (MPI_Aint)at, count->bytes, MPI_BYTE,
                    count->win);
        }
        MPI_Win_complete(count->win);
    }
}

/* The words of the target's memory that are not what the calls must have left there. */
static long wrong(const struct count *count, const char *base, long calls) {
    uint64_t word, expected = (uint64_t)calls;
    if (is(count, "lock") || is(count, "flush") || is(count, "pscw"))
        expected--;
    if (is(count, "aggregate")) {
        size_t bytes = (size_t)puts_per_epoch * (size_t)count->bytes;
        long bad = 0;
        for (int r = 1; r < count->ranks && count->rank == 0; r++)
            bad += bench_wrong(base + (size_t)(r - 1) * bytes, bytes, (uint64_t)r, 0);
        return bad;
    }
    if (count->rank != 1 || is(count, "pscw_empty") || is(count, "pscw_exposed"))
        return 0;
    memcpy(&word, base, sizeof word);
    return word != expected;
}

static void run(const struct bench *bench, struct count *count, const char *flavour, long calls) {
    struct bench_window window;
    int zero = 0;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (count->rank == 0)
        MPI_Group_excl(world, 1, &zero, &count->others);
    else
        MPI_Group_incl(world, 1, &zero, &count->others);
    size_t data = (size_t)puts_per_epoch * (size_t)count->bytes;
    count->data = bench_memory(data);
    bench_fill(count->data, data, (uint64_t)count->rank);
    bench_window_make(&window, flavour, is(count, "aggregate") ? data * (size_t)count->ranks : room,
                      MPI_COMM_WORLD);
    count->win = window.win;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is(count, "aggregate"))
        aggregate(count, calls);
    else if (is(count, "pscw") || is(count, "pscw_empty"))
        active(count, calls);
    else if (is(count, "pscw_exposed"))
        exposed(count, calls);
    else
        passive(count, calls);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, count->rank, 0, window.win);
    long bad = wrong(count, window.base, calls);
    MPI_Win_unlock(count->rank, window.win);
    bench_verify(bench, bad, count->mode);
    if (count->rank == 0)
        printf(
            "{\"bench\":\"count\",\"mode\":\"%s\",\"flavour\":\"%s\",\"size\":%d,\"ranks\":%d,\"calls\":%ld,"
            "\"checked\":true}\n",
            count->mode, flavour, count->bytes, count->ranks, calls);
    bench_window_free(&window);
    free(count->data);
    MPI_Group_free(&count->others);
    MPI_Group_free(&world);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 1024);
    const struct bench_options *options = &bench.options;
    struct count count = {.rank = bench.rank, .ranks = bench.ranks};
    char mode[32], flavour[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int f = 0; bench_list_entry(options->flavours, f, flavour, sizeof flavour); f++) {
            for (int s = 0; s < options->sizes.count; s++) {
                for (int v = 0; v < options->values.count; v++) {
                    count.mode = mode;
                    count.bytes = (int)options->sizes.item[s];
                    run(&bench, &count, flavour, (long)options->values.item[v]);
                }
            }
        }
    }
    return bench_end();
}
