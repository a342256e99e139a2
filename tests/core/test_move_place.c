/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way runs between two places go, by what they took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_place.h"
#include "move/move_stream.h"
#include "move/move_ways.h"

/* Nothing is read or written there: only the numbers count. */
enum { FAR_AWAY = 1 << 30, BYTES = 8 << 20, SLOW = 100000, SETTLING = 3, CONFIRMING = 2 };

/* Runs through the cache, until a way past it is tried for the first time. */
enum { BEFORE_ANY_LOOK = SETTLING - 1 + TRMA_MOVE_WAYS_WAIT_FIRST };

static const uint64_t far_slower = 4 * (uint64_t)SLOW;

/* One run, of which each way takes its ticks; whether it went past the cache. */
static bool run(struct trma_move_place *place, uint64_t through, uint64_t past) {
    bool is_past = trma_move_place_begin(place, SIZE_MAX, SIZE_MAX);

    trma_move_place_end(place, BYTES, is_past ? past : through, BYTES);
    return is_past;
}

static unsigned past_of(struct trma_move_place *place, unsigned runs, uint64_t through, uint64_t past) {
    unsigned count = 0;

    for (unsigned i = 0; i < runs; i++) {
        count += run(place, through, past);
    }
    return count;
}

static struct trma_move_place *new_place(void) {
    static uintptr_t next = FAR_AWAY;

    next += FAR_AWAY;
    return trma_move_place_learn(next, next / 2, true);
}

static void test_what_is_known(void **state) {
    const uintptr_t to = 77 * (uintptr_t)FAR_AWAY;
    struct trma_move_place *place;

    (void)state;
    assert_null(trma_move_place_find(to, FAR_AWAY));
    place = trma_move_place_learn(to, FAR_AWAY, true);
    assert_ptr_equal(trma_move_place_find(to, FAR_AWAY), place);
    assert_null(trma_move_place_find(to, FAR_AWAY + 64));
    assert_null(trma_move_place_find(to + 64, FAR_AWAY));
}

/* What is learned a second time is not forgotten; what takes another's slot begins anew. */
static void test_what_is_kept(void **state) {
    const uintptr_t to = 99 * (uintptr_t)FAR_AWAY;
    struct trma_move_place *place = trma_move_place_learn(to, FAR_AWAY, true);

    (void)state;
    (void)past_of(place, BEFORE_ANY_LOOK + 4, far_slower, SLOW);
    assert_ptr_equal(trma_move_place_learn(to, FAR_AWAY, true), place);
    assert_true(run(place, far_slower, SLOW));
    uintptr_t other = to;
    do {
        other += 4096;
    } while (trma_move_place_learn(other, FAR_AWAY, true) != place);
    assert_null(trma_move_place_find(to, FAR_AWAY));
    assert_false(trma_move_place_begin(place, BYTES, BYTES));
    assert_false(run(place, far_slower, SLOW));
}

/* Whichever they are, so many are kept that are used by turns. */
static void test_several_are_kept(void **state) {
    enum { DRAWS = 200, STEP = 4096 };
    const uintptr_t from = 55 * (uintptr_t)FAR_AWAY;

    (void)state;
    for (uintptr_t draw = 0; draw < DRAWS; draw++) {
        struct trma_move_place *places[TRMA_MOVE_PLACE_TOGETHER];
        for (uintptr_t i = 0; i < TRMA_MOVE_PLACE_TOGETHER; i++) {
            places[i] = trma_move_place_learn(from + draw * (i + 1) * STEP + i, from, true);
            (void)past_of(places[i], BEFORE_ANY_LOOK + 4, far_slower, SLOW);
        }
        for (uintptr_t i = 0; i < TRMA_MOVE_PLACE_TOGETHER; i++) {
            assert_ptr_equal(trma_move_place_find(from + draw * (i + 1) * STEP + i, from), places[i]);
            assert_true(run(places[i], far_slower, SLOW));
        }
    }
}

/* Both ways are tried, each until it has found its own leavings in the cache. */
static void test_both_are_tried(void **state) {
    struct trma_move_place *place = new_place();

    (void)state;
    assert_int_equal(past_of(place, BEFORE_ANY_LOOK, SLOW, SLOW), 0);
    assert_int_equal(past_of(place, 3, SLOW, SLOW), 3);
    assert_int_equal(past_of(place, TRMA_MOVE_WAYS_WAIT_FIRST, SLOW, SLOW), 0);
}

