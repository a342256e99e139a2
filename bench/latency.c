/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency of one operation between two ranks under every synchronisation.
 *
 * pscw: ping-pong, one epoch a way; the time is half a round trip (Lai et al., section 5.2). pscw_read: the
 * same, and who was exposed reads all that came, as programs do: it then lies in both ranks' caches.
 * pscw_made: the same, and the origin writes it anew before each put, as programs do as well: a word of each
 * line, which is part of the time.
 * fence: the ranks take turns; the time is that of the operation and one fence.
 * lock: exclusive lock, operation, unlock. lock_shared: the same with a shared lock.
 * lock_all: operation and flush within one lock_all epoch. In the last three the target waits in a barrier,
 * so that the host MPI's progress runs there. */
#include "common/transfer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_program program = {
    .name = "latency",
    .summary = "time of one operation with its synchronisation, two ranks",
    .modes = "pscw,pscw_read,pscw_made,fence,lock,lock_shared,lock_all",
    .ops = TRANSFER_OPS,
    .flavours = "create,allocate",
    .sizes = "8,64,512,1K,4K,8K,32K,64K,256K,1M,4M"};

struct latency {
    struct transfer transfer;
    MPI_Group peer;
    int lock_type;
};

static void access_epoch(struct latency *latency) {
    MPI_Win win = latency->transfer.window->win;
    if (latency->transfer.makes)
        transfer_make(&latency->transfer);
    MPI_Win_start(latency->peer, 0, win);
    transfer_issue(&latency->transfer);
    MPI_Win_complete(win);
    transfer_done(&latency->transfer);
}

static void exposure_epoch(struct latency *latency) {
    MPI_Win win = latency->transfer.window->win;
    MPI_Win_post(latency->peer, 0, win);
    MPI_Win_wait(win);
    transfer_arrived(&latency->transfer);
}

static void run_pscw(void *context, long iterations) {
    struct latency *latency = context;
    bool first = latency->transfer.rank == 0;
    for (long i = 0; i < iterations; i++) {
        if (first)
            access_epoch(latency);
        exposure_epoch(latency);
        if (!first)
            access_epoch(latency);
    }
}

static void run_fence(void *context, long iterations) {
    struct latency *latency = context;
    struct transfer *transfer = &latency->transfer;
    MPI_Win win = transfer->window->win;
    for (long i = 0; i < 2 * iterations; i++) {
        bool mine = i % 2 == transfer->rank;
        if (mine)
            transfer_issue(transfer);
        MPI_Win_fence(0, win);
        if (mine)
            transfer_done(transfer);
        else
            transfer_arrived(transfer);
    }
}

/* Operations of one kind, each in an epoch of its own under a lock, or followed by a flush. */
static inline __attribute__((always_inline)) void repeat(struct latency *latency, long iterations, bool locks,
                                                         enum transfer_kind kind) {
    struct transfer *transfer = &latency->transfer;
    MPI_Win win = transfer->window->win;
    for (long i = 0; i < iterations; i++) {
        if (locks)
            MPI_Win_lock(latency->lock_type, transfer->peer, 0, win);
        transfer_issue_as(transfer, kind);
        if (locks)
            MPI_Win_unlock(transfer->peer, win);
        else
            MPI_Win_flush(transfer->peer, win);
        transfer_done_as(transfer, kind);
    }
}

/* A loop for each kind: `locks` is a constant as well. */
static inline __attribute__((always_inline)) void run_passive(struct latency *latency, long iterations,
                                                              bool locks) {
    if (latency->transfer.rank != 0)
        return;
    switch (latency->transfer.kind) {
    case TRANSFER_PUT:
        return repeat(latency, iterations, locks, TRANSFER_PUT);
    case TRANSFER_GET:
        return repeat(latency, iterations, locks, TRANSFER_GET);
    case TRANSFER_ACCUMULATE:
        return repeat(latency, iterations, locks, TRANSFER_ACCUMULATE);
    case TRANSFER_FETCH_AND_OP:
        return repeat(latency, iterations, locks, TRANSFER_FETCH_AND_OP);
    case TRANSFER_COMPARE_AND_SWAP:
        return repeat(latency, iterations, locks, TRANSFER_COMPARE_AND_SWAP);
    }
}

