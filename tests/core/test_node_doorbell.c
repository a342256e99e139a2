/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "node/node_doorbell.h"

/*
 * One member throws balls, the other sleeps until each comes. The bound of a sleep is so long that a sleep
 * which lasts it can only be one that nobody woke.
 */
#define BOUND_NS UINT64_C(20000000000)

struct court {
    struct trma_doorbell bells[2];
    _Alignas(64) atomic_uint words[2];
    _Alignas(64) atomic_uint sleeps[2];
};

struct ball {
    atomic_uint *word;
    unsigned wanted;
};

static bool has_come(void *argument) {
    const struct ball *ball = argument;

    return atomic_load_explicit(ball->word, memory_order_acquire) >= ball->wanted;
}

static void catch_ball(struct court *court, uint32_t me, unsigned round, bool needs_fence) {
    struct ball ball = {&court->words[me], round};

    while (!has_come(&ball)) {
        uint64_t start = trma_node_clock_ns();
        trma_node_doorbell_sleep(&court->bells[me], needs_fence, has_come, &ball, BOUND_NS);
        CHECK(trma_node_clock_ns() - start < BOUND_NS);
        atomic_fetch_add_explicit(&court->sleeps[me], 1, memory_order_relaxed);
    }
}

static void throw_ball(struct court *court, uint32_t to, unsigned round, bool needs_fence) {
    atomic_store_explicit(&court->words[to], round, memory_order_release);
    trma_node_doorbell_notify(&court->bells[to], needs_fence);
}

/* The answers come at varying distances, in steps of nanoseconds, from the other's falling asleep. */
static void play_ball(struct actor *actor) {
    struct court *court = (struct court *)actor->scene->area;
    bool needs_fence = actor->team->waiter.needs_fence;
    unsigned rounds = play_often(200000);
    unsigned random = 12345;

    for (unsigned round = 1; round <= rounds; round++) {
        if (actor->me == 1) {
            catch_ball(court, 1, round, needs_fence);
            atomic_store_explicit(&court->words[0], round, memory_order_release);
        } else {
            random = random * 1103515245U + 12345U;
            for (unsigned i = random >> 16 & 1023U; i > 0; i--) {
                atomic_signal_fence(memory_order_seq_cst);
            }
            throw_ball(court, 1, round, needs_fence);
            /* Who throws is awake when the other falls asleep again. */
            for (unsigned looks = 0; atomic_load_explicit(&court->words[0], memory_order_acquire) < round;
                 looks++) {
                if (looks > 1000) {
                    sched_yield();
                }
            }
        }
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(atomic_load(&court->bells[1].sleepers) == 0);
    /* Sleepers were woken, and nobody rings where nobody sleeps. */
    CHECK(atomic_load(&court->bells[1].rings) > 0 && atomic_load(&court->bells[1].rings) <= rounds);
    CHECK(atomic_load(&court->bells[0].rings) == 0);
    CHECK(actor->me == 0 || atomic_load(&court->sleeps[1]) > 0);
}

static void test_with_membarrier(void **state) {
    (void)state;
    if (!trma_node_doorbell_register()) {
        skip();
    }
    play_run(2, play_ball);
}

static void test_with_fences(void **state) {
    (void)state;
    struct scene *scene = scene_open();
    atomic_store(&scene->plain_fences, 1);
    play_run_in(scene, 2, play_ball);
    scene_close(scene);
}

/* One ring wakes everybody who sleeps at the bell, be it by a nap: who rings has seen that they are there. */
static void play_crowd(struct actor *actor) {
    struct court *court = (struct court *)actor->scene->area;
    bool needs_fence = actor->team->waiter.needs_fence;

    for (unsigned round = 1; round <= 100; round++) {
        if (actor->me == 0) {
            while (atomic_load(&court->bells[0].sleepers) < actor->size - 1) {
                sched_yield();
            }
            throw_ball(court, 0, round, needs_fence);
        } else if (actor->me % 2 == 0) {
            catch_ball(court, 0, round, needs_fence);
        } else {
            struct ball ball = {&court->words[0], round};
            uint64_t start = trma_node_clock_ns();
            trma_node_doorbell_nap(&court->bells[0], has_come, &ball, BOUND_NS);
            CHECK(trma_node_clock_ns() - start < BOUND_NS);
            CHECK(has_come(&ball));
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    }
}

static void test_wakes_all(void **state) {
    (void)state;
    play_run(6, play_crowd);
}

static bool never(void *argument) {
    (void)argument;
    return false;
}

static bool always(void *argument) {
    (void)argument;
    return true;
}

static void test_bound_and_look(void **state) {
    (void)state;
    struct trma_doorbell bell = {0};
    uint64_t start = trma_node_clock_ns();
    trma_node_doorbell_sleep(&bell, true, never, NULL, 5000000);
    assert_true(trma_node_clock_ns() - start >= 5000000);

    start = trma_node_clock_ns();
    assert_false(trma_node_doorbell_nap(&bell, never, NULL, 5000000));
    assert_true(trma_node_clock_ns() - start >= 5000000);

    /* What is true already is not slept for. */
    start = trma_node_clock_ns();
    trma_node_doorbell_sleep(&bell, true, always, NULL, BOUND_NS);
    trma_node_doorbell_nap(&bell, always, NULL, BOUND_NS);
    assert_true(trma_node_clock_ns() - start < BOUND_NS);
    assert_int_equal(atomic_load(&bell.sleepers), 0);
    assert_int_equal(atomic_load(&bell.rings), 0);

    /* A notification that nobody sleeps for rings nothing. */
    trma_node_doorbell_notify(&bell, true);
    trma_node_doorbell_notify(&bell, false);
    assert_int_equal(atomic_load(&bell.rings), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_membarrier),
        cmocka_unit_test(test_with_fences),
        cmocka_unit_test(test_wakes_all),
        cmocka_unit_test(test_bound_and_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
