/* SPDX-License-Identifier: BSD-3-Clause */
/* What has been flushed is done: two origins that put, complete their puts and then look never both miss the
 * other's. A processor that lets the look overtake the put breaks it, in some rounds out of thousands. */
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

enum { ROUNDS = 20000, EXCLUSIVE_GAMES = 10, SPINS = 500, LINE = 64, SIZE = 4096 };

#define BUDGET_S 0.02 /* for each pair of ways, whatever the rounds */

/* The two players' progress, in memory of its own, and what they saw in the last two rounds. */
struct table {
    _Alignas(LINE) _Atomic int64_t begun[2];
    _Alignas(LINE) _Atomic int64_t looked[2];
    _Alignas(LINE) _Atomic int64_t over;
    _Alignas(LINE) atomic_bool seen[2][2];
};

/* One player's side of a game. Both windows are in epochs for all; the player puts into its own and looks
 * into the other one, which may be the same. */
struct side {
    struct check_window *puts;
    struct check_window *looks;
    int put_rank;
    size_t put_at;
    int look_rank;
    size_t look_at;
    void *look_local; /* where the word looked at is in this process; NULL when it is not */
    void *put_local;
};

struct way_to_put {
    const char *name;
    void (*put)(const struct side *side, const int64_t *value);
    bool by_store; /* shared windows only */
};

struct way_to_look {
    const char *name;
    int64_t (*look)(const struct side *side);
    bool by_load; /* the word must be in this process */
    bool shared;  /* and the memory shared, or nothing orders the load */
};

static MPI_Datatype every_other; /* two words with one between */

static void put_flush(const struct side *side, const int64_t *value) {
    MPI_Put(value, 1, MPI_INT64_T, side->put_rank, check_disp(side->puts, side->put_rank, side->put_at), 1,
            MPI_INT64_T, side->puts->win);
    MPI_Win_flush(side->put_rank, side->puts->win);
}

static void put_flush_all(const struct side *side, const int64_t *value) {
    MPI_Put(value, 1, MPI_INT64_T, side->put_rank, check_disp(side->puts, side->put_rank, side->put_at), 1,
            MPI_INT64_T, side->puts->win);
    MPI_Win_flush_all(side->puts->win);
}

static void replace_flush(const struct side *side, const int64_t *value) {
    MPI_Accumulate(value, 1, MPI_INT64_T, side->put_rank,
                   check_disp(side->puts, side->put_rank, side->put_at), 1, MPI_INT64_T, MPI_REPLACE,
                   side->puts->win);
    MPI_Win_flush(side->put_rank, side->puts->win);
}

/* Ends the epoch, and begins another one after the look only. */
static void put_unlock_all(const struct side *side, const int64_t *value) {
    MPI_Put(value, 1, MPI_INT64_T, side->put_rank, check_disp(side->puts, side->put_rank, side->put_at), 1,
            MPI_INT64_T, side->puts->win);
    MPI_Win_unlock_all(side->puts->win);
}

/* Under a lock that nobody waits for: the other player looks at its own memory. */
static void put_exclusive(const struct side *side, const int64_t *value) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, side->put_rank, 0, side->puts->win);
    MPI_Put(value, 1, MPI_INT64_T, side->put_rank, check_disp(side->puts, side->put_rank, side->put_at), 1,
            MPI_INT64_T, side->puts->win);
    MPI_Win_unlock(side->put_rank, side->puts->win);
}

static void store_flush(const struct side *side, const int64_t *value) {
    atomic_store_explicit((_Atomic int64_t *)side->put_local, *value, memory_order_relaxed);
    MPI_Win_flush(side->put_rank, side->puts->win);
}

