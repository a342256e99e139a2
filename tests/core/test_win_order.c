/* SPDX-License-Identifier: BSD-3-Clause */
/* Who owes the fence of a flush, and who pays it (win_order.h). That it is needed, and enough, shows when two
 * origins race: tests/mpi/ordering.c. One member each: under ThreadSanitizer others would share the debt. */
#include "team_fixture.h"

#include "win/win_epoch.h"
#include "win/win_order.h"

enum { WORDS = 16 };

static const struct trma_window_options plain = {0};

static bool is_owed(void) {
    return atomic_load(&trma_win_order_is_owed);
}

/* Puts and flushes, and checks that this leaves a debt. */
static void run_into_debt(struct trma_window *window, unsigned round) {
    int64_t value = round;

    CHECK(window_put(window, 0, round % WORDS, &value, 1) == TRMA_OK);
    CHECK(!is_owed());
    switch (round % 3) {
    case 0:
        CHECK(window_flush(window, 0) == TRMA_OK);
        break;
    case 1:
        CHECK(trma_win_flush(window, 0, false) == TRMA_OK);
        break;
    default:
        CHECK(trma_win_flush_all(window, false) == TRMA_OK);
    }
    CHECK(is_owed());
    /* A flush that finds nothing new does not forget it. */
    CHECK(trma_win_flush(window, 0, false) == TRMA_OK);
    CHECK(is_owed());
}

static void play_operations(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, WORDS, plain);
    struct trma_window *core = window.core;
    int64_t value = 0;
    int64_t nothing = 0;

    CHECK(trma_win_lock_all(core, false) == TRMA_OK);
    for (unsigned round = 0; round < 60; round++) {
        run_into_debt(core, round);
        switch (round % 5) {
        case 0:
            CHECK(window_get(core, 0, round % WORDS, &value, 1) == TRMA_OK);
            CHECK(value == round);
            break;
        case 1:
            CHECK(window_operate(core, TRMA_COUNT_GET, 0, round % WORDS, &value, NULL, 1) == TRMA_OK);
            CHECK(value == round);
            break;
        case 2:
            CHECK(window_operate(core, TRMA_COUNT_GET_ACCUMULATE, 0, round % WORDS, &nothing, &value, 1) ==
                  TRMA_OK);
            CHECK(value == round);
            break;
        case 3:
            CHECK(window_fetch_add(core, 0, round % WORDS, 0, &value) == TRMA_OK);
            CHECK(value == round);
            break;
        default:
            CHECK(trma_win_sync(core) == TRMA_OK);
        }
        CHECK(!is_owed());
        /* Who has updated since owes again, who has only looked does not. */
        CHECK(trma_win_flush(core, 0, false) == TRMA_OK);
        CHECK(is_owed() == (round % 5 == 2 || round % 5 == 3));
        trma_win_order_pay();
        CHECK(window_put(core, 0, 0, &value, 1) == TRMA_OK);
        CHECK(trma_win_flush(core, 0, true) == TRMA_OK); /* promises nothing of the target */
        CHECK(!is_owed());
        CHECK(trma_win_flush_all(core, false) == TRMA_OK);
        CHECK(is_owed());
        trma_win_order_pay();
    }
    CHECK(trma_win_unlock_all(core) == TRMA_OK);
    window_close(actor, &window);
}

static void play_operations_mapped(struct actor *actor) {
    play_operations(actor, PLAY_MAPPED);
}

static void play_operations_private(struct actor *actor) {
    play_operations(actor, PLAY_PRIVATE);
}

