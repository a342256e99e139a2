/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks: shared and exclusive mixed, fairness, oneself, no check, several at once, lock_all, flushes within.
 */
#include "check.h"

static uint64_t *words(struct check_window *window) {
    return window->base;
}

static void put(struct check_window *window, int target, size_t index, uint64_t value) {
    MPI_Put(&value, 8, MPI_BYTE, target, check_disp(window, target, 8 * index), 8, MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
}

static uint64_t get(struct check_window *window, int target, size_t index) {
    uint64_t value = 0;

    MPI_Get(&value, 8, MPI_BYTE, target, check_disp(window, target, 8 * index), 8, MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
    return value;
}

/* A counter that is read, changed and written back under an exclusive lock: no turn may be lost. */
static void exclusion(struct check_window *window) {
    enum { TURNS = 50 };

    for (int i = 0; i < TURNS; i++) {
        int target = i % check_ranks;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
        uint64_t a = get(window, target, 0);
        uint64_t b = get(window, target, 1);
        CHECK_SAME(a * 3, b);
        put(window, target, 0, a + 1);
        put(window, target, 1, b + 3);
        MPI_Win_unlock(target, window->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t mine = words(window)[0];
    uint64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_SAME(all, TURNS * check_ranks);
}

/* Even ranks write both words under an exclusive lock, odd ones read them under a shared one, or in lock_all:
 * never half. */
static void readers_and_writers(struct check_window *window) {
    for (int i = 0; i < 60; i++) {
        if (check_rank % 2 == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
            uint64_t value = check_pattern((uint64_t)check_rank, (uint64_t)i, 3);
            put(window, 0, 4, value);
            put(window, 0, 5, ~value);
            MPI_Win_unlock(0, window->win);
        } else {
            bool all = i % 3 == 0;
            if (all) {
                MPI_Win_lock_all(0, window->win);
            } else {
                MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
            }
            uint64_t a = get(window, 0, 4);
            uint64_t b = get(window, 0, 5);
            CHECK_THAT(a == ~b || (a == 0 && b == 0),
                       "a writer under an exclusive lock is seen half way (lock_all: %d)", all);
            if (all) {
                MPI_Win_unlock_all(window->win);
            } else {
                MPI_Win_unlock(0, window->win);
            }
        }
    }
}

/*
 * Who asks first is served first: all contend until every rank has had its share. A rank counts how often
 * others were served between two turns of its own; under first come, first served that is at most once each.
 */
static void fairness(struct check_window *window) {
    enum { TURNS = 40 };
    uint64_t last = 0;
    uint64_t worst = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
        uint64_t turn = get(window, 0, 8) + 1;
        put(window, 0, 8, turn);
        MPI_Win_unlock(0, window->win);
        if (i && turn - last > worst) {
            worst = turn - last;
        }
        last = turn;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        CHECK_SAME(words(window)[8], TURNS * check_ranks);
    }
    /* All ranks had all their turns. A rank that is not scheduled between two turns is not waiting, so the
     * bound is loose. */
    CHECK_THAT(worst <= (uint64_t)(TURNS * check_ranks), "others were served %llu times in between",
               (unsigned long long)worst);
}

/* Nobody starves: shared holders that come and go all the time do not keep an exclusive one out. */
static void no_starvation(struct check_window *window) {
    enum { ENOUGH = 2000000 };

    words(window)[10] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
        put(window, 0, 10, 1);
        MPI_Win_unlock(0, window->win);
    } else {
        uint64_t done = 0;
        int tries = 0;
        while (!done && tries++ < ENOUGH) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
            done = get(window, 0, 10);
            MPI_Win_unlock(0, window->win);
        }
        CHECK_THAT(done, "the exclusive lock was not had while %d shared ones were", tries);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The owner's own lock protects its loads and stores. */
static void oneself(struct check_window *window) {
    words(window)[12] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 30; i++) {
        int target = i % 2 ? check_rank : check_neighbour(1);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
        if (target == check_rank) {
            words(window)[12]++;
        } else {
            put(window, target, 12, get(window, target, 12) + 1);
        }
        MPI_Win_unlock(target, window->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, window->win);
    CHECK_SAME(words(window)[12], 30);
    MPI_Win_unlock(check_rank, window->win);
}

/* All targets are locked one by one, then used, then unlocked in another order; NOCHECK where nobody
 * conflicts. */
static void several(struct check_window *window) {
    for (int assert = 0; assert < 2; assert++) {
        for (int target = 0; target < check_ranks; target++) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, assert ? MPI_MODE_NOCHECK : 0, window->win);
        }
        for (int target = 0; target < check_ranks; target++) {
            uint64_t value = check_pattern((uint64_t)check_rank, (uint64_t)target, (uint64_t)assert);
            put(window, target, 16 + (size_t)check_rank, value);
        }
        MPI_Win_flush_all(window->win);
        for (int target = check_ranks - 1; target >= 0; target--) {
            CHECK_SAME(get(window, target, 16 + (size_t)check_rank),
                       check_pattern((uint64_t)check_rank, (uint64_t)target, (uint64_t)assert));
            MPI_Win_unlock(target, window->win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int origin = 0; origin < check_ranks; origin++) {
            CHECK_SAME(words(window)[16 + origin],
                       check_pattern((uint64_t)origin, (uint64_t)check_rank, (uint64_t)assert));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* lock_all with every kind of flush; data is there after the flush, told by a message, while the epoch stays
 * open. */
static void flushes(struct check_window *window) {
    int right = check_neighbour(1);
    int left = check_neighbour(-1);

    MPI_Win_lock_all(0, window->win);
    for (int i = 0; i < 24; i++) {
        uint64_t value = check_pattern((uint64_t)check_rank, (uint64_t)i, 8);
        uint64_t back = 0;
        MPI_Put(&value, 8, MPI_BYTE, right, check_disp(window, right, 240), 8, MPI_BYTE, window->win);
        if (i % 4 == 1) {
            MPI_Win_flush_local(right, window->win);
            value = 0; /* the origin's buffer is free, the put stands */
        } else if (i % 4 == 2) {
            MPI_Win_flush_local_all(window->win);
            value = 0;
        }
        if (i % 2) {
            MPI_Win_flush(right, window->win);
        } else {
            MPI_Win_flush_all(window->win);
        }
        MPI_Sendrecv(NULL, 0, MPI_BYTE, right, 1, NULL, 0, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Win_sync(window->win);
        CHECK_SAME(words(window)[30], check_pattern((uint64_t)left, (uint64_t)i, 8));
        MPI_Get(&back, 8, MPI_BYTE, right, check_disp(window, right, 240), 8, MPI_BYTE, window->win);
        MPI_Win_flush_local(right, window->win);
        CHECK_SAME(back, check_pattern((uint64_t)check_rank, (uint64_t)i, 8));
        MPI_Sendrecv(NULL, 0, MPI_BYTE, left, 2, NULL, 0, MPI_BYTE, right, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Polling: a rank waits for a word to change in its own memory, with MPI_Win_sync, and by gets from itself.
 */
static void polling(struct check_window *window) {
    int right = check_neighbour(1);

    ((volatile uint64_t *)window->base)[31] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
    put(window, right, 32, 55);
    put(window, right, 31, 1);
    if (check_rank % 2) {
        while (get(window, check_rank, 31) == 0) {
        }
    } else {
        int flag;
        while (((volatile uint64_t *)window->base)[31] == 0) {
            MPI_Win_sync(window->win);
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Win_sync(window->win);
    CHECK_SAME(words(window)[32], 55);
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Some are in lock_all and add, others lock exclusively and add without atomics: every one counts. */
static void lock_all_and_exclusive(struct check_window *window) {
    enum { TURNS = 30 };
    int64_t one = 1;

    words(window)[40] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        if (check_rank % 2) {
            MPI_Win_lock_all(0, window->win);
            MPI_Accumulate(&one, 1, MPI_INT64_T, 0, check_disp(window, 0, 320), 1, MPI_INT64_T, MPI_SUM,
                           window->win);
            MPI_Win_unlock_all(window->win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
            put(window, 0, 40, get(window, 0, 40) + 1);
            MPI_Win_unlock(0, window->win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
        CHECK_SAME(words(window)[40], TURNS * check_ranks);
        MPI_Win_unlock(0, window->win);
    }
}

/* Updates by exclusive locks, which nobody may come between, by shared ones and in lock_all: every one
 * counts. */
static void updates_by_any_lock(struct check_window *window) {
    enum { TURNS = 300, WORD = 44 };
    const MPI_Aint place = check_disp(window, 0, 8 * WORD);
    const int64_t one = 1;
    int64_t added = 0;
    int64_t all = 0;

    words(window)[WORD] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        int64_t first = -1;
        int64_t found = -1;
        switch ((check_rank + i) % 3) {
        case 0:
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
            MPI_Fetch_and_op(&one, &first, MPI_INT64_T, 0, place, MPI_SUM, window->win);
            MPI_Win_flush(0, window->win);
            MPI_Accumulate(&one, 1, MPI_INT64_T, 0, place, 1, MPI_INT64_T, MPI_SUM, window->win);
            MPI_Compare_and_swap(&(int64_t){first + 3}, &(int64_t){first + 2}, &found, MPI_INT64_T, 0, place,
                                 window->win);
            MPI_Win_unlock(0, window->win);
            CHECK_SAME(found, first + 2);
            added += 3;
            break;
        case 1:
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
            MPI_Fetch_and_op(&one, &found, MPI_INT64_T, 0, place, MPI_SUM, window->win);
            MPI_Win_flush(0, window->win);
            do {
                first = found;
                MPI_Compare_and_swap(&(int64_t){first + 1}, &first, &found, MPI_INT64_T, 0, place,
                                     window->win);
                MPI_Win_flush(0, window->win);
            } while (found != first);
            MPI_Win_unlock(0, window->win);
            added += 2;
            break;
        default:
            MPI_Win_lock_all(0, window->win);
            MPI_Accumulate(&one, 1, MPI_INT64_T, 0, place, 1, MPI_INT64_T, MPI_SUM, window->win);
            MPI_Win_unlock_all(window->win);
            added++;
        }
    }
    MPI_Reduce(&added, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
        CHECK_SAME(words(window)[WORD], (uint64_t)all);
        MPI_Win_unlock(0, window->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_of_it(struct check_window *window) {
    void (*const parts[])(struct check_window *) = {
        exclusion, readers_and_writers,    fairness,           no_starvation, oneself, several, flushes,
        polling,   lock_all_and_exclusive, updates_by_any_lock};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        parts[i](window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(1024, all_of_it);
    return check_finish();
}
