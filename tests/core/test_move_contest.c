/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way puts go into memory that a core far away may hold, by what they took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_contest.h"

/* Nothing is read or written there: only the numbers count. `OWN`: ticks of 64 KiB of one's own past the
 * caches. */
enum { SIZE = 64 << 10, OWN = 1000, QUICK = OWN / 2, NEARBY = 3 * OWN - 1, FAR = 6 * OWN, MANY = 10000 };

/* Puts from a look to the next; the one before it writes its beginning as looks do. */
enum { LOOK_EVERY = TRMA_MOVE_CONTEST_BETWEEN_LONG_LOOKS / SIZE + 1 };

/* Where the puts go if nothing else is said; which part of memory that is does not matter here. */
enum { PLACE = 4096, OTHER_PLACE = 2 * PLACE };

static struct trma_move_contest *new_part(void) {
    static uintptr_t next = 1;

    next++;
    return trma_move_contest_find(next * TRMA_MOVE_CONTEST_PART);
}

/* So many puts, of which each way takes its ticks; how many went past the caches. */
static unsigned past_of(struct trma_move_contest *contest, unsigned puts, uint64_t through, uint64_t past,
                        uint64_t own) {
    unsigned count = 0;

    for (unsigned i = 0; i < puts; i++) {
        const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, SIZE);
        if (way.is_timed) {
            const uint64_t pace = way.is_past ? past : through;
            trma_move_contest_note(contest, &way, pace * way.bytes / SIZE, own);
        }
        count += way.is_past;
    }
    return count;
}

static void test_who_is_not_contested(void **state) {
    (void)state;
    assert_int_equal(past_of(new_part(), MANY, QUICK, OWN, OWN), 0);
    assert_int_equal(past_of(new_part(), MANY, NEARBY, OWN, OWN), 0);
}

static void test_who_is(void **state) {
    struct trma_move_contest *contest = new_part();
    const unsigned seen = TRMA_MOVE_CONTEST_EVERY + TRMA_MOVE_CONTEST_SURE;

    (void)state;
    assert_in_range(past_of(contest, seen + 4, FAR, OWN, OWN), 1, 5);
    /* But for the looks and what goes before them, which are of the beginning only. */
    assert_in_range(past_of(contest, MANY, FAR, OWN, OWN), MANY - 2 * (MANY / LOOK_EVERY + 1),
                    MANY - 2 * (MANY / LOOK_EVERY));
}

/* The next one that does not go past the caches from its first byte on; only looks are timed. */
static struct trma_move_contest_way next_through(struct trma_move_contest *contest, uintptr_t to,
                                                 size_t size) {
    struct trma_move_contest_way way = trma_move_contest_take(contest, to, size);

    for (size_t bytes = size; way.is_past; bytes += size) {
        assert_false(way.is_timed);
        assert_int_equal(way.bytes, size);
        assert_in_range(bytes, 0, TRMA_MOVE_CONTEST_BETWEEN_LONG_LOOKS - 1);
        way = trma_move_contest_take(contest, to, size);
    }
    assert_int_equal(way.bytes, trma_move_contest_look_bytes(size));
    return way;
}

/* What all places show once, when their owner has read them once, is not enough. */
static void test_a_single_reading(void **state) {
    enum { PLACES = TRMA_MOVE_CONTEST_PART / SIZE, READ_EVERY = TRMA_MOVE_CONTEST_EVERY + PLACES };
    struct trma_move_contest *contest = new_part();
    bool is_read[PLACES] = {false};
    unsigned contested = 0;

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        const unsigned at = i % PLACES;
        for (unsigned j = 0; i % READ_EVERY == 0 && j < PLACES; j++) {
            is_read[j] = true;
        }
        const struct trma_move_contest_way way =
            trma_move_contest_take(contest, PLACE + (uintptr_t)at * SIZE, SIZE);
        assert_false(way.is_past);
        if (way.is_timed) {
            contested += is_read[at];
            trma_move_contest_note(contest, &way, is_read[at] ? FAR : QUICK, OWN);
        }
        is_read[at] = false;
    }
    assert_true(contested > TRMA_MOVE_CONTEST_SURE);
}

/* It counts at the place that was contested first, when that comes again. */
static void test_a_reading_of_each_epoch(void **state) {
    enum { PLACES = TRMA_MOVE_CONTEST_PART / SIZE, FIRST = TRMA_MOVE_CONTEST_EVERY - 1 };
    struct trma_move_contest *contest = new_part();
    unsigned timed = 0;

    (void)state;
    for (unsigned i = 0; timed < TRMA_MOVE_CONTEST_SURE; i++) {
        const struct trma_move_contest_way way =
            trma_move_contest_take(contest, PLACE + (uintptr_t)(i % PLACES) * SIZE, SIZE);
        assert_false(way.is_past);
        assert_int_equal(way.bytes, SIZE);
        assert_int_equal(way.is_timed, i == FIRST + timed * PLACES);
        if (way.is_timed) {
            timed++;
            trma_move_contest_note(contest, &way, FAR, OWN);
        }
    }
    assert_true(trma_move_contest_take(contest, OTHER_PLACE, SIZE).is_past);
}

