/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregate bandwidth of k origins into one target: PSCW epochs in which each origin puts `values` pieces of
 * `size` into its own part of the target's window. The time is that of an epoch, from the first rank's begin
 * to the last one's end. Where the processor counts cache misses, those of all ranks per epoch are told. The
 * data changes with every sample and is compared as a whole. */
#include "common/bench.h"
#include "common/counter.h"

#include <stdlib.h>
#include <unistd.h>

static const struct bench_program program = {.name = "aggregate",
                                             .summary = "bandwidth of k origins into one target, k + 1 ranks",
                                             .flavours = "create,allocate",
                                             .sizes = "64K,512K",
                                             .values = "16",
                                             .values_help = "puts of each origin per epoch",
                                             .reps = 15,
                                             .budget_ms = 200};

enum { target = 0 };

/* Epochs before each sample, that are not timed: so many take longer after the data was checked. */
enum { settling = 4 };

struct aggregate {
    struct bench_window window;
    MPI_Group origins, targets;
    int rank, ranks, puts;
    size_t size;
    char *buffer;
    uint64_t round;
    int counter; /* of cache misses, or -1 */
    long epochs; /* that it has counted */
};

/* Where the part of `origin` begins in the target's window. */
static size_t part_of(const struct aggregate *aggregate, int origin) {
    return (size_t)(origin - 1) * (size_t)aggregate->puts * aggregate->size;
}

static uint64_t seed_of(const struct aggregate *aggregate, int origin) {
    return aggregate->round * 4096 + (uint64_t)origin;
}

static void open_round(void *context) {
    struct aggregate *aggregate = context;
    aggregate->round++;
    if (aggregate->rank != target)
        bench_fill(aggregate->buffer, (size_t)aggregate->puts * aggregate->size,
                   seed_of(aggregate, aggregate->rank));
    bench_counter_run(aggregate->counter);
}

static void close_round(void *context) {
    bench_counter_stop(((struct aggregate *)context)->counter);
}

static void run(void *context, long iterations) {
    struct aggregate *aggregate = context;
    MPI_Win win = aggregate->window.win;
    int bytes = (int)aggregate->size;
    aggregate->epochs += iterations;
    for (long i = 0; i < iterations; i++) {
        if (aggregate->rank == target) {
            MPI_Win_post(aggregate->origins, 0, win);
            MPI_Win_wait(win);
            continue;
        }
        MPI_Win_start(aggregate->targets, 0, win);
        for (int p = 0; p < aggregate->puts; p++) {
            size_t at = (size_t)p * aggregate->size;
            MPI_Put(aggregate->buffer + at, bytes, MPI_BYTE, target,
                    (MPI_Aint)(part_of(aggregate, aggregate->rank) + at), bytes, MPI_BYTE, win);
        }
        MPI_Win_complete(win);
    }
}

static long check(void *context) {
    struct aggregate *aggregate = context;
    size_t bytes = (size_t)aggregate->puts * aggregate->size;
    long wrong = 0;
    for (int r = 1; r < aggregate->ranks && aggregate->rank == target; r++)
        wrong += bench_wrong(aggregate->window.base + part_of(aggregate, r), bytes, seed_of(aggregate, r), 0);
    return wrong;
}

/* Cache misses per epoch, all ranks together; negative where a rank cannot count them. */
static double misses_of(const struct aggregate *aggregate) {
    double mine = (double)bench_counter_read(aggregate->counter) / (double)aggregate->epochs, all;
    int counts = aggregate->counter >= 0;
    MPI_Allreduce(MPI_IN_PLACE, &counts, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return counts ? all : -1;
}

/* Makes a window for what `aggregate` is to be; its memory is zeroed. */
static void begin(struct aggregate *aggregate, const char *flavour) {
    size_t bytes = (size_t)aggregate->puts * aggregate->size * (size_t)(aggregate->ranks - 1);
    bench_window_make(&aggregate->window, flavour, aggregate->rank == target ? bytes : 0, MPI_COMM_WORLD);
    aggregate->counter = bench_counter_open();
    aggregate->epochs = 0;
}

static void end(struct aggregate *aggregate) {
    if (aggregate->counter >= 0)
        close(aggregate->counter);
    bench_window_free(&aggregate->window);
}

static void emit(const struct bench *bench, const struct aggregate *aggregate, const char *flavour,
                 struct bench_samples *samples) {
    struct bench_cell cell = {
        .mode = "pscw", .op = "put", .flavour = flavour, .size = (long long)aggregate->size};
    cell.bytes = (double)aggregate->puts * (double)aggregate->size * (bench->ranks - 1);
    cell.extra[0].name = "others";
    cell.extra[0].value = bench->ranks - 1;
    cell.extra[1].name = "burst";
    cell.extra[1].value = aggregate->puts;
    double misses = misses_of(aggregate);
    if (misses >= 0) {
        cell.extra[2].name = "cache_misses";
        cell.extra[2].value = misses;
    }
    bench_emit(bench, &cell, samples, target);
}

/* The flavours in turns, a window of each alive, from one buffer: they are compared. `what` says what they
 * have in common. */
static void measure(const struct bench *bench, struct aggregate *what) {
    static struct bench_samples samples[BENCH_MAX_TURNS];
    struct aggregate aggregate[BENCH_MAX_TURNS];
    struct bench_task task[BENCH_MAX_TURNS];
    char flavour[BENCH_MAX_TURNS][32];
    int count = 0;
    what->buffer = bench_memory((size_t)what->puts * what->size);
    while (count < BENCH_MAX_TURNS &&
           bench_list_entry(bench->options.flavours, count, flavour[count], sizeof flavour[count])) {
        aggregate[count] = *what;
        begin(&aggregate[count], flavour[count]);
        task[count] = (struct bench_task){.context = &aggregate[count],
                                          .open = open_round,
                                          .run = run,
                                          .close = close_round,
                                          .check = check,
                                          .before = settling,
                                          .warm = aggregate[count].window.created,
                                          .together = true};
        count++;
    }
    bench_run_in_turns(bench, task, count, samples);
    for (int i = 0; i < count; i++) {
        emit(bench, &aggregate[i], flavour[i], &samples[i]);
        end(&aggregate[i]);
    }
    free(what->buffer);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 1024);
    const struct bench_options *options = &bench.options;
    struct aggregate aggregate = {.rank = bench.rank, .ranks = bench.ranks};
    MPI_Group world;
    int hub = target;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &hub, &aggregate.targets);
    MPI_Group_excl(world, 1, &hub, &aggregate.origins);
    for (int s = 0; s < options->sizes.count; s++) {
        for (int v = 0; v < options->values.count; v++) {
            aggregate.size = (size_t)options->sizes.item[s];
            aggregate.puts = (int)options->values.item[v];
            measure(&bench, &aggregate);
        }
    }
    MPI_Group_free(&aggregate.targets);
    MPI_Group_free(&aggregate.origins);
    MPI_Group_free(&world);
    return bench_end();
}
