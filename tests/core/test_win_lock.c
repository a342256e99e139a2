/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "win/win_epoch.h"

/* Passive target: lock, lock_all, flush. Plays run on mapped and on private memory. */

static const struct trma_window_options plain = {0};

enum { COUNTER, FIRST, SECOND, TRIES, TABLE };

/*
 * Everybody at everybody: under exclusive locks a read-modify-write of two words that must stay equal, under
 * shared ones a look at them; accumulate and fetch_and_op under shared locks add up.
 */
static void mix(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, TABLE, plain);
    unsigned rounds = play_often(300);
    uint32_t target = actor->me;

    for (unsigned round = 0; round < rounds; round++) {
        int64_t pair[2] = {-1, -2};
        int64_t old = -1;
        target = (target + 1) % actor->size;
        bool exclusive = (round + actor->me) % 3 == 0;
        /* The short ways of entry points and the long ones on the same locks. */
        enum trma_lock_kind lock = exclusive ? TRMA_LOCK_EXCLUSIVE : TRMA_LOCK_SHARED;
        CHECK((round % 2 ? window_lock(window.core, lock, target)
                         : trma_win_lock(window.core, lock, target)) == TRMA_OK);
        CHECK(window_lock(window.core, TRMA_LOCK_EXCLUSIVE, target) == TRMA_ERR_SYNC);
        CHECK(window_get(window.core, target, FIRST, pair, 2) == TRMA_OK);
        CHECK(trma_win_flush(window.core, target, false) == TRMA_OK);
        CHECK(pair[0] == pair[1]);
        if (exclusive) {
            pair[0]++;
            CHECK(window_put(window.core, target, FIRST, &pair[0], 1) == TRMA_OK);
            CHECK(trma_win_flush(window.core, target, false) == TRMA_OK);
            CHECK(window_put(window.core, target, SECOND, &pair[0], 1) == TRMA_OK);
            CHECK(window_add(window.core, target, TRIES, 1) == TRMA_OK);
        }
        CHECK(window_add(window.core, target, COUNTER, 1) == TRMA_OK);
        CHECK(window_fetch_add(window.core, target, COUNTER, 1, &old) == TRMA_OK);
        CHECK(trma_win_flush_all(window.core, true) == TRMA_OK);
        CHECK(old >= 1);
        CHECK((round % 4 ? window_unlock(window.core, target) : trma_win_unlock(window.core, target)) ==
              TRMA_OK);
        CHECK(window_unlock(window.core, target) == TRMA_ERR_SYNC);
        scene_add(actor->scene, 0, 2);
        scene_add(actor->scene, 1, exclusive);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    /* Every member adds its own counters to the sum of all. */
    CHECK(trma_win_lock(window.core, TRMA_LOCK_SHARED, actor->me) == TRMA_OK);
    CHECK(window.memory[FIRST] == window.memory[SECOND]);
    CHECK(window.memory[FIRST] == window.memory[TRIES]);
    scene_add(actor->scene, 2, (uint64_t)window.memory[COUNTER]);
    scene_add(actor->scene, 3, (uint64_t)window.memory[TRIES]);
    CHECK(trma_win_unlock(window.core, actor->me) == TRMA_OK);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(scene_get(actor->scene, 0) == scene_get(actor->scene, 2));
    CHECK(scene_get(actor->scene, 1) == scene_get(actor->scene, 3));
    window_close(actor, &window);
}

static void play_mix(struct actor *actor) {
    mix(actor, PLAY_MAPPED);
    mix(actor, PLAY_PRIVATE);
}

static void test_mix(void **state) {
    (void)state;
    play_run(1, play_mix);
    play_run(2, play_mix);
    play_run(8, play_mix);
}

