/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a task is repeated in a sample (bench/common/plan.h), told by machines that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/plan.h"

/* Iterations of `us`, and in some samples a pause. */
struct machine {
    double us, pause_us;
    int first, last; /* the samples with one, counted from 1 */
    int samples;
};

static double sample(void *context, long iterations) {
    struct machine *machine = context;
    machine->samples++;
    const int is_paused = machine->samples >= machine->first && machine->samples <= machine->last;
    return machine->us + (is_paused ? machine->pause_us / (double)iterations : 0);
}

static const struct bench_plan_need milli = {.sample_us = 1000, .least = 1};

static long grow(const struct bench_plan_need *need, struct machine *machine, double *us) {
    return bench_plan_grow(need, sample, machine, us);
}

static void test_grows_until_a_sample_is_long(void **state) {
    struct machine machine = {.us = 4};
    double us;
    (void)state;
    assert_int_equal(grow(&milli, &machine, &us), 64); /* the first of 1, 4, 16, ... that last 250 us */
    assert_float_equal(us, 4, 0.001);
    assert_int_equal(machine.samples, 5); /* the last one twice */
}

static void test_one_pause_ends_nothing(void **state) {
    (void)state;
    for (int paused = 1; paused <= 5; paused++) {
        struct machine machine = {.us = 4, .pause_us = 100000, .first = paused, .last = paused};
        double us;
        assert_int_equal(grow(&milli, &machine, &us), 64);
        assert_float_equal(us, 4, 0.001);
    }
}

static void test_what_is_long_is_not_repeated(void **state) {
    struct machine machine = {.us = 300};
    const struct bench_plan_need ten = {.sample_us = 1000, .least = 10};
    double us;
    (void)state;
    assert_int_equal(grow(&milli, &machine, &us), 1);
    assert_int_equal(machine.samples, 2);
    assert_int_equal(grow(&ten, &machine, &us), 10);
    assert_int_equal(machine.samples, 4);
}

static void test_crowded_more_must_take_longer(void **state) {
    const struct bench_plan_need need = {.sample_us = 1000, .least = 1, .is_crowded = true};
    struct machine turns = {.us = 1, .pause_us = 2000, .first = 1, .last = 100};
    double us;
    (void)state;
    /* 2001, 2004, 2016, 2064, 2256, 3024 and 6096 us: the first that takes twice as long as the one before.
     */
    assert_int_equal(grow(&need, &turns, &us), 4096);
    assert_float_equal(us, 6096.0 / 4096, 0.001);
}

static void test_comes_to_an_end(void **state) {
    struct machine machine = {.us = 0};
    double us;
    (void)state;
    assert_int_equal(grow(&milli, &machine, &us), 1L << 24);
}

static void test_lasts_as_long_as_wanted(void **state) {
    const struct bench_plan_need few = {.sample_us = 1000, .least = 1, .most = 50};
    (void)state;
    assert_int_equal(bench_plan_lasting(&milli, 1000, 4, 1), 250);
    assert_int_equal(bench_plan_lasting(&milli, 1000, 4000, 1), 1);
    assert_int_equal(bench_plan_lasting(&milli, 1000, 4000, 7), 7);
    assert_int_equal(bench_plan_lasting(&milli, 1000, 0, 7), 7);
    assert_int_equal(bench_plan_lasting(&few, 1000, 4, 1), 50);
    assert_int_equal(bench_plan_lasting(&few, 1000, 0, 70), 50);
}

static void test_few_become_as_many_as_the_most(void **state) {
    const long mine[] = {3, 10, 63, 64, 20};
    const long others[] = {13, 250, 41, 80};
    long chosen[] = {3, 10, 63, 64, 20};
    (void)state;
    bench_plan_take_most(chosen, mine, 5, others, 4);
    assert_int_equal(chosen[0], 13); /* not 41, which are more than 4 times as many */
    assert_int_equal(chosen[1], 41);
    assert_int_equal(chosen[2], 250);
    assert_int_equal(chosen[3], 64); /* enough */
    assert_int_equal(chosen[4], 80);
    /* What others tell later adds to it, and takes nothing back. */
    bench_plan_take_most(chosen, mine, 5, (const long[]){14, 11}, 2);
    assert_int_equal(chosen[0], 14);
    assert_int_equal(chosen[1], 41);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grows_until_a_sample_is_long),
                                       cmocka_unit_test(test_one_pause_ends_nothing),
                                       cmocka_unit_test(test_what_is_long_is_not_repeated),
                                       cmocka_unit_test(test_crowded_more_must_take_longer),
                                       cmocka_unit_test(test_comes_to_an_end),
                                       cmocka_unit_test(test_lasts_as_long_as_wanted),
                                       cmocka_unit_test(test_few_become_as_many_as_the_most)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
