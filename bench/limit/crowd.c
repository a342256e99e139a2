/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine allows to k origins and a target, without any MPI, over one shared mapping.
 *
 * same, distinct: the origins update one word, or each its own, by one atomic instruction; the target sleeps.
 * The time is that from the first origin's begin to the last one's end, per update of one origin.
 * fan_in: the target stores a word to each origin, which polls for it and stores one back; the target's time
 * until it has seen all. barrier: all add to one word and poll it. Of fan_in, and with more processes than
 * CPUs, each step is a sample. window: see crowd.h. aggregate: see crowd_aggregate.h; aggregate_sessions: the
 * same where each process has a session of its own, as MPICH's launcher gives it: Linux may divide a CPU
 * between sessions first, and then a yield does not give it away. */
#include "crowd.h"

#include "../common/options.h"
#include "../common/plan.h"
#include "crowd_aggregate.h"
#include "fork.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct bench_program program = {
    .name = "limit-crowd",
    .summary = "the limits of k origins and a target: by hand over shared memory",
    .modes = "same,distinct,fan_in,barrier,window,aggregate,aggregate_sessions",
    .ops = "fetch_and_op,compare_and_swap,accumulate",
    .flavours = "create,allocate",
    .sizes = "4K,64K",
    .values = "1,2,4,8",
    .values_help = "origins",
    .budget_ms = 100};

enum task { SAME, DISTINCT, FAN_IN, BARRIER, WINDOW, AGGREGATE };
enum update { FETCH_AND_OP, COMPARE_AND_SWAP, ACCUMULATE };

/* What a cell is of. */
struct work {
    enum task task;
    enum update update; /* same, distinct */
    bool created;       /* window */
    bool has_sessions;  /* aggregate: each process one of its own */
    size_t bytes;       /* window, aggregate */
};

static bool is_update(enum task task) {
    return task == SAME || task == DISTINCT;
}

/* Returns what of the result is wrong: a word only grows, and alone on it a process knows its value. */
static long update(struct crowd *crowd, const struct work *work, struct crowd_origin *mine) {
    _Atomic uint64_t *word = work->task == SAME ? &crowd->shared->word : &mine->word;
    uint64_t before = crowd->seen;
    bool taken = true;
    switch (work->update) {
    case COMPARE_AND_SWAP:
        taken = atomic_compare_exchange_strong_explicit(word, &before, crowd->seen + 1, memory_order_relaxed,
                                                        memory_order_relaxed);
        break;
    case FETCH_AND_OP:
        before = atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
        break;
    case ACCUMULATE: /* its result is not told */
        atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
        break;
    }
    const long wrong = before < crowd->seen || (work->task == DISTINCT && before != crowd->seen);
    mine->added += taken;
    crowd->seen = before + taken;
    return wrong;
}

/* An origin's part of a step; returns how much was wrong. */
static long take_part(struct crowd *crowd, const struct work *work) {
    struct crowd_origin *mine = &crowd->shared->origin[crowd->place - 1];
    double ignored;
    uint64_t posted;
    switch (work->task) {
    case FAN_IN:
        posted = crowd_await(crowd, &mine->posted, ++crowd->step);
        atomic_store_explicit(&mine->completed, crowd->step, memory_order_release);
        return posted != crowd->step;
    case BARRIER:
        crowd_meet(crowd);
        return 0;
    case WINDOW:
        return crowd_window_use(crowd, work->created, work->bytes, &ignored, &ignored);
    case AGGREGATE:
        crowd_aggregate_put(crowd);
        return 0;
    default:
        return update(crowd, work, mine);
    }
}

/* The target's part of a step of fan_in, barrier or aggregate. */
static long lead(struct crowd *crowd, const struct work *work) {
    struct crowd_origin *origin = crowd->shared->origin;
    long wrong = 0;
    if (work->task == BARRIER) {
        crowd_meet(crowd);
        return 0;
    }
    if (work->task == AGGREGATE) {
        crowd_aggregate_expose(crowd);
        return 0;
    }
    crowd->step++;
    for (int i = 0; i < crowd->others; i++)
        atomic_store_explicit(&origin[i].posted, crowd->step, memory_order_release);
    for (int i = 0; i < crowd->others; i++)
        wrong += crowd_await(crowd, &origin[i].completed, crowd->step) != crowd->step;
    return wrong;
}

/* An origin until the end. */
static void serve(struct crowd *crowd, const struct work *work) {
    struct crowd_shared *shared = crowd->shared;
    struct crowd_origin *mine = &shared->origin[crowd->place - 1];
    for (long order = 1;; order++) {
        while (atomic_load_explicit(&shared->orders, memory_order_acquire) < order)
            usleep(50);
        const long iterations = shared->iterations;
        long wrong = 0;
        if (iterations == 0)
            return;
        if (work->task == AGGREGATE)
            crowd_aggregate_fill(crowd, order);
        mine->begin_us = bench_now_us();
        for (long i = 0; i < iterations; i++)
            wrong += take_part(crowd, work);
        mine->end_us = bench_now_us();
        atomic_fetch_add(&shared->wrong, wrong);
        atomic_fetch_add_explicit(&shared->done, 1, memory_order_release);
    }
}

