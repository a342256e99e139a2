/* SPDX-License-Identifier: BSD-3-Clause */
/* When the other one of two ways is looked at, and which one is taken. What runs between two places do by it:
 * test_move_place.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_ways.h"

enum { BYTES = 64 << 10, PACE = 100000, SETTLING = 3, EARLY_LOOKS = 4, TIMES = 4000 };

/* One time, of which each way takes its ticks; whether it went the other way. */
static bool go(struct trma_move_ways *ways, uint64_t usual, uint64_t other) {
    const bool is_other = trma_move_ways_begin(ways);

    trma_move_ways_end(ways, is_other ? other : usual, BYTES);
    return is_other;
}

static unsigned others_of(struct trma_move_ways *ways, unsigned times, uint64_t usual, uint64_t other) {
    unsigned count = 0;

    for (unsigned i = 0; i < times; i++) {
        count += go(ways, usual, other);
    }
    return count;
}

static struct trma_move_ways new_ways(void) {
    struct trma_move_ways ways;

    trma_move_ways_reset(&ways);
    return ways;
}

/* Right after a look at the other way. */
static void go_on_until_back(struct trma_move_ways *ways, uint64_t usual, uint64_t other) {
    while (!go(ways, usual, other)) {
    }
    while (go(ways, usual, other)) {
    }
    assert_int_equal(others_of(ways, SETTLING, usual, other), 0);
}

/* Both take as long, but the first `colds` times of who comes back take `cold`. Times that went the other
 * way.
 */
static unsigned looked_at(unsigned colds, uint64_t cold) {
    struct trma_move_ways ways = new_ways();
    unsigned count = 0;
    unsigned back = SETTLING; /* times since the last look */

    for (int i = 0; i < TIMES; i++) {
        const bool is_other = go(&ways, back < colds ? cold : PACE, PACE);
        back = is_other ? 0 : back + 1;
        count += is_other;
    }
    return count;
}

/* The more coming back from a look costs, the fewer there are. */
static void test_coming_back_costs(void **state) {
    enum { LOOKS = TIMES / (TRMA_MOVE_WAYS_WAIT_LEAST + 2 * SETTLING) };

    (void)state;
    assert_in_range(looked_at(0, PACE), SETTLING * LOOKS, SETTLING * (LOOKS + EARLY_LOOKS));
    assert_in_range(looked_at(2, 2 * (uint64_t)PACE), SETTLING * LOOKS / 8,
                    SETTLING * (LOOKS / 4 + EARLY_LOOKS));
    assert_in_range(looked_at(2, 4 * (uint64_t)PACE), SETTLING * EARLY_LOOKS, SETTLING * (5 + EARLY_LOOKS));
    /* That one has lost its processor counts no more than that it was cold. */
    assert_int_equal(looked_at(1, (uint64_t)1000 * PACE), looked_at(1, 4 * (uint64_t)PACE));
    assert_in_range(looked_at(1, 4 * (uint64_t)PACE), SETTLING * (5 + EARLY_LOOKS),
                    SETTLING * (LOOKS / 4 + EARLY_LOOKS));
}

/* Two slow times one after the other, now and then, as after something else has used the caches, call for no
 * look, nor do they change the way. */
static void test_now_and_then_slow(void **state) {
    enum { EACH = 14, LOOKS = TIMES / (TRMA_MOVE_WAYS_WAIT_LEAST + 2 * SETTLING) };
    const uint64_t slow = 2 * (uint64_t)PACE;
    struct trma_move_ways ways = new_ways();
    unsigned count = others_of(&ways, SETTLING, PACE, PACE);

    (void)state;
    for (int i = 0; i < TIMES; i++) {
        count += go(&ways, i % EACH < 2 ? slow : PACE, PACE);
    }
    assert_in_range(count, SETTLING, SETTLING * (LOOKS + EARLY_LOOKS));
}

/* Several do, when they took four times longer together; and tell what it takes now. */
static void test_slow_on_end(void **state) {
    enum { SLOW = 8, SOON = 3 * SETTLING };
    const uint64_t slow = (uint64_t)PACE * 8 / 5;
    struct trma_move_ways ways = new_ways();

    (void)state;
    (void)others_of(&ways, TRMA_MOVE_WAYS_WAIT_MOST / 2, PACE, PACE);
    go_on_until_back(&ways, PACE, PACE);
    for (int i = 0; i < SETTLING; i++) {
        assert_int_equal(others_of(&ways, SLOW - 2, slow, PACE), 0);
        (void)go(&ways, PACE, PACE);
    }
    assert_int_equal(others_of(&ways, SLOW - 1, slow, (uint64_t)PACE * 4 / 3), 0);
    assert_int_equal(others_of(&ways, SOON, slow, (uint64_t)PACE * 4 / 3), SOON);
    assert_true(trma_move_ways_has_chosen_other(&ways));
}

/* The other way was far slower, so a look costs much: then more of them are needed. */
static void test_slow_on_end_and_a_dear_look(void **state) {
    enum { SLOW = 8, DEAR = 2 * 3 * SETTLING };
    const uint64_t slow = 2 * (uint64_t)PACE;
    const uint64_t far_slower = 4 * (uint64_t)PACE;
    struct trma_move_ways ways = new_ways();

    (void)state;
    (void)others_of(&ways, TRMA_MOVE_WAYS_WAIT_MOST / 2, PACE, far_slower);
    go_on_until_back(&ways, PACE, far_slower);
    assert_int_equal(others_of(&ways, DEAR, slow, PACE), 0);
    assert_int_equal(others_of(&ways, 2 * SETTLING, slow, PACE), 2 * SETTLING - 1);
}

/* What was cold when it began is known better by the first look. */
static void test_a_cold_begin(void **state) {
    struct trma_move_ways ways = new_ways();

    (void)state;
    assert_int_equal(others_of(&ways, SETTLING, 2 * (uint64_t)PACE, PACE), 0);
    (void)others_of(&ways, TRMA_MOVE_WAYS_WAIT_FIRST - 1, PACE, PACE);
    assert_int_equal(others_of(&ways, 2 * SETTLING, PACE, PACE), SETTLING);
    assert_false(trma_move_ways_has_chosen_other(&ways));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coming_back_costs), cmocka_unit_test(test_now_and_then_slow),
        cmocka_unit_test(test_slow_on_end),       cmocka_unit_test(test_slow_on_end_and_a_dear_look),
        cmocka_unit_test(test_a_cold_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