/* Of two locks the one that is left stays held when the other is given back, whichever was the first. */
static void play_two_locks(struct actor *actor) {
    enum { FIRST = 1, SECOND };
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);

    for (uint32_t i = FIRST; i <= SECOND && actor->me == 0; i++) {
        const uint32_t rest = FIRST + SECOND - i;
        int64_t value = i;
        CHECK(window_lock(window.core, TRMA_LOCK_EXCLUSIVE, FIRST) == TRMA_OK);
        CHECK(window_lock(window.core, TRMA_LOCK_EXCLUSIVE, SECOND) == TRMA_OK);
        CHECK(window_unlock(window.core, i) == TRMA_OK);
        CHECK(window_put(window.core, i, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(window_put(window.core, rest, 0, &value, 1) == TRMA_OK);
        CHECK(!trma_win_epoch_is_closed(window.core));
        CHECK(trma_win_flush_all(window.core, false) == TRMA_OK);
        CHECK(window_unlock(window.core, rest) == TRMA_OK);
        CHECK(trma_win_epoch_is_closed(window.core));
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(actor->me == 0 || window.memory[0] == FIRST + SECOND - actor->me);
    window_close(actor, &window);
}

static void test_two_locks(void **state) {
    (void)state;
    play_run(3, play_two_locks);
}

/* lock_all by all, counters that add up, and what was flushed is there for others before anything is
 * unlocked. */
static void play_lock_all(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, PLAY_MEMBERS + 1, plain);
    unsigned rounds = play_often(200);
    uint32_t right = (actor->me + 1) % actor->size;
    uint32_t left = (actor->me + actor->size - 1) % actor->size;

    for (int unchecked = 0; unchecked < 2; unchecked++) {
        CHECK(trma_win_lock_all(window.core, unchecked) == TRMA_OK);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        for (unsigned round = 1; round <= rounds; round++) {
            int64_t value = (int64_t)round * 100 + actor->me;
            int64_t seen = 0;
            CHECK(window_put(window.core, right, actor->me, &value, 1) == TRMA_OK);
            CHECK(window_add(window.core, round % actor->size, PLAY_MEMBERS, 1) == TRMA_OK);
            if (round % 2) {
                CHECK(trma_win_flush(window.core, right, false) == TRMA_OK);
            } else {
                CHECK(trma_win_flush_all(window.core, false) == TRMA_OK);
            }
            CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
            CHECK(trma_win_sync(window.core) == TRMA_OK);
            CHECK(window_get(window.core, actor->me, left, &seen, 1) == TRMA_OK);
            CHECK(trma_win_flush_all(window.core, true) == TRMA_OK);
            CHECK(seen == (int64_t)round * 100 + left);
            CHECK(window.memory[left] == seen);
            CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        }
        CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    scene_add(actor->scene, 0, (uint64_t)window.memory[PLAY_MEMBERS]);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(scene_get(actor->scene, 0) == 2 * rounds * actor->size);
    window_close(actor, &window);
}

static void test_lock_all(void **state) {
    (void)state;
    play_run(2, play_lock_all);
    play_run(5, play_lock_all);
}

/* The epoch excludes exclusive holders, at the member itself as well, also when it touches nothing there. */
static void play_lock_all_excludes(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 2, plain);
    unsigned rounds = play_often(200);

    for (unsigned round = 0; round < rounds; round++) {
        if (actor->me == 0) {
            CHECK(trma_win_lock_all(window.core, false) == TRMA_OK);
            int64_t before = window.memory[0];
            sched_yield();
            CHECK(*(volatile int64_t *)&window.memory[0] == before);
            CHECK(window.memory[1] == before);
            CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
        } else {
            int64_t value = 0;
            CHECK(trma_win_lock(window.core, TRMA_LOCK_EXCLUSIVE, 0) == TRMA_OK);
            CHECK(window_get(window.core, 0, 0, &value, 1) == TRMA_OK);
            CHECK(trma_win_flush_all(window.core, false) == TRMA_OK);
            value++;
            CHECK(window_put(window.core, 0, 0, &value, 1) == TRMA_OK);
            CHECK(window_put(window.core, 0, 1, &value, 1) == TRMA_OK);
            CHECK(trma_win_unlock(window.core, 0) == TRMA_OK);
        }
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(actor->me != 0 || window.memory[0] == (int64_t)rounds * (actor->size - 1));
    window_close(actor, &window);
}

static void test_lock_all_excludes(void **state) {
    (void)state;
    play_run(3, play_lock_all_excludes);
}

/* The ticket that the next asker of this target's lock gets: how a play sees that somebody queues up. */
static uint32_t asked(struct stage_window *window, uint32_t target) {
    return atomic_load(&window->core->targets[target].words->lock.next);
}

/*
 * Two members are in a lock_all epoch, two others ask for exclusive locks of their memory; then the first two
 * access each other. An exclusive asker must wait for both epochs, and must not come between: with a queue at
 * each target and locks that are taken at the first touch, each of the four would wait for the next one for
 * ever.
 */
static void play_crossing(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 2, plain);
    uint32_t other = actor->me ^ 1;
    int64_t value = 5;

    if (actor->me < 2) {
        CHECK(trma_win_lock_all(window.core, false) == TRMA_OK);
        CHECK(scene_add(actor->scene, 0, 1) <= 2);
        scene_await(actor->scene, 1, 1);
        CHECK(window_put(window.core, other, 0, &value, 1) == TRMA_OK);
        CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
    } else if (actor->me < 4) {
        uint32_t target = actor->me - 2;
        scene_await(actor->scene, 0, 2);
        scene_set(actor->scene, 2 + target, asked(&window, target) + 1);
        CHECK(trma_win_lock(window.core, TRMA_LOCK_EXCLUSIVE, target) == TRMA_OK);
        CHECK(window_add(window.core, target, 1, 1) == TRMA_OK);
        CHECK(trma_win_unlock(window.core, target) == TRMA_OK);
    } else {
        for (uint32_t target = 0; target < 2; target++) {
            scene_await(actor->scene, 2 + target, 1);
            while (asked(&window, target) < scene_get(actor->scene, 2 + target)) {
                sched_yield();
            }
        }
        scene_set(actor->scene, 1, 1); /* both ask */
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(actor->me > 1 || (window.memory[0] == 5 && window.memory[1] == 1));
    window_close(actor, &window);
}

static void test_crossing_epochs(void **state) {
    (void)state;
    play_run(5, play_crossing);
}

/* Under load: nobody starves and nothing dead-locks in any mixture of epochs. */
static void play_crossing_often(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);
    unsigned rounds = play_often(400);
    uint64_t random = actor->me + 1;

    for (unsigned round = 0; round < rounds; round++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        uint32_t first = (uint32_t)(random >> 33) % actor->size;
        uint32_t second = (uint32_t)(random >> 40) % actor->size;
        if (random >> 62 != 0) {
            CHECK(trma_win_lock_all(window.core, false) == TRMA_OK);
            CHECK(window_add(window.core, first, 0, 1) == TRMA_OK);
            sched_yield();
            CHECK(window_add(window.core, second, 0, 1) == TRMA_OK);
            CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
        } else {
            int64_t value = 0;
            CHECK(trma_win_lock(window.core, TRMA_LOCK_EXCLUSIVE, first) == TRMA_OK);
            CHECK(window_get(window.core, first, 0, &value, 1) == TRMA_OK);
            CHECK(trma_win_flush(window.core, first, false) == TRMA_OK);
            value += 2;
            CHECK(window_put(window.core, first, 0, &value, 1) == TRMA_OK);
            CHECK(trma_win_unlock(window.core, first) == TRMA_OK);
        }
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    scene_add(actor->scene, 0, (uint64_t)window.memory[0]);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(scene_get(actor->scene, 0) == UINT64_C(2) * rounds * actor->size);
    window_close(actor, &window);
}

static void test_crossing_often(void **state) {
    (void)state;
    play_run(4, play_crossing_often);
    play_run(8, play_crossing_often);
}

/* Several targets locked at once, in both kinds. */
static void play_several(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_PRIVATE, PLAY_MEMBERS, plain);
    unsigned rounds = play_often(100);

    for (unsigned round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(trma_win_lock(window.core, i % 2 ? TRMA_LOCK_EXCLUSIVE : TRMA_LOCK_SHARED, i) == TRMA_OK);
        }
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(window_add(window.core, i, actor->me, 1) == TRMA_OK);
        }
        for (uint32_t i = actor->size; i-- > 0;) {
            CHECK(trma_win_unlock(window.core, i) == TRMA_OK);
        }
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    for (uint32_t i = 0; i < actor->size; i++) {
        CHECK(window.memory[i] == (int64_t)rounds);
    }
    window_close(actor, &window);
}

