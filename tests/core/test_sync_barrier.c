/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <sched.h>

#include "node/node_turn.h"
#include "sync/sync_barrier.h"

/* Everybody counts up before entering; after leaving, nobody may be found behind or more than one step ahead.
 */
static void pass_and_look(struct actor *actor, unsigned passes) {
    struct trma_waiter *waiter = &actor->team->waiter;
    uint64_t waited = 0;

    for (uint64_t pass = 1; pass <= passes; pass++) {
        scene_set(actor->scene, actor->me, pass);
        CHECK(trma_sync_barrier_pass(&actor->team->barrier, waiter, NULL, &waited) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            uint64_t other = scene_get(actor->scene, i);
            CHECK(other == pass || other == pass + 1);
        }
    }
}

/* Both kinds of barrier, whatever this machine's cores would have it be. */
static void play_stress(struct actor *actor) {
    for (int crowded = 0; crowded < 2; crowded++) {
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        uint32_t passed = actor->team->barrier.sequence;
        actor->team->barrier.crowded = crowded;
        atomic_store(&actor->team->barrier.words[actor->me]->gathered, passed * actor->size);
        scene_gather(actor, crowded ? SCENE_GATE_SECOND : SCENE_GATE_FIRST);
        pass_and_look(actor, play_often(1000));
    }
}

static void test_all_sizes(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= PLAY_MEMBERS; size++) {
        play_run(size, play_stress);
    }
}

static void test_without_membarrier(void **state) {
    (void)state;
    struct scene *scene = scene_open();
    atomic_store(&scene->plain_fences, 1);
    play_run_in(scene, 4, play_stress);
    scene_close(scene);
}

/* Plain stores before the barrier are seen by everybody behind it. */
static void play_publish(struct actor *actor) {
    uint32_t *numbers = (uint32_t *)actor->scene->area;
    unsigned passes = play_often(500);

    for (unsigned pass = 1; pass <= passes; pass++) {
        numbers[actor->me] = pass * 100 + actor->me;
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(numbers[i] == pass * 100 + i);
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    }
}

static void test_publishes_plain_stores(void **state) {
    (void)state;
    play_run(5, play_publish);
}

/* The words are compared as a circle: nothing happens where they pass 2^32. */
static void play_wrap(struct actor *actor) {
    const uint32_t start = UINT32_MAX - 20;
    struct trma_barrier *barrier = &actor->team->barrier;

    for (unsigned round = 0; round < TRMA_BARRIER_ROUNDS; round++) {
        atomic_store(&barrier->words[actor->me]->arrived[round], start);
    }
    atomic_store(&barrier->words[actor->me]->gathered, start * actor->size);
    atomic_store(&barrier->words[actor->me]->released, start);
    barrier->sequence = start;
    scene_gather(actor, SCENE_GATE_FIRST);
    pass_and_look(actor, 50);
    CHECK(barrier->sequence == start + 50);
}

static void test_wraps_around(void **state) {
    (void)state;
    play_run(2, play_wrap);
    play_run(5, play_wrap);
}

/* A member that never comes because it is dead. */
static void play_absent(struct actor *actor) {
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    if (actor->me == 1) {
        scene_await(actor->scene, 0, actor->size - 1);
        play_die(actor);
    }
    scene_add(actor->scene, 0, 1);
    enum trma_status status = trma_node_team_barrier(actor->team);
    /* Who has ended may have left this barrier: four looks find it, 200 ms apart. */
    CHECK(trma_node_clock_ns() - atomic_load(&actor->scene->killed_at) > UINT64_C(600000000));
    play_check_death(actor, status);
}

static void test_dead_member(void **state) {
    (void)state;
    play_run_with_victim(2, 1, play_absent);
    play_run_with_victim(5, 1, play_absent);
}

/* Every wait goes through here (see CMakeLists.txt). Where nobody would end it, it is counted instead. */
static bool is_counted;
static unsigned waits;
static bool took_turns; /* the last one */

