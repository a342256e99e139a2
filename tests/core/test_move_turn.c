/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which long stretches are gone through: which end comes first, and that nothing is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_turn.h"
#include "node/node_cache.h"

enum { SIZE = 65536 };

static const char memory[8 * SIZE];

static bool is_turned(const char *from, size_t size, size_t end) {
    const struct trma_move_turn turn = trma_move_turn_take(from, size, end);

    if (turn.high == size) {
        assert_int_equal(turn.low, size);
        return false;
    }
    assert_int_equal(turn.low, end);
    assert_int_equal(turn.high, size - end);
    return true;
}

static bool is_turned_at(size_t offset) {
    return is_turned(memory + offset, SIZE, TRMA_MOVE_TURN_OF_ONE);
}

static void test_another_source(void **state) {
    (void)state;
    assert_true(is_turned_at(0));
    assert_true(is_turned_at((size_t)2 * SIZE));
    assert_true(is_turned_at(0));
    assert_true(is_turned_at((size_t)4 * SIZE));
}

static void test_the_same_source(void **state) {
    (void)state;
    (void)is_turned_at((size_t)4 * SIZE);
    for (int time = 0; time < 3; time++) {
        assert_true(is_turned_at(0));
        assert_false(is_turned_at(0));
    }
}

static void test_the_next_bytes(void **state) {
    (void)state;
    (void)is_turned_at((size_t)4 * SIZE);
    assert_true(is_turned_at(0));
    for (size_t offset = SIZE; offset < (size_t)4 * SIZE; offset += SIZE) {
        assert_false(is_turned_at(offset));
    }
    /* Downwards they do not go on. */
    assert_true(is_turned_at((size_t)2 * SIZE));
    assert_true(is_turned_at(SIZE));
}

/* Others went on from the first ones, unseen: what comes back to those finds the last of them. */
static void test_others_went_on(void **state) {
    (void)state;
    (void)is_turned_at((size_t)4 * SIZE);
    assert_true(is_turned_at(0));
    for (int time = 0; time < 3; time++) {
        trma_move_turn_went_on();
        assert_false(is_turned_at(0));
    }
    assert_true(is_turned_at(0));
    trma_move_turn_went_on();
    assert_true(is_turned_at((size_t)4 * SIZE));
    assert_false(is_turned_at((size_t)4 * SIZE));
}

/* They leave no trace either. */
static void test_small_ones(void **state) {
    (void)state;
    (void)is_turned_at((size_t)4 * SIZE);
    assert_true(is_turned_at(0));
    for (int time = 0; time < 3; time++) {
        assert_false(is_turned(memory, (size_t)2 * TRMA_MOVE_TURN_OF_ONE - 1, TRMA_MOVE_TURN_OF_ONE));
        assert_false(is_turned(memory + 1, 0, TRMA_MOVE_TURN_OF_TWO));
    }
    assert_false(is_turned_at(0));
    assert_true(is_turned_at(0));
}

/* From which size on the ends are those of the second cache. */
static size_t large_least(void) {
    const size_t cache = trma_node_cache_second_bytes();

    return cache == 0 ? TRMA_MOVE_TURN_LARGE_LEAST : cache / 2;
}

static void test_ends(void **state) {
    (void)state;
    (void)is_turned_at((size_t)4 * SIZE);
    assert_true(is_turned(memory, (size_t)2 * TRMA_MOVE_TURN_OF_TWO, TRMA_MOVE_TURN_OF_TWO));
    (void)is_turned_at((size_t)4 * SIZE);
    assert_true(is_turned(memory, large_least() - 1, TRMA_MOVE_TURN_OF_ONE));
}

/* Ends of the second cache, where it has no room for both sides; never more than half. */
static void test_large_ends(void **state) {
    const size_t cache = trma_node_cache_second_bytes();
    const size_t least = large_least();
    const size_t end = cache == 0 ? TRMA_MOVE_TURN_OF_LARGE : cache / 8 * TRMA_MOVE_TURN_LARGE_EIGHTHS;
    const size_t small = least - 1;

    (void)state;
    for (size_t size = least; size <= 8 * least; size += least / 2 + 1) {
        const size_t half = size / 2 / 64 * 64;
        (void)is_turned_at((size_t)4 * SIZE);
        const struct trma_move_turn turn = trma_move_turn_take(memory, size, TRMA_MOVE_TURN_OF_ONE);
        assert_int_equal(turn.low, end < half ? end : half);
        assert_int_equal(turn.high, size - turn.low);
    }
    (void)is_turned_at((size_t)4 * SIZE);
    assert_true(is_turned(memory, small, TRMA_MOVE_TURN_OF_TWO));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_source), cmocka_unit_test(test_the_same_source),
        cmocka_unit_test(test_the_next_bytes), cmocka_unit_test(test_small_ones),
        cmocka_unit_test(test_ends),           cmocka_unit_test(test_large_ends),
        cmocka_unit_test(test_others_went_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