/* Runs that go the one way until a look at the other one. */
static unsigned runs_until_look(struct trma_move_place *place, uint64_t through, uint64_t past) {
    unsigned count = 0;

    while (!run(place, through, past)) {
        count++;
    }
    assert_int_equal(past_of(place, SETTLING, through, past), SETTLING - 1);
    return count + 1;
}

/* The first look comes soon, the next ones later each time; after a change again. */
static void test_looks_grow_apart(void **state) {
    const unsigned first = TRMA_MOVE_WAYS_WAIT_FIRST;
    const unsigned second = first * TRMA_MOVE_WAYS_WAIT_GROWTH;
    struct trma_move_place *place = new_place();

    (void)state;
    assert_int_equal(runs_until_look(place, SLOW, far_slower), BEFORE_ANY_LOOK + 1);
    for (int change = 0; change < 2; change++) {
        assert_in_range(runs_until_look(place, SLOW, far_slower), first - SETTLING, first + SETTLING);
        assert_in_range(runs_until_look(place, SLOW, far_slower), second, second + SETTLING);
        assert_in_range(runs_until_look(place, SLOW, far_slower), second * TRMA_MOVE_WAYS_WAIT_GROWTH,
                        second * TRMA_MOVE_WAYS_WAIT_GROWTH + SETTLING);
        while (past_of(place, 2 * SETTLING, far_slower, SLOW) < 2 * SETTLING) {
        }
        while (past_of(place, SETTLING, SLOW, far_slower) > 0) {
        }
    }
}

/* What was slow when it was measured for the first time is looked at again soon. */
static void test_a_cold_beginning(void **state) {
    enum { SOON = TRMA_MOVE_WAYS_WAIT_FIRST + 3 * SETTLING };
    struct trma_move_place *place = new_place();

    (void)state;
    assert_int_equal(past_of(place, BEFORE_ANY_LOOK, far_slower, (uint64_t)SLOW * 2), 0);
    assert_int_equal(past_of(place, SETTLING, SLOW, (uint64_t)SLOW * 2), SETTLING);
    assert_true(run(place, SLOW, (uint64_t)SLOW * 2)); /* by what it took at first, the right way */
    assert_in_range(past_of(place, SOON, SLOW, (uint64_t)SLOW * 2), 1, TRMA_MOVE_WAYS_WAIT_FIRST);
    assert_false(run(place, SLOW, (uint64_t)SLOW * 2));
}

/* The first runs after a change do not count. */
static void test_a_change_is_not_measured(void **state) {
    struct trma_move_place *place = new_place();

    (void)state;
    assert_int_equal(past_of(place, BEFORE_ANY_LOOK, SLOW, SLOW), 0);
    assert_int_equal(past_of(place, 2, SLOW, 1), 2); /* past the cache what lay in it */
    assert_true(run(place, SLOW, SLOW));
    assert_int_equal(past_of(place, TRMA_MOVE_WAYS_WAIT_FIRST, SLOW, SLOW), 0);
}

/* Past the cache of so many runs, which take so much of the way through. */
static void check_the_faster_one(uint64_t through, uint64_t past, unsigned most_looks, bool is_past) {
    enum { RUNS = 4000, EARLY_LOOKS = 4 };
    struct trma_move_place *place = new_place();

    assert_int_equal(past_of(place, BEFORE_ANY_LOOK, through, past), 0);
    const unsigned count = past_of(place, RUNS, through, past);
    assert_in_range(is_past ? RUNS - count : count, SETTLING, SETTLING * (EARLY_LOOKS + most_looks));
}

static void test_the_faster_one_wins(void **state) {
    const uint64_t most = (uint64_t)SLOW * TRMA_MOVE_WAYS_EIGHTHS / 8;

    (void)state;
    check_the_faster_one(far_slower, SLOW, 5, true);
    check_the_faster_one(SLOW, far_slower, 5, false);
    /* The less a look costs, the more there are. */
    check_the_faster_one(SLOW, (uint64_t)SLOW * 3 / 2, 17, false);
    check_the_faster_one(SLOW, SLOW, 4000 / TRMA_MOVE_WAYS_WAIT_LEAST, false);
    /* Who reads it is thought of: past the cache must be clearly faster. */
    check_the_faster_one(SLOW, most + SLOW / 100, 4000 / TRMA_MOVE_WAYS_WAIT_LEAST, false);
    check_the_faster_one(SLOW, most - SLOW / 100, 50, true);
}

