/* SPDX-License-Identifier: BSD-3-Clause */
/* Fence: with every assertion, puts, gets and accumulates between fences, several windows, other epochs
 * before and after. */
#include "check.h"

static uint64_t *words(struct check_window *window) {
    return window->base;
}

/* Everybody puts to everybody. The assertions of the opening and the closing fence are given. */
static void all_to_all(struct check_window *window, uint64_t salt, int opening, int closing) {
    uint64_t sent[64];

    MPI_Win_fence(opening, window->win);
    for (int target = 0; target < check_ranks; target++) {
        sent[target] = check_pattern((uint64_t)check_rank, (uint64_t)target, salt);
        MPI_Put(&sent[target], 8, MPI_BYTE, target, check_disp(window, target, 8 * (size_t)check_rank), 8,
                MPI_BYTE, window->win);
    }
    MPI_Win_fence(closing, window->win);
    for (int origin = 0; origin < check_ranks; origin++) {
        CHECK_SAME(words(window)[origin], check_pattern((uint64_t)origin, (uint64_t)check_rank, salt));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void assertions(struct check_window *window) {
    static const int pairs[][2] = {
        {0, 0},
        {0, MPI_MODE_NOSUCCEED},
        {MPI_MODE_NOPRECEDE, 0},
        {MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED},
        {MPI_MODE_NOSTORE | MPI_MODE_NOPRECEDE, MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED},
        {MPI_MODE_NOSTORE, MPI_MODE_NOPUT | MPI_MODE_NOSTORE},
        {0, MPI_MODE_NOPUT},
        {MPI_MODE_NOPRECEDE, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        all_to_all(window, i, pairs[i][0], pairs[i][1]);
        all_to_all(window, i + 100, pairs[i][0], pairs[i][1]);
        if (i % 2) {
            MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, window->win);
        }
    }
}

/* A stencil: local stores between fences are seen by the neighbours' gets, epoch after epoch. */
static void stencil(struct check_window *window) {
    int left = check_neighbour(-1);
    int right = check_neighbour(1);

    words(window)[0] = (uint64_t)check_rank;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window->win);
    for (int step = 0; step < 50; step++) {
        uint64_t from_left = 0;
        uint64_t from_right = 0;
        MPI_Get(&from_left, 8, MPI_BYTE, left, check_disp(window, left, 0), 8, MPI_BYTE, window->win);
        MPI_Get(&from_right, 8, MPI_BYTE, right, check_disp(window, right, 0), 8, MPI_BYTE, window->win);
        MPI_Win_fence(MPI_MODE_NOPUT, window->win);
        CHECK_SAME(from_left, left + step);
        CHECK_SAME(from_right, right + step);
        words(window)[0] = (uint64_t)(check_rank + step + 1);
        MPI_Win_fence(MPI_MODE_NOPUT, window->win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
}

/* All add to one counter on each rank. */
static void counters(struct check_window *window) {
    int64_t one = 1;

    words(window)[1] = 0;
    MPI_Win_fence(0, window->win);
    for (int i = 0; i < 100; i++) {
        int target = (check_rank + i) % check_ranks;
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, check_disp(window, target, 8), 1, MPI_INT64_T, MPI_SUM,
                       window->win);
    }
    MPI_Win_fence(0, window->win);
    int64_t all = 0;
    int64_t mine = (int64_t)words(window)[1];
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_SAME(all, 100 * check_ranks);
}

/* After a fence that closes, and after one that opens an epoch in which nothing happens, other epochs may
 * follow. */
static void mixed_with_others(struct check_window *window) {
    int right = check_neighbour(1);
    int left = check_neighbour(-1);
    MPI_Group world;
    MPI_Group to;
    MPI_Group from;
    uint64_t word = check_pattern((uint64_t)check_rank, 1, 9);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    for (int i = 0; i < 5; i++) {
        MPI_Win_fence(i % 2 ? MPI_MODE_NOSUCCEED : 0, window->win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, right, check_disp(window, right, 32), 8, MPI_BYTE, window->win);
        MPI_Win_unlock(right, window->win);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_SAME(words(window)[4], check_pattern((uint64_t)left, 1, 9));
        words(window)[4] = 0;
        MPI_Win_post(from, 0, window->win);
        MPI_Win_start(to, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, right, check_disp(window, right, 32), 8, MPI_BYTE, window->win);
        MPI_Win_complete(window->win);
        MPI_Win_wait(window->win);
        CHECK_SAME(words(window)[4], check_pattern((uint64_t)left, 1, 9));
        words(window)[4] = 0;
        all_to_all(window, 200, 0, MPI_MODE_NOSUCCEED);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
}

/* Fences on two windows are woven into each other. */
static void two_windows(struct check_window *window) {
    struct check_window other;
    int right = check_neighbour(1);
    int left = check_neighbour(-1);
    uint64_t word = (uint64_t)check_rank + 7;

    check_window_make(&other, window->flavor, window->size, MPI_COMM_WORLD);
    MPI_Win_fence(0, window->win);
    MPI_Put(&word, 8, MPI_BYTE, right, check_disp(window, right, 0), 8, MPI_BYTE, window->win);
    MPI_Win_fence(0, other.win);
    MPI_Put(&word, 8, MPI_BYTE, right, check_disp(&other, right, 0), 8, MPI_BYTE, other.win);
    MPI_Win_fence(0, window->win);
    CHECK_SAME(words(window)[0], left + 7);
    MPI_Win_fence(0, other.win);
    CHECK_SAME(words(&other)[0], left + 7);
    check_window_free(&other);
}

static void all_of_it(struct check_window *window) {
    assertions(window);
    stencil(window);
    counters(window);
    mixed_with_others(window);
    two_windows(window);
    MPI_Win_fence(0, window->win);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(1024, all_of_it);
    return check_finish();
}
