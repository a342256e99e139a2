/* SPDX-License-Identifier: BSD-3-Clause */
/* k origins update words of one target, each update followed by a flush, within lock_all; the target waits in
 * a barrier. same: all on one word. distinct: each on a word of its own, 256 bytes apart. The time is that
 * from the first origin's begin to the last one's end, per update of one origin; mops is the rate of all
 * together. */
#include "common/bench.h"

#include <string.h>

static const struct bench_program program = {.name = "contend",
                                             .summary = "k origins update one target, k + 1 ranks",
                                             .modes = "same,distinct",
                                             .ops = "fetch_and_op,compare_and_swap,accumulate",
                                             .flavours = "create,allocate",
                                             .reps = 9,
                                             .budget_ms = 450};

enum { target = 0, apart = 256 };

enum update { FETCH_AND_OP, COMPARE_AND_SWAP, ACCUMULATE };

struct contend {
    struct bench_window window;
    int rank, ranks;
    bool same;
    enum update update;
    uint64_t added; /* what this rank has added to its word */
    uint64_t seen;  /* the word's last value that this rank knows */
    long wrong;
};

static MPI_Aint place_of(const struct contend *contend, int rank) {
    return contend->same ? 0 : (MPI_Aint)rank * apart;
}

static void update(struct contend *contend, MPI_Aint place) {
    MPI_Win win = contend->window.win;
    const uint64_t one = 1;
    uint64_t before = 0, next = contend->seen + 1;
    switch (contend->update) {
    case FETCH_AND_OP:
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, target, place, MPI_SUM, win);
        break;
    case COMPARE_AND_SWAP:
        MPI_Compare_and_swap(&next, &contend->seen, &before, MPI_UINT64_T, target, place, win);
        break;
    case ACCUMULATE:
        MPI_Accumulate(&one, 1, MPI_UINT64_T, target, place, 1, MPI_UINT64_T, MPI_SUM, win);
        break;
    }
    MPI_Win_flush(target, win);
    if (contend->update == ACCUMULATE) {
        contend->added++;
        return;
    }
    /* A word only grows, and alone on it this rank knows its value exactly. */
    contend->wrong += before < contend->seen || (!contend->same && before != contend->added);
    bool taken = contend->update == FETCH_AND_OP || before == contend->seen;
    contend->added += taken;
    contend->seen = taken ? before + 1 : before;
}

static void open_epoch(void *context) {
    struct contend *contend = context;
    MPI_Win_lock_all(0, contend->window.win);
}

static void run(void *context, long iterations) {
    struct contend *contend = context;
    MPI_Aint place = place_of(contend, contend->rank);
    for (long i = 0; i < iterations && contend->rank != target; i++)
        update(contend, place);
}

static void close_epoch(void *context) {
    struct contend *contend = context;
    MPI_Win_unlock_all(contend->window.win);
}

static long check(void *context) {
    struct contend *contend = context;
    uint64_t added[1024];
    MPI_Gather(&contend->added, 1, MPI_UINT64_T, added, 1, MPI_UINT64_T, target, MPI_COMM_WORLD);
    long wrong = contend->wrong;
    if (contend->rank == target) {
        uint64_t sum = 0;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, contend->window.win);
        for (int r = 1; r < contend->ranks; r++) {
            uint64_t word = *(const uint64_t *)(contend->window.base + place_of(contend, r));
            sum += added[r];
            wrong += !contend->same && word != added[r];
        }
        wrong += contend->same && *(const uint64_t *)contend->window.base != sum;
        MPI_Win_unlock(target, contend->window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return wrong;
}

static void emit(const struct bench *bench, const char *mode, const char *op, const char *flavour,
                 struct bench_samples *samples) {
    struct bench_cell cell = {.mode = mode, .op = op, .flavour = flavour, .size = 8};
    cell.ops = bench->ranks - 1;
    cell.extra[0].name = "others";
    cell.extra[0].value = bench->ranks - 1;
    bench_emit(bench, &cell, samples, 0);
}

/* The flavours in turns, a window of each alive: they are compared. `what` says what they have in common. */
static void measure(const struct bench *bench, const struct contend *what, const char *mode, const char *op) {
    static struct bench_samples samples[BENCH_MAX_TURNS];
    struct contend contend[BENCH_MAX_TURNS];
    struct bench_task task[BENCH_MAX_TURNS];
    char flavour[BENCH_MAX_TURNS][32];
    int count = 0;
    while (count < BENCH_MAX_TURNS &&
           bench_list_entry(bench->options.flavours, count, flavour[count], sizeof flavour[count])) {
        contend[count] = *what;
        bench_window_make(&contend[count].window, flavour[count], (size_t)what->ranks * apart,
                          MPI_COMM_WORLD);
        task[count] = (struct bench_task){.context = &contend[count],
                                          .open = open_epoch,
                                          .run = run,
                                          .close = close_epoch,
                                          .check = check,
                                          .least = 64,
                                          .warm = contend[count].window.created,
                                          .together = true};
        count++;
    }
    bench_run_in_turns(bench, task, count, samples);
    for (int i = 0; i < count; i++) {
        emit(bench, mode, op, flavour[i], &samples[i]);
        bench_window_free(&contend[i].window);
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 1024);
    const struct bench_options *options = &bench.options;
    struct contend contend = {.rank = bench.rank, .ranks = bench.ranks};
    char mode[32], op[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++) {
            contend.same = strcmp(mode, "same") == 0;
            contend.update = op[0] == 'f' ? FETCH_AND_OP : op[0] == 'c' ? COMPARE_AND_SWAP : ACCUMULATE;
            measure(&bench, &contend, mode, op);
        }
    }
    return bench_end();
}