/* The calls by which a process may see in its own memory what others have put there. */
static void play_synchronisation(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, WORDS, plain);
    struct stage_window other = window_open(actor, PLAY_MAPPED, WORDS, plain);
    bool done = false;
    int64_t value = 1;

    CHECK(trma_win_lock_all(window.core, false) == TRMA_OK);
    run_into_debt(window.core, 0);
    CHECK(window_lock(other.core, TRMA_LOCK_EXCLUSIVE, 0) == TRMA_OK);
    CHECK(!is_owed());
    CHECK(window_put(other.core, 0, 0, &value, 1) == TRMA_OK);
    CHECK(window_unlock(other.core, 0) == TRMA_OK);
    CHECK(is_owed());
    CHECK(trma_win_lock(other.core, TRMA_LOCK_EXCLUSIVE, 0) == TRMA_OK);
    CHECK(!is_owed());
    CHECK(trma_win_unlock(other.core, 0) == TRMA_OK);
    CHECK(is_owed());
    trma_win_order_pay();

    run_into_debt(window.core, 1);
    CHECK(trma_win_lock(other.core, TRMA_LOCK_SHARED, 0) == TRMA_OK);
    CHECK(!is_owed());
    CHECK(trma_win_unlock(other.core, 0) == TRMA_OK);

    run_into_debt(window.core, 2);
    CHECK(trma_win_lock_all(other.core, true) == TRMA_OK);
    CHECK(!is_owed());
    CHECK(window_put(other.core, 0, 0, &value, 1) == TRMA_OK);
    CHECK(trma_win_unlock_all(other.core) == TRMA_OK);
    CHECK(is_owed());

    CHECK(trma_win_fence(other.core, TRMA_FENCE_NOPRECEDE | TRMA_FENCE_NOSUCCEED) == TRMA_OK);
    CHECK(!is_owed());

    run_into_debt(window.core, 2);
    CHECK(window_fence(other.core) == TRMA_OK);
    CHECK(!is_owed());
    run_into_debt(window.core, 3);
    CHECK(trma_win_fence_quick(other.core));
    CHECK(trma_win_fence_await(other.core) == TRMA_OK);
    CHECK(!is_owed());
    CHECK(trma_win_fence(other.core, TRMA_FENCE_NOSUCCEED) == TRMA_OK);

    run_into_debt(window.core, 3);
    CHECK(trma_win_post(other.core, NULL, 0) == TRMA_OK);
    CHECK(trma_win_wait(other.core) == TRMA_OK);
    CHECK(!is_owed());
    static const uint32_t myself = 0;
    run_into_debt(window.core, 3);
    CHECK(trma_win_post(other.core, &myself, 1) == TRMA_OK);
    CHECK(trma_win_start(other.core, &myself, 1) == TRMA_OK);
    CHECK(trma_win_complete(other.core) == TRMA_OK);
    CHECK(is_owed());
    CHECK(trma_win_wait_quick(other.core));
    CHECK(!is_owed());
    run_into_debt(window.core, 4);
    CHECK(trma_win_post(other.core, NULL, 0) == TRMA_OK);
    CHECK(trma_win_test(other.core, &done) == TRMA_OK && done);
    CHECK(!is_owed());

    CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
    window_close(actor, &other);
    window_close(actor, &window);
}

static void check_at_once(struct trma_window *window) {
    int64_t value = 1;

    for (unsigned round = 0; round < 3; round++) {
        CHECK(window_put(window, 0, 0, &value, 1) == TRMA_OK);
        CHECK(trma_win_flush(window, 0, false) == TRMA_OK);
        CHECK(trma_win_flush_all(window, false) == TRMA_OK);
        CHECK(!is_owed());
        /* Stores that nobody notes are waited for by each flush. */
        CHECK(atomic_load(&window->has_stored));
    }
}

static void play_at_once(struct actor *actor) {
    struct trma_window_options threaded = {.is_threaded = true};
    struct stage_window with_threads = window_open(actor, PLAY_MAPPED, WORDS, threaded);
    struct stage_window shared = window_open(actor, PLAY_MAPPED, WORDS, plain);

    CHECK(trma_win_lock_all(with_threads.core, true) == TRMA_OK);
    check_at_once(with_threads.core);
    CHECK(trma_win_unlock_all(with_threads.core) == TRMA_OK);
    CHECK(!is_owed());

    CHECK(trma_win_lock_all(shared.core, false) == TRMA_OK);
    run_into_debt(shared.core, 0);
    trma_win_order_pay();
    trma_win_order_at_once(shared.core);
    check_at_once(shared.core);
    CHECK(window_flush(shared.core, 0) == TRMA_OK);
    CHECK(!is_owed());
    CHECK(trma_win_unlock_all(shared.core) == TRMA_OK);
    window_close(actor, &shared);
    window_close(actor, &with_threads);
}

static void test_operations(void **state) {
    (void)state;
    play_run(1, play_operations_mapped);
    play_run(1, play_operations_private);
}

static void test_synchronisation(void **state) {
    (void)state;
    play_run(1, play_synchronisation);
}

static void test_at_once(void **state) {
    (void)state;
    play_run(1, play_at_once);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_synchronisation),
        cmocka_unit_test(test_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
