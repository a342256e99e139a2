/* SPDX-License-Identifier: BSD-3-Clause */
/* Post, start, complete, wait, test: groups, order, deferred operations, epochs that overtake each other. */
#include "check.h"

static MPI_Group world;

static MPI_Group group_of(const int *ranks, int n) {
    MPI_Group group;

    MPI_Group_incl(world, n, ranks, &group);
    return group;
}

static MPI_Group all_but(int rank) {
    MPI_Group group;

    MPI_Group_excl(world, 1, &rank, &group);
    return group;
}

/* One target, all others are origins; many epochs, each with new data. */
static void fan_in(struct check_window *window) {
    MPI_Group others = all_but(0);
    int zero = 0;
    MPI_Group target = group_of(&zero, 1);

    for (uint64_t epoch = 0; epoch < 50; epoch++) {
        if (check_rank == 0) {
            MPI_Win_post(others, 0, window->win);
            MPI_Win_wait(window->win);
            for (int origin = 1; origin < check_ranks; origin++) {
                CHECK_SAME(((uint64_t *)window->base)[origin], check_pattern(epoch, (uint64_t)origin, 1));
            }
        } else {
            uint64_t word = check_pattern(epoch, (uint64_t)check_rank, 1);
            MPI_Win_start(target, 0, window->win);
            MPI_Put(&word, 8, MPI_BYTE, 0, check_disp(window, 0, 8 * (size_t)check_rank), 8, MPI_BYTE,
                    window->win);
            MPI_Win_complete(window->win);
        }
    }
    MPI_Group_free(&others);
    MPI_Group_free(&target);
}

/* One origin, all others are targets, put and get in one epoch. */
static void fan_out(struct check_window *window) {
    MPI_Group others = all_but(0);
    int zero = 0;
    MPI_Group origin = group_of(&zero, 1);
    uint64_t got[64] = {0};
    uint64_t words[64];

    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        if (check_rank == 0) {
            MPI_Win_start(others, 0, window->win);
            for (int target = 1; target < check_ranks; target++) {
                words[target] = check_pattern(epoch, (uint64_t)target, 2);
                MPI_Put(&words[target], 8, MPI_BYTE, target, check_disp(window, target, 0), 8, MPI_BYTE,
                        window->win);
                MPI_Get(&got[target], 8, MPI_BYTE, target, check_disp(window, target, 8), 8, MPI_BYTE,
                        window->win);
            }
            MPI_Win_complete(window->win);
            for (int target = 1; target < check_ranks; target++) {
                CHECK_SAME(got[target], check_pattern(epoch, (uint64_t)target, 3));
            }
        } else {
            ((uint64_t *)window->base)[1] = check_pattern(epoch, (uint64_t)check_rank, 3);
            MPI_Win_post(origin, 0, window->win);
            MPI_Win_wait(window->win);
            CHECK_SAME(((uint64_t *)window->base)[0], check_pattern(epoch, (uint64_t)check_rank, 2));
        }
    }
    MPI_Group_free(&others);
    MPI_Group_free(&origin);
}

/* Every rank is origin and target at once, itself included. */
static void everybody(struct check_window *window) {
    uint64_t words[64];

    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        MPI_Win_post(world, 0, window->win);
        MPI_Win_start(world, 0, window->win);
        for (int target = 0; target < check_ranks; target++) {
            words[target] = check_pattern(epoch, (uint64_t)check_rank, (uint64_t)target);
            MPI_Put(&words[target], 8, MPI_BYTE, target, check_disp(window, target, 8 * (size_t)check_rank),
                    8, MPI_BYTE, window->win);
        }
        MPI_Win_complete(window->win);
        MPI_Win_wait(window->win);
        for (int origin = 0; origin < check_ranks; origin++) {
            CHECK_SAME(((uint64_t *)window->base)[origin],
                       check_pattern(epoch, (uint64_t)origin, (uint64_t)check_rank));
        }
    }
}

/*
 * A put, a get, an accumulate and a fetch_and_op before the target has posted: none may block (the target
 * posts only after it has heard from the origin by a message sent after the operations), all take effect in
 * order.
 */
