/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether runs of short copies are made jointly. Nothing is copied: only the numbers count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/move_joint.h"
#include "move/move_joint_run.h"
#include "move/move_place.h"
#include "move/move_stream.h"
#include "move/move_ways.h"

enum {
    SIZE = TRMA_MOVE_JOINT_SHORT / 4,
    PIECES = TRMA_MOVE_PLACE_LEAST / SIZE,
    FAR_AWAY = 1 << 30,
    SLOW = 100000,
    MANY = 4000
};

static const size_t far_larger = (size_t)64 << 30; /* than any run */

/* What came of the pieces of a run. */
struct outcome {
    unsigned joint;
    unsigned timed;
    unsigned alone; /* and not even timed */
};

static void *place_of(uintptr_t base, size_t piece, size_t size) {
    return (void *)(base + piece * size);
}

/* A run of so many pieces, as move_joint.c makes them, of which either way takes its ticks. */
static struct outcome run_of(size_t pieces, uintptr_t base, size_t size, bool is_put, uint64_t alone,
                             uint64_t joint) {
    struct outcome outcome = {0};

    for (size_t i = 0; i < pieces; i++) {
        const void *to = place_of(base, i, size);
        const void *from = place_of(base / 2, i, size);
        const bool is_one = trma_move_joint_run_is_one(to, from, size);
        struct trma_move_joint_run way = {.is_joint = false, .is_timed = false};
        if (is_one && trma_move_joint_run_is_alone(size, is_put)) {
            outcome.alone++;
        } else if (is_one) {
            way = trma_move_joint_run_take(size, is_put);
        }
        if (way.is_joint) {
            trma_move_stream_pass(to, from, size);
        } else {
            (void)trma_move_stream_take(to, from, size, far_larger);
        }
        if (way.is_timed) {
            trma_move_joint_run_note(size, is_put, way.is_joint ? joint : alone);
        }
        outcome.joint += way.is_joint;
        outcome.timed += way.is_timed;
    }
    return outcome;
}

static struct outcome run(uintptr_t base, size_t size, bool is_put, uint64_t alone, uint64_t joint) {
    return run_of(TRMA_MOVE_PLACE_LEAST / size, base, size, is_put, alone, joint);
}

static struct outcome runs(unsigned count, uintptr_t base, size_t size, bool is_put, uint64_t alone,
                           uint64_t joint) {
    struct outcome sum = {0};

    for (unsigned i = 0; i < count; i++) {
        const struct outcome one = run(base, size, is_put, alone, joint);
        sum.joint += one.joint;
        sum.timed += one.timed;
        sum.alone += one.alone;
    }
    return sum;
}

/* Short ones that go on with a run that has been long before. */
static void test_which_ones(void **state) {
    const uintptr_t base = 10 * (uintptr_t)FAR_AWAY;
    const struct outcome first = run(base, SIZE, true, SLOW, SLOW);

    (void)state;
    assert_int_equal(first.timed + first.alone, 0);
    const struct outcome second = run(base, SIZE, true, SLOW, SLOW);
    assert_int_equal(second.timed, PIECES - 1);
    (void)trma_move_stream_take(place_of(base, 0, SIZE), place_of(base / 2, 0, SIZE), SIZE, far_larger);
    const void *to = place_of(base, 1, SIZE);
    const void *from = place_of(base / 2, 1, SIZE);
    assert_true(trma_move_joint_run_is_one(to, from, SIZE));
    assert_true(trma_move_joint_run_is_one(to, from, TRMA_MOVE_JOINT_SHORT - 1));
    assert_false(trma_move_joint_run_is_one(to, from, TRMA_MOVE_JOINT_SHORT));
    assert_false(trma_move_joint_run_is_one((const char *)to + 1, from, SIZE));
    assert_false(trma_move_joint_run_is_one(to, (const char *)from + 1, SIZE));
}

/* And with one that has been lengthy the last time, though what it takes is not timed otherwise. */
static void test_lengthy_ones(void **state) {
    enum { ENOUGH = TRMA_MOVE_PLACE_LENGTHY / SIZE };
    const uintptr_t base = 15 * (uintptr_t)FAR_AWAY;

    (void)state;
    for (unsigned pieces = ENOUGH - 1; pieces <= ENOUGH; pieces++) {
        const struct outcome first = run_of(pieces, base, SIZE, false, SLOW, SLOW);
        assert_int_equal(first.timed + first.alone, 0);
    }
    for (unsigned pieces = ENOUGH; pieces >= ENOUGH - 1; pieces--) {
        const struct outcome one = run_of(pieces, base, SIZE, false, SLOW, SLOW);
        assert_int_equal(one.timed, pieces - 1);
        assert_false(trma_move_stream_is_known());
    }
    const struct outcome last = run_of(ENOUGH, base, SIZE, false, SLOW, SLOW);
    assert_int_equal(last.timed + last.alone, 0);
}