/* A way that becomes slower is found out soon; one that becomes faster, by the next look. */
static void test_the_machine_changes(void **state) {
    enum { SOON = 40, LATER = TRMA_MOVE_WAYS_WAIT_MOST + SOON };
    struct trma_move_place *place = new_place();

    (void)state;
    (void)past_of(place, TRMA_MOVE_WAYS_WAIT_MOST / 2, SLOW, far_slower); /* no look is near */
    (void)past_of(place, SOON, far_slower, SLOW);
    assert_in_range(past_of(place, SOON, far_slower, SLOW), SOON - SETTLING, SOON);
    (void)past_of(place, SOON, SLOW, far_slower);
    assert_in_range(past_of(place, SOON, SLOW, far_slower), 0, SETTLING);
    (void)past_of(place, LATER, SLOW, SLOW / 4);
    assert_in_range(past_of(place, SOON, SLOW, SLOW / 4), SOON - SETTLING, SOON);
    (void)past_of(place, LATER, SLOW / 16, SLOW / 4);
    assert_in_range(past_of(place, SOON, SLOW / 16, SLOW / 4), 0, SETTLING);
}

/* Both become slower together, and faster again: the choice stays, at the price of a look each time. */
static void test_a_neighbour_comes_and_goes(void **state) {
    enum { TIMES = 20, STAYS = 40 };
    struct trma_move_place *place = new_place();
    unsigned through = 0;

    (void)state;
    (void)past_of(place, TRMA_MOVE_WAYS_WAIT_MOST, SLOW, SLOW * 3 / 4);
    for (int i = 0; i < TIMES; i++) {
        through += STAYS - past_of(place, STAYS, SLOW * 5 / 3, SLOW * 5 / 4);
        through += STAYS - past_of(place, STAYS, SLOW, SLOW * 3 / 4);
    }
    assert_in_range(through, SETTLING, TIMES * (SETTLING + CONFIRMING + 1));
}

/* Each look at the slower way finds it to be fast at first, and soon that this was chance. */
static void test_a_look_by_chance(void **state) {
    enum { LOOKS = 20 };
    struct trma_move_place *place = new_place();

    (void)state;
    (void)past_of(place, 200, SLOW, SLOW * 3 / 2);
    for (int look = 0; look < LOOKS; look++) {
        unsigned in_a_row = 1;
        while (!run(place, SLOW, SLOW * 3 / 2)) {
        }
        while (run(place, SLOW, ++in_a_row == SETTLING ? SLOW / 2 : SLOW * 3 / 2)) {
        }
        assert_in_range(in_a_row, SETTLING + 1, SETTLING + CONFIRMING + 1);
    }
}

/* The way that becomes slower by a quarter, and is the faster one all the same, is not given a look each time
 * that it is slow again. */
static void test_slow_again(void **state) {
    enum { TIMES = 20, STAYS = 40, PAST = 4 * SLOW };
    struct trma_move_place *place = new_place();
    unsigned past = 0;

    (void)state;
    (void)past_of(place, TRMA_MOVE_WAYS_WAIT_MOST, SLOW, PAST);
    for (int i = 0; i < TIMES; i++) {
        past += past_of(place, STAYS, 2 * (uint64_t)SLOW, PAST);
        past += past_of(place, STAYS, SLOW, PAST);
    }
    assert_in_range(past, SETTLING, 6 * SETTLING);
}

/* One look that finds it much faster is enough. */
static void test_by_the_next_look(void **state) {
    enum { SOON = 40, LATER = TRMA_MOVE_WAYS_WAIT_MOST + SOON };
    struct trma_move_place *place = new_place();

    (void)state;
    (void)past_of(place, SOON, SLOW, far_slower);
    (void)past_of(place, LATER, SLOW, SLOW / 4);
    assert_in_range(past_of(place, SOON, SLOW, SLOW / 4), SOON - SETTLING, SOON);
}

