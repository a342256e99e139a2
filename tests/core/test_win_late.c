/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "move/move_mover.h"
#include "win/win_epoch.h"

/* What ends an epoch, or flushes it, waits for movers that have not finished when an operation returns. */

enum { ORIGIN, TARGET, SECOND_TARGET, MEMBERS };

enum { WORDS = 1024, LEAST = WORDS * sizeof(int64_t) };

/* Puts that are carried one by one, and only when somebody asks whether they have been. */
static _Thread_local struct {
    struct trma_pair pairs[MEMBERS];
    struct trma_outstanding *outstanding[MEMBERS];
    unsigned n;
} queue;

static enum trma_status put_later(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                  struct trma_outstanding *outstanding) {
    (void)path;
    for (size_t i = 0; i < n; i++) {
        CHECK(queue.n < MEMBERS);
        queue.pairs[queue.n] = pairs[i];
        queue.outstanding[queue.n++] = outstanding;
        trma_move_begin(outstanding);
    }
    return TRMA_OK;
}

static enum trma_status get_now(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                struct trma_outstanding *outstanding) {
    return trma_move_mover_map.get(path, pairs, n, outstanding);
}

static void carry_one(struct trma_outstanding *outstanding) {
    (void)outstanding;
    if (queue.n > 0) {
        queue.n--;
        CHECK(trma_move_mover_map.put(NULL, &queue.pairs[queue.n], 1, NULL) == TRMA_OK);
        trma_move_end(queue.outstanding[queue.n], TRMA_OK);
    }
}

static const struct trma_mover late = {
    .name = "late", .put = put_later, .get = get_now, .progress = carry_one};

static void put(struct trma_window *window, uint32_t target, int64_t *numbers, int64_t number) {
    const unsigned before = queue.n;

    for (size_t i = 0; i < WORDS; i++) {
        numbers[i] = number;
    }
    CHECK(window_operate(window, TRMA_COUNT_PUT, target, 0, numbers, NULL, WORDS) == TRMA_OK);
    CHECK(queue.n == before + 1);
}

static void check(const struct trma_window *window, uint32_t target, int64_t number) {
    const int64_t *there = (const int64_t *)(const void *)window->targets[target].path.local;

    CHECK(there[0] == number && there[WORDS - 1] == number);
}

static void put_and_flush_all(struct trma_window *window, uint32_t target, int64_t *numbers, int64_t number) {
    put(window, target, numbers, number);
    CHECK(trma_win_flush_all(window, number % 2) == TRMA_OK);
    check(window, target, number);
}

static void put_and_unlock(struct trma_window *window, uint32_t target, int64_t *numbers, int64_t number) {
    put(window, target, numbers, number);
    CHECK(window_unlock(window, target) == TRMA_OK);
    check(window, target, number);
}

static void lock_and_put(struct trma_window *window, int64_t *numbers) {
    static const enum trma_lock_kind kinds[] = {TRMA_LOCK_EXCLUSIVE, TRMA_LOCK_SHARED, TRMA_LOCK_UNCHECKED};

    for (int i = 0; i < 3; i++) {
        const int64_t number = 100 * i;
        CHECK(window_lock(window, kinds[i], TARGET) == TRMA_OK);
        put(window, TARGET, numbers, number + 1);
        CHECK(window_flush(window, TARGET) == TRMA_OK);
        check(window, TARGET, number + 1);
        put_and_flush_all(window, TARGET, numbers, number + 2);
        put_and_unlock(window, TARGET, numbers, number + 3);
    }
}

/* Two targets, each given back first once. */
static void lock_two_and_put(struct trma_window *window, int64_t *numbers) {
    for (uint32_t first = TARGET; first <= SECOND_TARGET; first++) {
        const uint32_t second = TARGET + SECOND_TARGET - first;
        const int64_t number = 1000 * first;
        CHECK(window_lock(window, TRMA_LOCK_EXCLUSIVE, TARGET) == TRMA_OK);
        CHECK(window_lock(window, TRMA_LOCK_SHARED, SECOND_TARGET) == TRMA_OK);
        put_and_flush_all(window, first, numbers, number + 1);
        put_and_unlock(window, first, numbers, number + 2);
        put_and_flush_all(window, second, numbers, number + 4);
        put_and_unlock(window, second, numbers, number + 5);
    }
}

static void lock_all_and_put(struct trma_window *window, int64_t *numbers) {
    CHECK(trma_win_lock_all(window, false) == TRMA_OK);
    put(window, TARGET, numbers, 1);
    CHECK(window_flush(window, TARGET) == TRMA_OK);
    check(window, TARGET, 1);
    put(window, TARGET, numbers, 2);
    put(window, SECOND_TARGET, numbers, 2);
    CHECK(trma_win_flush_all(window, false) == TRMA_OK);
    check(window, TARGET, 2);
    check(window, SECOND_TARGET, 2);
    put(window, SECOND_TARGET, numbers, 3);
    CHECK(trma_win_unlock_all(window) == TRMA_OK);
    check(window, SECOND_TARGET, 3);
}

static void play_late(struct actor *actor) {
    int64_t *numbers = calloc(WORDS, sizeof *numbers);
    const uint32_t partner = actor->me == ORIGIN ? TARGET : ORIGIN;

    trma_move_mover_set(&late, LEAST);
    struct stage_window window = window_open(actor, PLAY_MAPPED, WORDS, (struct trma_window_options){0});
    if (actor->me == ORIGIN) {
        lock_and_put(window.core, numbers);
        lock_two_and_put(window.core, numbers);
        lock_all_and_put(window.core, numbers);
        CHECK(window_start(window.core, &partner, 1) == TRMA_OK);
        while (!trma_sync_pscw_reached(window.core->targets[TARGET].posted,
                                       window.core->targets[TARGET].started)) {
            sched_yield(); /* else it would be remembered */
        }
        put(window.core, TARGET, numbers, 7);
        CHECK(window_complete(window.core) == TRMA_OK);
        check(window.core, TARGET, 7);
    } else if (actor->me == TARGET) {
        CHECK(window_post(window.core, &partner, 1) == TRMA_OK);
        CHECK(window_wait(window.core) == TRMA_OK);
    }
    CHECK(window_fence(window.core) == TRMA_OK);
    if (actor->me == ORIGIN) {
        put(window.core, TARGET, numbers, 8);
    }
    CHECK(window_fence(window.core) == TRMA_OK);
    CHECK(actor->me != TARGET || (window.memory[0] == 8 && window.memory[WORDS - 1] == 8));
    CHECK(trma_win_fence(window.core, TRMA_FENCE_NOSUCCEED) == TRMA_OK);
    window_close(actor, &window);
    free(numbers);
}

static void test_late(void **state) {
    (void)state;
    play_run(MEMBERS, play_late);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
