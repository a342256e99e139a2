/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>

#include "win/win_epoch.h"

/* Several threads of one member on one window, as under MPI_THREAD_MULTIPLE. */

enum { THREADS = 4 };

static const struct trma_window_options threaded = {.is_threaded = true};

struct worker {
    struct actor *actor;
    struct stage_window *window;
    uint32_t index;
    unsigned rounds;
};

static void run_workers(struct actor *actor, struct stage_window *window, unsigned rounds,
                        void *(*work)(void *argument)) {
    pthread_t threads[THREADS];
    struct worker workers[THREADS];

    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){actor, window, i, rounds};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/*
 * Each thread locks a target of its own, in every round exclusively or shared, while the others do the same
 * at other targets and other members at all of them. A thread that waits for a lock must not keep the others
 * from theirs.
 */
static void *lock_own_target(void *argument) {
    struct worker *worker = argument;
    struct trma_window *core = worker->window->core;
    uint32_t target = worker->index;

    for (unsigned round = 0; round < worker->rounds; round++) {
        int64_t value = -1;
        int64_t old = -1;
        if (round % 2) {
            CHECK(window_lock(core, TRMA_LOCK_EXCLUSIVE, target) == TRMA_OK);
            CHECK(window_get(core, target, 0, &value, 1) == TRMA_OK);
            CHECK(window_flush(core, target) == TRMA_OK);
            value++;
            CHECK(window_put(core, target, 0, &value, 1) == TRMA_OK);
        } else {
            CHECK(window_lock(core, TRMA_LOCK_SHARED, target) == TRMA_OK);
            CHECK(window_fetch_add(core, target, 0, 1, &old) == TRMA_OK);
            CHECK(old >= 0);
        }
        CHECK(window_unlock(core, target) == TRMA_OK);
    }
    return NULL;
}

static void play_own_targets(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, threaded);
    unsigned rounds = play_often(400);

    run_workers(actor, &window, rounds, lock_own_target);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(window.memory[0] == (int64_t)rounds * actor->size);
    window_close(actor, &window);
}

static void test_own_targets(void **state) {
    (void)state;
    play_run(THREADS, play_own_targets);
}

/* All threads work in one epoch that the main thread has opened: operations and flushes, at all targets at
 * once. */
static void *operate_everywhere(void *argument) {
    struct worker *worker = argument;
    struct trma_window *core = worker->window->core;
    uint32_t size = worker->actor->size;
    int64_t place = 1 + (int64_t)worker->actor->me * THREADS + worker->index;

    for (unsigned round = 1; round <= worker->rounds; round++) {
        for (uint32_t target = 0; target < size; target++) {
            int64_t value = (int64_t)round * 1000 + place;
            int64_t back = -1;
            CHECK(window_put(core, target, place, &value, 1) == TRMA_OK);
            CHECK(window_flush(core, target) == TRMA_OK);
            CHECK(window_get(core, target, place, &back, 1) == TRMA_OK);
            CHECK(trma_win_flush_all(core, true) == TRMA_OK);
            CHECK(back == value);
            CHECK(window_add(core, target, 0, 1) == TRMA_OK);
        }
    }
    return NULL;
}

static void work_together(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, 1 + PLAY_MEMBERS * THREADS, threaded);
    unsigned rounds = play_often(100);

    for (int unchecked = 0; unchecked < 2; unchecked++) {
        CHECK(trma_win_lock_all(window.core, unchecked) == TRMA_OK);
        run_workers(actor, &window, rounds, operate_everywhere);
        CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(window.memory[0] == 2 * (int64_t)rounds * actor->size * THREADS);
    for (int64_t place = 1; place <= (int64_t)actor->size * THREADS; place++) {
        CHECK(window.memory[place] == (int64_t)rounds * 1000 + place);
    }
    window_close(actor, &window);
}

static void play_together(struct actor *actor) {
    work_together(actor, PLAY_MAPPED);
    work_together(actor, PLAY_PRIVATE);
}

static void test_together(void **state) {
    (void)state;
    play_run(3, play_together);
}

/* Threads issue operations before the post: all are remembered, whoever comes, and done once. */
static void *add_before_post(void *argument) {
    struct worker *worker = argument;
    static int64_t one = 1; /* lives until complete */

    for (unsigned round = 0; round < worker->rounds; round++) {
        CHECK(window_operate(worker->window->core, TRMA_COUNT_ACCUMULATE, 0, 0, &one, NULL, 1) == TRMA_OK);
    }
    scene_add(worker->actor->scene, 0, 1);
    return NULL;
}

