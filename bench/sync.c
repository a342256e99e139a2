/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of synchronisation without data, for k + 1 ranks.
 *
 * fan_in: rank 0 is the target of k origins: post and wait there, start and complete at the origins; every
 * epoch is a sample. fan_in_windows: the same with a window per origin; the target posts on all, then waits
 * on all. fan_out: rank 0 is the origin of k targets: start and complete there, post and wait at the targets.
 * fence: all ranks. lock: rank 0 locks and unlocks (exclusive) one after the other of k targets, which wait
 * in a barrier; the time is that of one of them. barrier: MPI_Barrier, where programs with windows meet; no
 * window takes part. After every sample the same synchronisation carries one word from each origin to each
 * target, which is checked. */
#include "common/bench.h"

#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {
    .name = "sync",
    .summary = "synchronisation without data, 2 ranks and more",
    .modes = "fan_in,fan_in_windows,fan_out,fence,lock,barrier",
    .flavours = "create,allocate",
    .budget_ms = 200,
};

struct sync {
    int rank, ranks;
    const char *mode;
    int windows; /* one, or one per origin */
    struct bench_window *window;
    MPI_Group hub, others;
    uint64_t word; /* what the origins send; grows with each check */
};

static bool mode_is(const struct sync *sync, const char *mode) {
    return strcmp(sync->mode, mode) == 0;
}

/* Whether this rank takes part in window `w` of several; rank 0 is in all. */
static bool in_window(const struct sync *sync, int w) {
    return sync->rank == 0 || sync->windows == 1 || sync->rank == w + 1;
}

/* In fan_in and fan_out one side is rank 0, and the other all others. */
static bool is_target(const struct sync *sync) {
    return (sync->rank == 0) != mode_is(sync, "fan_out");
}

/* Sends this rank's word to `target`, at its own place there. */
static void put_word(struct sync *sync, int w, int target) {
    MPI_Put(&sync->word, 8, MPI_BYTE, target, 8 * sync->rank, 8, MPI_BYTE, sync->window[w].win);
}

static void target_epoch(struct sync *sync) {
    MPI_Group origins = sync->rank == 0 ? sync->others : sync->hub;
    for (int w = 0; w < sync->windows; w++) {
        MPI_Group one = MPI_GROUP_NULL;
        if (sync->windows > 1) {
            int member = w;
            MPI_Group_incl(sync->others, 1, &member, &one);
        }
        MPI_Win_post(sync->windows > 1 ? one : origins, 0, sync->window[w].win);
        if (one != MPI_GROUP_NULL)
            MPI_Group_free(&one);
    }
    for (int w = 0; w < sync->windows; w++)
        MPI_Win_wait(sync->window[w].win);
}

static void origin_epoch(struct sync *sync, bool with_word) {
    MPI_Group targets = sync->rank == 0 ? sync->others : sync->hub;
    for (int w = 0; w < sync->windows; w++) {
        if (!in_window(sync, w))
            continue;
        MPI_Win_start(targets, 0, sync->window[w].win);
        int first = sync->rank == 0 ? 1 : 0, last = sync->rank == 0 ? sync->ranks - 1 : 0;
        for (int t = first; t <= last && with_word; t++)
            put_word(sync, w, t);
        MPI_Win_complete(sync->window[w].win);
    }
}

static void epoch(struct sync *sync, bool with_word) {
    MPI_Win win = sync->window[0].win;
    if (mode_is(sync, "fence")) {
        int next = (sync->rank + 1) % sync->ranks;
        if (with_word)
            put_word(sync, 0, next);
        MPI_Win_fence(0, win);
    } else if (mode_is(sync, "barrier")) {
        if (with_word) {
            MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
            put_word(sync, 0, (sync->rank + 1) % sync->ranks);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (mode_is(sync, "lock")) {
        for (int t = 1; t < sync->ranks && sync->rank == 0; t++) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, win);
            if (with_word)
                put_word(sync, 0, t);
            MPI_Win_unlock(t, win);
        }
    } else if (is_target(sync)) {
        target_epoch(sync);
    } else {
        origin_epoch(sync, with_word);
    }
}

static void open_fence(void *context) {
    struct sync *sync = context;
    MPI_Win_fence(0, sync->window[0].win);
}

static void run(void *context, long iterations) {
    for (long i = 0; i < iterations; i++)
        epoch(context, false);
}

/* Whether `origin`'s word is to arrive at this rank. */
static bool expects(const struct sync *sync, int origin) {
    if (mode_is(sync, "fence") || mode_is(sync, "barrier"))
        return origin == (sync->rank + sync->ranks - 1) % sync->ranks;
    if (mode_is(sync, "fan_in") || mode_is(sync, "fan_in_windows"))
        return sync->rank == 0 && origin != 0;
    return sync->rank != 0 && origin == 0;
}

