/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs that several processes stream at the same time: past the cache when it has no room for all of them. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_place.h"
#include "move/move_stream.h"
#include "node/node_cache.h"
#include "node/node_stream.h"

/* Nothing is read or written there: only the numbers count. */
enum { FAR_AWAY = 1 << 30, BYTES = 8 << 20, OTHERS = 3, SLOW = 100000, MANY = 20, NOW_US = 1000000000 };

static const size_t cache = (size_t)4 * BYTES; /* room for two sides of two, by what is measured */
static struct trma_stream_word mine;
static struct trma_stream_word theirs[OTHERS];

/* On one core, so that all stream through the same cache. */
static int begin_anew(void **state) {
    cpu_set_t here;

    (void)state;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    atomic_store(&mine.told, 0);
    trma_node_stream_own(&mine);
    for (int i = 0; i < OTHERS; i++) {
        atomic_store(&theirs[i].told, 0);
        trma_node_stream_join(&theirs[i]);
    }
    return sched_setaffinity(0, sizeof here, &here);
}

static int leave(void **state) {
    (void)state;
    for (int i = 0; i < OTHERS; i++) {
        trma_node_stream_leave(&theirs[i]);
    }
    trma_node_stream_own(NULL);
    return 0;
}

/* Stands still: whoever has told something is under way with it. */
uint64_t __wrap_trma_node_clock_ns(void);
uint64_t __wrap_trma_node_clock_ns(void) {
    return (uint64_t)NOW_US * 1000;
}

/* So many others do so from now on. */
static void let_stream(int others) {
    for (int i = 0; i < OTHERS; i++) {
        atomic_store(&theirs[i].told, 0);
    }
    for (int i = 0; i < others; i++) {
        trma_node_stream_own(&theirs[i]);
        (void)trma_node_stream_begin_at(BYTES, NOW_US, trma_node_cache_number());
    }
    trma_node_stream_own(&mine);
}

static size_t new_begin(void) {
    static size_t next = FAR_AWAY;

    next += FAR_AWAY;
    return next;
}

/* One run in pieces of a quarter, each of which takes its ticks: how many went past the cache. */
static unsigned run(size_t to, uint64_t through, uint64_t past) {
    unsigned n_past = 0;

    for (size_t at = 0; at < BYTES; at += BYTES / 4) {
        const struct trma_move_stream stream =
            trma_move_stream_take((const void *)(to + at), (const void *)(to / 2 + at), BYTES / 4, cache);
        n_past += stream.is_past;
        if (stream.is_timed) {
            trma_move_stream_note(stream.is_past ? past : through, BYTES / 4);
        }
    }
    return n_past;
}

static unsigned runs(size_t to, unsigned times, uint64_t through, uint64_t past) {
    unsigned n_past = 0;

    for (unsigned i = 0; i < times; i++) {
        n_past += run(to, through, past);
    }
    return n_past;
}

/* The way through the cache takes less: alone, and beside one. */
static void test_how_many_there_is_room_for(void **state) {
    const size_t to = new_begin();

    (void)state;
    (void)runs(to, 1000, SLOW, 4 * SLOW); /* so often that no look is due soon */
    for (int time = 0; time < 2; time++) {
        for (int others = 0; others <= OTHERS; others++) {
            let_stream(others);
            assert_int_equal(run(to, SLOW, 4 * SLOW), others >= 2 ? 4 : 0);
        }
    }
}

/* What others stream says nothing of a run that is not known, nor of one that was short the last time. */
static void test_what_is_not_long(void **state) {
    const size_t to = new_begin();

    (void)state;
    let_stream(OTHERS);
    assert_int_equal(run(to, SLOW, SLOW), 0);
    assert_int_equal(run(new_begin(), SLOW, SLOW), 0);
    assert_int_equal(run(to, SLOW, SLOW), 4);
    /* It ends after a piece. */
    (void)trma_move_stream_take((const void *)to, (const void *)(to / 2), BYTES / 8, cache);
    (void)run(new_begin(), SLOW, SLOW);
    assert_int_equal(run(to, SLOW, SLOW), 0);
}

/* The others see what the caller streams. */
static void test_what_others_see(void **state) {
    const size_t to = new_begin();

    (void)state;
    (void)run(to, SLOW, SLOW);
    (void)run(new_begin(), SLOW, SLOW);
    assert_int_equal(atomic_load(&mine.told), 0);
    (void)run(to, SLOW, SLOW);
    trma_node_stream_join(&mine);
    trma_node_stream_own(&theirs[0]);
    assert_int_equal(trma_node_stream_begin_at(BYTES, NOW_US, trma_node_cache_number()), BYTES);
    trma_node_stream_own(&mine);
    trma_node_stream_leave(&mine);
}

/* What it takes beside others does not count: alone again it goes as before. */
static void test_what_it_takes_beside_others(void **state) {
    const size_t to = new_begin();

    (void)state;
    (void)runs(to, 1000, SLOW, 4 * SLOW);
    let_stream(OTHERS);
    assert_int_equal(runs(to, MANY, 100 * (uint64_t)SLOW, SLOW / 100), 4 * MANY);
    let_stream(0);
    assert_int_equal(runs(to, MANY, SLOW, 4 * SLOW), 0);
}

/* Nor is its way watched for lines that are near. */
static void test_is_not_watched(void **state) {
    const size_t to = new_begin();

    (void)state;
    (void)runs(to, 100, 4 * SLOW, SLOW);
    struct trma_move_place *place = trma_move_place_find(to, to / 2);
    assert_non_null(place);
    let_stream(OTHERS);
    for (unsigned i = 0; i < 10 * TRMA_MOVE_WATCH_EVERY; i++) {
        assert_int_equal(run(to, 4 * SLOW, SLOW), 4);
        assert_int_equal(trma_move_place_watch(place), TRMA_MOVE_WATCH_NOTHING);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_how_many_there_is_room_for, begin_anew, leave),
        cmocka_unit_test_setup_teardown(test_what_is_not_long, begin_anew, leave),
        cmocka_unit_test_setup_teardown(test_what_others_see, begin_anew, leave),
        cmocka_unit_test_setup_teardown(test_what_it_takes_beside_others, begin_anew, leave),
        cmocka_unit_test_setup_teardown(test_is_not_watched, begin_anew, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