static void play_deferred(struct actor *actor) {
    static const uint32_t zero = 0;
    static const uint32_t one = 1;
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, threaded);
    unsigned rounds = play_often(400);

    if (actor->me == 1) {
        CHECK(window_start(window.core, &zero, 1) == TRMA_OK);
        run_workers(actor, &window, rounds, add_before_post);
        CHECK(window_complete(window.core) == TRMA_OK);
    } else {
        scene_await(actor->scene, 0,
                    1); /* one thread is through, others are not: the post comes in between */
        CHECK(window_post(window.core, &one, 1) == TRMA_OK);
        CHECK(trma_win_wait(window.core) == TRMA_OK);
        CHECK(window.memory[0] == (int64_t)rounds * THREADS);
    }
    window_close(actor, &window);
}

static void test_deferred(void **state) {
    (void)state;
    play_run(2, play_deferred);
}

/*
 * While one thread of the target waits for the end of its exposure epoch, another thread of the same process
 * uses the window; the origin completes only when that thread has done so.
 */
static void *use_while_waiting(void *argument) {
    struct worker *worker = argument;
    struct trma_window *core = worker->window->core;

    if (worker->index == 0) {
        scene_set(worker->actor->scene, 0, 1);
        CHECK(trma_win_wait(core) == TRMA_OK);
        CHECK(worker->window->memory[1] == 7);
    } else if (worker->index == 1) {
        scene_await(worker->actor->scene, 0, 1);
        for (unsigned round = 0; round < worker->rounds; round++) {
            CHECK(window_lock(core, TRMA_LOCK_EXCLUSIVE, 1) == TRMA_OK);
            CHECK(window_add(core, 1, 0, 1) == TRMA_OK);
            CHECK(window_unlock(core, 1) == TRMA_OK);
        }
        scene_set(worker->actor->scene, 1, 1);
    }
    return NULL;
}

static void play_guard(struct actor *actor) {
    static const uint32_t zero = 0;
    static const uint32_t one = 1;
    struct stage_window window = window_open(actor, PLAY_MAPPED, 2, threaded);
    unsigned rounds = play_often(200);
    int64_t value = 7;

    if (actor->me == 0) {
        CHECK(window_post(window.core, &one, 1) == TRMA_OK);
        run_workers(actor, &window, rounds, use_while_waiting);
    } else {
        CHECK(window_start(window.core, &zero, 1) == TRMA_OK);
        CHECK(window_put(window.core, 0, 1, &value, 1) == TRMA_OK);
        scene_await(actor->scene, 1, 1);
        CHECK(window_complete(window.core) == TRMA_OK);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(actor->me != 1 || window.memory[0] == (int64_t)rounds);
    window_close(actor, &window);
}

static void test_guard_is_released(void **state) {
    (void)state;
    play_run(2, play_guard);
}

/* Dynamic windows under threads: lookups of one target's table by several threads while it grows. */
static void *look_up(void *argument) {
    struct worker *worker = argument;
    struct trma_window *core = worker->window->core;
    struct scene *scene = worker->actor->scene;
    int64_t base = (int64_t)scene_get(scene, 1);

    do {
        int64_t value = -1;
        int64_t count = (int64_t)scene_get(scene, 2);
        for (int64_t i = 0; i < count; i += 1 + count / 8) {
            CHECK(window_get(core, 0, base + 16 * i, &value, 1) == TRMA_OK && value == 2 * i);
        }
    } while (scene_get(scene, 2) < worker->rounds);
    return NULL;
}

static void play_dynamic(struct actor *actor) {
    struct trma_window_options options = {.is_threaded = true, .is_dynamic = true};
    struct stage_window window = window_open(actor, PLAY_PRIVATE, 0, options);
    unsigned pieces = play_often(500);
    int64_t *words = calloc(2 * (size_t)pieces, sizeof *words);

    CHECK(words != NULL);
    if (actor->me == 0) {
        scene_set(actor->scene, 1, (uintptr_t)words);
        scene_set(actor->scene, 0, 1);
        for (unsigned i = 0; i < pieces; i++) {
            words[2 * i] = 2 * (int64_t)i;
            CHECK(trma_win_attachments_add(window.core->attachments, (uintptr_t)&words[2 * i], 8) == TRMA_OK);
            scene_set(actor->scene, 2, i + 1);
        }
    } else {
        scene_await(actor->scene, 0, 1);
        CHECK(window_lock(window.core, TRMA_LOCK_SHARED, 0) == TRMA_OK);
        run_workers(actor, &window, pieces, look_up);
        CHECK(window_unlock(window.core, 0) == TRMA_OK);
    }
    window_close(actor, &window);
    free(words);
}

static void test_dynamic(void **state) {
    (void)state;
    play_run(2, play_dynamic);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_targets), cmocka_unit_test(test_together),
        cmocka_unit_test(test_deferred),    cmocka_unit_test(test_guard_is_released),
        cmocka_unit_test(test_dynamic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
