/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "node/node_help.h"
#include "win/win_epoch.h"

/* Windows whose owner waits, and does a part of what origins ask for itself (test_node_help.c). */

enum { TARGET, ORIGIN };

enum { FINISHED }; /* the scene's word */

/* A put, a get and two updates of every word; gives how many of the puts the owner did itself, which adds
 * little to its account. */
static unsigned work_on_window(struct trma_window *window, int64_t round, int64_t words) {
    const uint64_t by_kernel_ns = 1000;
    struct trma_adopt_words *account = &window->targets[TARGET].words->adopt;
    unsigned helped = 0;

    CHECK(trma_win_lock(window, TRMA_LOCK_SHARED, TARGET) == TRMA_OK);
    for (int64_t i = 0; i < words; i++) {
        int64_t word = round + i;
        int64_t back = -1;
        uint64_t before = atomic_load(&account->earned_ns);
        if (!trma_win_operation_carry(window, TARGET, i, &word, sizeof word, true)) {
            CHECK(window_put(window, TARGET, i, &word, 1) == TRMA_OK);
        }
        uint64_t saved = atomic_load(&account->earned_ns) - before;
        helped += saved > 0 && saved < by_kernel_ns;
        if (!trma_win_operation_carry(window, TARGET, i, &back, sizeof back, false)) {
            CHECK(window_get(window, TARGET, i, &back, 1) == TRMA_OK);
        }
        CHECK(back == word);
        CHECK(window_fetch_add(window, TARGET, i, 1, &back) == TRMA_OK && back == word);
        CHECK(window_add(window, TARGET, i, 1) == TRMA_OK);
    }
    CHECK(trma_win_unlock(window, TARGET) == TRMA_OK);
    return helped;
}

/* Arrays: put, got, and updated twice. True when the owner did a part of each. */
static bool work_on_arrays(struct trma_window *window, int64_t round, size_t words) {
    static const enum trma_count_kind kinds[] = {TRMA_COUNT_PUT, TRMA_COUNT_GET, TRMA_COUNT_ACCUMULATE,
                                                 TRMA_COUNT_GET_ACCUMULATE};
    int64_t *numbers = malloc(2 * words * sizeof *numbers);
    int64_t *result = numbers + words;
    bool has_helped = true;

    CHECK(trma_win_lock(window, TRMA_LOCK_SHARED, TARGET) == TRMA_OK);
    for (int i = 0; i < 4; i++) {
        const enum trma_count_kind kind = kinds[i];
        const uint64_t before = trma_node_help_received();
        for (size_t k = 0; k < words; k++) {
            numbers[k] = kind == TRMA_COUNT_PUT ? round + (int64_t)k : 1;
        }
        CHECK(window_operate(window, kind, TARGET, 0, numbers, result, words) == TRMA_OK);
        has_helped &= trma_node_help_received() > before;
        for (size_t k = 0; k < words; k++) {
            CHECK(kind != TRMA_COUNT_GET || numbers[k] == round + (int64_t)k);
            CHECK(kind != TRMA_COUNT_GET_ACCUMULATE || result[k] == round + (int64_t)k + 1);
        }
    }
    CHECK(trma_win_unlock(window, TARGET) == TRMA_OK);
    free(numbers);
    return has_helped;
}

/* The owner waits meanwhile, for some milliseconds before it falls asleep: until it has helped. */
static void help_with_window(struct actor *actor, bool is_threaded) {
    enum { WORDS = 100, ARRAY = 5000, LEAST_ROUNDS = 20 };
    const struct trma_window_options options = {.adopt = TRMA_ADOPT_EARNED, .is_threaded = is_threaded};
    struct stage_window window = window_open(actor, PLAY_PRIVATE, ARRAY, options);
    const bool expects_help = !actor->team->waiter.crowded;
    unsigned helped = 0;
    bool has_helped = false;
    bool is_last = false;
    int64_t round = 0;

    CHECK(actor->team->help.windows == 1);
    while (!is_last) {
        round++;
        if (actor->me == ORIGIN) {
            has_helped |= work_on_arrays(window.core, round, ARRAY);
            helped += work_on_window(window.core, round, WORDS);
            scene_set(actor->scene, FINISHED,
                      round >= LEAST_ROUNDS && ((helped && has_helped) || !expects_help));
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        for (int64_t i = 0; i < ARRAY && actor->me == TARGET; i++) {
            CHECK(window.memory[i] == round + i + 2);
        }
        is_last =
            scene_get(actor->scene, FINISHED); /* between the barriers: the next round may set it soon */
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    }
    CHECK(actor->me != ORIGIN || atomic_load(&window.core->targets[TARGET].counts.helped) >= helped);
    window_close(actor, &window);
    CHECK(actor->team->help.windows == 0);
}

static void play_window(struct actor *actor) {
    help_with_window(actor, false);
}

static void play_threaded_window(struct actor *actor) {
    help_with_window(actor, true);
}

static void test_window(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without the kernel */
    }
    play_run(2, play_window);
    play_run(2, play_threaded_window);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_window)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