enum trma_status __real_trma_node_wait(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                       trma_condition ready, void *argument, uint64_t *waited_ns);
enum trma_status __wrap_trma_node_wait(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                       trma_condition ready, void *argument, uint64_t *waited_ns);

enum trma_status __wrap_trma_node_wait(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                       trma_condition ready, void *argument, uint64_t *waited_ns) {
    if (!is_counted) {
        return __real_trma_node_wait(waiter, guard, ready, argument, waited_ns);
    }
    waits++;
    took_turns = waiter->turns != NULL;
    return TRMA_OK;
}

enum { HERE, ELSEWHERE };

/* The first of four crowded members enters its first barrier, as one whom the others release at once, or
 * never: whether it looks for a while, and has seen so, before it waits. */
struct crowd {
    int cores[3]; /* of the others */
    bool has_entered[3];
    bool is_released;
    bool has_turns;
    bool looks;
    bool sees_it;
};

static void enter_crowd(const struct crowd *crowd) {
    enum { MEMBERS = 4 };
    static struct trma_barrier_words words[MEMBERS];
    static struct trma_turn_words turn_words[MEMBERS];
    struct trma_barrier_words *words_of[MEMBERS];
    struct trma_turn_words *turn_words_of[MEMBERS];
    struct trma_turns turns = {.words = turn_words_of, .size = MEMBERS};
    struct trma_waiter waiter = {.crowded = true, .turns = crowd->has_turns ? &turns : NULL};
    struct trma_barrier barrier = {.size = MEMBERS, .crowded = true, .words = words_of};

    uint64_t waited = 0;

    memset(words, 0, sizeof words);
    memset(turn_words, 0, sizeof turn_words);
    for (int i = 0; i < MEMBERS; i++) {
        words_of[i] = &words[i];
        turn_words_of[i] = &turn_words[i];
    }
    for (int i = 1; i < MEMBERS; i++) {
        atomic_store(&turn_words[i].core, (unsigned)(sched_getcpu() + 1 + crowd->cores[i - 1]));
        atomic_store(&words[i].arrived[0], crowd->has_entered[i - 1]);
    }
    atomic_store(&words[0].released, crowd->is_released);
    waits = 0;
    is_counted = true;
    assert_int_equal(trma_sync_barrier_pass(&barrier, &waiter, NULL, &waited), TRMA_OK);
    is_counted = false;
    assert_int_equal(waits, !crowd->sees_it);
    assert_int_equal(waited > 0, crowd->looks); /* the wait that is counted instead takes no time */
    assert_false(took_turns);                   /* the last one releases all at once */
    assert_int_equal(atomic_load(&words[0].gathered), 1);
    assert_int_equal(atomic_load(&words[0].arrived[0]), 1); /* as the others will look at it */
}

/* Who enters as the last one of its core looks for a while before it yields, unless it shares it with more
 * than one. */
static void test_last_of_core(void **state) {
    (void)state;
    static const struct crowd crowds[] = {
        {{ELSEWHERE, ELSEWHERE, HERE}, {false, false, true}, true, true, true, true},
        {{HERE, ELSEWHERE, ELSEWHERE}, {true, false, false}, true, true, true, true},
        {{ELSEWHERE, ELSEWHERE, ELSEWHERE}, {false, false, false}, true, true, true, true},
        {{ELSEWHERE, ELSEWHERE, HERE}, {true, true, false}, true, true, false, false},
        {{HERE, HERE, ELSEWHERE}, {true, true, true}, true, true, false, false},
        {{ELSEWHERE, ELSEWHERE, HERE}, {false, false, true}, true, false, false, false},
        {{ELSEWHERE, ELSEWHERE, HERE}, {false, false, true}, false, true, true, false},
    };
    cpu_set_t before;
    cpu_set_t one;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++) {
        enter_crowd(&crowds[i]);
    }
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_without_membarrier),
        cmocka_unit_test(test_publishes_plain_stores),
        cmocka_unit_test(test_wraps_around),
        cmocka_unit_test(test_dead_member),
        cmocka_unit_test(test_last_of_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
