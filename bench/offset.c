/* SPDX-License-Identifier: BSD-3-Clause */
/* One put or get and a flush, with an origin buffer that begins so many bytes behind a page, as memory from
 * malloc does (16 behind one, if it is large): processors tell a target that lies a few bytes behind its
 * source, modulo 4 KiB, badly from one that overlaps it. The windows begin with pages. The target waits in a
 * barrier. */
#include "common/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {
    .name = "offset",
    .summary = "a put or get and a flush with a buffer that begins behind a page, two ranks",
    .ops = "put,get",
    .flavours = "create,allocate",
    .sizes = "4K,16K,64K,256K,1M",
    .values = "0,16",
    .values_help = "bytes by which the origin's buffer begins behind a page, a multiple of 8 below 4096"};

enum { PAGE = 4096 };

static void run_flush(void *context, long iterations) {
    struct transfer *transfer = context;
    if (transfer->rank != 0)
        return;
    for (long i = 0; i < iterations; i++) {
        transfer_issue(transfer);
        MPI_Win_flush(transfer->peer, transfer->window->win);
        transfer_done(transfer);
    }
}

static void open_lock_all(void *context) {
    MPI_Win_lock_all(0, ((struct transfer *)context)->window->win);
}

static void close_lock_all(void *context) {
    MPI_Win_unlock_all(((struct transfer *)context)->window->win);
}

static long check_flush(void *context) {
    return transfer_check(context, true);
}

/* The flavours in turns, a window of each alive, and the limit: a memcpy to or from the same offset. */
static void measure(const struct bench *bench, const char *op, size_t size, size_t offset) {
    static struct bench_samples samples[BENCH_MAX_TURNS];
    struct bench_window window[BENCH_MAX_TURNS];
    struct transfer transfer[BENCH_MAX_TURNS];
    struct bench_task task[BENCH_MAX_TURNS];
    char flavour[BENCH_MAX_TURNS][32];
    char *memory = bench_memory(size + PAGE);
    uint64_t *buffer = (uint64_t *)(memory + offset);
    int count = 0;
    while (count < BENCH_MAX_TURNS - 1 &&
           bench_list_entry(bench->options.flavours, count, flavour[count], sizeof flavour[count])) {
        bench_window_make(&window[count], flavour[count], size, MPI_COMM_WORLD);
        transfer_begin(&transfer[count], op, size, &window[count], buffer, bench->rank);
        task[count] = (struct bench_task){.context = &transfer[count],
                                          .open = open_lock_all,
                                          .run = run_flush,
                                          .close = close_lock_all,
                                          .check = check_flush,
                                          .warm = window[count].created,
                                          .least = 10,
                                          .before = 1};
        count++;
    }
    const int windows = count;
    if (windows > 0) {
        /* This rank's own memory in the last window is used by nothing else. */
        transfer[count] = transfer[count - 1];
        transfer_copy(&transfer[count], (uint64_t *)window[count - 1].base);
        task[count] = (struct bench_task){.context = &transfer[count],
                                          .run = transfer_run_copy,
                                          .check = transfer_check_copy,
                                          .least = 10,
                                          .before = 1};
        strcpy(flavour[count++], "memcpy");
    }
    bench_run_in_turns(bench, task, count, samples);
    for (int i = 0; i < count; i++) {
        struct bench_cell cell = {
            .mode = "lock_all", .op = op, .flavour = flavour[i], .size = (long long)size};
        cell.bytes = (double)size;
        cell.extra[0].name = "offset";
        cell.extra[0].value = (double)offset;
        bench_emit(bench, &cell, &samples[i], 0);
    }
    for (int i = 0; i < windows; i++)
        bench_window_free(&window[i]);
    free(memory);
}

/* The first value that is no offset, or -1. */
static long long wrong_value(const struct bench_numbers *values) {
    for (int v = 0; v < values->count; v++) {
        if (values->item[v] >= PAGE || values->item[v] % (long long)sizeof(uint64_t) != 0)
            return values->item[v];
    }
    return -1;
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    const long long wrong = wrong_value(&options->values);
    if (wrong >= 0) {
        if (bench.rank == 0)
            fprintf(stderr, "--values: %lld is not a multiple of 8 below %d\n", wrong, PAGE);
        MPI_Finalize();
        return 2;
    }
    char op[32];
    for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++) {
        for (int s = 0; s < options->sizes.count; s++) {
            for (int v = 0; v < options->values.count; v++)
                measure(&bench, op, (size_t)options->sizes.item[s], (size_t)options->values.item[v]);
        }
    }
    return bench_end();
}
