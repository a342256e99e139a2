/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <stdlib.h>

#include "node/node_joint.h"
#include "win/win_epoch.h"

/* Large puts and gets on windows whose owner waits, and copies a part (test_node_joint.c). */

enum { TARGET, ORIGIN };

enum { FINISHED }; /* the scene's word */

enum { WORDS = (TRMA_JOINT_MOST + TRMA_JOINT_LEAST) / 8, EDGE = 5 };

static int64_t value_of(uint64_t round, size_t at) {
    return (int64_t)(round << 32 | at) + 1;
}

/* Puts so many words behind the edge, and gets them back; checks what came. In every second pair of rounds in
 * short pieces, which make up a run (move_joint_run.h). */
static void put_and_get(struct trma_window *window, uint64_t round, size_t words, int64_t *there,
                        int64_t *back) {
    const size_t piece = round / 2 % 2 ? TRMA_JOINT_LEAST / 8 : words;

    for (size_t i = 0; i < words; i++) {
        there[i] = value_of(round, i);
    }
    for (size_t at = 0; at < words; at += piece) {
        const size_t count = words - at < piece ? words - at : piece;
        CHECK(window_put(window, TARGET, (int64_t)(EDGE + at), there + at, count) == TRMA_OK);
    }
    for (size_t at = 0; at < words; at += piece) {
        const size_t count = words - at < piece ? words - at : piece;
        CHECK(window_get(window, TARGET, (int64_t)(EDGE + at), back + at, count) == TRMA_OK);
    }
}

static void by_lock(struct trma_window *window, uint64_t round, size_t words, int64_t *there, int64_t *back) {
    CHECK(window_lock(window, TRMA_LOCK_SHARED, TARGET) == TRMA_OK);
    put_and_get(window, round, words, there, back);
    CHECK(window_unlock(window, TARGET) == TRMA_OK);
}

/* Mostly before the target has posted: then they are remembered. */
static void by_start(struct trma_window *window, uint64_t round, size_t words, int64_t *there,
                     int64_t *back) {
    const uint32_t target = TARGET;

    CHECK(window_start(window, &target, 1) == TRMA_OK);
    put_and_get(window, round, words, there, back);
    CHECK(window_complete(window) == TRMA_OK);
}

/* The owner waits in the epoch's end, or else in the team's barrier, until it has helped with each of both.
 */
static void help_with_window(struct actor *actor, bool is_counted) {
    static const size_t counts[] = {TRMA_JOINT_LEAST / 8, 100003, WORDS - 2 * EDGE};
    enum { LEAST_ROUNDS = 36 };
    const struct trma_window_options options = {.counts_operations = is_counted};
    struct stage_window window = window_open(actor, PLAY_MAPPED, WORDS, options);
    const bool expects_help = !actor->team->waiter.crowded;
    const uint32_t origin = ORIGIN;
    int64_t *there = malloc(WORDS * sizeof *there);
    int64_t *back = malloc(WORDS * sizeof *back);
    uint64_t helped[2] = {0, 0};

    for (uint64_t round = 1; scene_get(actor->scene, FINISHED) == 0; round++) {
        const size_t words = counts[round / 2 % 3];
        const bool is_locked = round % 2;
        if (actor->me == ORIGIN) {
            const struct trma_target_counts *count = &window.core->targets[TARGET].counts;
            const uint64_t before = atomic_load(&count->helped);
            (is_locked ? by_lock : by_start)(window.core, round, words, there, back);
            CHECK(memcmp(there, back, words * sizeof *there) == 0);
            helped[is_locked] += atomic_load(&count->helped) - before;
        } else if (!is_locked) {
            CHECK(window_post(window.core, &origin, 1) == TRMA_OK);
            CHECK(window_wait(window.core) == TRMA_OK);
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        for (size_t i = 0; i < words && actor->me == TARGET; i++) {
            CHECK(window.memory[EDGE + i] == value_of(round, i));
        }
        CHECK(actor->me != TARGET || (window.memory[EDGE - 1] == 0 && window.memory[WORDS - 1] == 0));
        if (actor->me == ORIGIN && round >= LEAST_ROUNDS && ((helped[0] && helped[1]) || !expects_help)) {
            scene_set(actor->scene, FINISHED, 1);
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    }
    free(there);
    free(back);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    scene_set(actor->scene, FINISHED, 0);
    window_close(actor, &window);
}

static void play_window(struct actor *actor) {
    help_with_window(actor, false);
    help_with_window(actor, true);
}

static void test_window(void **state) {
    (void)state;
    play_run(2, play_window);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_window)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