static void run_lock(void *context, long iterations) {
    run_passive(context, iterations, true);
}

static void run_lock_all(void *context, long iterations) {
    run_passive(context, iterations, false);
}

static void open_fence(void *context) {
    struct latency *latency = context;
    MPI_Win_fence(0, latency->transfer.window->win);
}

static void open_lock_all(void *context) {
    struct latency *latency = context;
    MPI_Win_lock_all(0, latency->transfer.window->win);
}

static void close_lock_all(void *context) {
    struct latency *latency = context;
    MPI_Win_unlock_all(latency->transfer.window->win);
}

static long check_active(void *context) {
    struct latency *latency = context;
    return transfer_check(&latency->transfer, false);
}

static long check_passive(void *context) {
    struct latency *latency = context;
    return transfer_check(&latency->transfer, true);
}

static bool is_pscw(const char *mode) {
    return strncmp(mode, "pscw", 4) == 0;
}

static void set_use(struct transfer *transfer, const char *mode) {
    transfer->makes = strcmp(mode, "pscw_made") == 0;
    transfer->reads = transfer->makes || strcmp(mode, "pscw_read") == 0;
}

static struct bench_task task_of(struct latency *latency, const char *mode) {
    latency->lock_type = strcmp(mode, "lock") == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    struct bench_task task = {
        .context = latency, .run = run_lock, .check = check_passive, .least = 10, .before = 1};
    if (is_pscw(mode)) {
        set_use(&latency->transfer, mode);
        task.run = run_pscw;
        task.check = check_active;
    } else if (strcmp(mode, "fence") == 0) {
        task.open = open_fence;
        task.run = run_fence;
        task.check = check_active;
    } else if (strcmp(mode, "lock_all") == 0) {
        task.open = open_lock_all;
        task.run = run_lock_all;
        task.close = close_lock_all;
    }
    return task;
}

static void begin(struct latency *latency, const struct bench *bench, struct bench_window *window,
                  const char *flavour, const char *op, size_t size, uint64_t *buffer) {
    bench_window_make(window, flavour, size, MPI_COMM_WORLD);
    transfer_begin(&latency->transfer, op, size, window, buffer, bench->rank);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &latency->transfer.peer, &latency->peer);
    MPI_Group_free(&world);
}

static void end(struct latency *latency) {
    MPI_Group_free(&latency->peer);
    bench_window_free(latency->transfer.window);
}

static bool is_copy(const char *op) {
    return strcmp(op, "put") == 0 || strcmp(op, "get") == 0;
}

static bool is_limited(const struct bench *bench) {
    return strcmp(bench->options.flavours, program.flavours) == 0;
}

/* Where it is one: an origin that tells nobody moves so many bytes that calling costs little. */
static bool has_copy_for_limit(const struct bench *bench, const char *mode, const char *op, size_t size) {
    const size_t least = 32 << 10;
    return is_limited(bench) && !transfer_is_atomic_word(op) && size >= least &&
           strncmp(mode, "lock", 4) == 0;
}

/* The limit of the ping-pong: the same copies by hand between two processes that share memory. Who has copied
 * raises the other one's flag. */
struct hand {
    struct transfer transfer;
    struct bench_window window; /* shared: the data, and behind it a flag */
    _Atomic uint64_t *mine, *theirs;
    uint64_t raised, seen;
};

enum { FLAG_ROOM = 128 }; /* two cache lines: neighbours are fetched in pairs */

static void hand_over(struct hand *hand) {
    if (hand->transfer.makes)
        transfer_make(&hand->transfer);
    transfer_issue(&hand->transfer);
    atomic_store_explicit(hand->theirs, ++hand->raised, memory_order_release);
    transfer_done(&hand->transfer);
}

static void hand_await(struct hand *hand) {
    hand->seen++;
    while (atomic_load_explicit(hand->mine, memory_order_acquire) < hand->seen)
        ;
    transfer_arrived(&hand->transfer);
}

static void run_hand(void *context, long iterations) {
    struct hand *hand = context;
    bool first = hand->transfer.rank == 0;
    for (long i = 0; i < iterations; i++) {
        if (first)
            hand_over(hand);
        hand_await(hand);
        if (!first)
            hand_over(hand);
    }
}

static long check_hand(void *context) {
    struct hand *hand = context;
    return transfer_check(&hand->transfer, false);
}