/* A run that finds nothing in the cache, or whose process was put to sleep meanwhile, decides nothing. */
static void test_a_single_slow_run(void **state) {
    const uint64_t past = (uint64_t)SLOW * 5 / 4;
    struct trma_move_place *place = new_place();

    (void)state;
    (void)past_of(place, 200, SLOW, past);
    while (run(place, SLOW, past)) {
    }
    (void)past_of(place, SETTLING, SLOW, past);
    (void)run(place, UINT64_C(1) << 40, past);
    assert_int_equal(past_of(place, 3, SLOW, past), 0);
}

/* Past the cache, whatever it takes, until it is shorter again; what it took does not count. */
static void test_a_long_one(void **state) {
    enum { TIMES = 64 };
    struct trma_move_place *place = new_place();

    (void)state;
    (void)past_of(place, 100, far_slower, SLOW);
    while (!run(place, far_slower, SLOW)) {
    }
    assert_int_equal(past_of(place, SETTLING, far_slower, SLOW), SETTLING);
    for (int i = 1; i <= TIMES; i++) {
        assert_true(trma_move_place_begin(place, i % 2 ? BYTES : SIZE_MAX, i % 2 ? SIZE_MAX : BYTES));
        trma_move_place_end(place, BYTES, UINT64_C(1) << 40, BYTES);
    }
    assert_in_range(past_of(place, TIMES, far_slower, SLOW), TIMES - 2 * SETTLING, TIMES);
}

/* Less than what counts is not measured. */
static void test_a_short_one(void **state) {
    struct trma_move_place *place = new_place();

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_false(trma_move_place_begin(place, SIZE_MAX, SIZE_MAX));
        trma_move_place_end(place, BYTES, SLOW, i % 2 ? TRMA_MOVE_PLACE_LEAST - 1 : 0);
    }
}

/* Where no run's time counts yet neither way is tried. */
static void test_one_that_is_not_timed(void **state) {
    const uintptr_t to = 88 * (uintptr_t)FAR_AWAY;
    struct trma_move_place *place = trma_move_place_learn(to, FAR_AWAY, false);

    (void)state;
    assert_false(trma_move_place_is_timed(place));
    assert_int_equal(past_of(place, 4 * BEFORE_ANY_LOOK, far_slower, SLOW), 0);
    assert_true(trma_move_place_is_lengthy(place));
    trma_move_place_end(place, TRMA_MOVE_PLACE_LENGTHY - 1, 0, 0);
    assert_false(trma_move_place_is_lengthy(place));
    assert_ptr_equal(trma_move_place_learn(to, FAR_AWAY, true), place);
    assert_ptr_equal(trma_move_place_learn(to, FAR_AWAY, false), place);
    assert_true(trma_move_place_is_timed(place));
    assert_in_range(past_of(place, 4 * BEFORE_ANY_LOOK, far_slower, SLOW), 1, 4 * BEFORE_ANY_LOOK);
}

/* Through the runs of copies: known from the second time on, and only when they are long enough. */
static unsigned timed_of(size_t to, size_t pieces, size_t size) {
    const size_t cache = (size_t)64 << 20;
    unsigned timed = 0;

    for (size_t i = 0; i < pieces; i++) {
        const void *target = (const void *)(to + i * size);
        const void *origin = (const void *)(to / 2 + i * size);
        struct trma_move_stream stream = trma_move_stream_take(target, origin, size, cache);
        if (stream.is_timed) {
            trma_move_stream_note(stream.is_past ? SLOW : far_slower, size);
            timed++;
        }
    }
    return timed;
}

static void test_runs_are_timed(void **state) {
    enum { PIECE = 256 << 10, ENOUGH = TRMA_MOVE_PLACE_LEAST / PIECE };
    const size_t here = 200 * (size_t)FAR_AWAY;
    const size_t there = 201 * (size_t)FAR_AWAY;

    (void)state;
    assert_int_equal(timed_of(here, ENOUGH, PIECE), 0);
    assert_int_equal(timed_of(here, ENOUGH, PIECE), ENOUGH);
    assert_int_equal(timed_of(there, ENOUGH - 1, PIECE), 0);
    assert_int_equal(timed_of(there, ENOUGH - 1, PIECE), 0);
    /* And go the way that took less. */
    for (int i = 0; i < BEFORE_ANY_LOOK + 3; i++) {
        (void)timed_of(here, ENOUGH, PIECE);
    }
    assert_true(trma_move_stream_take((const void *)here, (const void *)(here / 2), PIECE, 64 << 20).is_past);
}