static void test_several(void **state) {
    (void)state;
    play_run(4, play_several);
}

/* The holder dies: lock and lock_all of the others say so, and leave no epoch open. */
static void play_dead_holder(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);

    if (actor->me == 1) {
        CHECK(trma_win_lock(window.core, TRMA_LOCK_EXCLUSIVE, 0) == TRMA_OK);
        scene_set(actor->scene, 0, 1);
        scene_await(actor->scene, 1, actor->size - 1);
        play_die(actor);
    }
    scene_await(actor->scene, 0, 1);
    scene_add(actor->scene, 1, 1);
    if (actor->me == 0) {
        play_check_death(actor, trma_win_lock_all(window.core, false));
    } else {
        play_check_death(actor, trma_win_lock(window.core, TRMA_LOCK_SHARED, 0));
        play_check_death(actor, window_lock(window.core, TRMA_LOCK_EXCLUSIVE, 0));
        CHECK(atomic_load(&window.core->targets[0].state) == TRMA_TARGET_CLOSED); /* nothing goes there */
        /* Other targets can still be locked. */
        CHECK(window_lock(window.core, TRMA_LOCK_EXCLUSIVE, 2) == TRMA_OK);
        CHECK(window_add(window.core, 2, 0, 1) == TRMA_OK);
        CHECK(trma_win_unlock(window.core, 2) == TRMA_OK);
    }
    CHECK(trma_win_epoch_is_closed(window.core));
    CHECK(trma_win_unlock_all(window.core) == TRMA_ERR_SYNC);
}

static void test_dead_holder(void **state) {
    (void)state;
    play_run_with_victim(3, 1, play_dead_holder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_two_locks),
        cmocka_unit_test(test_lock_all),
        cmocka_unit_test(test_lock_all_excludes),
        cmocka_unit_test(test_crossing_epochs),
        cmocka_unit_test(test_crossing_often),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_dead_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
