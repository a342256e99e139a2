/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: threads on one window, on windows of their own, and windows made and freed meanwhile.
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60 };

static MPI_Comm comms[THREADS];

struct worker {
    struct check_window *window;
    int number;
};

static void run(void *(*body)(void *), struct check_window *window) {
    pthread_t threads[THREADS];
    struct worker workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){window, i};
        pthread_create(&threads[i], NULL, body, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* In one lock_all epoch every thread puts, gets, adds and flushes on its own part of everybody. */
static void *operate(void *argument) {
    const struct worker *worker = argument;
    struct check_window *window = worker->window;
    size_t at = 64 * (1 + (size_t)(check_rank * THREADS + worker->number));
    int64_t one = 1;

    for (int i = 0; i < ROUNDS; i++) {
        int target = (check_rank + i) % check_ranks;
        uint64_t word = check_pattern((uint64_t)check_rank, (uint64_t)worker->number, (uint64_t)i);
        uint64_t got = 0;
        int64_t old = -1;
        MPI_Put(&word, 8, MPI_BYTE, target, check_disp(window, target, at), 8, MPI_BYTE, window->win);
        MPI_Win_flush(target, window->win);
        MPI_Get(&got, 8, MPI_BYTE, target, check_disp(window, target, at), 8, MPI_BYTE, window->win);
        if (i % 2) {
            MPI_Win_flush(target, window->win);
        } else {
            MPI_Win_flush_all(window->win);
        }
        CHECK_SAME(got, word);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, check_disp(window, 0, 0), 1, MPI_INT64_T, MPI_SUM,
                       window->win);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, check_disp(window, 0, 8), MPI_SUM, window->win);
        MPI_Win_flush(0, window->win);
        CHECK(old >= 0);
    }
    return NULL;
}

static void one_window(struct check_window *window) {
    memset(window->base, 0, window->size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window->win);
    run(operate, window);
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
        CHECK_SAME(((int64_t *)window->base)[0], THREADS * ROUNDS * check_ranks);
        CHECK_SAME(((int64_t *)window->base)[1], THREADS * ROUNDS * check_ranks);
        MPI_Win_unlock(0, window->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each thread has a communicator: it makes windows, uses them in every way, frees them, while the others do
 * the same. */
static void *create_and_free(void *argument) {
    const struct worker *worker = argument;
    MPI_Comm comm = comms[worker->number];
    int right = check_neighbour(1);
    int left = check_neighbour(-1);
    MPI_Group world;
    MPI_Group to;
    MPI_Group from;

    MPI_Comm_group(comm, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    for (int i = 0; i < 10; i++) {
        struct check_window window;
        uint64_t word = check_pattern((uint64_t)check_rank, (uint64_t)worker->number, (uint64_t)i);
        uint64_t expected = check_pattern((uint64_t)left, (uint64_t)worker->number, (uint64_t)i);
        check_window_make(&window, (enum check_flavor)((i + worker->number) % CHECK_FLAVORS), 256, comm);
        MPI_Win_fence(0, window.win);
        MPI_Put(&word, 8, MPI_BYTE, right, check_disp(&window, right, 0), 8, MPI_BYTE, window.win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
        CHECK_SAME(*(uint64_t *)window.base, expected);
        MPI_Win_post(from, 0, window.win);
        MPI_Win_start(to, 0, window.win);
        MPI_Put(&word, 8, MPI_BYTE, right, check_disp(&window, right, 8), 8, MPI_BYTE, window.win);
        MPI_Win_complete(window.win);
        MPI_Win_wait(window.win);
        CHECK_SAME(((uint64_t *)window.base)[1], expected);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window.win);
        MPI_Put(&word, 8, MPI_BYTE, right, check_disp(&window, right, 16), 8, MPI_BYTE, window.win);
        MPI_Win_unlock(right, window.win);
        MPI_Barrier(comm);
        CHECK_SAME(((uint64_t *)window.base)[2], expected);
        check_window_free(&window);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
    return NULL;
}

/* Threads lock different targets of one window, at the same time as one another and as other ranks. */
static void *lock_targets(void *argument) {
    const struct worker *worker = argument;
    struct check_window *window = worker->window;

    for (int i = 0; i < ROUNDS && worker->number < check_ranks; i++) {
        int target = worker->number; /* no two threads of a process may lock the same target */
        uint64_t value = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
        MPI_Get(&value, 8, MPI_BYTE, target, check_disp(window, target, 0), 8, MPI_BYTE, window->win);
        MPI_Win_flush(target, window->win);
        value++;
        MPI_Put(&value, 8, MPI_BYTE, target, check_disp(window, target, 0), 8, MPI_BYTE, window->win);
        MPI_Win_unlock(target, window->win);
    }
    return NULL;
}

static void one_target_each(struct check_window *window) {
    memset(window->base, 0, window->size);
    MPI_Barrier(MPI_COMM_WORLD);
    run(lock_targets, window);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, window->win);
    CHECK_SAME(*(uint64_t *)window->base, check_rank < THREADS ? ROUNDS * check_ranks : 0);
    MPI_Win_unlock(check_rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_of_it(struct check_window *window) {
    one_window(window);
    one_target_each(window);
}

int main(int argc, char **argv) {
    check_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    check_each_flavor(64 * (1 + THREADS * 8), all_of_it);
    run(create_and_free, NULL);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&comms[i]);
    }
    return check_finish();
}
