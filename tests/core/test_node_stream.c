/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes tell each other of what they stream. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/node_stream.h"

enum { MIB = 1 << 20, NOW = 1000000000, CACHE = 3, MANY = TRMA_STREAM_MOST + 8 };

static struct trma_stream_word mine;
static struct trma_stream_word theirs[MANY];

static int begin_anew(void **state) {
    (void)state;
    atomic_store(&mine.told, 0);
    for (int i = 0; i < MANY; i++) {
        atomic_store(&theirs[i].told, 0);
    }
    trma_node_stream_own(&mine);
    return 0;
}

static int leave_none(void **state) {
    (void)state;
    /* Who is not there cannot leave. */
    for (int i = 0; i < 3 * MANY; i++) {
        trma_node_stream_leave(&theirs[i % MANY]);
    }
    trma_node_stream_own(NULL);
    return 0;
}

static void join(int n) {
    for (int i = 0; i < n; i++) {
        trma_node_stream_join(&theirs[i]);
    }
}

/* As the other process does it. */
static void tell(int who, size_t bytes, uint64_t now_us, unsigned cache) {
    trma_node_stream_own(&theirs[who]);
    (void)trma_node_stream_begin_at(bytes, now_us, cache);
    trma_node_stream_own(&mine);
}

static void test_alone(void **state) {
    (void)state;
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 0);
    assert_int_equal(trma_node_stream_begin(8 * MIB), 0);
    join(3);
    /* Nobody else has told anything. */
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 0);
    assert_int_equal(trma_node_stream_begin(8 * MIB), 0);
}

static void test_all_that_have_joined(void **state) {
    (void)state;
    join(3);
    tell(0, 8 * MIB, NOW, CACHE);
    tell(1, 3 * MIB + 1024, NOW, CACHE);
    tell(2, 5 * MIB, NOW, CACHE);
    tell(3, 64 * MIB, NOW, CACHE);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 16 * MIB + 1024);
    /* And the last that each has told. */
    tell(1, 2 * MIB, NOW, CACHE);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 15 * MIB);
    tell(0, (size_t)1 << 40, NOW, CACHE);
    assert_true(trma_node_stream_begin_at(8 * MIB, NOW, CACHE) >= (size_t)16 * 1023 * MIB);
}

/* What is told is for the others: what one has told oneself is not beside it. */
static void test_what_they_see(void **state) {
    (void)state;
    join(2);
    trma_node_stream_join(&mine);
    trma_node_stream_own(&theirs[0]);
    assert_int_equal(trma_node_stream_begin_at(4 * MIB, NOW, CACHE), 0);
    trma_node_stream_own(&mine);
    assert_int_equal(trma_node_stream_begin_at(2 * MIB, NOW, CACHE), 4 * MIB);
    trma_node_stream_own(&theirs[1]);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 6 * MIB);
    trma_node_stream_leave(&mine);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 4 * MIB);
}

static void test_without_a_word(void **state) {
    (void)state;
    join(1);
    tell(0, 8 * MIB, NOW, CACHE);
    trma_node_stream_own(NULL);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 0);
}

static void test_another_cache(void **state) {
    (void)state;
    join(3);
    tell(0, 8 * MIB, NOW, CACHE);
    tell(1, 4 * MIB, NOW, CACHE + 1);
    tell(2, 2 * MIB, NOW, 0);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 8 * MIB);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE + 1), 4 * MIB);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE + 2), 0);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, 0), 2 * MIB);
}

/* Who began its last run before the caller's last but one does not stream any more. */
static void test_long_ago(void **state) {
    enum { PERIOD = 700 };

    (void)state;
    join(1);
    tell(0, 8 * MIB, NOW, CACHE);
    /* The caller's first one: whoever has told something lately. */
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + TRMA_STREAM_RECENT_US, CACHE), 8 * MIB);
    begin_anew(NULL);
    tell(0, 8 * MIB, NOW, CACHE);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + TRMA_STREAM_RECENT_US + 1, CACHE), 0);

    begin_anew(NULL);
    tell(0, 8 * MIB, NOW, CACHE);
    (void)trma_node_stream_begin_at(8 * MIB, NOW + PERIOD, CACHE);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + 2 * PERIOD, CACHE), 8 * MIB);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + 3 * PERIOD, CACHE), 0);
    /* Once the caller has waited as long, it may be beside it. */
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + 6 * PERIOD, CACHE), 8 * MIB);

    /* However long the caller has waited. */
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + 10 * TRMA_STREAM_RECENT_US, CACHE), 0);
}

