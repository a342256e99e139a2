/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfers.h"

#include "../common/measure.h"
#include "../common/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum way { WAY_EXCHANGE, WAY_EXCHANGE_PLACES, WAY_MEMCPY, WAY_UPDATE, WAY_CMA };

static const char *const ways[] = {[WAY_EXCHANGE] = "exchange",
                                   [WAY_EXCHANGE_PLACES] = "exchange_places",
                                   [WAY_MEMCPY] = "memcpy",
                                   [WAY_UPDATE] = "update",
                                   [WAY_CMA] = "cma"};
static const char *const operations[] = {[LIMIT_PUT] = "put",
                                         [LIMIT_GET] = "get",
                                         [LIMIT_ACCUMULATE] = "accumulate",
                                         [LIMIT_FETCH_AND_OP] = "fetch_and_op",
                                         [LIMIT_COMPARE_AND_SWAP] = "compare_and_swap"};

/* The place of `name` in an array of names that has it. */
static int place_of(const char *name, const char *const *names) {
    int place = 0;
    while (strcmp(names[place], name) != 0)
        place++;
    return place;
}

static bool is_exchange(enum way way) {
    return way == WAY_EXCHANGE || way == WAY_EXCHANGE_PLACES;
}

static bool is_atomic(enum limit_operation operation) {
    return operation == LIMIT_FETCH_AND_OP || operation == LIMIT_COMPARE_AND_SWAP;
}

static bool is_copy(enum limit_operation operation) {
    return operation == LIMIT_PUT || operation == LIMIT_GET;
}

/* With the widest vectors that the machine has. */
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
add(uint64_t *restrict to, const uint64_t *restrict from, size_t words) {
    for (size_t i = 0; i < words; i++)
        to[i] += from[i];
}

