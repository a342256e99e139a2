/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of one's own pace past the caches, and when it is measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_pace.h"

static uint64_t now;      /* what measuring gives */
static unsigned measured; /* so often */

static uint64_t measure(void) {
    measured++;
    return now;
}

/* While one thread measures, the others go on with what is known. */
static uint64_t measure_asking(void) {
    const uint64_t known = trma_move_pace_past(measure);
    trma_move_pace_doubt(measure);
    assert_int_equal(trma_move_pace_past(measure), known);
    return measure();
}

/* The process's only pace: so this is one test. */
static void test_the_least_is_kept(void **state) {
    unsigned doubts = 0;

    (void)state;
    now = 0; /* a machine without such a clock: it is not asked again */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(trma_move_pace_past(measure), 0);
        assert_int_equal(measured, 1);
    }
    now = 900;
    trma_move_pace_doubt(measure_asking); /* in it the second one */
    doubts = 2;
    assert_int_equal(measured, 2);
    assert_int_equal(trma_move_pace_past(measure), 900);
    now = 1000;
    while (measured < 5) {
        trma_move_pace_doubt(measure);
        doubts++;
        assert_int_equal(trma_move_pace_past(measure), 900);
        assert_int_equal(measured, doubts < 4 ? 2 : doubts < 8 ? 3 : doubts < 16 ? 4 : 5);
    }
    now = 600;
    for (; doubts < 31; doubts++) {
        trma_move_pace_doubt(measure);
        assert_int_equal(trma_move_pace_past(measure), 900);
    }
    trma_move_pace_doubt(measure);
    assert_int_equal(trma_move_pace_past(measure), 600);
    assert_int_equal(measured, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_least_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
