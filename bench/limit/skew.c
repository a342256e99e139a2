/* SPDX-License-Identifier: BSD-3-Clause */
#include "skew.h"

#include "../common/measure.h"
#include "../common/multiply.h"

#include <stdlib.h>
#include <string.h>

void limit_skew_serve(struct limit_process *process, const struct limit_order *order) {
    const int n = (int)order->iterations;
    process->sequence++;
    double *matrix = bench_matrices(n);
    limit_flag_raise(process, 0); /* ready */
    limit_flag_wait(process);     /* the origin begins */
    process->sequence++;
    limit_flag_raise(process, 0); /* post */
    bench_multiply(matrix, n);
    limit_flag_wait(process);
    free(matrix);
    long wrong = 0;
    for (int put = 0; put < LIMIT_SKEW_PUTS; put++)
        wrong += *limit_last_word(process->window[1] + (size_t)put * LIMIT_SKEW_SIZE, LIMIT_SKEW_SIZE) !=
                 process->sequence;
    atomic_fetch_add(&process->control->wrong, wrong);
    process->sequence++;
    limit_flag_raise(process, 0);
}

static double origin_epoch(struct limit_process *process) {
    process->sequence += 2;
    for (int put = 0; put < LIMIT_SKEW_PUTS; put++)
        *limit_last_word(process->buffer + (size_t)put * LIMIT_SKEW_SIZE, LIMIT_SKEW_SIZE) =
            process->sequence;
    process->sequence--;
    limit_flag_wait(process);
    limit_flag_raise(process, 1);
    process->sequence++;
    double start = bench_now_us();
    limit_flag_wait(process);
    for (int put = 0; put < LIMIT_SKEW_PUTS; put++) {
        size_t at = (size_t)put * LIMIT_SKEW_SIZE;
        memcpy(process->window[1] + at, process->buffer + at, LIMIT_SKEW_SIZE);
    }
    limit_flag_raise(process, 1);
    double us = bench_now_us() - start;
    process->sequence++;
    limit_flag_wait(process); /* the target has looked */
    return us;
}

void limit_skew_measure(struct limit_process *process, const struct bench_options *options, int order) {
    enum { WARM_UPS = 2, LEAST = 3 }; /* as skew.c */
    static struct bench_samples samples;
    double begin = bench_now_us();
    samples.count = 0;
    for (int i = -WARM_UPS;
         i < options->reps && (i < LEAST || bench_now_us() - begin < options->budget_ms * 1e3); i++) {
        limit_order_give(process, &(struct limit_order){.task = LIMIT_SKEW, .iterations = order});
        double us = origin_epoch(process);
        if (i >= 0)
            bench_sample(&samples, us);
        limit_verify(process, "skew", 0);
    }
    struct bench_cell cell = {.bench = "limit", .mode = "skew", .op = "put", .side = "origin", .ranks = 2};
    cell.size = LIMIT_SKEW_SIZE;
    cell.bytes = (double)LIMIT_SKEW_PUTS * LIMIT_SKEW_SIZE;
    cell.extra[0].name = "n";
    cell.extra[0].value = order;
    bench_print(&cell, &samples);
}
