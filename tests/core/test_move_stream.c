/* SPDX-License-Identifier: BSD-3-Clause */
/* Which copies belong to a run that the last cache is too small for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_stream.h"

/* Nothing is read or written there: only the numbers count. */
enum {
    PIECE = 1000,
    LEAST = 4 * PIECE,
    CACHE = LEAST / TRMA_MOVE_STREAM_EIGHTHS * 8 + 8,
    FAR_AWAY = 1 << 20
};

static bool take(size_t to, size_t from) {
    return trma_move_stream_take((void *)(uintptr_t)to, (void *)(uintptr_t)from, PIECE, CACHE).is_past;
}

/* How many pieces of a run, from its first one, are not streamed. */
static unsigned cached_of_run(size_t to, size_t from, unsigned pieces) {
    unsigned cached = 0;

    for (unsigned i = 0; i < pieces; i++) {
        if (!take(to + (size_t)i * PIECE, from + (size_t)i * PIECE)) {
            assert_int_equal(cached, i); /* once begun, it goes on */
            cached++;
        }
    }
    return cached;
}

/* Ends what was under way, and is not long itself. */
static void break_off(void) {
    (void)take(1, 1);
}

static void test_a_run_grows_long(void **state) {
    (void)state;
    assert_int_equal(cached_of_run(FAR_AWAY, 5 * FAR_AWAY, 9), 4);
    break_off();
}

static void pass(size_t to, size_t from, unsigned piece) {
    trma_move_stream_pass((void *)(uintptr_t)(to + (size_t)piece * PIECE),
                          (void *)(uintptr_t)(from + (size_t)piece * PIECE), PIECE);
}

/* Pieces that are copied otherwise are a part of their run, and begin none. */
static void test_a_run_is_passed(void **state) {
    const size_t to = 20 * (size_t)FAR_AWAY;
    const size_t from = 30 * (size_t)FAR_AWAY;

    (void)state;
    break_off();
    assert_int_equal(cached_of_run(to, from, 2), 2);
    pass(to, from, 2);
    assert_false(take(to + (size_t)3 * PIECE, from + (size_t)3 * PIECE));
    pass(to, from, 4);
    assert_true(take(to + (size_t)5 * PIECE, from + (size_t)5 * PIECE));
    break_off();
    pass(2 * to, from, 0);
    pass(2 * to, from, 1);
    assert_int_equal(cached_of_run(2 * to + (size_t)2 * PIECE, from + (size_t)2 * PIECE, 5), 4);
    break_off();
}

/* The next time its first pieces are streamed as well, as long as it does stay long. */
static void test_a_run_is_known(void **state) {
    (void)state;
    assert_int_equal(cached_of_run(2 * FAR_AWAY, 6 * FAR_AWAY, 5), 4);
    assert_int_equal(cached_of_run(2 * FAR_AWAY, 6 * FAR_AWAY, 5), 0);
    break_off();
    assert_int_equal(cached_of_run(2 * FAR_AWAY, 6 * FAR_AWAY, 2), 0);
    break_off();
    assert_int_equal(cached_of_run(2 * FAR_AWAY, 6 * FAR_AWAY, 2), 2);
    break_off();
}

/* So are several that take turns. */
static void test_runs_are_known(void **state) {
    (void)state;
    for (int time = 0; time < 3; time++) {
        const unsigned cached = time == 0 ? 4 : 0;
        assert_int_equal(cached_of_run(8 * FAR_AWAY, 16 * FAR_AWAY, 5), cached);
        assert_int_equal(cached_of_run(9 * FAR_AWAY, 20 * FAR_AWAY, 5), cached);
    }
    break_off();
}

/* Both sides must be the known ones. */
static void test_a_side_is_another(void **state) {
    (void)state;
    assert_int_equal(cached_of_run(2 * FAR_AWAY, 6 * FAR_AWAY, 5), 4);
    assert_int_equal(cached_of_run(3 * FAR_AWAY, 6 * FAR_AWAY, 5), 4);
    assert_int_equal(cached_of_run(3 * FAR_AWAY, 7 * FAR_AWAY, 5), 4);
    break_off();
}

/* What goes on at one side alone stays in the cache at the other. */
static void test_one_side_stands(void **state) {
    enum { HERE = 10 * FAR_AWAY, THERE = 30 * FAR_AWAY }; /* where no run was long */

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        assert_false(take(HERE, THERE + i * PIECE));
    }
    for (size_t i = 0; i < 10; i++) {
        assert_false(take(HERE + i * PIECE, THERE));
    }
    for (size_t i = 0; i < 10; i++) {
        assert_false(take(HERE, THERE));
    }
    /* Downwards they do not go on. */
    for (size_t i = 10; i-- > 0;) {
        assert_false(take(HERE + i * PIECE, THERE + i * PIECE));
    }
    break_off();
}

static void test_one_long_copy(void **state) {
    (void)state;
    void *from = (void *)(uintptr_t)8;

    assert_true(trma_move_stream_take((void *)(uintptr_t)FAR_AWAY, from, LEAST + 6, CACHE).is_past);
    break_off();
    assert_false(trma_move_stream_take((void *)(uintptr_t)(3 * FAR_AWAY), from, LEAST - 6, CACHE).is_past);
    break_off();
}

static void test_unknown_cache(void **state) {
    (void)state;
    for (uintptr_t i = 0; i < 10; i++) {
        void *to = (void *)(i * PIECE);
        void *from = (void *)(FAR_AWAY + i * PIECE);
        assert_false(trma_move_stream_take(to, from, PIECE, 0).is_past);
    }
    break_off();
}

static bool goes_on(size_t to, size_t from) {
    return trma_move_stream_goes_on((void *)(uintptr_t)to, (void *)(uintptr_t)from, PIECE);
}

/* The short look is true as long as the run under way is neither long nor known, and notes the piece. */
static void test_what_goes_on(void **state) {
    enum { TO = 40 * FAR_AWAY, FROM = 50 * FAR_AWAY };

    (void)state;
    assert_false(goes_on(TO, FROM));
    assert_false(take(TO, FROM));
    assert_false(goes_on(TO, FROM));
    assert_false(goes_on(TO, FROM + PIECE));
    assert_false(goes_on(TO + PIECE, FROM));
    assert_true(goes_on(TO + PIECE, FROM + PIECE));
    assert_false(goes_on(TO + PIECE, FROM + PIECE));
    assert_true(goes_on(TO + 2 * PIECE, FROM + 2 * PIECE));
    assert_true(goes_on(TO + 3 * PIECE, FROM + 3 * PIECE));
    assert_false(goes_on(TO + 4 * PIECE, FROM + 4 * PIECE)); /* the one that makes it long */
    assert_true(take(TO + 4 * PIECE, FROM + 4 * PIECE));
    assert_false(goes_on(TO + 5 * PIECE, FROM + 5 * PIECE));
    /* As it was long, the next one there must be looked at. */
    break_off();
    assert_true(take(TO, FROM));
    assert_false(goes_on(TO + PIECE, FROM + PIECE));
    break_off();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_grows_long),  cmocka_unit_test(test_a_run_is_passed),
        cmocka_unit_test(test_a_run_is_known),    cmocka_unit_test(test_runs_are_known),
        cmocka_unit_test(test_a_side_is_another), cmocka_unit_test(test_one_side_stands),
        cmocka_unit_test(test_one_long_copy),     cmocka_unit_test(test_unknown_cache),
        cmocka_unit_test(test_what_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