/* The operation towards `theirs`. Puts carry the step's number in their first and last word. */
static inline void operate(struct limit_process *process, enum limit_operation operation, char *theirs,
                           size_t size) {
    uint64_t *word = (uint64_t *)theirs;
    uint64_t expected = process->issued;
    switch (operation) {
    case LIMIT_PUT:
        *(uint64_t *)process->buffer = process->sequence;
        *limit_last_word(process->buffer, size) = process->sequence;
        memcpy(theirs, process->buffer, size);
        break;
    case LIMIT_GET:
        memcpy(process->buffer, theirs, size);
        break;
    case LIMIT_ACCUMULATE:
        add(word, (const uint64_t *)process->buffer, size / sizeof *word);
        break;
    case LIMIT_FETCH_AND_OP:
        process->result = __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
        break;
    case LIMIT_COMPARE_AND_SWAP:
        __atomic_compare_exchange_n(word, &expected, expected + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        process->result = expected; /* as it is, or what was there instead */
        break;
    }
    process->issued++;
}

/* What the last operations of both have left behind. */
static long seen_wrong(struct limit_process *process, enum limit_operation operation, size_t size) {
    char *mine = process->window[process->me];
    const bool has_result = process->issued > 0;
    switch (operation) {
    case LIMIT_PUT:
        return (*(uint64_t *)mine != process->sequence) + (*limit_last_word(mine, size) != process->sequence);
    case LIMIT_GET:
        return has_result && *(uint64_t *)process->buffer != bench_word(0, 0);
    case LIMIT_ACCUMULATE:
        return *limit_last_word(mine, size) != process->received * bench_word(0, size / sizeof(uint64_t) - 1);
    default:
        return (*(uint64_t *)mine != process->received) +
               (has_result && process->result != process->issued - 1);
    }
}

static void exchange(struct limit_process *process, enum limit_operation operation, size_t size,
                     long iterations) {
    const int other = 1 - process->me;
    long wrong = 0;
    for (long i = 0; i < iterations; i++) {
        process->sequence++;
        if (process->me == 0) {
            operate(process, operation, process->window[other], size);
            limit_flag_raise(process, other);
        }
        limit_flag_wait(process);
        process->received++;
        wrong += seen_wrong(process, operation, size);
        if (process->me == 1) {
            operate(process, operation, process->window[other], size);
            limit_flag_raise(process, other);
        }
    }
    atomic_fetch_add(&process->control->wrong, wrong);
}

/* Process by process, what it alone touches: it has nothing issued, and sends the pattern 0. */
static void begin(struct limit_process *process, enum limit_operation operation, size_t size) {
    process->issued = 0;
    process->received = 0;
    bench_fill(process->buffer, size, operation == LIMIT_GET ? 1 : 0);
}

void limit_transfer_serve(struct limit_process *process, const struct limit_order *order) {
    begin(process, order->operation, order->size);
    exchange(process, order->operation, order->size, order->iterations);
}

/* process_vm_writev or _readv between memory of this process and the private memory that the other one has
 * lent: the whole, in as many calls as it takes. */
static void cma(struct limit_process *process, char *mine, bool put, size_t size) {
    char *theirs = (char *)atomic_load_explicit(&process->control->lent, memory_order_relaxed);
    for (size_t done = 0; done < size;) {
        struct iovec here = {mine + done, size - done}, there = {theirs + done, size - done};
        ssize_t moved = put ? process_vm_writev(process->other, &here, 1, &there, 1, 0)
                            : process_vm_readv(process->other, &here, 1, &there, 1, 0);
        if (moved <= 0) {
            perror("limit: process_vm_writev/readv");
            exit(1);
        }
        done += (size_t)moved;
    }
}

static double sample(struct limit_process *process, enum way way, enum limit_operation operation, size_t size,
                     long iterations) {
    double start = bench_now_us();
    if (is_exchange(way)) {
        limit_order_give(process, &(struct limit_order){.task = LIMIT_EXCHANGE,
                                                        .place = process->place,
                                                        .operation = operation,
                                                        .size = size,
                                                        .iterations = iterations});
        exchange(process, operation, size, 1); /* the other one is awake now */
        start = bench_now_us();
        exchange(process, operation, size, iterations - 1);
        return (bench_now_us() - start) / (double)(iterations - 1) / 2;
    }
    char *to = operation == LIMIT_PUT ? process->window[1] : process->buffer;
    const char *from = operation == LIMIT_PUT ? process->buffer : process->window[1];
    for (long i = 0; i < iterations; i++) {
        if (way == WAY_CMA)
            cma(process, process->buffer, operation == LIMIT_PUT, size);
        else if (way == WAY_MEMCPY)
            memcpy(to, from, size);
        else
            operate(process, operation, process->window[1], size);
        atomic_signal_fence(memory_order_seq_cst); /* each is made */
    }
    return (bench_now_us() - start) / (double)iterations;
}

/* The windows before a sample: what gets bring, what puts must go over, or what sums begin with. */
static void prepare(struct limit_process *process, enum limit_operation operation, size_t size) {
    for (int who = 0; who < 2; who++) {
        if (is_copy(operation))
            bench_fill(process->window[who], size, operation == LIMIT_PUT ? 1 : 0);
        else
            memset(process->window[who], 0, size);
    }
}

/* The wrong words of all that was moved in a sample. */
static long all_wrong(const struct limit_process *process, enum limit_operation operation, size_t size) {
    const uint64_t *theirs = (const uint64_t *)process->window[1];
    long wrong = 0;
    switch (operation) {
    case LIMIT_PUT:
        return bench_wrong(theirs, size, 0, 1); /* but the words that carry numbers */
    case LIMIT_GET:
        return bench_wrong(process->buffer, size, 0, 0);
    case LIMIT_ACCUMULATE:
        for (size_t i = 0; i < size / sizeof *theirs; i++)
            wrong += theirs[i] != process->issued * bench_word(0, i);
        return wrong;
    default:
        return theirs[0] != process->issued || process->result != process->issued - 1;
    }
}

static double checked_sample(struct limit_process *process, enum way way, enum limit_operation operation,
                             size_t size, long iterations) {
    begin(process, operation, size);
    prepare(process, operation, size);
    if (way == WAY_CMA)
        cma(process, process->window[1], true, size);
    double us = sample(process, way, operation, size, iterations);
    if (way == WAY_CMA)
        cma(process, process->window[1], false, size);
    limit_verify(process, ways[way], all_wrong(process, operation, size));
    return us;
}

/* What samples of a warm-up are taken of. */
struct warm_up {
    struct limit_process *process;
    enum way way;
    enum limit_operation operation;
    size_t size;
};

static double sample_warm_up(void *context, long iterations) {
    const struct warm_up *warm_up = context;
    return checked_sample(warm_up->process, warm_up->way, warm_up->operation, warm_up->size, iterations);
}

static bool exists(enum way way, enum limit_operation operation, size_t size) {
    if (is_atomic(operation) && size != sizeof(uint64_t))
        return false;
    return is_exchange(way) || (way == WAY_UPDATE) != is_copy(operation);
}

void limit_transfer_measure(struct limit_process *process, const struct bench_options *options,
                            const char *mode, const char *op, size_t size) {
    static struct bench_samples samples;
    const enum way way = (enum way)place_of(mode, ways);
    const enum limit_operation operation = (enum limit_operation)place_of(op, operations);
    if (!exists(way, operation, size))
        return;
    const struct bench_plan_need need = {.sample_us = options->budget_ms * 1e3 / options->reps, .least = 16};
    struct warm_up warm_up = {process, way, operation, size};
    double us;
    long iterations = bench_plan_grow(&need, sample_warm_up, &warm_up, &us);
    iterations = bench_plan_lasting(&need, need.sample_us, us, iterations);
    samples.count = 0;
    for (int i = 0; i < options->reps; i++) {
        limit_place_choose(process, way == WAY_EXCHANGE_PLACES ? i % LIMIT_PLACES : 0);
        bench_sample(&samples, checked_sample(process, way, operation, size, iterations));
    }
    limit_place_choose(process, 0);
    struct bench_cell cell = {
        .bench = "limit", .mode = mode, .op = op, .size = (long long)size, .ranks = 2, .bytes = (double)size};
    bench_print(&cell, &samples);
}