static long check(void *context) {
    struct sync *sync = context;
    bool passive = mode_is(sync, "lock");
    long wrong = 0;
    sync->word++;
    epoch(sync, true);
    if (passive) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, sync->rank, 0, sync->window[0].win);
    }
    for (int origin = 0; origin < sync->ranks; origin++) {
        int w = sync->windows > 1 ? origin - 1 : 0;
        if (expects(sync, origin))
            wrong += ((const uint64_t *)sync->window[w].base)[origin] != sync->word;
    }
    if (passive)
        MPI_Win_unlock(sync->rank, sync->window[0].win);
    return wrong;
}

static void begin(struct sync *sync, const char *flavour) {
    sync->windows = mode_is(sync, "fan_in_windows") ? sync->ranks - 1 : 1;
    sync->window = calloc((size_t)sync->windows, sizeof *sync->window);
    for (int w = 0; w < sync->windows; w++)
        bench_window_make(&sync->window[w], flavour, 8 * (size_t)sync->ranks, MPI_COMM_WORLD);
    sync->word = 0;
}

static void end(struct sync *sync) {
    for (int w = 0; w < sync->windows; w++)
        bench_window_free(&sync->window[w]);
    free(sync->window);
}

static bool is_fan(const struct sync *sync) {
    return strncmp(sync->mode, "fan", 3) == 0;
}

/* With more ranks than CPUs a sample of locks is long against the others' way to their barrier (samples of 35
 * us mostly took twice the fastest one's time) and short against a turn of the scheduler's (some ms). Fences
 * and barriers are sampled in rows: by themselves some take next to nothing, and others what several would,
 * as ranks take turns (4 ranks, Zen 4: 0.1 or 3.2 us, in the mean 1.7; MPICH alone 10 us or 8 ms). */
static struct bench_task task_of(const struct bench *bench, struct sync *sync) {
    const long least = is_fan(sync) ? 8 : bench_is_crowded(bench) ? 4 : 1;
    return (struct bench_task){.context = sync,
                               .open = mode_is(sync, "fence") ? open_fence : NULL,
                               .run = run,
                               .check = check,
                               .least = least,
                               .most = bench_is_crowded(bench) && mode_is(sync, "lock") ? 16384 : 0,
                               .each = is_fan(sync)};
}

static void emit(const struct bench *bench, const struct sync *sync, const char *flavour,
                 struct bench_samples *samples) {
    for (int i = 0; i < samples->count && mode_is(sync, "lock"); i++)
        samples->us[i] /= sync->ranks - 1;
    struct bench_cell cell = {.mode = sync->mode, .op = "none", .flavour = flavour};
    cell.extra[0].name = "others";
    cell.extra[0].value = sync->ranks - 1;
    if (is_fan(sync))
        cell.side = is_target(sync) ? "target" : "origin";
    bench_emit(bench, &cell, samples, 0);
    if (is_fan(sync)) {
        cell.side = mode_is(sync, "fan_out") ? "target" : "origin";
        bench_emit(bench, &cell, samples, 1);
    }
}

/* The flavours, a window of each alive, in turns: they are compared. One after the other where each epoch is
 * a sample. `what` says what they have in common. */
static void measure(const struct bench *bench, const struct sync *what) {
    static struct bench_samples samples[BENCH_MAX_TURNS];
    struct sync sync[BENCH_MAX_TURNS];
    struct bench_task task[BENCH_MAX_TURNS];
    char flavour[BENCH_MAX_TURNS][32];
    const bool is_each = is_fan(what);
    int count = 0;
    while (count < BENCH_MAX_TURNS &&
           bench_list_entry(bench->options.flavours, count, flavour[count], sizeof flavour[count])) {
        sync[count] = *what;
        begin(&sync[count], flavour[count]);
        task[count] = task_of(bench, &sync[count]);
        count++;
    }
    if (!is_each)
        bench_run_in_turns(bench, task, count, samples);
    for (int i = 0; i < count; i++) {
        if (is_each)
            bench_run(bench, &task[i], &samples[i]);
        emit(bench, &sync[i], flavour[i], &samples[i]);
        end(&sync[i]);
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 1024);
    struct sync sync = {.rank = bench.rank, .ranks = bench.ranks};
    MPI_Group world;
    int hub = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &hub, &sync.hub);
    MPI_Group_excl(world, 1, &hub, &sync.others);
    char mode[32];
    sync.mode = mode;
    for (int m = 0; bench_list_entry(bench.options.modes, m, mode, sizeof mode); m++)
        measure(&bench, &sync);
    MPI_Group_free(&sync.hub);
    MPI_Group_free(&sync.others);
    MPI_Group_free(&world);
    return bench_end();
}
