/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "sync/sync_lock.h"

/* The lock lies at the start of the scene's area, what it protects behind it. */
struct guarded {
    struct trma_lock lock;
    uint64_t first; /* both are the same whenever nobody holds the lock exclusively */
    uint64_t second;
    uint32_t order[256]; /* who came in, and how many did */
    uint32_t entered;
};

static struct guarded *guarded_of(struct actor *actor) {
    return (struct guarded *)actor->scene->area;
}

static enum trma_status take(struct actor *actor, bool exclusive) {
    struct trma_lock *lock = &guarded_of(actor)->lock;

    return exclusive ? trma_sync_lock_exclusive(lock, &actor->team->waiter, NULL, NULL)
                     : trma_sync_lock_shared(lock, &actor->team->waiter, NULL, NULL);
}

static void give(struct actor *actor, bool exclusive) {
    struct trma_lock *lock = &guarded_of(actor)->lock;

    if (exclusive) {
        trma_sync_unlock_exclusive(lock, actor->team->waiter.needs_fence);
    } else {
        trma_sync_unlock_shared(lock, actor->team->waiter.needs_fence);
    }
}

/* Nobody is in and nobody waits: all three counters agree. */
static void check_is_free(struct trma_lock *lock) {
    uint64_t turns = atomic_load(&lock->turns);
    uint32_t next = atomic_load(&lock->next);

    CHECK((uint32_t)turns == next);
    CHECK((uint32_t)(turns >> 32) == next);
}

static void mix(struct actor *actor, unsigned times, unsigned exclusive_of_eight) {
    struct guarded *guarded = guarded_of(actor);
    uint64_t random = actor->me * UINT64_C(0x9e3779b97f4a7c15) + 1;
    uint64_t added = 0;

    for (unsigned i = 0; i < times; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        bool exclusive = (random >> 33) % 8 < exclusive_of_eight;
        CHECK(take(actor, exclusive) == TRMA_OK);
        CHECK(guarded->first == guarded->second);
        if (exclusive) {
            guarded->first++;
            if (random >> 63) {
                sched_yield(); /* others get a chance to come in where they must not */
            }
            guarded->second++;
            added++;
        }
        give(actor, exclusive);
    }
    scene_add(actor->scene, 0, added);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(guarded->first == scene_get(actor->scene, 0));
    CHECK(guarded->second == guarded->first);
    check_is_free(&guarded->lock);
}

static void play_exclusive(struct actor *actor) {
    mix(actor, play_often(2000), 8);
}

static void play_mixed(struct actor *actor) {
    mix(actor, play_often(2000), 2);
}

static void test_exclusive(void **state) {
    (void)state;
    play_run(1, play_exclusive);
    play_run(2, play_exclusive);
    play_run(8, play_exclusive);
}

static void test_mixed(void **state) {
    (void)state;
    play_run(3, play_mixed);
    play_run(8, play_mixed);
}

static void test_mixed_without_membarrier(void **state) {
    (void)state;
    struct scene *scene = scene_open();
    atomic_store(&scene->plain_fences, 1);
    play_run_in(scene, 4, play_mixed);
    scene_close(scene);
}

/* Tickets and turns pass 2^32, each at its own time. */
static void test_wraps_around(void **state) {
    (void)state;
    static const uint32_t starts[] = {UINT32_MAX - 300, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct scene *scene = scene_open();
        struct guarded *guarded = (struct guarded *)scene->area;
        atomic_store(&guarded->lock.next, starts[i]);
        atomic_store(&guarded->lock.turns, (uint64_t)starts[i] << 32 | starts[i]);
        play_run_in(scene, 4, play_mixed);
        scene_close(scene);
    }
}

/* All hold it at once: nobody leaves before everybody is in. */
static void play_together(struct actor *actor) {
    for (unsigned i = 1; i <= 50; i++) {
        CHECK(take(actor, false) == TRMA_OK);
        scene_add(actor->scene, 0, 1);
        scene_await(actor->scene, 0, (uint64_t)i * actor->size);
        give(actor, false);
    }
}

static void test_shared_together(void **state) {
    (void)state;
    play_run(8, play_together);
}

/*
 * First come first served: member 0 holds the lock while the others queue up one after the other, every third
 * one for a shared lock, so that shared ones stand behind exclusive ones and the other way round. They must
 * come in as they stand.
 */
static void play_queue(struct actor *actor) {
    struct guarded *guarded = guarded_of(actor);
    bool exclusive = actor->me % 3 != 0;

    if (actor->me == 0) {
        uint32_t first = atomic_load(&guarded->lock.next);
        CHECK(take(actor, true) == TRMA_OK);
        for (uint32_t i = 1; i < actor->size; i++) {
            scene_set(actor->scene, 0, i);
            while (atomic_load(&guarded->lock.next) != first + 1 + i) {
                sched_yield();
            }
        }
        give(actor, true);
    } else {
        scene_await(actor->scene, 0, actor->me);
        CHECK(take(actor, exclusive) == TRMA_OK);
        guarded->order[scene_add(actor->scene, 1, 1)] = actor->me;
        give(actor, exclusive);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    for (uint32_t i = 1; i < actor->size; i++) {
        CHECK(guarded->order[i] == i);
    }
    check_is_free(&guarded->lock);
}

static void test_first_come_first_served(void **state) {
    (void)state;
    for (uint32_t size = 2; size <= PLAY_MEMBERS; size++) {
        play_run(size, play_queue);
    }
}

/*
 * Bounded overtaking under load: once I have my ticket, only those in front of it come in before me.
 * `entered` counts tickets in the order of service, so it must be my ticket's number when I am in.
 */
static void play_hurry(struct actor *actor) {
    struct guarded *guarded = guarded_of(actor);
    unsigned times = play_often(1000);

    for (unsigned i = 0; i < times; i++) {
        CHECK(take(actor, true) == TRMA_OK);
        CHECK((uint32_t)atomic_load(&guarded->lock.turns) == guarded->entered);
        guarded->entered++;
        give(actor, true);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(guarded->entered == times * actor->size);
}

static void test_nobody_starves(void **state) {
    (void)state;
    play_run(8, play_hurry);
}

static void die_holding(struct actor *actor, bool exclusive) {
    if (actor->me == 1) {
        CHECK(take(actor, exclusive) == TRMA_OK);
        scene_set(actor->scene, 0, 1);
        scene_await(actor->scene, 1, actor->size - 1);
        play_die(actor);
    }
    scene_await(actor->scene, 0, 1);
    scene_add(actor->scene, 1, 1);
    play_check_death(actor, take(actor, true));
    /* Whoever asks again learns it again, and is not stuck. */
    CHECK(take(actor, false) == TRMA_ERR_PEER_DEAD);
}

static void play_dead_exclusive_holder(struct actor *actor) {
    die_holding(actor, true);
}

static void play_dead_shared_holder(struct actor *actor) {
    die_holding(actor, false);
}

static void test_dead_holder(void **state) {
    (void)state;
    play_run_with_victim(2, 1, play_dead_exclusive_holder);
    play_run_with_victim(5, 1, play_dead_exclusive_holder);
    play_run_with_victim(3, 1, play_dead_shared_holder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusive),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_mixed_without_membarrier),
        cmocka_unit_test(test_wraps_around),
        cmocka_unit_test(test_shared_together),
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_nobody_starves),
        cmocka_unit_test(test_dead_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