static void give_order(struct crowd *crowd, long iterations) {
    crowd->shared->iterations = iterations;
    atomic_fetch_add_explicit(&crowd->shared->orders, 1, memory_order_release);
}

/* Sleeps until the origins have done all orders; ends the process if anything was wrong by then. */
static void settle(struct crowd *crowd, const struct work *work, long wrong) {
    struct crowd_shared *shared = crowd->shared;
    uint64_t sum = 0;
    while (atomic_load_explicit(&shared->done, memory_order_acquire) <
           atomic_load(&shared->orders) * crowd->others)
        usleep(50);
    for (int i = 0; i < crowd->others; i++) {
        sum += shared->origin[i].added;
        wrong += work->task == DISTINCT && shared->origin[i].word != shared->origin[i].added;
    }
    wrong += work->task == SAME && shared->word != sum;
    if (work->task == AGGREGATE)
        wrong += crowd_aggregate_wrong(crowd, atomic_load(&shared->orders));
    wrong += atomic_load(&shared->wrong);
    if (wrong != 0) {
        printf("CHECK FAILED: limit-crowd: %ld wrong\n", wrong);
        exit(1);
    }
}

/* The time of a step, the mean of so many. */
static double sample(struct crowd *crowd, const struct work *work, long iterations) {
    const struct crowd_origin *origin = crowd->shared->origin;
    long wrong = 0;
    give_order(crowd, iterations);
    double begin = bench_now_us();
    for (long i = 0; i < iterations && !is_update(work->task); i++)
        wrong += lead(crowd, work);
    double end = bench_now_us();
    settle(crowd, work, wrong);
    for (int i = 0; i < crowd->others && is_update(work->task); i++) {
        begin = i == 0 || origin[i].begin_us < begin ? origin[i].begin_us : begin;
        end = i == 0 || origin[i].end_us > end ? origin[i].end_us : end;
    }
    return (end - begin) / (double)iterations;
}

/* So many steps without a pause, each a sample. */
static void sample_each(struct crowd *crowd, const struct work *work, long iterations,
                        struct bench_samples *samples) {
    long wrong = 0;
    give_order(crowd, iterations);
    for (long i = 0; i < iterations; i++) {
        const double begin = bench_now_us();
        wrong += lead(crowd, work);
        bench_sample(samples, bench_now_us() - begin);
    }
    settle(crowd, work, wrong);
}

/* What samples of a warm-up are taken of. */
struct warm_up {
    struct crowd *crowd;
    const struct work *work;
};

static double sample_warm_up(void *context, long iterations) {
    const struct warm_up *warm_up = context;
    return sample(warm_up->crowd, warm_up->work, iterations);
}

static void sample_steps(struct crowd *crowd, const struct work *work, const struct bench_options *options,
                         struct bench_samples *samples) {
    const struct bench_plan_need need = {.sample_us = options->budget_ms * 1e3 / options->reps, .least = 16};
    struct warm_up warm_up = {crowd, work};
    double us;
    long iterations = bench_plan_grow(&need, sample_warm_up, &warm_up, &us);
    const bool has_start = work->task == FAN_IN || work->task == AGGREGATE; /* in which the origins wake up */
    if (!is_update(work->task) && (crowd->crowded || has_start)) {
        sample_each(crowd, work, (long)(options->budget_ms * 1e3 / us) + options->reps, samples);
        return;
    }
    iterations = bench_plan_lasting(&need, need.sample_us, us, iterations);
    for (int i = 0; i < options->reps; i++)
        bench_sample(samples, sample(crowd, work, iterations));
}

static void sample_windows(struct crowd *crowd, const struct work *work, const struct bench_options *options,
                           struct bench_samples *making, struct bench_samples *freeing) {
    enum { WARM_UPS = 3 }; /* as window.c */
    long wrong = 0;
    give_order(crowd, WARM_UPS + options->reps);
    for (int i = -WARM_UPS; i < options->reps; i++) {
        double make_us, free_us;
        wrong += crowd_window_use(crowd, work->created, work->bytes, &make_us, &free_us);
        if (i >= 0) {
            bench_sample(making, make_us);
            bench_sample(freeing, free_us);
        }
    }
    settle(crowd, work, wrong);
}

/* The target's process. */
static void measure(struct crowd *crowd, const struct work *work, const struct bench_options *options,
                    struct bench_cell *cell) {
    static struct bench_samples samples, freeing;
    cell->bench = "limit";
    cell->ranks = crowd->others + 1;
    cell->extra[0].name = "others";
    cell->extra[0].value = crowd->others;
    if (work->task == WINDOW)
        sample_windows(crowd, work, options, &samples, &freeing);
    else
        sample_steps(crowd, work, options, &samples);
    give_order(crowd, 0);
    bench_print(cell, &samples);
    if (work->task == WINDOW) {
        cell->op = "free";
        bench_print(cell, &freeing);
    }
}