static void before_post(struct check_window *window) {
    enum { TAG = 7 };
    int zero = 0;
    int one = 1;
    MPI_Group target = group_of(&zero, 1);
    MPI_Group origin = group_of(&one, 1);
    uint64_t *base = window->base;

    if (check_rank == 1) {
        int64_t value = 40;
        int64_t two = 2;
        int64_t fetched = -1;
        uint64_t got = 0;
        MPI_Datatype pairs;
        MPI_Type_vector(3, 1, 2, MPI_INT64_T, &pairs);
        MPI_Type_commit(&pairs);
        int64_t strided[6] = {11, 0, 12, 0, 13, 0};
        MPI_Win_start(target, 0, window->win);
        MPI_Put(&value, 1, MPI_INT64_T, 0, check_disp(window, 0, 64), 1, MPI_INT64_T, window->win);
        MPI_Accumulate(&two, 1, MPI_INT64_T, 0, check_disp(window, 0, 64), 1, MPI_INT64_T, MPI_SUM,
                       window->win);
        MPI_Fetch_and_op(&two, &fetched, MPI_INT64_T, 0, check_disp(window, 0, 72), MPI_SUM, window->win);
        MPI_Get(&got, 8, MPI_BYTE, 0, check_disp(window, 0, 80), 8, MPI_BYTE, window->win);
        MPI_Put(strided, 1, pairs, 0, check_disp(window, 0, 96), 3, MPI_INT64_T, window->win);
        MPI_Type_free(&pairs); /* while the put may still be remembered */
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        MPI_Win_complete(window->win);
        CHECK_SAME(fetched, 5);
        CHECK_SAME(got, 99);
    } else if (check_rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        base[8] = 0;
        base[9] = 5;
        base[10] = 99;
        MPI_Win_post(origin, 0, window->win);
        MPI_Win_wait(window->win);
        CHECK_SAME(base[8], 42);
        CHECK_SAME(base[9], 7);
        CHECK_SAME(base[12], 11);
        CHECK_SAME(base[13], 12);
        CHECK_SAME(base[14], 13);
    }
    MPI_Group_free(&target);
    MPI_Group_free(&origin);
}

/* MPI_Win_test says no while an origin has not completed, and yes once it has. */
static void testing(struct check_window *window) {
    enum { TAG = 8 };
    int zero = 0;
    int one = 1;
    MPI_Group target = group_of(&zero, 1);
    MPI_Group origin = group_of(&one, 1);

    if (check_rank == 0) {
        int flag = 1;
        MPI_Win_post(origin, 0, window->win);
        MPI_Win_test(window->win, &flag);
        CHECK_SAME(flag, 0);
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        do {
            MPI_Win_test(window->win, &flag);
        } while (!flag);
        CHECK_SAME(((uint64_t *)window->base)[3], 33);
    } else if (check_rank == 1) {
        uint64_t word = 33;
        MPI_Win_start(target, 0, window->win);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Put(&word, 8, MPI_BYTE, 0, check_disp(window, 0, 24), 8, MPI_BYTE, window->win);
        MPI_Win_complete(window->win);
    }
    MPI_Group_free(&target);
    MPI_Group_free(&origin);
}

/* Empty groups, groups that differ from epoch to epoch, and groups freed and made again between epochs. */
static void changing_groups(struct check_window *window) {
    MPI_Win_post(MPI_GROUP_EMPTY, 0, window->win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, window->win);
    MPI_Win_complete(window->win);
    MPI_Win_wait(window->win);
    for (int shift = 0; shift < 2 * check_ranks; shift++) {
        int to = (check_rank + shift) % check_ranks;
        int from = (check_rank + check_ranks - shift % check_ranks) % check_ranks;
        MPI_Group targets = group_of(&to, 1);
        MPI_Group origins = group_of(&from, 1);
        uint64_t word = check_pattern((uint64_t)check_rank, (uint64_t)shift, 5);
        MPI_Win_post(origins, shift % 2 ? MPI_MODE_NOSTORE : 0, window->win);
        MPI_Win_start(targets, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, to, check_disp(window, to, 200), 8, MPI_BYTE, window->win);
        MPI_Win_complete(window->win);
        MPI_Win_wait(window->win);
        CHECK_SAME(((uint64_t *)window->base)[25], check_pattern((uint64_t)from, (uint64_t)shift, 5));
        MPI_Group_free(&targets);
        MPI_Group_free(&origins);
    }
}

/* One origin closes many empty epochs ahead of the target while another is late: the target must wait for the
 * late one. */
static void run_ahead(struct check_window *window) {
    enum { EPOCHS = 10, TAG = 9 };
    MPI_Group others = all_but(0);
    int zero = 0;
    MPI_Group target = group_of(&zero, 1);

    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        if (check_rank == 0) {
            MPI_Win_post(others, 0, window->win);
            if (check_ranks > 2) {
                int flag = 0;
                MPI_Win_test(window->win, &flag);
                CHECK_THAT(!flag, "epoch %d ended before rank 2 completed", epoch);
                MPI_Send(&epoch, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD);
                if (!flag) {
                    MPI_Win_wait(window->win);
                }
                CHECK_SAME(((uint64_t *)window->base)[40], check_pattern((uint64_t)epoch, 6, 6));
            } else {
                MPI_Win_wait(window->win);
            }
        } else {
            uint64_t word = check_pattern((uint64_t)epoch, 6, 6);
            MPI_Win_start(target, 0, window->win);
            if (check_rank == 2) {
                int which;
                MPI_Recv(&which, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Put(&word, 8, MPI_BYTE, 0, check_disp(window, 0, 320), 8, MPI_BYTE, window->win);
            }
            MPI_Win_complete(window->win);
        }
    }
    MPI_Group_free(&others);
    MPI_Group_free(&target);
}

static void all_of_it(struct check_window *window) {
    void (*const parts[])(struct check_window *) = {fan_in,  fan_out,         everybody, before_post,
                                                    testing, changing_groups, run_ahead};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        parts[i](window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (check_ranks > 1) {
        check_each_flavor(1024, all_of_it);
    } else {
        check_each_flavor(1024, everybody);
    }
    MPI_Group_free(&world);
    return check_finish();
}
