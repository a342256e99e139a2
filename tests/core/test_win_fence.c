/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "win/win_epoch.h"

static const struct trma_window_options plain = {0};

static enum trma_status long_fence(struct trma_window *window) {
    return trma_win_fence(window, 0);
}

/* Everybody puts into everybody's memory, fence after fence; local stores between fences are seen by gets. */
static void exchange(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, PLAY_MEMBERS + 1, plain);
    unsigned rounds = play_often(150);

    CHECK(trma_win_fence(window.core, TRMA_FENCE_NOPRECEDE) == TRMA_OK);
    for (unsigned round = 1; round <= rounds; round++) {
        int64_t value = (int64_t)round * 100 + actor->me;
        int64_t seen[PLAY_MEMBERS] = {0};
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(window_put(window.core, i, actor->me, &value, 1) == TRMA_OK);
        }
        CHECK((round % 2 ? window_fence : long_fence)(window.core) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(window.memory[i] == (int64_t)round * 100 + i);
        }
        window.memory[PLAY_MEMBERS] = -value;
        /* Members may take different ways to the same fence. */
        CHECK((round % 3 == actor->me % 3 ? long_fence : window_fence)(window.core) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(window_get(window.core, i, PLAY_MEMBERS, &seen[i], 1) == TRMA_OK);
        }
        CHECK(trma_win_fence(window.core, round == rounds ? TRMA_FENCE_NOSUCCEED : 0) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(seen[i] == -((int64_t)round * 100 + i));
        }
    }
    CHECK(window_put(window.core, 0, 0, &(int64_t){1}, 1) == TRMA_ERR_SYNC);
    window_close(actor, &window);
}

static void play_exchange(struct actor *actor) {
    exchange(actor, PLAY_MAPPED);
    exchange(actor, PLAY_PRIVATE);
}

static void test_exchange(void **state) {
    (void)state;
    play_run(1, play_exchange);
    play_run(2, play_exchange);
    play_run(7, play_exchange);
}

/* With both assertions nobody waits for anybody; with one, and without any, everybody does. */
static void play_assertions(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);

    if (actor->me == 0) {
        CHECK(trma_win_fence(window.core, TRMA_FENCE_NOPRECEDE | TRMA_FENCE_NOSUCCEED) == TRMA_OK);
        scene_set(actor->scene, 0, 1); /* the other has not come to its fence yet */
    } else {
        scene_await(actor->scene, 0, 1);
        CHECK(trma_win_fence(window.core, TRMA_FENCE_NOPRECEDE | TRMA_FENCE_NOSUCCEED) == TRMA_OK);
    }
    for (uint64_t i = 1; i <= 100; i++) {
        scene_add(actor->scene, 2, 1);
        CHECK(window_fence(window.core) == TRMA_OK);
        CHECK(scene_get(actor->scene, 2) >= i * actor->size);
    }
    static const unsigned waiting[] = {0, TRMA_FENCE_NOPRECEDE, TRMA_FENCE_NOSUCCEED};
    for (uint64_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++) {
        scene_add(actor->scene, 1, 1);
        CHECK(trma_win_fence(window.core, waiting[i]) == TRMA_OK);
        CHECK(scene_get(actor->scene, 1) >= (i + 1) * actor->size);
    }
    CHECK(window_put(window.core, 0, 0, &(int64_t){1}, 1) == TRMA_ERR_SYNC);
    window_close(actor, &window);
}

static void test_assertions(void **state) {
    (void)state;
    play_run(2, play_assertions);
}

/* Two windows of one team, with fences that interleave in any order: they do not disturb each other. */
static void play_two_windows(struct actor *actor) {
    struct stage_window windows[2] = {window_open(actor, PLAY_MAPPED, 1, plain),
                                      window_open(actor, PLAY_MAPPED, 1, plain)};
    uint32_t right = (actor->me + 1) % actor->size;

    for (int64_t round = 1; round <= 60; round++) {
        CHECK(window_fence(windows[0].core) == TRMA_OK);
        CHECK(window_put(windows[0].core, right, 0, &round, 1) == TRMA_OK);
        if (round % 3 == 0) {
            CHECK(trma_win_fence(windows[1].core, 0) == TRMA_OK);
            CHECK(window_put(windows[1].core, right, 0, &round, 1) == TRMA_OK);
            CHECK(trma_win_fence(windows[1].core, TRMA_FENCE_NOSUCCEED) == TRMA_OK);
            CHECK(windows[1].memory[0] == round);
        }
        CHECK(trma_win_fence(windows[0].core, TRMA_FENCE_NOSUCCEED) == TRMA_OK);
        CHECK(windows[0].memory[0] == round);
    }
    window_close(actor, &windows[1]);
    window_close(actor, &windows[0]);
}

static void test_two_windows(void **state) {
    (void)state;
    play_run(4, play_two_windows);
}

static void await_death(struct actor *actor, enum trma_status (*fence)(struct trma_window *)) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);

    CHECK(trma_win_fence(window.core, 0) == TRMA_OK);
    if (actor->me == 2) {
        scene_await(actor->scene, 0, actor->size - 1);
        play_die(actor);
    }
    scene_add(actor->scene, 0, 1);
    play_check_death(actor, fence(window.core));
}

static void play_dead_member(struct actor *actor) {
    await_death(actor, long_fence);
}

static void play_dead_member_quick(struct actor *actor) {
    await_death(actor, window_fence);
}

static void test_dead_member(void **state) {
    (void)state;
    play_run_with_victim(4, 2, play_dead_member);
    play_run_with_victim(4, 2, play_dead_member_quick);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_assertions),
        cmocka_unit_test(test_two_windows),
        cmocka_unit_test(test_dead_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