static void begin_hand(struct hand *hand, const struct bench *bench, const char *op, size_t size,
                       uint64_t *buffer) {
    const size_t data = (size + FLAG_ROOM - 1) / FLAG_ROOM * FLAG_ROOM;
    const MPI_Aint bytes = (MPI_Aint)data + FLAG_ROOM;
    MPI_Aint shared;
    int unit;
    char *theirs;
    *hand = (struct hand){.window = {.bytes = size}};
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &hand->window.base, &hand->window.win);
    MPI_Win_shared_query(hand->window.win, 1 - bench->rank, &shared, &unit, &theirs);
    memset(hand->window.base, 0, (size_t)bytes);
    transfer_begin(&hand->transfer, op, size, &hand->window, buffer, bench->rank);
    transfer_copy(&hand->transfer, (uint64_t *)theirs);
    hand->mine = (_Atomic uint64_t *)((char *)hand->window.base + data);
    hand->theirs = (_Atomic uint64_t *)(theirs + data);
}

/* The flavours in turns, a window of each alive, from and to one buffer, and the limit: they are compared. */
static void measure(const struct bench *bench, const char *mode, const char *op, size_t size) {
    static struct bench_samples samples[BENCH_MAX_TURNS];
    struct latency latency[BENCH_MAX_TURNS];
    struct bench_window window[BENCH_MAX_TURNS];
    struct bench_task task[BENCH_MAX_TURNS];
    char flavour[BENCH_MAX_TURNS][32];
    struct transfer copy;
    struct hand hand;
    uint64_t *buffer = bench_memory(size), *sums = NULL;
    int count = 0;
    while (count < BENCH_MAX_TURNS &&
           bench_list_entry(bench->options.flavours, count, flavour[count], sizeof flavour[count])) {
        begin(&latency[count], bench, &window[count], flavour[count], op, size, buffer);
        task[count] = task_of(&latency[count], mode);
        task[count].warm = window[count].created;
        count++;
    }
    const int windows = count;
    const bool is_by_hand = windows > 0 && is_pscw(mode) && is_copy(op) && is_limited(bench);
    if (is_by_hand) {
        begin_hand(&hand, bench, op, size, buffer);
        set_use(&hand.transfer, mode);
        task[count] = (struct bench_task){
            .context = &hand, .run = run_hand, .check = check_hand, .least = 10, .before = 1};
        strcpy(flavour[count++], "exchange");
    } else if (windows > 0 && has_copy_for_limit(bench, mode, op, size)) {
        /* The last window is an allocated one; of this rank's own memory in it nothing else is asked than
         * that nobody adds to it. */
        copy = latency[windows - 1].transfer;
        sums = is_copy(op) ? NULL : bench_memory(size);
        transfer_copy(&copy, is_copy(op) ? (uint64_t *)window[windows - 1].base : sums);
        task[count] = (struct bench_task){.context = &copy,
                                          .run = transfer_run_copy,
                                          .check = transfer_check_copy,
                                          .least = 10,
                                          .before = 1};
        strcpy(flavour[count++], is_copy(op) ? "memcpy" : "update");
    }
    bench_run_in_turns(bench, task, count, samples);
    for (int i = 0; i < count; i++) {
        if (task[i].check == check_active || task[i].check == check_hand) { /* an iteration went both ways */
            for (int s = 0; s < samples[i].count; s++)
                samples[i].us[s] /= 2;
        }
        struct bench_cell cell = {.mode = mode, .op = op, .flavour = flavour[i], .size = (long long)size};
        cell.bytes = (double)size;
        bench_emit(bench, &cell, &samples[i], 0);
        if (i < windows)
            end(&latency[i]);
    }
    if (is_by_hand)
        MPI_Win_free(&hand.window.win);
    free(sums);
    free(buffer);
}

static void measure_sizes(const struct bench *bench, const char *mode, const char *op) {
    if (transfer_is_atomic_word(op)) {
        measure(bench, mode, op, sizeof(uint64_t));
        return;
    }
    for (int i = 0; i < bench->options.sizes.count; i++)
        measure(bench, mode, op, (size_t)bench->options.sizes.item[i]);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    char mode[32], op[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++)
            measure_sizes(&bench, mode, op);
    }
    return bench_end();
}
