/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlap of communication with computation on one side of a PSCW epoch with one put (after Lai et al.,
 * section 5.5).
 *
 * origin: start, put, compute, complete. target: post, compute, wait. With T_comm the side's time without
 * computation, T_comp the time computed, T_total the time with both: overlap = (T_comm + T_comp - T_total) /
 * T_comm; 1 when the computation hides the whole communication, 0 when it hides nothing. T_comp is chosen as
 * a part of T_comm, and what the same computation takes is measured while the other rank's CPU is busy, too:
 * here it slows down by some hundredths then, which is not the communication's doing. The three are measured
 * in turns, and the overlap is the median of what each turn gives: a machine that is a twentieth slower for
 * T_total than it was for T_comp would hide a fifth of T_comm less with four times as much to compute. */
#include "common/hidden.h"
#include "common/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {.name = "overlap",
                                             .summary = "computation hidden behind an epoch, two ranks",
                                             .modes = "origin,target",
                                             .flavours = "create,allocate",
                                             .sizes = "8,4K,64K,256K,1M,4M",
                                             .values = "100,200,400",
                                             .values_help = "T_comp in percent of T_comm"};

struct overlap {
    struct transfer *transfer;
    MPI_Group peer;
    double compute_us; /* on this rank, within each epoch; 0: does not compute */
};

static void run_computation(void *context, long iterations) {
    const struct overlap *overlap = context;
    for (long i = 0; i < iterations; i++)
        bench_compute(overlap->compute_us);
}

static void run(void *context, long iterations) {
    struct overlap *overlap = context;
    struct transfer *transfer = overlap->transfer;
    MPI_Win win = transfer->window->win;
    for (long i = 0; i < iterations; i++) {
        if (transfer->rank == 0) {
            MPI_Win_start(overlap->peer, 0, win);
            transfer_issue(transfer);
        } else {
            MPI_Win_post(overlap->peer, 0, win);
        }
        if (overlap->compute_us > 0)
            bench_compute(overlap->compute_us);
        if (transfer->rank == 0) {
            MPI_Win_complete(win);
        } else {
            MPI_Win_wait(win);
            transfer_arrived(transfer);
        }
    }
}

static long check(void *context) {
    struct overlap *overlap = context;
    return transfer_check(overlap->transfer, false);
}

/* T_comm by the side's clock, on both ranks. */
static double communication_us(const struct bench *bench, const struct bench_task *task, int side) {
    static struct bench_samples samples;
    bench_run(bench, task, &samples);
    double us = bench_median(&samples);
    MPI_Bcast(&us, 1, MPI_DOUBLE, side, MPI_COMM_WORLD);
    return us;
}

static void measure(const struct bench *bench, const char *mode, const char *flavour, size_t size) {
    static struct bench_samples samples[BENCH_OVERLAP_TASKS];
    struct transfer transfer;
    struct bench_window window;
    MPI_Group world;
    uint64_t *buffer = bench_memory(size);
    int side = strcmp(mode, "origin") == 0 ? 0 : 1;
    bench_window_make(&window, flavour, size, MPI_COMM_WORLD);
    transfer_begin(&transfer, "put", size, &window, buffer, bench->rank);
    struct overlap epoch = {.transfer = &transfer};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &transfer.peer, &epoch.peer);
    struct overlap computation = epoch, both = epoch;
    struct bench_task tasks[BENCH_OVERLAP_TASKS] = {
        {.context = &epoch, .run = run, .check = check, .before = 1},
        {.context = &computation, .run = run_computation},
        {.context = &both, .run = run, .check = check, .before = 1}};
    tasks[BENCH_COMM].warm = window.created;
    const double expected_us = communication_us(bench, &tasks[BENCH_COMM], side);
    tasks[BENCH_COMM].warm = false;
    for (int v = 0; v < bench->options.values.count; v++) {
        double percent = (double)bench->options.values.item[v];
        const long iterations = bench_overlap_iterations(expected_us, expected_us * percent / 100);
        for (int task = 0; task < BENCH_OVERLAP_TASKS; task++)
            tasks[task].least = tasks[task].most = iterations;
        /* So many of them, now: what the first one costs is in it as it will be. */
        computation.compute_us = communication_us(bench, &tasks[BENCH_COMM], side) * percent / 100;
        both.compute_us = bench->rank == side ? computation.compute_us : 0; /* else on both ranks */
        bench_run_in_turns(bench, tasks, BENCH_OVERLAP_TASKS, samples);
        struct bench_overlap result = bench_overlap_of(samples); /* of the side's clock */
        MPI_Bcast(&result, sizeof result, MPI_BYTE, side, MPI_COMM_WORLD);
        struct bench_cell cell = {.mode = "pscw", .op = "put", .side = mode, .flavour = flavour};
        cell.size = (long long)size;
        bench_overlap_note(&cell, percent, &result);
        bench_emit(bench, &cell, &samples[BENCH_TOTAL], side);
    }
    MPI_Group_free(&epoch.peer);
    MPI_Group_free(&world);
    bench_window_free(&window);
    free(buffer);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    bench_compute(1); /* measures the CPU's speed while nothing else runs */
    char mode[32], flavour[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int f = 0; bench_list_entry(options->flavours, f, flavour, sizeof flavour); f++) {
            for (int s = 0; s < options->sizes.count; s++)
                measure(&bench, mode, flavour, (size_t)options->sizes.item[s]);
        }
    }
    return bench_end();
}
