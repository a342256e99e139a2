/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>
#include <sched.h>

#include "node/node_help.h"
#include "node/node_peer.h"
#include "node/node_wait.h"

/* Where cores are few: who waits, and is the only one of its core who is awake, copies parts of what others
 * put. Waiter and origin are threads here. */

enum { WAITER, NEIGHBOUR, MEMBERS };
enum { SIZE = 1 << 20 };

static struct trma_doorbell bells[MEMBERS];
static struct trma_turn_words turn_words[MEMBERS];
static struct trma_doorbell *bells_of[] = {&bells[WAITER], &bells[NEIGHBOUR]};
static struct trma_turn_words *turn_words_of[] = {&turn_words[WAITER], &turn_words[NEIGHBOUR]};
static struct trma_help_words words;
static struct trma_help_trays trays;
static char there[SIZE];
static char here[SIZE];
static atomic_bool is_true;
static atomic_uint pokes;

static bool has_come_true(void *argument) {
    (void)argument;
    return atomic_load_explicit(&is_true, memory_order_acquire);
}

static void count_poke(void) {
    atomic_fetch_add(&pokes, 1);
}

static bool copy_here(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    (void)peer;
    memcpy(is_to_peer ? (void *)place : own, is_to_peer ? own : (void *)place, size);
    return true;
}

struct waiting {
    uint32_t members;
    trma_help_copy *copy;
};

/* What a waiter says can only be seen from another core. */
static void skip_on_one_core(void) {
    cpu_set_t cpus;

    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    if (CPU_COUNT(&cpus) < 2) {
        skip();
    }
}

/* The calling thread stays where it is, and the neighbour, who is awake, is there too. */
static void stay_with_neighbour(void) {
    struct trma_turns neighbour = {
        .bells = bells_of, .words = turn_words_of, .size = MEMBERS, .me = NEIGHBOUR};
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET((unsigned)sched_getcpu(), &cpus);
    CHECK(sched_setaffinity(0, sizeof cpus, &cpus) == 0);
    trma_node_turn_tell(&neighbour);
}

/* A waiter as a team makes it for few cores. */
static void *wait_for_truth(void *argument) {
    const struct waiting *waiting = argument;
    struct trma_peer *peers[] = {NULL, NULL};
    struct trma_help help = {.words = &words,
                             .trays = &trays,
                             .copy = waiting->copy,
                             .peers = peers,
                             .is_crowded = true,
                             .n_slots = 1};
    struct trma_turns turns = {
        .bells = bells_of, .words = turn_words_of, .size = waiting->members, .me = WAITER};
    const struct trma_waiter waiter = {.bell = &bells[WAITER],
                                       .rings_fence = true,
                                       .crowded = true,
                                       .turns = &turns,
                                       .progress = count_poke,
                                       .help = &help};

    stay_with_neighbour();
    CHECK(trma_node_wait(&waiter, NULL, has_come_true, NULL, NULL) == TRMA_OK);
    return NULL;
}

static void come_true(void) {
    atomic_store_explicit(&is_true, true, memory_order_release);
    trma_node_doorbell_notify(&bells[WAITER], true);
}

static void set_all_up(void) {
    memset(bells, 0, sizeof bells);
    memset(turn_words, 0, sizeof turn_words);
    memset(there, 0, sizeof there);
    memset(here, 'h', sizeof here);
    atomic_store(&is_true, false);
    atomic_store(&pokes, 0);
}

/* A put of which the origin leaves all blocks to the target; gives how many that has copied. */
static uint32_t put_by_the_waiter(struct trma_help *own) {
    const struct trma_joint *joint = &words.slots[0].joint;
    const struct trma_peer waiter = {.is_self = true};
    struct trma_joint_ask ask = {.words = &words, .peer = &waiter};
    struct trma_joint_block rest;

    memset(there, 0, sizeof there);
    /* It lies down after a while: who is rung for looks again. */
    while (!trma_node_joint_begin(&ask, own, (uintptr_t)here, (uintptr_t)there, SIZE, true)) {
        trma_node_doorbell_notify(&bells[WAITER], true);
        sched_yield();
    }
    while (atomic_load(&words.is_attending) && atomic_load(&joint->taken) < joint->n_blocks) {
        sched_yield();
    }
    const uint32_t done = trma_node_joint_end(&ask, own, &rest);
    memcpy(there + rest.offset, here + rest.offset, rest.size);
    CHECK(memcmp(there, here, sizeof there) == 0);
    return done;
}

static void test_helps(void **state) {
    (void)state;
    struct waiting waiting = {.members = 1, .copy = copy_here};
    struct trma_help own = {.n_slots = 1, .is_crowded = true, .copy = copy_here};
    pthread_t thread;
    uint64_t helped = 0;

    skip_on_one_core();
    set_all_up();
    assert_int_equal(pthread_create(&thread, NULL, wait_for_truth, &waiting), 0);
    for (unsigned round = 0; round < play_often(100) || helped == 0; round++) {
        helped += put_by_the_waiter(&own);
    }
    come_true();
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&words.is_attending), 0);
    assert_true(atomic_load(&pokes) > 0);
}

/* Not one that does no joint copies, nor one whose core another one may need: that one lies down, and nobody
 * asks it. */
static void test_does_not_help(void **state) {
    (void)state;
    struct waiting waitings[] = {{.members = 1}, {.members = MEMBERS, .copy = copy_here}};
    struct trma_help own = {.n_slots = 1, .is_crowded = true, .copy = copy_here};
    struct trma_joint_ask ask = {.words = &words};

    skip_on_one_core();
    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        set_all_up();
        assert_int_equal(pthread_create(&thread, NULL, wait_for_truth, &waitings[i]), 0);
        while (atomic_load(&pokes) < 20) {
            assert_false(trma_node_joint_may_come(&own, &words));
            assert_false(trma_node_joint_begin(&ask, &own, (uintptr_t)here, (uintptr_t)there, SIZE, true));
            trma_node_doorbell_notify(&bells[WAITER], true);
        }
        come_true();
        pthread_join(thread, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_helps), cmocka_unit_test(test_does_not_help)};

    alarm(PLAY_LIMIT_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
