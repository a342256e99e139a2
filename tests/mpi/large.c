/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts and gets of 64 KiB to some MiB, of which a target that waits may do a part: by every synchronisation,
 * while the target waits, computes, or is an origin itself; and while another thread makes windows on the
 * memory they come from and go to.
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LARGEST = (9 << 20) + 8, ROUNDS = 8 };

static const size_t sizes[] = {64 << 10, (64 << 10) + 8, 128 << 10, (128 << 10) + 8,
                               1000000,  1 << 20,        LARGEST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const char *part; /* of the test, for messages */
static uint64_t *out;
static uint64_t *in;

static uint64_t seed_of(int rank, int round) {
    return (uint64_t)rank * 1000 + (uint64_t)round;
}

static void fill(uint64_t *words, size_t size, uint64_t seed) {
    for (size_t i = 0; i < size / 8; i++) {
        words[i] = check_pattern(seed, i, 3);
    }
}

static void look(const uint64_t *words, size_t size, uint64_t seed) {
    size_t wrong = 0;

    for (size_t i = 0; i < size / 8; i++) {
        wrong += words[i] != check_pattern(seed, i, 3);
    }
    CHECK_THAT(wrong == 0, "%s: %zu of %zu words are wrong", part, wrong, size / 8);
}

static volatile double sink;

static void compute(void) {
    for (int i = 0; i < 100000; i++) {
        sink = sink * 0.5 + i;
    }
}

/* By one of several ways of saying the same. */
static void put(struct check_window *window, int target, size_t size, int how) {
    const MPI_Aint at = check_disp(window, target, 0);
    const int bytes = (int)size;

    if (how % 3 == 0) {
        MPI_Put(out, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, window->win);
    } else if (how % 3 == 1) {
        MPI_Put(out, bytes / 8, MPI_UINT64_T, target, at, bytes / 8, MPI_UINT64_T, window->win);
    } else {
        MPI_Put(out, bytes / 8, MPI_UINT64_T, target, at, bytes, MPI_BYTE, window->win);
    }
}

static void get(struct check_window *window, int target, size_t size) {
    MPI_Get(in, (int)size, MPI_BYTE, target, check_disp(window, target, 0), (int)size, MPI_BYTE, window->win);
}

/* Everybody puts to the next rank, and gets from it what it has put there. */
static void by_fence(struct check_window *window) {
    const int next = check_neighbour(1);

    for (int round = 0; round < ROUNDS; round++) {
        const size_t size = sizes[round % SIZES];
        fill(out, size, seed_of(check_rank, round));
        MPI_Win_fence(0, window->win);
        put(window, next, size, round);
        MPI_Win_fence(0, window->win);
        look(window->base, size, seed_of(check_neighbour(-1), round));
        get(window, next, size);
        MPI_Win_fence(0, window->win);
        look(in, size, seed_of(check_rank, round));
    }
}

/* Even ranks put to the next one, which waits, or computes and then waits. */
static void by_post(struct check_window *window) {
    const bool is_origin = check_rank % 2 == 0;
    const int other = check_rank + (is_origin ? 1 : -1);
    MPI_Group world;
    MPI_Group group;

    if (other >= check_ranks) {
        return;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &group);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        const size_t size = sizes[round % SIZES];
        if (is_origin) {
            fill(out, size, seed_of(check_rank, round));
            MPI_Win_start(group, 0, window->win);
            put(window, other, size, round);
            MPI_Win_complete(window->win);
            MPI_Win_start(group, 0, window->win);
            get(window, other, size);
            MPI_Win_complete(window->win);
            look(in, size, seed_of(check_rank, round));
        } else {
            for (int epoch = 0; epoch < 2; epoch++) {
                MPI_Win_post(group, 0, window->win);
                if (round % 2) {
                    compute();
                }
                MPI_Win_wait(window->win);
            }
            look(window->base, size, seed_of(other, round));
        }
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* One after the other is the origin; the others wait in a barrier. */
static void by_lock(struct check_window *window) {
    for (int round = 0; round < ROUNDS; round++) {
        const size_t size = sizes[round % SIZES];
        if (round % check_ranks == check_rank) {
            const int next = check_neighbour(1);
            MPI_Request request;
            fill(out, size, seed_of(check_rank, round));
            MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window->win);
            MPI_Rput(out, (int)size, MPI_BYTE, next, check_disp(window, next, 0), (int)size, MPI_BYTE,
                     window->win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Win_flush(next, window->win);
            get(window, next, size);
            MPI_Win_flush_local(next, window->win);
            look(in, size, seed_of(check_rank, round));
            put(window, next, size, round);
            MPI_Win_unlock(next, window->win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % check_ranks == check_neighbour(-1)) {
            MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, window->win);
            look(window->base, size, seed_of(check_neighbour(-1), round));
            MPI_Win_unlock(check_rank, window->win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* So often from the same memory, and into the same, that it is moved to huge pages meanwhile (mem_hot.h). */
static void again_and_again(struct check_window *window) {
    enum { OFTEN = 40, SIZE = 4 << 20 };

    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < OFTEN && check_rank == 0; round++) {
        const int next = check_neighbour(1);
        fill(out, SIZE, seed_of(0, round));
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window->win);
        put(window, next, SIZE, round);
        MPI_Win_flush(next, window->win);
        look(out, SIZE, seed_of(0, round));
        get(window, next, SIZE);
        MPI_Win_unlock(next, window->win);
        look(in, SIZE, seed_of(0, round));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void by_all(struct check_window *window) {
    part = "fence";
    by_fence(window);
    part = "post";
    by_post(window);
    MPI_Barrier(MPI_COMM_WORLD);
    part = "lock";
    by_lock(window);
    part = "again and again";
    again_and_again(window);
}

/* Windows on `out` and `in`, made and freed while puts and gets go on. */
static atomic_bool is_over;

static void *make_windows(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    int goes_on = 1;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "truerma_adopt", "always");
    while (goes_on) {
        for (int i = 0; i < 2; i++) {
            MPI_Win win;
            MPI_Win_create(i ? in : out, LARGEST, 1, info, comm, &win);
            MPI_Win_free(&win);
        }
        const int mine = !atomic_load(&is_over);
        MPI_Allreduce(&mine, &goes_on, 1, MPI_INT, MPI_MAX, comm);
    }
    MPI_Info_free(&info);
    return NULL;
}

static void beside_a_thread(struct check_window *window) {
    MPI_Comm comm;
    pthread_t thread;

    atomic_store(&is_over, false);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const int error = pthread_create(&thread, NULL, make_windows, &comm);
    CHECK_SAME(error, 0);
    part = "lock, beside a thread";
    by_lock(window);
    part = "post, beside a thread";
    by_post(window);
    part = "again and again, beside a thread";
    again_and_again(window);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    const bool has_thread = argc > 1 && strcmp(argv[1], "thread") == 0;

    check_begin_threads(&argc, &argv, has_thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    if (has_thread) {
        check_one_flavor(CHECK_ALLOCATE, LARGEST, beside_a_thread);
        check_one_flavor(CHECK_ADOPTED, LARGEST, beside_a_thread);
    } else {
        check_each_flavor(LARGEST, by_all);
    }
    free(out);
    free(in);
    return check_finish();
}
