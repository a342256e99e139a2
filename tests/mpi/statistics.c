/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a known number of each operation and call on a window of each flavour: statistics.py compares what is
 * counted. */
#include "check.h"

static int window_number;

static void all_of_it(struct check_window *window) {
    int target = check_neighbour(1);
    int before = check_neighbour(-1);
    MPI_Win win = window->win;
    MPI_Aint place = check_disp(window, target, 0);
    char name[32];
    char bytes[100];
    int64_t words[2] = {1, 2};
    int64_t results[2];
    MPI_Group world;
    MPI_Group origins;
    MPI_Group targets;

    snprintf(name, sizeof name, "window\"%d", window_number++);
    MPI_Win_set_name(win, name);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 3; i++) {
        MPI_Put(words, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, win);
    }
    /* Dynamic windows are fenced once more when they are freed. */
    for (int i = window->flavor == CHECK_DYNAMIC; i < 2; i++) {
        MPI_Win_fence(0, win);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    for (int i = 0; i < 2; i++) {
        MPI_Get(bytes, 100, MPI_BYTE, target, place, 100, MPI_BYTE, win);
    }
    MPI_Win_unlock(target, win);
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(words, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Get_accumulate(words, 2, MPI_INT64_T, results, 2, MPI_INT64_T, target, place, 2, MPI_INT64_T, MPI_SUM,
                       win);
    for (int i = 0; i < 4; i++) {
        MPI_Fetch_and_op(words, results, MPI_INT64_T, target, place, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &target, &targets);
    MPI_Group_incl(world, 1, &before, &origins);
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    for (int i = 0; i < 5; i++) {
        MPI_Compare_and_swap(words, words, results, MPI_INT64_T, target, place, win);
    }
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    CHECK(*(int64_t *)window->base > 0);
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(128, all_of_it);
    return check_finish();
}