/* Puts go where none went before, all of them into lines that their owner has read. */
static void test_new_places_all_the_time(void **state) {
    enum {
        SEEN = TRMA_MOVE_CONTEST_EVERY - 1 + (TRMA_MOVE_CONTEST_SURE - 1) * (TRMA_MOVE_CONTEST_OTHERS + 1),
        TRIAL = 1
    };
    struct trma_move_contest *contest = new_part();

    (void)state;
    for (unsigned i = 0; i < SEEN + 2 + TRIAL; i++) {
        const struct trma_move_contest_way way =
            trma_move_contest_take(contest, PLACE + (uintptr_t)i * 8, SIZE);
        assert_int_equal(way.is_past, i > SEEN);
        if (way.is_timed) {
            trma_move_contest_note(contest, &way, way.is_past ? OWN : FAR, OWN);
        }
    }
    assert_false(next_through(contest, OTHER_PLACE, SIZE).is_timed);
}

static void test_what_a_look_is(void **state) {
    struct trma_move_contest *contest = new_part();
    const size_t sizes[] = {TRMA_MOVE_CONTEST_LEAST, TRMA_MOVE_CONTEST_LESS_THAN - 1};

    (void)state;
    (void)past_of(contest, 100, FAR, OWN, OWN);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_false(next_through(contest, PLACE, sizes[i]).is_timed);
        assert_true(trma_move_contest_take(contest, OTHER_PLACE, sizes[i]).is_past);
        const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, sizes[i]);
        assert_true(way.is_timed);
        assert_false(way.is_past);
        assert_int_equal(way.bytes, trma_move_contest_look_bytes(sizes[i]));
        trma_move_contest_note(contest, &way, FAR * way.bytes / SIZE, OWN);
        assert_true(trma_move_contest_take(contest, PLACE, sizes[i]).is_past);
    }
}

/* Then another one is looked at as it is. */
static void test_a_place_that_does_not_come_again(void **state) {
    struct trma_move_contest *contest = new_part();

    (void)state;
    (void)past_of(contest, 100, FAR, OWN, OWN);
    assert_false(next_through(contest, PLACE, SIZE).is_timed);
    const struct trma_move_contest_way way = next_through(contest, OTHER_PLACE, SIZE);
    assert_true(way.is_timed);
    trma_move_contest_note(contest, &way, FAR * way.bytes / SIZE, OWN);
    assert_false(next_through(contest, OTHER_PLACE, SIZE).is_timed);
}

/* What went past the caches is slow to write through them, whoever reads it: once. */
static void test_who_is_not_contested_any_more(void **state) {
    enum { PLACES = TRMA_MOVE_CONTEST_PART / SIZE, SOON = 2 * LOOK_EVERY + 3 * PLACES };

    (void)state;
    for (int places = 1; places <= PLACES; places++) {
        struct trma_move_contest *contest = new_part();
        bool is_in_memory[PLACES] = {false};
        (void)past_of(contest, 100, FAR, OWN, OWN);
        for (int i = 0; i < MANY; i++) {
            bool *was_past = &is_in_memory[i % places];
            const struct trma_move_contest_way way =
                trma_move_contest_take(contest, PLACE + (uintptr_t)(i % places) * SIZE, SIZE);
            if (way.is_timed) {
                trma_move_contest_note(contest, &way, (*was_past ? FAR : QUICK) * way.bytes / SIZE, OWN);
            }
            assert_true(i < SOON || !way.is_past);
            *was_past = way.is_past; /* of its beginning */
        }
    }
}

/* Few puts are timed where nothing is contested: the clock takes time, too. */
static void test_how_often_it_is_timed(void **state) {
    struct trma_move_contest *contest = new_part();
    unsigned timed = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, SIZE);
        assert_int_equal(way.bytes, SIZE);
        if (way.is_timed) {
            trma_move_contest_note(contest, &way, QUICK, OWN);
            timed++;
        }
    }
    assert_int_equal(timed, MANY / TRMA_MOVE_CONTEST_EVERY);
}