/* Processes of its own for each cell, the target among them: this one stays unbound. If one of them fails the
 * end of this one ends the others. */
static void run(const struct work *work, const struct bench_options *options, int others,
                struct bench_cell *cell) {
    const size_t bytes = sizeof(struct crowd_shared) + (size_t)others * sizeof(struct crowd_origin);
    struct crowd crowd = {.others = others,
                          .crowded = others + 1 > sysconf(_SC_NPROCESSORS_ONLN),
                          .shared = limit_memory_share(bytes)};
    if (work->task == WINDOW)
        crowd_window_prepare(others + 1, work->bytes);
    if (work->task == AGGREGATE)
        crowd_aggregate_prepare(others, work->bytes);
    for (crowd.place = 0; crowd.place <= others; crowd.place++) {
        if (limit_process_fork(options->pin, crowd.place) != 0)
            continue;
        if (work->has_sessions && setsid() < 0) {
            perror("limit-crowd: setsid");
            _exit(1);
        }
        if (crowd.place == 0)
            measure(&crowd, work, options, cell);
        else
            serve(&crowd, work);
        _exit(0);
    }
    for (int i = 0; i <= others; i++) {
        int status = 0;
        if (wait(&status) < 0 || !WIFEXITED(status))
            exit(1);
        if (WEXITSTATUS(status) != 0)
            exit(WEXITSTATUS(status));
    }
    munmap(crowd.shared, bytes);
}

static void run_updates(struct work *work, const struct bench_options *options, const char *mode,
                        int others) {
    char op[32];
    for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++) {
        work->update = op[0] == 'f' ? FETCH_AND_OP : op[0] == 'c' ? COMPARE_AND_SWAP : ACCUMULATE;
        struct bench_cell cell = {.mode = mode, .op = op, .size = sizeof(uint64_t), .ops = others};
        run(work, options, others, &cell);
    }
}

static void run_windows(struct work *work, const struct bench_options *options, const char *mode,
                        int others) {
    char flavour[32];
    for (int f = 0; bench_list_entry(options->flavours, f, flavour, sizeof flavour); f++) {
        for (int s = 0; s < options->sizes.count; s++) {
            work->created = strcmp(flavour, "create") == 0;
            work->bytes = (size_t)options->sizes.item[s];
            struct bench_cell cell = {
                .mode = mode, .op = "make", .flavour = flavour, .size = options->sizes.item[s]};
            run(work, options, others, &cell);
        }
    }
}

static void run_aggregates(struct work *work, const struct bench_options *options, const char *mode,
                           int others) {
    for (int s = 0; s < options->sizes.count; s++) {
        work->bytes = (size_t)options->sizes.item[s];
        struct bench_cell cell = {.mode = mode, .op = "put", .size = options->sizes.item[s]};
        cell.bytes = (double)CROWD_PIECES * (double)work->bytes * others;
        run(work, options, others, &cell);
    }
}

static enum task task_of(const char *mode) {
    return mode[0] == 's'   ? SAME
           : mode[0] == 'd' ? DISTINCT
           : mode[0] == 'f' ? FAN_IN
           : mode[0] == 'b' ? BARRIER
           : mode[0] == 'a' ? AGGREGATE
                            : WINDOW;
}

/* Whether the numbers make sense; says so if not. */
static bool is_sound(const struct bench_options *options) {
    for (int v = 0; v < options->values.count; v++) {
        if (options->values.item[v] < 1 || options->values.item[v] > CROWD_MOST) {
            fprintf(stderr, "--values: %lld origins, where 1 to %d are allowed\n", options->values.item[v],
                    CROWD_MOST);
            return false;
        }
    }
    for (int s = 0; s < options->sizes.count; s++) {
        if (options->sizes.item[s] % 8 != 0 || options->sizes.item[s] == 0) {
            fprintf(stderr, "--size: %lld is not a multiple of 8\n", options->sizes.item[s]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    struct bench_options options;
    int status = bench_options_parse(&options, &program, argc, argv, true);
    if (status != 0)
        return status == 1 ? 0 : 2;
    if (!is_sound(&options))
        return 2;
    char mode[32];
    for (int m = 0; bench_list_entry(options.modes, m, mode, sizeof mode); m++) {
        for (int v = 0; v < options.values.count; v++) {
            const int others = (int)options.values.item[v];
            struct work work = {.task = task_of(mode),
                                .has_sessions = strcmp(mode, "aggregate_sessions") == 0};
            struct bench_cell cell = {.mode = mode, .op = "none"};
            if (is_update(work.task))
                run_updates(&work, &options, mode, others);
            else if (work.task == WINDOW)
                run_windows(&work, &options, mode, others);
            else if (work.task == AGGREGATE)
                run_aggregates(&work, &options, mode, others);
            else
                run(&work, &options, others, &cell);
        }
    }
    return 0;
}