/* Nor does it when its clock has gone round so far that it may seem to be ahead. */
static void test_very_long_ago(void **state) {
    (void)state;
    join(1);
    for (uint64_t minutes = 1; minutes <= 71; minutes++) {
        begin_anew(NULL);
        tell(0, 8 * MIB, NOW, CACHE);
        assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW + minutes * 60 * 1000000, CACHE), 0);
    }
}

/* Clocks are read before words: who tells just now may be ahead. And they wrap around. */
static void test_clocks(void **state) {
    const uint64_t wrap = UINT64_C(5) << 32;

    (void)state;
    join(1);
    for (int ahead = 0; ahead < 200; ahead += 100) {
        begin_anew(NULL);
        (void)trma_node_stream_begin_at(8 * MIB, NOW - 1, CACHE);
        tell(0, 8 * MIB, NOW + ahead, CACHE);
        assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 8 * MIB);
    }
    begin_anew(NULL);
    (void)trma_node_stream_begin_at(8 * MIB, wrap - 20, CACHE);
    tell(0, 8 * MIB, wrap - 10, CACHE);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, wrap + 10, CACHE), 8 * MIB);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, wrap + 20, CACHE), 0);
}

static void test_who_leaves(void **state) {
    (void)state;
    join(3);
    join(2); /* in another team, too */
    for (int i = 0; i < 3; i++) {
        tell(i, (size_t)MIB << i, NOW, CACHE);
    }
    trma_node_stream_leave(&theirs[2]);
    trma_node_stream_leave(&theirs[0]);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 3 * MIB);
    trma_node_stream_leave(&theirs[0]);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 2 * MIB);
    trma_node_stream_leave(&theirs[1]);
    trma_node_stream_leave(&theirs[1]);
    assert_int_equal(trma_node_stream_begin_at(8 * MIB, NOW, CACHE), 0);
}

static void test_many(void **state) {
    (void)state;
    join(MANY);
    for (int i = 0; i < MANY; i++) {
        tell(i, MIB, NOW, CACHE);
    }
    assert_int_equal(trma_node_stream_begin_at(MIB, NOW, CACHE), TRMA_STREAM_MOST * MIB);
    trma_node_stream_leave(&theirs[MANY - 1]); /* was left out */
    assert_int_equal(trma_node_stream_begin_at(MIB, NOW, CACHE), TRMA_STREAM_MOST * MIB);
    trma_node_stream_leave(&theirs[5]);
    assert_int_equal(trma_node_stream_begin_at(MIB, NOW, CACHE), (TRMA_STREAM_MOST - 1) * MIB);
}

static void *come_and_go(void *times) {
    for (int i = 0; i < *(const int *)times; i++) {
        struct trma_stream_word word = {.told = 0};

        trma_node_stream_join(&word);
        trma_node_stream_leave(&word);
    }
    return NULL;
}

/* A word that has left is not looked at: another thread's is gone by then. */
static void test_while_others_leave(void **state) {
    int times = 20000;
    pthread_t thread;

    (void)state;
    join(1);
    tell(0, MIB, NOW, CACHE);
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, &times), 0);
    for (int i = 0; i < times; i++) {
        const size_t beside = trma_node_stream_begin_at(MIB, NOW, CACHE);
        assert_true(beside == MIB || beside == 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(trma_node_stream_begin_at(MIB, NOW, CACHE), MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alone, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_all_that_have_joined, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_what_they_see, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_without_a_word, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_another_cache, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_long_ago, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_very_long_ago, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_clocks, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_who_leaves, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_many, begin_anew, leave_none),
        cmocka_unit_test_setup_teardown(test_while_others_leave, begin_anew, leave_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