static int64_t look_get(const struct side *side) {
    int64_t seen = -1;

    MPI_Get(&seen, 1, MPI_INT64_T, side->look_rank, check_disp(side->looks, side->look_rank, side->look_at),
            1, MPI_INT64_T, side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen;
}

static int64_t look_strided(const struct side *side) {
    int64_t seen[2] = {-1, -1};

    MPI_Get(seen, 2, MPI_INT64_T, side->look_rank, check_disp(side->looks, side->look_rank, side->look_at), 1,
            every_other, side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen[0];
}

static int64_t look_rget(const struct side *side) {
    int64_t seen = -1;
    MPI_Request request;

    MPI_Rget(&seen, 1, MPI_INT64_T, side->look_rank, check_disp(side->looks, side->look_rank, side->look_at),
             1, MPI_INT64_T, side->looks->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return seen;
}

static int64_t look_no_op(const struct side *side) {
    int64_t nothing = 0;
    int64_t seen = -1;

    MPI_Fetch_and_op(&nothing, &seen, MPI_INT64_T, side->look_rank,
                     check_disp(side->looks, side->look_rank, side->look_at), MPI_NO_OP, side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen;
}

static int64_t look_array(const struct side *side) {
    int64_t nothing[2] = {0, 0};
    int64_t seen[2] = {-1, -1};

    MPI_Get_accumulate(nothing, 2, MPI_INT64_T, seen, 2, MPI_INT64_T, side->look_rank,
                       check_disp(side->looks, side->look_rank, side->look_at), 2, MPI_INT64_T, MPI_NO_OP,
                       side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen[0];
}

/* Changes nothing, but is an atomic instruction. */
static int64_t look_sum(const struct side *side) {
    int64_t zero = 0;
    int64_t seen = -1;

    MPI_Fetch_and_op(&zero, &seen, MPI_INT64_T, side->look_rank,
                     check_disp(side->looks, side->look_rank, side->look_at), MPI_SUM, side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen;
}

/* Changes nothing: no word is less than this. */
static int64_t look_max(const struct side *side) {
    int64_t least = INT64_MIN;
    int64_t seen = -1;

    MPI_Fetch_and_op(&least, &seen, MPI_INT64_T, side->look_rank,
                     check_disp(side->looks, side->look_rank, side->look_at), MPI_MAX, side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen;
}

static int64_t look_swap(const struct side *side) {
    int64_t never = -2;
    int64_t seen = -1;

    MPI_Compare_and_swap(&never, &never, &seen, MPI_INT64_T, side->look_rank,
                         check_disp(side->looks, side->look_rank, side->look_at), side->looks->win);
    MPI_Win_flush(side->look_rank, side->looks->win);
    return seen;
}

static int64_t look_sync(const struct side *side) {
    MPI_Win_sync(side->looks->win);
    return atomic_load_explicit((_Atomic int64_t *)side->look_local, memory_order_relaxed);
}

static int64_t look_load(const struct side *side) {
    return atomic_load_explicit((_Atomic int64_t *)side->look_local, memory_order_relaxed);
}

static const struct way_to_put puttings[] = {{"put, flush", put_flush, false},
                                             {"put, flush_all", put_flush_all, false},
                                             {"accumulate, flush", replace_flush, false},
                                             {"put, unlock_all", put_unlock_all, false},
                                             {"store, flush", store_flush, true}};
static const struct way_to_look lookings[] = {{"get", look_get, false, false},
                                              {"strided get", look_strided, false, false},
                                              {"rget", look_rget, false, false},
                                              {"fetch_and_op", look_no_op, false, false},
                                              {"get_accumulate", look_array, false, false},
                                              {"sum", look_sum, false, false},
                                              {"max", look_max, false, false},
                                              {"compare_and_swap", look_swap, false, false},
                                              {"sync, load", look_sync, true, false},
                                              {"load", look_load, true, true}};

static struct table *table;
static MPI_Win table_win;

static void await(_Atomic int64_t *word, int64_t least) {
    for (int spins = 0; atomic_load_explicit(word, memory_order_acquire) < least; spins++) {
        if (spins > SPINS) {
            /* A host alone may need this process to look at its messages before the other one's get is done.
             */
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            sched_yield();
        }
    }
}

/* Plays rounds from `first` on; returns the next free number. Every word only grows. */
static int64_t play(const struct side *side, const struct way_to_put *put, const struct way_to_look *look,
                    int64_t first) {
    const int me = check_rank;
    const double begun = MPI_Wtime();
    const bool reopens = put->put == put_unlock_all;
    int64_t round = first;
    int64_t missed = 0;

    for (bool goes_on = true; goes_on; round++) {
        atomic_store_explicit(&table->begun[me], round, memory_order_release);
        await(&table->begun[1 - me], round);
        /* Not always in step: the line of the counter reaches one of them first. */
        for (volatile int64_t pause = me ? round % 32 : 0; pause > 0; pause--) {
        }
        put->put(side, &round);
        const int64_t seen = look->look(side);
        if (reopens) {
            MPI_Win_lock_all(MPI_MODE_NOCHECK, side->puts->win);
        }
        if (seen > round || seen < 0) {
            CHECK_SAME(seen, round);
        }
        atomic_store_explicit(&table->seen[round % 2][me], seen == round, memory_order_relaxed);
        if (me == 0 && (round - first >= ROUNDS || (round % 32 == 0 && MPI_Wtime() - begun > BUDGET_S))) {
            atomic_store_explicit(&table->over, round, memory_order_relaxed);
        }
        atomic_store_explicit(&table->looked[me], round, memory_order_release);
        await(&table->looked[1 - me], round);
        missed += !atomic_load_explicit(&table->seen[round % 2][0], memory_order_relaxed) &&
                  !atomic_load_explicit(&table->seen[round % 2][1], memory_order_relaxed);
        goes_on = atomic_load_explicit(&table->over, memory_order_relaxed) != round;
    }
    CHECK_THAT(missed == 0, "%s windows%s, %s, then %s: both missed in %lld rounds of %lld",
               check_flavor_name(side->puts->flavor), side->puts == side->looks ? "" : " (two)", put->name,
               look->name, (long long)missed, (long long)(round - first));
    return round;
}

/* The players' words: each at the other player (at_peer), or each at itself. */
static struct side make_side(struct check_window *mine, struct check_window *other, bool at_peer) {
    const int me = check_rank;
    const int peer = 1 - me;
    struct side side = {.puts = mine,
                        .looks = other,
                        .put_rank = at_peer ? peer : me,
                        .put_at = (size_t)me * 2 * LINE,
                        .look_rank = at_peer ? me : peer,
                        .look_at = (size_t)peer * 2 * LINE};

    if (at_peer) {
        side.look_local = (char *)other->base + side.look_at;
    } else {
        side.put_local = (char *)mine->base + side.put_at;
    }
    if (mine->flavor == CHECK_SHARED) {
        MPI_Aint size;
        int unit;
        char *base;
        MPI_Win_shared_query(mine->win, side.put_rank, &size, &unit, &base);
        side.put_local = base + side.put_at;
        MPI_Win_shared_query(other->win, side.look_rank, &size, &unit, &base);
        side.look_local = base + side.look_at;
    }
    return side;
}

static void play_all(struct check_window *mine, struct check_window *other, int64_t *round) {
    const bool is_shared = mine->flavor == CHECK_SHARED;

    for (int at_peer = 0; at_peer < 2; at_peer++) {
        const struct side side = make_side(mine, other, at_peer);
        for (size_t p = 0; p < sizeof puttings / sizeof *puttings; p++) {
            for (size_t l = 0; l < sizeof lookings / sizeof *lookings; l++) {
                /* Who ends an epoch needs another window to look into. */
                if ((puttings[p].by_store && !is_shared) || (lookings[l].by_load && !side.look_local) ||
                    (lookings[l].shared && !is_shared) ||
                    (puttings[p].put == put_unlock_all && mine == other)) {
                    continue;
                }
                *round = play(&side, &puttings[p], &lookings[l], *round);
            }
        }
    }
}

/* One player puts into `locked` by exclusive locks, the other into `open`, which is in an epoch for all, and
 * looks at its own memory: a sync needs an epoch, which is one towards the first player. */
static void play_exclusive(struct check_window *locked, struct check_window *open, int64_t *round) {
    const struct way_to_put by_lock = {"put, exclusive unlock", put_exclusive, false};

    if (check_rank == 0) {
        const struct side side = make_side(locked, open, true);
        *round = play(&side, &by_lock, &lookings[0], *round);
        return;
    }
    const struct side side = make_side(open, locked, true);
    const struct way_to_look by_load = {"sync, load", look_sync, true, false};
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, locked->win);
    *round = play(&side, &puttings[0], &by_load, *round);
    MPI_Win_unlock(0, locked->win);
}

static void play_windows(struct check_window *window) {
    struct check_window other;
    int64_t round = 1;

    check_window_make(&other, window->flavor, SIZE, MPI_COMM_WORLD);
    if (check_rank < 2) {
        atomic_store(&table->begun[check_rank], 0);
        atomic_store(&table->looked[check_rank], 0);
        atomic_store(&table->over, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, other.win);
    if (check_rank < 2) {
        play_all(window, window, &round);
        play_all(check_rank == 0 ? window : &other, check_rank == 0 ? &other : window, &round);
    }
    MPI_Win_unlock_all(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank < 2) {
        for (int game = 0; game < EXCLUSIVE_GAMES; game++) {
            play_exclusive(window, &other, &round);
        }
    }
    MPI_Win_unlock_all(other.win);
    MPI_Barrier(MPI_COMM_WORLD);
    check_window_free(&other);
}

int main(int argc, char **argv) {
    MPI_Aint size;
    int unit;

    check_begin(&argc, &argv);
    MPI_Win_allocate_shared(check_rank == 0 ? (MPI_Aint)sizeof *table : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &table, &table_win);
    MPI_Win_shared_query(table_win, 0, &size, &unit, &table);
    MPI_Type_vector(2, 1, 2, MPI_INT64_T, &every_other);
    MPI_Type_commit(&every_other);
    check_each_flavor(SIZE, play_windows);
    MPI_Type_free(&every_other);
    MPI_Win_free(&table_win);
    return check_finish();
}