/* Where too little of a run was asked for, what it took does not count. */
static void test_too_short_ones(void **state) {
    enum { FEW = TRMA_MOVE_PLACE_LENGTHY / 4 / (2 * SIZE) - 1 };
    const uintptr_t base = 17 * (uintptr_t)FAR_AWAY;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        (void)run(base, 2 * SIZE, false, SLOW, SLOW); /* lengthy: so the next one is asked for */
        const struct outcome one = run_of(1 + FEW, base, 2 * SIZE, false, SLOW, 1);
        assert_int_equal(one.timed, FEW);
        assert_int_equal(one.joint, 0);
    }
}

/* Whole runs go the way that takes less; each direction, and each size, its own. */
static void test_the_faster_way(void **state) {
    const uintptr_t puts = 20 * (uintptr_t)FAR_AWAY;
    const uintptr_t gets = 30 * (uintptr_t)FAR_AWAY;
    const uintptr_t longer = 40 * (uintptr_t)FAR_AWAY;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        (void)run(puts, SIZE, true, SLOW, SLOW / 2);
        (void)run(gets, SIZE, false, SLOW, 2 * SLOW);
        (void)run(longer, 2 * SIZE, true, SLOW, 2 * SLOW);
    }
    /* By chance one of a look. */
    const struct outcome joint = runs(20, puts, SIZE, true, SLOW, SLOW / 2);
    assert_in_range(joint.joint, (20 - 3) * (PIECES - 1), 20 * (PIECES - 1));
    assert_int_equal(joint.timed, 20 * (PIECES - 1));
    assert_in_range(runs(20, gets, SIZE, false, SLOW, 2 * SLOW).joint, 0, 3 * (PIECES - 1));
    assert_in_range(runs(20, longer, 2 * SIZE, true, SLOW, 2 * SLOW).joint, 0, 3 * (PIECES / 2 - 1));
}

/* Once that is sure, of those that are faster alone one in some is timed, as a whole. */
static void test_some_are_timed(void **state) {
    enum { RUNS = 100, LOOK = 3 };
    const uintptr_t base = 50 * (uintptr_t)FAR_AWAY;
    unsigned timed = 0;

    (void)state;
    (void)runs(MANY, base, SIZE, false, SLOW, 2 * SLOW);
    for (int i = 0; i < RUNS; i++) {
        const struct outcome one = run(base, SIZE, false, SLOW, 2 * SLOW);
        /* But the first one, which begins it, none is looked at. */
        assert_int_equal(one.timed != 0 ? one.timed : one.alone + 1, PIECES - 1);
        timed += one.timed != 0;
    }
    assert_in_range(timed, RUNS / TRMA_MOVE_JOINT_RUN_EVERY - 1, RUNS / TRMA_MOVE_JOINT_RUN_EVERY + LOOK);
}

/* The joint runs of a look are made one after the other: only the third one finds in the caches what the
 * others have left there. */
static void test_looks_are_whole(void **state) {
    enum { LOOK = 3 };
    const uintptr_t base = 55 * (uintptr_t)FAR_AWAY;
    unsigned in_a_row = 0;

    (void)state;
    (void)runs(MANY, base, SIZE, false, SLOW, 2 * SLOW);
    for (int i = 0; i < 4 * MANY; i++) {
        const uint64_t joint = in_a_row < LOOK - 1 ? 2 * SLOW : SLOW / 2;
        const bool was_joint = run(base, SIZE, false, SLOW, joint).joint > 0;
        in_a_row = was_joint ? in_a_row + 1 : 0;
    }
    assert_in_range(in_a_row, LOOK, 4 * MANY);
}

/* Where the target has no time for it, and they take as long as alone, they are not asked for long. */
static void test_in_vain(void **state) {
    const uintptr_t base = 60 * (uintptr_t)FAR_AWAY;

    (void)state;
    assert_in_range(runs(MANY, base, SIZE, true, SLOW, SLOW).joint, 1, MANY / 10 * (PIECES - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_ones),     cmocka_unit_test(test_lengthy_ones),
        cmocka_unit_test(test_too_short_ones), cmocka_unit_test(test_the_faster_way),
        cmocka_unit_test(test_some_are_timed), cmocka_unit_test(test_looks_are_whole),
        cmocka_unit_test(test_in_vain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
