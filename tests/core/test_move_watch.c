/* SPDX-License-Identifier: BSD-3-Clause */
/* What the first bytes of runs that go past the caches tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_watch.h"

enum { FAR = 30000, NEAR = 3000, EVERY = TRMA_MOVE_WATCH_EVERY, LOOK = EVERY + 2, MANY = 10000 };

static struct trma_move_watch new_watch(void) {
    struct trma_move_watch watch;

    trma_move_watch_reset(&watch);
    return watch;
}

/* So many runs, whose first bytes take their ticks; how often it was news, and how many were looked at. */
static unsigned news_of(struct trma_move_watch *watch, unsigned runs, uint64_t ticks, unsigned *looks) {
    unsigned news = 0;

    for (unsigned i = 0; i < runs; i++) {
        const enum trma_move_watch_look look = trma_move_watch_take(watch);
        *looks += look != TRMA_MOVE_WATCH_NOTHING;
        if (look == TRMA_MOVE_WATCH_TIME) {
            news += trma_move_watch_note(watch, ticks);
        }
    }
    return news;
}

static void test_two_runs_are_a_look(void **state) {
    struct trma_move_watch watch = new_watch();

    (void)state;
    for (int look = 0; look < 3; look++) {
        for (int i = 0; i < EVERY; i++) {
            assert_int_equal(trma_move_watch_take(&watch), TRMA_MOVE_WATCH_NOTHING);
        }
        assert_int_equal(trma_move_watch_take(&watch), TRMA_MOVE_WATCH_PREPARE);
        assert_int_equal(trma_move_watch_take(&watch), TRMA_MOVE_WATCH_TIME);
        assert_false(trma_move_watch_note(&watch, FAR));
    }
}

static void test_what_stays_is_no_news(void **state) {
    const uint64_t paces[] = {1, NEAR, FAR, UINT64_C(1) << 40};

    (void)state;
    for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
        struct trma_move_watch watch = new_watch();
        unsigned looks = 0;
        assert_int_equal(news_of(&watch, MANY, paces[i], &looks), 0);
        assert_int_equal(looks / 2, MANY / LOOK);
        assert_int_equal(news_of(&watch, MANY, paces[i] - paces[i] / 3, &looks), 0);
    }
}

/* By the next look and one more, once. */
static void test_near_is_news(void **state) {
    struct trma_move_watch watch = new_watch();
    unsigned looks = 0;

    (void)state;
    for (int time = 0; time < 5; time++) {
        assert_int_equal(news_of(&watch, 15 * LOOK, FAR, &looks), 0);
        const unsigned before = trma_move_watch_news();
        unsigned runs = 1;
        while (news_of(&watch, 1, NEAR, &looks) == 0) {
            assert_int_equal(trma_move_watch_news(), before);
            runs++;
        }
        assert_in_range(runs, TRMA_MOVE_WATCH_SURE, LOOK + 2);
        assert_int_not_equal(trma_move_watch_news(), before);
        assert_int_equal(news_of(&watch, MANY, NEAR, &looks), 0);
    }
}

/* A look that was quick, or slow, by chance. */
static void test_chance_is_no_news(void **state) {
    const uint64_t chances[] = {1, 100 * (uint64_t)FAR};

    (void)state;
    for (size_t i = 0; i < sizeof chances / sizeof chances[0]; i++) {
        struct trma_move_watch watch = new_watch();
        unsigned looks = 0;
        assert_int_equal(news_of(&watch, LOOK, FAR, &looks), 0);
        for (int time = 0; time < 100; time++) {
            assert_int_equal(news_of(&watch, LOOK, FAR, &looks), 0);
            assert_int_equal(news_of(&watch, LOOK, chances[i], &looks), 0);
            assert_int_equal(news_of(&watch, LOOK + 1, FAR, &looks), 0);
        }
    }
}

static void test_what_is_forgotten(void **state) {
    struct trma_move_watch watch = new_watch();
    unsigned looks = 0;

    (void)state;
    (void)news_of(&watch, LOOK - 1, FAR, &looks);
    trma_move_watch_reset(&watch);
    looks = 0;
    (void)news_of(&watch, EVERY, FAR, &looks);
    assert_int_equal(looks, 0);
    (void)news_of(&watch, 2, FAR, &looks);
    trma_move_watch_reset(&watch);
    assert_int_equal(news_of(&watch, 2 * LOOK, NEAR, &looks), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_runs_are_a_look), cmocka_unit_test(test_what_stays_is_no_news),
        cmocka_unit_test(test_near_is_news),        cmocka_unit_test(test_chance_is_no_news),
        cmocka_unit_test(test_what_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