/* Of short pieces of a known run through the cache one of so many is timed, from the first one on, of a run
 * past it each; the others are made in short. */
static void test_some_pieces_are_timed(void **state) {
    enum { PIECE = TRMA_MOVE_STREAM_SHORT / 2, PIECES = TRMA_MOVE_PLACE_LEAST / PIECE };
    const size_t to = 220 * (size_t)FAR_AWAY;
    unsigned past = 0;

    (void)state;
    (void)timed_of(to, PIECES, PIECE);
    for (int time = 0; time < 20; time++) {
        bool is_past = false;
        for (size_t i = 0; i < PIECES; i++) {
            const void *target = (const void *)(to + i * PIECE);
            const void *origin = (const void *)(to / 2 + i * PIECE);
            const bool goes_on = trma_move_stream_goes_on(target, origin, PIECE);
            assert_int_equal(goes_on, !is_past && i % TRMA_MOVE_STREAM_EVERY > 0);
            if (!goes_on) {
                const struct trma_move_stream stream = trma_move_stream_take(target, origin, PIECE, 64 << 20);
                assert_true(stream.is_known && stream.is_timed);
                assert_true(i == 0 || stream.is_past == is_past);
                is_past = stream.is_past;
                trma_move_stream_note(is_past ? SLOW : far_slower, PIECE);
            }
            assert_true(trma_move_stream_is_known());
        }
        past += is_past;
    }
    assert_in_range(past, 10, 20 - SETTLING + 1); /* those that were timed have counted */
    /* Where they are not made in short, they are not timed either. */
    const size_t other = 230 * (size_t)FAR_AWAY;
    (void)timed_of(other, PIECES, PIECE);
    for (size_t i = 0; i < PIECES; i++) {
        const struct trma_move_stream stream = trma_move_stream_take(
            (const void *)(other + i * PIECE), (const void *)(other / 2 + i * PIECE), PIECE, 64 << 20);
        assert_true(stream.is_known && !stream.is_past);
        assert_int_equal(stream.is_timed, i % TRMA_MOVE_STREAM_EVERY == 0);
    }
}

/* No piece of a known run that has grown too long for the cache is made in short. */
static void test_a_known_run_grows_long(void **state) {
    enum {
        PIECE = TRMA_MOVE_STREAM_SHORT - 64,
        CACHE = 52 * PIECE,
        BELOW = 19 /* pieces, of three eighths of that */
    };
    const size_t to = 250 * (size_t)FAR_AWAY;

    (void)state;
    (void)timed_of(to, BELOW, PIECE);
    for (size_t i = 0; i < 2 * (size_t)BELOW; i++) {
        const void *target = (const void *)(to + i * PIECE);
        const void *origin = (const void *)(to / 2 + i * PIECE);
        if (trma_move_stream_goes_on(target, origin, PIECE)) {
            assert_in_range(i, 1, BELOW - 1);
        } else {
            assert_int_equal(trma_move_stream_take(target, origin, PIECE, CACHE).is_past, i >= BELOW);
        }
    }
}

/* What begins like a known run and ends before it is long enough says nothing, whatever its timed pieces
 * stand for. */
static void test_a_run_that_ends_early(void **state) {
    enum { PIECE = 60000, EARLY = 33, TIMED = 1 + (EARLY - 1) / TRMA_MOVE_STREAM_EVERY, TIMES = 20 };
    const size_t to = 240 * (size_t)FAR_AWAY;

    (void)state;
    (void)timed_of(to, EARLY + 2, PIECE);
    for (int time = 0; time < TIMES; time++) {
        assert_int_equal(timed_of(to, EARLY, PIECE), TIMED);
        assert_false(trma_move_stream_take((const void *)1, (const void *)1, 1, 64 << 20).is_past);
    }
    const struct trma_move_stream stream =
        trma_move_stream_take((const void *)to, (const void *)(to / 2), PIECE, 64 << 20);
    assert_true(stream.is_known && !stream.is_past);
}