/* What takes long for another reason is tried past the caches now and then, and goes through them. */
static void test_who_does_not_gain(void **state) {
    enum {
        TRIAL = 1 + TRMA_MOVE_CONTEST_VAIN,
        PERIOD = TRMA_MOVE_CONTEST_WAIT_IN_VAIN + TRMA_MOVE_CONTEST_SURE + TRIAL
    };

    (void)state;
    assert_in_range(past_of(new_part(), MANY, FAR, FAR - 1, OWN), MANY / PERIOD * TRIAL,
                    (MANY / PERIOD + 1) * TRIAL);
}

/* So many of its judged puts, the first ones, have lost their processor. */
static void test_a_trial_that_is_disturbed(void **state) {
    (void)state;
    for (unsigned disturbed = 0; disturbed <= TRMA_MOVE_CONTEST_VAIN; disturbed++) {
        struct trma_move_contest *contest = new_part();
        unsigned trials = 0;
        for (unsigned i = 0; i < 100; i++) {
            const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, SIZE);
            if (way.is_timed) {
                trials += way.is_past;
                trma_move_contest_note(contest, &way, !way.is_past || trials <= disturbed ? FAR : OWN, OWN);
            }
        }
        const bool has_failed = disturbed == TRMA_MOVE_CONTEST_VAIN;
        assert_int_equal(trials, has_failed ? disturbed : disturbed + 1);
        assert_int_equal(trma_move_contest_take(contest, PLACE, SIZE).is_past, !has_failed);
    }
}

/* What a trial has seen counts for that one alone. */
static void test_trials_begin_anew(void **state) {
    struct trma_move_contest *contest = new_part();

    (void)state;
    for (int trial = 0; trial < 3; trial++) {
        bool was_disturbed = false;
        for (int i = 0; i < 100; i++) {
            const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, SIZE);
            if (way.is_timed) {
                const bool is_quick = way.is_past && was_disturbed;
                was_disturbed = was_disturbed || way.is_past;
                trma_move_contest_note(contest, &way, (is_quick ? OWN : FAR) * way.bytes / SIZE, OWN);
            }
        }
        assert_true(trma_move_contest_take(contest, PLACE, SIZE).is_past);
        (void)past_of(contest, 2 * LOOK_EVERY, QUICK, OWN, OWN);
        assert_int_equal(past_of(contest, 1, QUICK, OWN, OWN), 0);
    }
}

static void test_the_machine_changes(void **state) {
    struct trma_move_contest *contest = new_part();

    (void)state;
    (void)past_of(contest, MANY, FAR, OWN, OWN);
    (void)past_of(contest, LOOK_EVERY + TRMA_MOVE_CONTEST_QUICK_LOOKS, NEARBY, OWN, OWN);
    assert_int_equal(past_of(contest, MANY, NEARBY, OWN, OWN), 0);
    (void)past_of(contest, TRMA_MOVE_CONTEST_EVERY + TRMA_MOVE_CONTEST_SURE + 1, FAR, OWN, OWN);
    assert_in_range(past_of(contest, 50, FAR, OWN, OWN), 49, 50);
}

/* Of two looks, one after the other, one must not change the way. */
static void test_single_quick_looks(void **state) {
    struct trma_move_contest *contest = new_part();
    unsigned looks = 0;

    (void)state;
    (void)past_of(contest, 100, FAR, OWN, OWN);
    for (int i = 0; i < MANY; i++) {
        const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, SIZE);
        if (way.is_timed) {
            assert_int_equal(way.bytes, trma_move_contest_look_bytes(SIZE));
            trma_move_contest_note(contest, &way, (looks++ % 2 == 0 ? QUICK : FAR) * way.bytes / SIZE, OWN);
        }
    }
    assert_in_range(looks, 2 * MANY / (LOOK_EVERY + 1) - 2, 2 * MANY / (LOOK_EVERY + 1) + 2);
}

/* Small ones are contested by more. Looks, which are shorter, go by the size of their put. */
static void test_sizes(void **state) {
    const size_t sizes[] = {TRMA_MOVE_CONTEST_LEAST, 32 << 10, 64 << 10, 1 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned times = 1; times < 8; times++) {
            struct trma_move_contest *contest = new_part();
            const bool is_contested = times >= trma_move_contest_times(sizes[i]);
            unsigned before_looks = 0;
            for (unsigned put = 1; put <= MANY; put++) {
                const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, sizes[i]);
                if (!is_contested) {
                    assert_false(way.is_past);
                } else if (put >= TRMA_MOVE_CONTEST_EVERY + TRMA_MOVE_CONTEST_SURE) {
                    assert_true(way.is_past || way.bytes == trma_move_contest_look_bytes(sizes[i]));
                    before_looks += !way.is_past && !way.is_timed;
                }
                if (way.is_timed) {
                    const uint64_t pace = way.is_past ? OWN : times * OWN;
                    trma_move_contest_note(contest, &way, pace * way.bytes / SIZE, OWN);
                }
            }
            const size_t most = MANY * sizes[i] / trma_move_contest_between_looks(sizes[i]);
            assert_in_range(before_looks, is_contested ? most / 2 : 0, most);
        }
    }
    assert_true(trma_move_contest_times(TRMA_MOVE_CONTEST_LEAST) > trma_move_contest_times(SIZE));
}

