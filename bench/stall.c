/* SPDX-License-Identifier: BSD-3-Clause */
/* How long an origin's first operation on a window takes while the target computes and calls no MPI.
 *
 * For every sample a window is made, the target tells through a page of shared memory (not through MPI) that
 * it is busy, and stays so for 200 ms; the origin sees that, waits another millisecond, and runs the
 * operation once. A truly one-sided MPI needs microseconds, one that depends on the target the rest of the
 * 200 ms.
 *
 * lock: lock, operation, unlock, all while the target is busy. lock_all: operation and flush while it is
 * busy, within an epoch opened before. */
#include "common/page.h"
#include "common/transfer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {
    .name = "stall",
    .summary = "an origin's first operation while the target computes, two ranks",
    .modes = "lock,lock_all",
    .ops = TRANSFER_OPS,
    .flavours = "create,allocate",
    .sizes = "8",
    .values = "200",
    .values_help = "how long the target is busy, in milliseconds",
    .reps = 3};

enum { origin = 0, target = 1, accumulate_bytes = 65536 };

/* User code that calls nothing, for `us`. */
static void busy(double us) {
    double end = bench_now_us() + us;
    while (bench_now_us() < end)
        ;
}

static double operation(struct transfer *transfer, bool lock) {
    MPI_Win win = transfer->window->win;
    double start = bench_now_us();
    if (lock)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    transfer_issue(transfer);
    if (lock)
        MPI_Win_unlock(target, win);
    else
        MPI_Win_flush(target, win);
    double us = bench_now_us() - start;
    transfer_done(transfer);
    return us;
}

struct stall {
    const char *mode, *op, *flavour;
    size_t size;
    double busy_us;
};

static double sample(const struct bench *bench, const struct stall *stall, _Atomic int *page) {
    static int number;
    bool lock = strcmp(stall->mode, "lock") == 0;
    struct bench_window window;
    struct transfer transfer;
    double us = 0;
    long late = 0;
    uint64_t *buffer = bench_memory(stall->size);
    number++;
    bench_window_make(&window, stall->flavour, stall->size, MPI_COMM_WORLD);
    transfer_begin(&transfer, stall->op, stall->size, &window, buffer, bench->rank);
    if (!lock && bench->rank == origin)
        MPI_Win_lock_all(0, window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench->rank == target) {
        atomic_store(page, number);
        busy(stall->busy_us);
        atomic_store(page, -number);
    } else {
        while (atomic_load(page) != number)
            ;
        busy(1000);
        late = atomic_load(page) != number;
        us = operation(&transfer, lock);
        if (!lock)
            MPI_Win_unlock_all(window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bench_verify(bench, late, "the target was no longer busy when the operation began: samples");
    bench_verify(bench, transfer_check(&transfer, true), stall->op);
    bench_window_free(&window);
    free(buffer);
    return us;
}

static void measure(const struct bench *bench, struct stall *stall, _Atomic int *page) {
    static struct bench_samples samples;
    for (int v = 0; v < bench->options.values.count; v++) {
        stall->busy_us = (double)bench->options.values.item[v] * 1e3;
        samples.count = 0;
        for (int i = 0; i < bench->options.reps; i++)
            bench_sample(&samples, sample(bench, stall, page));
        struct bench_cell cell = {
            .mode = stall->mode, .op = stall->op, .flavour = stall->flavour, .size = (long long)stall->size};
        cell.extra[0].name = "busy_ms";
        cell.extra[0].value = stall->busy_us / 1e3;
        bench_emit(bench, &cell, &samples, origin);
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    _Atomic int *page =
        bench_page_map(bench.rank); /* the number of the sample for which the target is busy */
    char mode[32], op[32], flavour[32];
    struct stall stall = {.mode = mode, .op = op, .flavour = flavour};
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++) {
            stall.size = strcmp(op, "accumulate") == 0 ? accumulate_bytes : (size_t)options->sizes.item[0];
            if (transfer_is_atomic_word(op))
                stall.size = sizeof(uint64_t);
            for (int f = 0; bench_list_entry(options->flavours, f, flavour, sizeof flavour); f++)
                measure(&bench, &stall, page);
        }
    }
    bench_page_unmap(page);
    return bench_end();
}