/* Runs of which each piece takes the ticks of its way, but the `odd` one, which takes a hundred times as
 * long: how many went past the cache. */
static unsigned past_of_pieces(size_t to, unsigned runs, uint64_t through, uint64_t past, unsigned odd) {
    enum { PIECES = 16, SIZE = 512 << 10 };
    unsigned count = 0;

    for (unsigned i = 0; i < runs; i++) {
        for (size_t piece = 0; piece < PIECES; piece++) {
            const struct trma_move_stream stream = trma_move_stream_take(
                (const void *)(to + piece * SIZE), (const void *)(to / 2 + piece * SIZE), SIZE, 64 << 20);
            const uint64_t ticks = stream.is_past ? past : through;

            if (stream.is_timed) {
                trma_move_stream_note(piece == odd ? 100 * ticks : ticks, SIZE);
            }
            count += stream.is_past && piece == 0;
        }
    }
    return count;
}

/* What has grown too long on its way has gone both, and says nothing about either. */
static void test_a_run_that_grows_long(void **state) {
    enum { NO_PIECE = 16, PIECE = 1 << 20, PIECES = 40 };
    const size_t to = 320 * (size_t)FAR_AWAY;

    (void)state;
    (void)past_of_pieces(to, 20, SLOW, far_slower, NO_PIECE);
    while (past_of_pieces(to, 1, SLOW, far_slower, NO_PIECE) != 0) {
    }
    assert_int_equal(past_of_pieces(to, SETTLING, SLOW, far_slower, NO_PIECE), 0);
    const struct trma_move_place *place = trma_move_place_find(to, to / 2);
    const uint64_t usual_below = trma_move_place_usual_below(place);
    assert_true(usual_below > 0);
    for (size_t piece = 0; piece < PIECES; piece++) {
        if (trma_move_stream_take((const void *)(to + piece * PIECE), (const void *)(to / 2 + piece * PIECE),
                                  PIECE, 64 << 20)
                .is_timed) {
            trma_move_stream_note(SLOW / 10, PIECE);
        }
    }
    assert_false(trma_move_stream_take((const void *)1, (const void *)1, 1, 64 << 20).is_past);
    assert_ptr_equal(trma_move_place_find(to, to / 2), place);
    assert_int_equal(trma_move_place_usual_below(place), usual_below);
    /* But that it will be long. */
    assert_true(trma_move_stream_take((const void *)to, (const void *)(to / 2), PIECE, 64 << 20).is_past);
}

/* Pieces that waited for their turn on the core: the runs go as if there were none. */
static void test_pieces_that_waited(void **state) {
    enum { RUNS = 400, NO_PIECE = 16 };
    const size_t calm = 300 * (size_t)FAR_AWAY;
    const size_t busy = 310 * (size_t)FAR_AWAY;
    unsigned past = 0;

    (void)state;
    (void)past_of_pieces(calm, 20, SLOW, SLOW + SLOW / 4, NO_PIECE);
    (void)past_of_pieces(busy, 20, SLOW, SLOW + SLOW / 4, NO_PIECE);
    for (unsigned i = 0; i < RUNS; i++) {
        past += past_of_pieces(busy, 1, SLOW, SLOW + SLOW / 4, i % 3 ? NO_PIECE : i % 16);
    }
    assert_int_equal(past, past_of_pieces(calm, RUNS, SLOW, SLOW + SLOW / 4, NO_PIECE));
    assert_in_range(past, 1, RUNS / 10);
    /* When all of them take so long it is the way that does. */
    (void)past_of_pieces(busy, 50, 10 * (uint64_t)SLOW, SLOW + SLOW / 4, NO_PIECE);
    assert_in_range(past_of_pieces(busy, 50, 10 * (uint64_t)SLOW, SLOW + SLOW / 4, NO_PIECE), 40, 50);
}

/* One run whose first bytes take `first` when they are looked at; whether it went past the cache. */
static bool run_watched(struct trma_move_place *place, uint64_t through, uint64_t past, uint64_t first) {
    const bool is_past = trma_move_place_begin(place, SIZE_MAX, SIZE_MAX);

    if (is_past && trma_move_place_watch(place) == TRMA_MOVE_WATCH_TIME) {
        trma_move_place_note_watched(place, first);
    }
    trma_move_place_end(place, BYTES, is_past ? past : through, BYTES);
    return is_past;
}

