/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap.h"

#include "../common/hidden.h"
#include "../common/measure.h"
#include "../common/plan.h"

#include <string.h>

enum { ORIGIN, TARGET };

static void origin_epoch(struct limit_process *process, size_t size, double compute_us) {
    process->sequence++;
    *(uint64_t *)process->buffer = process->sequence;
    *limit_last_word(process->buffer, size) = process->sequence;
    limit_flag_wait(process); /* post */
    memcpy(process->window[TARGET], process->buffer, size);
    if (compute_us > 0)
        bench_compute(compute_us);
    limit_flag_raise(process, TARGET); /* complete */
}

/* Returns how many words it found wrong. */
static long target_epoch(struct limit_process *process, size_t size, double compute_us) {
    char *mine = process->window[TARGET];
    process->sequence++;
    limit_flag_raise(process, ORIGIN);
    if (compute_us > 0)
        bench_compute(compute_us);
    limit_flag_wait(process);
    return (*(uint64_t *)mine != process->sequence) + (*limit_last_word(mine, size) != process->sequence);
}

/* This process's half of the order; returns what an iteration took. */
static double run(struct limit_process *process, const struct limit_order *order, double compute_us) {
    long wrong = 0;
    limit_meet(process);
    const double start = bench_now_us();
    for (long i = 0; i < order->iterations; i++) {
        if (!order->communicates)
            bench_compute(compute_us);
        else if (process->me == ORIGIN)
            origin_epoch(process, order->size, compute_us);
        else
            wrong += target_epoch(process, order->size, compute_us);
    }
    const double us = (bench_now_us() - start) / (double)order->iterations;
    atomic_fetch_add(&process->control->wrong, wrong);
    return us;
}

void limit_overlap_serve(struct limit_process *process, const struct limit_order *order) {
    process->control->us = run(process, order, order->compute_us);
    limit_meet(process); /* the time is there */
}

/* One sample of a task by the clock of `side`, which computes so long in each iteration; where there is no
 * communication both do, as the other one's CPU is busy in an epoch, too. */
static double sample(struct limit_process *process, enum bench_overlap_task task, int side, size_t size,
                     long iterations, double compute_us) {
    const double computed = task == BENCH_COMM ? 0 : compute_us;
    const bool both = task == BENCH_COMP;
    limit_order_give(process, &(struct limit_order){.task = LIMIT_OVERLAP,
                                                    .size = size,
                                                    .iterations = iterations,
                                                    .communicates = task != BENCH_COMP,
                                                    .compute_us = side == TARGET || both ? computed : 0});
    const double us = run(process, &process->control->order, side == ORIGIN || both ? computed : 0);
    limit_meet(process);
    limit_verify(process, "overlap", 0);
    return side == ORIGIN ? us : process->control->us;
}

static void measure(struct limit_process *process, const struct bench_options *options, int side, size_t size,
                    double percent, double expected_us) {
    static struct bench_samples samples[BENCH_OVERLAP_TASKS];
    const long iterations = bench_overlap_iterations(expected_us, expected_us * percent / 100);
    bench_fill(process->buffer, size, 0);
    bench_fill(process->window[TARGET], size, 1);
    samples[BENCH_COMM].count = 0; /* so many of them, now */
    for (int turn = 0; turn < options->reps; turn++)
        bench_sample(&samples[BENCH_COMM], sample(process, BENCH_COMM, side, size, iterations, 0));
    const double compute_us = bench_median(&samples[BENCH_COMM]) * percent / 100;
    for (int task = 0; task < BENCH_OVERLAP_TASKS; task++)
        samples[task].count = 0;
    for (int turn = 0; turn < options->reps; turn++) {
        for (int i = 0; i < BENCH_OVERLAP_TASKS; i++) { /* every other time the other way round */
            const int task = turn % 2 == 0 ? i : BENCH_OVERLAP_TASKS - 1 - i;
            bench_sample(&samples[task],
                         sample(process, (enum bench_overlap_task)task, side, size, iterations, compute_us));
        }
    }
    limit_verify(process, "overlap", bench_wrong(process->window[TARGET], size, 0, 1));
    const struct bench_overlap overlap = bench_overlap_of(samples);
    struct bench_cell cell = {.bench = "limit", .mode = "overlap", .op = "put", .ranks = 2};
    cell.side = side == ORIGIN ? "origin" : "target";
    cell.size = (long long)size;
    bench_overlap_note(&cell, percent, &overlap);
    bench_print(&cell, &samples[BENCH_TOTAL]);
}

/* What samples of a warm-up are taken of. */
struct warm_up {
    struct limit_process *process;
    int side;
    size_t size;
};

static double sample_warm_up(void *context, long iterations) {
    const struct warm_up *warm_up = context;
    return sample(warm_up->process, BENCH_COMM, warm_up->side, warm_up->size, iterations, 0);
}

void limit_overlap_measure(struct limit_process *process, const struct bench_options *options, size_t size) {
    const struct bench_plan_need need = {.sample_us = options->budget_ms * 1e3 / options->reps, .least = 16};
    for (int side = ORIGIN; side <= TARGET; side++) {
        struct warm_up warm_up = {process, side, size};
        double us;
        bench_plan_grow(&need, sample_warm_up, &warm_up, &us);
        for (int v = 0; v < options->values.count; v++)
            measure(process, options, side, size, (double)options->values.item[v], us);
    }
}