/* A put that lost its processor. */
static void test_single_slow_ones(void **state) {
    struct trma_move_contest *contest = new_part();

    (void)state;
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(past_of(contest, 1, i % 2 == 0 ? 100 * FAR : QUICK, OWN, OWN), 0);
    }
}

static void test_what_is_not_known(void **state) {
    (void)state;
    assert_int_equal(past_of(new_part(), MANY, FAR, OWN, 0), 0);
}

/* What is passed counts as what is taken. */
static void test_what_is_passed(void **state) {
    const uintptr_t to = (uintptr_t)99999 * TRMA_MOVE_CONTEST_PART;
    struct trma_move_contest *contest = trma_move_contest_find(to);

    (void)state;
    for (int i = 1; i < TRMA_MOVE_CONTEST_EVERY; i++) {
        assert_true(trma_move_contest_pass(to + i));
    }
    assert_false(trma_move_contest_pass(to));
    const struct trma_move_contest_way way = trma_move_contest_take(contest, PLACE, SIZE);
    assert_true(way.is_timed);
    trma_move_contest_note(contest, &way, FAR, OWN);
    assert_false(trma_move_contest_pass(to)); /* it may be where the next one is timed */
    (void)past_of(contest, 1, QUICK, OWN, OWN);
    assert_true(trma_move_contest_pass(to));
    (void)past_of(contest, 100, FAR, OWN, OWN);
    for (int i = 0; i < 100; i++) {
        assert_false(trma_move_contest_pass(to));
        (void)past_of(contest, 1, FAR, OWN, OWN);
    }
}

/* What takes another's slot begins anew. */
static void test_what_is_kept(void **state) {
    const uintptr_t to = (uintptr_t)77777 * TRMA_MOVE_CONTEST_PART;
    struct trma_move_contest *contest = trma_move_contest_find(to);
    uintptr_t other = to;

    (void)state;
    (void)past_of(contest, TRMA_MOVE_CONTEST_EVERY + TRMA_MOVE_CONTEST_SURE + 1, FAR, OWN, OWN);
    assert_ptr_equal(trma_move_contest_find(to + TRMA_MOVE_CONTEST_PART - 1), contest);
    assert_in_range(past_of(contest, 50, FAR, OWN, OWN), 49, 50);
    do {
        other += TRMA_MOVE_CONTEST_PART;
    } while (trma_move_contest_find(other) != contest);
    assert_int_equal(past_of(contest, 1, QUICK, OWN, OWN), 0);
}

static void test_what_is_close(void **state) {
    const size_t sizes[] = {TRMA_MOVE_CONTEST_LEAST, 32 << 10, SIZE, 1 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t bytes = trma_move_contest_look_bytes(sizes[i]);
        struct trma_move_contest_way way = {.is_timed = true, .bytes = bytes, .size = sizes[i]};
        const uint64_t contested = trma_move_contest_times(sizes[i]) * (uint64_t)OWN * bytes / SIZE;
        assert_false(trma_move_contest_is_close(&way, contested, OWN));
        assert_true(trma_move_contest_is_close(&way, contested * 9 / 10, OWN));
        assert_true(trma_move_contest_is_close(&way, contested * 6 / 10, OWN));
        assert_false(trma_move_contest_is_close(&way, contested * 4 / 10, OWN));
        assert_false(trma_move_contest_is_close(&way, contested, 0));
        way.is_past = true;
        assert_false(trma_move_contest_is_close(&way, contested * 6 / 10, OWN));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_not_contested),
        cmocka_unit_test(test_who_is),
        cmocka_unit_test(test_a_single_reading),
        cmocka_unit_test(test_a_reading_of_each_epoch),
        cmocka_unit_test(test_new_places_all_the_time),
        cmocka_unit_test(test_what_a_look_is),
        cmocka_unit_test(test_who_does_not_gain),
        cmocka_unit_test(test_how_often_it_is_timed),
        cmocka_unit_test(test_the_machine_changes),
        cmocka_unit_test(test_single_slow_ones),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_what_is_passed),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_what_is_close),
        cmocka_unit_test(test_a_trial_that_is_disturbed),
        cmocka_unit_test(test_trials_begin_anew),
        cmocka_unit_test(test_single_quick_looks),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_a_place_that_does_not_come_again),
        cmocka_unit_test(test_who_is_not_contested_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