/* That lines are sooner to be had is found out by them, much sooner than by the next look. */
static void test_the_first_bytes_tell(void **state) {
    enum { SOON = 2 * (TRMA_MOVE_WATCH_EVERY + 2), STAYS = 500 };
    struct trma_move_place *place = new_place();
    unsigned through = 0;

    (void)state;
    for (int time = 0; time < 4; time++) {
        for (unsigned i = 0; i < TRMA_MOVE_WAYS_WAIT_MOST + STAYS; i++) {
            (void)run_watched(place, far_slower, SLOW, SLOW);
        }
        through = 0;
        for (unsigned i = 0; i < STAYS; i++) { /* what is far, and stays so */
            through += !run_watched(place, far_slower, SLOW, SLOW);
        }
        assert_in_range(through, 0, SETTLING);
        for (unsigned i = 0; i < SOON + 2 * SETTLING; i++) {
            (void)run_watched(place, SLOW / 2, SLOW, SLOW / 10);
        }
        assert_false(run_watched(place, SLOW / 2, SLOW, SLOW / 10));
    }
}

/* Nor are those too long, or that go past the cache to be looked at. */
static void test_what_is_not_watched(void **state) {
    struct trma_move_place *place = new_place();

    (void)state;
    for (unsigned i = 0; i < 10 * TRMA_MOVE_WAYS_WAIT_MOST; i++) {
        (void)run(place, SLOW, far_slower);
        assert_int_equal(trma_move_place_watch(place), TRMA_MOVE_WATCH_NOTHING);
    }
    place = new_place();
    (void)past_of(place, 100, far_slower, SLOW);
    for (unsigned i = 0; i < 10 * TRMA_MOVE_WATCH_EVERY; i++) {
        assert_true(trma_move_place_begin(place, BYTES, SIZE_MAX));
        assert_int_equal(trma_move_place_watch(place), TRMA_MOVE_WATCH_NOTHING);
        trma_move_place_end(place, BYTES, SLOW, BYTES);
    }
}

/* The first piece of a run that goes past the cache tells where it begins. */
static void test_where_a_run_begins(void **state) {
    const size_t to = 300 * (size_t)FAR_AWAY;
    struct trma_move_place *place = trma_move_place_learn(to, to / 2, true);

    (void)state;
    for (int time = 0; time < 2; time++) {
        for (size_t i = 0; i < 3; i++) {
            const size_t at = i * BYTES / 4;
            const struct trma_move_stream stream = trma_move_stream_take(
                (const void *)(to + at), (const void *)(to / 2 + at), BYTES / 4, 64 << 20);
            assert_int_equal(stream.is_past, time);
            assert_ptr_equal(stream.begins, time && i == 0 ? place : NULL);
        }
        (void)past_of(place, TRMA_MOVE_WAYS_WAIT_MOST, far_slower, SLOW);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_both_are_tried),
        cmocka_unit_test(test_looks_grow_apart),
        cmocka_unit_test(test_a_cold_beginning),
        cmocka_unit_test(test_a_change_is_not_measured),
        cmocka_unit_test(test_the_faster_one_wins),
        cmocka_unit_test(test_the_machine_changes),
        cmocka_unit_test(test_a_single_slow_run),
        cmocka_unit_test(test_runs_are_timed),
        cmocka_unit_test(test_several_are_kept),
        cmocka_unit_test(test_by_the_next_look),
        cmocka_unit_test(test_a_long_one),
        cmocka_unit_test(test_a_short_one),
        cmocka_unit_test(test_one_that_is_not_timed),
        cmocka_unit_test(test_pieces_that_waited),
        cmocka_unit_test(test_a_run_that_grows_long),
        cmocka_unit_test(test_a_neighbour_comes_and_goes),
        cmocka_unit_test(test_a_look_by_chance),
        cmocka_unit_test(test_slow_again),
        cmocka_unit_test(test_the_first_bytes_tell),
        cmocka_unit_test(test_what_is_not_watched),
        cmocka_unit_test(test_where_a_run_begins),
        cmocka_unit_test(test_some_pieces_are_timed),
        cmocka_unit_test(test_a_run_that_ends_early),
        cmocka_unit_test(test_a_known_run_grows_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
