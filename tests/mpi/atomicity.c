/* SPDX-License-Identifier: BSD-3-Clause */
/* All origins update the same places at once: sums add up, nothing tears, one origin's updates stay in order.
 */
#include "check.h"

enum { ROUNDS = 300 };

static int64_t *words(struct check_window *window) {
    return window->base;
}

static void clear(struct check_window *window) {
    MPI_Barrier(MPI_COMM_WORLD);
    memset(window->base, 0, window->size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* accumulate, get_accumulate, fetch_and_op and compare_and_swap all add one to the same words. */
static void mixed_calls(struct check_window *window) {
    int64_t one = 1;
    int64_t ones[4] = {1, 1, 1, 1};
    int64_t old[4];
    MPI_Win win = window->win;
    MPI_Aint place = check_disp(window, 0, 0);

    clear(window);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        switch ((i + check_rank) % 4) {
        case 0:
            MPI_Accumulate(ones, 4, MPI_INT64_T, 0, place, 4, MPI_INT64_T, MPI_SUM, win);
            break;
        case 1:
            MPI_Get_accumulate(ones, 4, MPI_INT64_T, old, 4, MPI_INT64_T, 0, place, 4, MPI_INT64_T, MPI_SUM,
                               win);
            break;
        case 2:
            for (int word = 0; word < 4; word++) {
                MPI_Fetch_and_op(&one, &old[word], MPI_INT64_T, 0, place + 8 * word, MPI_SUM, win);
            }
            break;
        default:
            for (int word = 0; word < 4; word++) {
                int64_t seen = 0;
                int64_t guess;
                do {
                    guess = seen;
                    int64_t wanted = guess + 1;
                    MPI_Compare_and_swap(&wanted, &guess, &seen, MPI_INT64_T, 0, place + 8 * word, win);
                    MPI_Win_flush(0, win);
                } while (seen != guess);
            }
            break;
        }
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        for (int word = 0; word < 4; word++) {
            CHECK_SAME(words(window)[word], (int64_t)ROUNDS * check_ranks);
        }
        MPI_Win_unlock(0, win);
    }
}

/* Each fetch_and_op gets a number of its own. */
static void tickets(struct check_window *window) {
    enum { TAKE = 100 };
    int64_t one = 1;
    int64_t mine[TAKE];
    int64_t *all = malloc(sizeof *all * TAKE * (size_t)check_ranks);
    char *seen = calloc((size_t)check_ranks, TAKE);

    clear(window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
    for (int i = 0; i < TAKE; i++) {
        MPI_Fetch_and_op(&one, &mine[i], MPI_INT64_T, 0, check_disp(window, 0, 64), MPI_SUM, window->win);
        MPI_Win_flush(0, window->win);
        CHECK(i == 0 || mine[i] > mine[i - 1]);
    }
    MPI_Win_unlock(0, window->win);
    MPI_Gather(mine, TAKE, MPI_INT64_T, all, TAKE, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; check_rank == 0 && i < TAKE * check_ranks; i++) {
        CHECK(all[i] >= 0 && all[i] < TAKE * check_ranks && !seen[all[i]]);
        if (all[i] >= 0 && all[i] < TAKE * check_ranks) {
            seen[all[i]] = 1;
        }
    }
    free(all);
    free(seen);
}

/* A spin lock of compare_and_swap and replace, guarding plain puts and gets. */
static void spin_lock(struct check_window *window) {
    int64_t zero = 0;
    int64_t me = check_rank + 1;
    MPI_Win win = window->win;

    clear(window);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 20; i++) {
        int64_t holder;
        int64_t value;
        do {
            MPI_Compare_and_swap(&me, &zero, &holder, MPI_INT64_T, 0, check_disp(window, 0, 128), win);
            MPI_Win_flush(0, win);
        } while (holder);
        MPI_Get(&value, 1, MPI_INT64_T, 0, check_disp(window, 0, 192), 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, 0, check_disp(window, 0, 192), 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        MPI_Fetch_and_op(&zero, &holder, MPI_INT64_T, 0, check_disp(window, 0, 128), MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        CHECK_SAME(holder, me);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK_SAME(words(window)[24], 20 * check_ranks);
        MPI_Win_unlock(0, win);
    }
}

/* Elements of other sizes, unaligned ones too, are updated by everybody: double sums, short sums, complex
 * products, pairs. */
static void other_elements(struct check_window *window) {
    double one = 1;
    short shorts[3] = {1, 2, 3};
    long double long_one = 1;
    MPI_Win win = window->win;
    struct {
        double value;
        int rank;
    } best = {check_rank % 5, check_rank};

    clear(window);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, check_disp(window, 0, 256), 1, MPI_DOUBLE, MPI_SUM, win);
        MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, check_disp(window, 0, 301), 1, MPI_DOUBLE, MPI_SUM, win);
        MPI_Accumulate(shorts, 3, MPI_SHORT, 0, check_disp(window, 0, 320), 3, MPI_SHORT, MPI_SUM, win);
        MPI_Accumulate(&long_one, 1, MPI_LONG_DOUBLE, 0, check_disp(window, 0, 336), 1, MPI_LONG_DOUBLE,
                       MPI_SUM, win);
        MPI_Accumulate(&best, 1, MPI_DOUBLE_INT, 0, check_disp(window, 0, 400), 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                       win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        char *base = window->base;
        double sum;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        memcpy(&sum, base + 256, 8);
        CHECK_SAME(sum, ROUNDS * check_ranks);
        memcpy(&sum, base + 301, 8);
        CHECK_SAME(sum, ROUNDS * check_ranks);
        for (int i = 0; i < 3; i++) {
            memcpy(shorts, base + 320, 6);
            CHECK_SAME(shorts[i], (i + 1) * ROUNDS * check_ranks);
        }
        memcpy(&long_one, base + 336, sizeof long_one);
        CHECK_SAME(long_one, ROUNDS * check_ranks);
        memcpy(&best, base + 400, 12);
        CHECK_SAME(best.value, check_ranks > 4 ? 4 : check_ranks - 1);
        CHECK_SAME(best.rank, check_ranks > 4 ? 4 : check_ranks - 1);
        MPI_Win_unlock(0, win);
    }
}

/* Long vectors with gaps: every element adds up though updates take several steps. */
static void long_vectors(struct check_window *window) {
    enum { ELEMENTS = 6000 };
    static int64_t ones[ELEMENTS];
    MPI_Datatype spread;
    MPI_Win win = window->win;

    MPI_Type_vector(ELEMENTS / 2, 1, 2, MPI_INT64_T, &spread);
    MPI_Type_commit(&spread);
    clear(window);
    for (int i = 0; i < ELEMENTS; i++) {
        ones[i] = 1;
    }
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 20; i++) {
        if ((i + check_rank) % 2) {
            MPI_Accumulate(ones, ELEMENTS, MPI_INT64_T, 0, check_disp(window, 0, 0), ELEMENTS, MPI_INT64_T,
                           MPI_SUM, win);
        } else {
            MPI_Accumulate(ones, ELEMENTS / 2, MPI_INT64_T, 0, check_disp(window, 0, 0), 1, spread, MPI_SUM,
                           win);
            MPI_Accumulate(ones, 1, spread, 0, check_disp(window, 0, 8), 1, spread, MPI_SUM, win);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        int wrong = 0;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        for (int i = 0; i < ELEMENTS; i++) {
            wrong += words(window)[i] != 20 * check_ranks;
        }
        MPI_Win_unlock(0, win);
        CHECK_SAME(wrong, 0);
    }
    MPI_Type_free(&spread);
}

/* One origin's updates of a place happen in the order of the calls (accumulate_ordering's default), with no
 * flush between. */
static void ordering(struct check_window *window) {
    MPI_Win win = window->win;
    int target = check_neighbour(1);
    MPI_Aint place = check_disp(window, target, 512);

    clear(window);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 100; i++) {
        int64_t values[3] = {i * 10, 7, i * 100};
        int64_t got[3] = {-1, -1, -1};
        MPI_Accumulate(&values[0], 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, MPI_REPLACE, win);
        MPI_Fetch_and_op(&values[1], &got[0], MPI_INT64_T, target, place, MPI_SUM, win);
        MPI_Get_accumulate(&values[2], 1, MPI_INT64_T, &got[1], 1, MPI_INT64_T, target, place, 1, MPI_INT64_T,
                           MPI_REPLACE, win);
        MPI_Fetch_and_op(NULL, &got[2], MPI_INT64_T, target, place, MPI_NO_OP, win);
        MPI_Win_flush(target, win);
        CHECK_SAME(got[0], i * 10);
        CHECK_SAME(got[1], i * 10 + 7);
        CHECK_SAME(got[2], i * 100);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every integer type that compare_and_swap takes. */
static void compare_and_swap_types(struct check_window *window) {
    const MPI_Datatype types[] = {MPI_INT8_T,  MPI_UINT8_T,  MPI_INT16_T, MPI_UINT16_T,
                                  MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T,
                                  MPI_BYTE,    MPI_C_BOOL,   MPI_AINT,    MPI_LOGICAL};
    MPI_Win win = window->win;
    int target = check_neighbour(1);

    clear(window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        MPI_Aint place = check_disp(window, target, 600 + 8 * i);
        int64_t one = 1;
        int64_t zero = 0;
        int64_t result = 0;
        int64_t got = 0;
        MPI_Compare_and_swap(&one, &one, &result, types[i], target, place, win); /* differs: stays 0 */
        MPI_Win_flush(target, win);
        CHECK_SAME(result, 0);
        MPI_Compare_and_swap(&one, &zero, &result, types[i], target, place, win);
        MPI_Win_flush(target, win);
        CHECK_SAME(result, 0);
        MPI_Get(&got, 1, types[i], target, place, 1, types[i], win);
        MPI_Win_flush(target, win);
        CHECK_SAME(got, 1);
        MPI_Compare_and_swap(&zero, &one, &result, types[i], target, place, win);
        MPI_Win_flush(target, win);
        CHECK_SAME(result, 1);
        MPI_Get(&got, 8, MPI_BYTE, target, place, 8, MPI_BYTE, win);
        MPI_Win_flush(target, win);
        CHECK_SAME(got, 0);
    }
    MPI_Win_unlock(target, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_of_it(struct check_window *window) {
    mixed_calls(window);
    tickets(window);
    spin_lock(window);
    other_elements(window);
    long_vectors(window);
    ordering(window);
    compare_and_swap_types(window);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(65536, all_of_it);
    check_one_flavor(CHECK_SMALL_UPDATES, 65536, all_of_it);
    return check_finish();
}
