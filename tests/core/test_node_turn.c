/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "node/node_turn.h"
#include "node/node_wait.h"

/*
 * Members are threads here, each with its own view of the turns, all bound to one core. A sleep's bound is so
 * long that one which lasts it can only be one that nobody ended.
 */
#define BOUND_NS UINT64_C(20000000000)

enum { MEMBERS = 4 };

static struct trma_doorbell bells[MEMBERS];
static struct trma_turn_words words[MEMBERS];
static struct trma_doorbell *bells_of[MEMBERS];
static struct trma_turn_words *words_of[MEMBERS];
static struct trma_turns turns[MEMBERS];

/* What the sleeper of a test waits for, and how its sleep ended. */
static atomic_uint missing;
static atomic_int ended;
enum { SLEEPS = -1 };
static _Atomic pid_t sleeper; /* its thread */

static uint32_t count_missing(void *argument) {
    (void)argument;
    return atomic_load(&missing);
}

static int set_up(void **state) {
    (void)state;
    memset(bells, 0, sizeof bells);
    memset(words, 0, sizeof words);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        bells_of[i] = &bells[i];
        words_of[i] = &words[i];
        turns[i] = (struct trma_turns){.bells = bells_of, .words = words_of, .size = MEMBERS, .me = i};
        trma_node_turn_tell(&turns[i]);
    }
    atomic_store(&missing, 1);
    atomic_store(&ended, SLEEPS);
    return 0;
}

static void *sleep_as_one(void *argument) {
    struct trma_turns *mine = argument;

    atomic_store(&sleeper, gettid());
    trma_node_turn_begin(mine);
    const enum trma_turn_sleep how = trma_node_turn_sleep(mine, count_missing, NULL, BOUND_NS);
    trma_node_turn_end(mine);
    atomic_store(&ended, (int)how);
    return NULL;
}

/* True when the kernel has put the thread to sleep. */
static bool has_gone_to_sleep(pid_t thread) {
    char path[64];
    char state = '?';

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *stat = fopen(path, "r");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
    assert_int_equal(fclose(stat), 0);
    return state == 'S';
}

/* Member 1 sleeps when this returns: before, a ring would keep it from doing so. */
static pthread_t let_one_sleep(void *(*how)(void *)) {
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, how, &turns[1]), 0);
    while (atomic_load(&bells[1].lying) == TRMA_LYING_NOT || !has_gone_to_sleep(atomic_load(&sleeper))) {
        sched_yield();
    }
    return thread;
}

/* The thread can do nothing but end: it has been woken, or will be by nobody. */
static void expect_end(pthread_t thread, enum trma_turn_sleep how) {
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&ended), how);
    assert_int_equal(atomic_load(&bells[1].sleepers), 0);
    assert_int_equal(
        atomic_load(&bells[1].asleep) % 2 + atomic_load(&bells[1].lying) + atomic_load(&words[1].attends), 0);
}

static void ring_for_one(void) {
    trma_node_doorbell_notify(&bells[1], true);
}

static bool is_asleep(void) {
    return trma_node_doorbell_is_asleep(&bells[1]) && atomic_load(&ended) == SLEEPS;
}

/* Who attends keeps: a ring does not wake, but the look for the next one does, once. */
static void kept_until_its_turn(void **state) {
    (void)state;
    trma_node_turn_begin(&turns[0]);
    pthread_t thread = let_one_sleep(sleep_as_one);
    assert_false(trma_node_turn_wake_next(&turns[0])); /* nobody has rung */
    ring_for_one();
    assert_true(is_asleep());
    assert_int_equal(atomic_load(&bells[1].lying), TRMA_LYING_KEPT);
    assert_true(trma_node_turn_wake_next(&turns[0]));
    assert_false(trma_node_turn_wake_next(&turns[0]));
    expect_end(thread, TRMA_TURN_RUNG);
    trma_node_turn_end(&turns[0]);
}

/* Who lay down before is kept by who begins to attend. */
static void kept_by_who_comes(void **state) {
    (void)state;
    pthread_t thread = let_one_sleep(sleep_as_one);
    assert_int_equal(atomic_load(&bells[1].lying), TRMA_LYING_FREE);
    trma_node_turn_begin(&turns[0]);
    assert_int_equal(atomic_load(&bells[1].lying), TRMA_LYING_KEPT);
    ring_for_one();
    assert_true(is_asleep());
    assert_true(trma_node_turn_wake_next(&turns[0]));
    expect_end(thread, TRMA_TURN_RUNG);
    trma_node_turn_end(&turns[0]);
}

/* Who ceases to attend lets go: one that was rung for wakes, one that was not wakes when it is. */
static void let_go_at_the_end(void **state) {
    for (int rings_first = 0; rings_first < 2; rings_first++) {
        for (int by_pause = 0; by_pause < 2; by_pause++) {
            set_up(state);
            trma_node_turn_begin(&turns[0]);
            trma_node_turn_begin(&turns[0]); /* one within another: the outer one goes on attending */
            pthread_t thread = let_one_sleep(sleep_as_one);
            if (rings_first) {
                ring_for_one();
            }
            trma_node_turn_end(&turns[0]);
            assert_true(is_asleep() && atomic_load(&words[0].attends));
            if (by_pause) {
                trma_node_turn_pause(&turns[0]);
                assert_false(atomic_load(&words[0].attends));
            } else {
                trma_node_turn_end(&turns[0]);
            }
            if (!rings_first) {
                assert_true(is_asleep());
                ring_for_one();
            }
            expect_end(thread, TRMA_TURN_RUNG);
            if (by_pause) {
                trma_node_turn_end(&turns[0]);
            }
        }
    }
}

/* Another one that attends goes on keeping, unless it is elsewhere by now. */
static void handed_on(void **state) {
    for (int is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++) {
        set_up(state);
        trma_node_turn_begin(&turns[2]);
        trma_node_turn_begin(&turns[0]);
        pthread_t thread = let_one_sleep(sleep_as_one);
        ring_for_one();
        if (is_elsewhere) {
            atomic_fetch_add(&words[2].core, 1);
        }
        trma_node_turn_end(&turns[0]);
        if (!is_elsewhere) {
            assert_true(is_asleep());
            assert_true(trma_node_turn_wake_next(&turns[2]));
        }
        expect_end(thread, TRMA_TURN_RUNG);
        trma_node_turn_end(&turns[2]);
    }
}

/* Nobody keeps where none attends on that core: who rings wakes. */
static void not_kept(void **state) {
    for (int is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++) {
        set_up(state);
        if (is_elsewhere) {
            trma_node_turn_begin(&turns[0]);
            atomic_fetch_add(&words[0].core, 1);
        }
        pthread_t thread = let_one_sleep(sleep_as_one);
        ring_for_one();
        expect_end(thread, TRMA_TURN_RUNG);
    }
}

/* One that comes to the core of who has been attending counts on it, which finds it when it is to sleep, or
 * ceases to attend. */
static void kept_where_it_comes(void **state) {
    for (int ends = 0; ends < 2; ends++) {
        set_up(state);
        atomic_fetch_add(&words[1].core, 1); /* where it was before */
        trma_node_turn_begin(&turns[0]);
        pthread_t thread = let_one_sleep(sleep_as_one);
        ring_for_one();
        assert_true(is_asleep());
        assert_false(trma_node_turn_wake_next(&turns[0]));
        if (ends) {
            trma_node_turn_end(&turns[0]);
        } else {
            atomic_store(&missing, 0);
            assert_int_equal(trma_node_turn_sleep(&turns[0], count_missing, NULL, BOUND_NS), TRMA_TURN_RUNG);
            assert_true(trma_node_turn_wake_next(&turns[0]));
        }
        expect_end(thread, TRMA_TURN_RUNG);
    }
}

/* One that wants several rings sleeps until the last one, kept or not. */
static void woken_by_the_last(void **state) {
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        set_up(state);
        atomic_store(&missing, 3);
        if (is_kept) {
            trma_node_turn_begin(&turns[0]);
        }
        pthread_t thread = let_one_sleep(sleep_as_one);
        for (int i = 0; i < 2; i++) {
            ring_for_one();
            assert_true(is_asleep());
            assert_false(is_kept && trma_node_turn_wake_next(&turns[0]));
        }
        ring_for_one();
        if (is_kept) {
            assert_true(is_asleep());
            assert_true(trma_node_turn_wake_next(&turns[0]));
            trma_node_turn_end(&turns[0]);
        }
        expect_end(thread, TRMA_TURN_RUNG);
    }
}

/* The last one that is awake stays so; who has nothing to wait for does not sleep. */
static void last_one_stays(void **state) {
    (void)state;
    for (uint32_t i = 1; i < MEMBERS; i++) {
        trma_node_doorbell_set_asleep(&bells[i], true);
    }
    trma_node_turn_begin(&turns[0]);
    assert_int_equal(trma_node_turn_sleep(&turns[0], count_missing, NULL, BOUND_NS), TRMA_TURN_STAYED);
    trma_node_doorbell_set_asleep(&bells[2], false);
    atomic_store(&missing, 0);
    assert_int_equal(trma_node_turn_sleep(&turns[0], count_missing, NULL, BOUND_NS), TRMA_TURN_RUNG);
    trma_node_turn_end(&turns[0]);
    assert_int_equal(atomic_load(&bells[0].sleepers) + atomic_load(&bells[0].asleep) % 2, 0);
}

static void sleeps_for_so_long_at_most(void **state) {
    (void)state;
    trma_node_turn_begin(&turns[0]);
    assert_int_equal(trma_node_turn_sleep(&turns[0], count_missing, NULL, 1000000), TRMA_TURN_QUIET);
    trma_node_turn_end(&turns[0]);
}

/* Who lies down while it is the last one to attend lets all others go. */
static void lying_down_lets_go(void **state) {
    (void)state;
    trma_node_turn_begin(&turns[0]);
    pthread_t thread = let_one_sleep(sleep_as_one);
    ring_for_one();
    assert_true(is_asleep());
    /* Members 2 and 3 are awake, and do not attend. */
    assert_int_equal(trma_node_turn_sleep(&turns[0], count_missing, NULL, 1000000), TRMA_TURN_QUIET);
    expect_end(thread, TRMA_TURN_RUNG);
    trma_node_turn_end(&turns[0]);
}

/* One that is kept is handed the core without a ring; one that is not, or elsewhere, is left alone. */
static void handed_the_core(void **state) {
    (void)state;
    pthread_t thread = let_one_sleep(sleep_as_one);
    assert_false(trma_node_turn_hand_to(&turns[0], 1));
    trma_node_turn_begin(&turns[0]);
    atomic_fetch_add(&words[0].core, 1);
    assert_false(trma_node_turn_hand_to(&turns[0], 1));
    atomic_fetch_sub(&words[0].core, 1);
    assert_true(is_asleep());
    assert_true(trma_node_turn_hand_to(&turns[0], 1));
    assert_false(trma_node_turn_hand_to(&turns[0], 1));
    expect_end(thread, TRMA_TURN_RUNG);
    trma_node_turn_end(&turns[0]);
}

static bool has_ended(void *argument) {
    (void)argument;
    return atomic_load(&ended) != SLEEPS;
}

static uint32_t first_member(void *argument) {
    (void)argument;
    return 1;
}

static void *sleep_and_ring(void *argument) {
    (void)sleep_as_one(argument);
    trma_node_doorbell_notify(&bells[0], true);
    return NULL;
}

/* The last one awake, who waits for one that it keeps, leaves it to that one to look: nobody rings for it. */
static void waits_for_one_it_keeps(void **state) {
    const struct trma_waiter waiter = {
        .bell = &bells[0], .rings_fence = true, .crowded = true, .turns = &turns[0]};
    const struct trma_awaited awaited = {.ready = has_ended, .whom = first_member};

    (void)state;
    trma_node_doorbell_set_asleep(&bells[2], true);
    trma_node_doorbell_set_asleep(&bells[3], true);
    trma_node_turn_begin(&turns[0]);
    pthread_t thread = let_one_sleep(sleep_and_ring);
    assert_int_equal(trma_node_wait_for(&waiter, NULL, &awaited, NULL), TRMA_OK);
    expect_end(thread, TRMA_TURN_RUNG);
    trma_node_turn_end(&turns[0]);
}

/* Yields are given up when they have come to nothing so often, but for a trial now and then, and taken up
 * again when one has shown that they do. */
static void yields_as_far_as_they_help(void **state) {
    struct trma_turns *mine = &turns[0];
    unsigned trials = 0;

    (void)state;
    trma_node_turn_begin(mine); /* four share the core */
    for (int i = 0; i < TRMA_TURN_VAIN; i++) {
        assert_int_equal(trma_node_turn_patience(mine), TRMA_TURN_YIELDS);
        trma_node_turn_learn(mine, 0, false); /* these do not count, */
        trma_node_turn_learn(mine, 0, true);
        trma_node_turn_learn(mine, 9, true); /* nor does what took longer than two turns of each */
        trma_node_turn_learn(mine, TRMA_TURN_YIELDS, false);
    }
    for (int i = 0; i < 2 * TRMA_TURN_TRIAL; i++) {
        const unsigned patience = trma_node_turn_patience(mine);
        assert_true(patience == 1 || patience == TRMA_TURN_YIELDS);
        trials += patience == TRMA_TURN_YIELDS;
        trma_node_turn_learn(mine, patience, patience == 1); /* one would have done without any */
    }
    assert_int_equal(trials, 2);
    trma_node_turn_learn(mine, 8, true);
    for (int i = 0; i < TRMA_TURN_VAIN - 1; i++) {
        trma_node_turn_learn(mine, TRMA_TURN_YIELDS, false);
        assert_int_equal(trma_node_turn_patience(mine), TRMA_TURN_YIELDS);
    }
    trma_node_turn_learn(mine, 1, true);
    trma_node_turn_learn(mine, TRMA_TURN_YIELDS, false);
    assert_int_equal(trma_node_turn_patience(mine), TRMA_TURN_YIELDS);
    trma_node_turn_end(mine);
}

/* Sleeps of the stress below, by any way: none may last that long. */
static atomic_uint sleeps;
bool __real_trma_node_doorbell_lie_down(struct trma_doorbell *bell, unsigned rings, uint64_t timeout_ns);
bool __wrap_trma_node_doorbell_lie_down(struct trma_doorbell *bell, unsigned rings, uint64_t timeout_ns);
bool __real_trma_node_doorbell_sleep(struct trma_doorbell *bell, bool needs_fence, trma_condition ready,
                                     void *argument, uint64_t bound_ns);
bool __wrap_trma_node_doorbell_sleep(struct trma_doorbell *bell, bool needs_fence, trma_condition ready,
                                     void *argument, uint64_t bound_ns);
static atomic_bool is_bounded_longer;

bool __wrap_trma_node_doorbell_lie_down(struct trma_doorbell *bell, unsigned rings, uint64_t timeout_ns) {
    const bool has_ended = __real_trma_node_doorbell_lie_down(
        bell, rings, atomic_load(&is_bounded_longer) ? BOUND_NS : timeout_ns);

    atomic_fetch_add(&sleeps, 1);
    CHECK(has_ended || !atomic_load(&is_bounded_longer));
    return has_ended;
}

bool __wrap_trma_node_doorbell_sleep(struct trma_doorbell *bell, bool needs_fence, trma_condition ready,
                                     void *argument, uint64_t bound_ns) {
    const uint64_t start = trma_node_clock_ns();
    const bool has_rung = __real_trma_node_doorbell_sleep(
        bell, needs_fence, ready, argument, atomic_load(&is_bounded_longer) ? BOUND_NS : bound_ns);

    CHECK(trma_node_clock_ns() - start < BOUND_NS);
    return has_rung;
}

/* Rounds: everybody waits until all others have told it so, and tells all others; now and then one does
 * something else meanwhile. */
static _Atomic uint32_t told[MEMBERS][MEMBERS];

struct round {
    uint32_t me;
    uint32_t number;
};

static uint32_t count_untold(void *argument) {
    const struct round *round = argument;
    uint32_t n = 0;

    for (uint32_t i = 0; i < MEMBERS; i++) {
        n +=
            i != round->me && atomic_load_explicit(&told[round->me][i], memory_order_acquire) < round->number;
    }
    return n;
}

static bool have_all_told(void *argument) {
    return count_untold(argument) == 0;
}

static uint32_t first_untold(void *argument) {
    const struct round *round = argument;
    uint32_t i = 0;

    while (i + 1 < MEMBERS &&
           (i == round->me ||
            atomic_load_explicit(&told[round->me][i], memory_order_acquire) >= round->number)) {
        i++;
    }
    return i;
}

static void tell_all(const struct round *round) {
    for (uint32_t i = 0; i < MEMBERS; i++) {
        if (i != round->me) {
            atomic_store_explicit(&told[i][round->me], round->number, memory_order_release);
            trma_node_doorbell_notify(&bells[i], true);
        }
    }
}

/* As a wait does, but without yields; every fifth time it sleeps otherwise, and every seventh time it hands
 * the core to somebody first. */
static void await_round(struct trma_turns *mine, struct round *round) {
    struct trma_doorbell *bell = mine->bells[mine->me];
    static _Thread_local unsigned times;
    unsigned begun = 1;

    trma_node_turn_begin(mine);
    while (!have_all_told(round)) {
        (void)trma_node_turn_wake_next(mine);
        if (++times % 5 == 0) {
            trma_node_turn_pause(mine);
            (void)trma_node_doorbell_sleep(bell, true, have_all_told, round, BOUND_NS);
            trma_node_turn_begin(mine);
            begun++;
        } else if (times % 7 == 0 && trma_node_turn_hand_to(mine, first_untold(round))) {
            continue;
        } else if (trma_node_turn_sleep(mine, count_untold, round, BOUND_NS) == TRMA_TURN_STAYED) {
            sched_yield();
        }
    }
    while (begun--) {
        trma_node_turn_end(mine);
    }
}

static void *play_rounds(void *argument) {
    struct trma_turns *mine = argument;
    const unsigned rounds = play_often(20000);

    for (struct round round = {mine->me, 1}; round.number <= rounds; round.number++) {
        tell_all(&round);
        if ((round.number + mine->me) % 16 == 0) {
            sched_yield();
        }
        await_round(mine, &round);
    }
    return NULL;
}

/* The same in waits as they are, which yield first. */
static void *wait_in_rounds(void *argument) {
    struct trma_turns *mine = argument;
    const struct trma_waiter waiter = {
        .bell = mine->bells[mine->me], .rings_fence = true, .crowded = true, .turns = mine};
    const unsigned rounds = play_often(20000);

    for (struct round round = {mine->me, 1}; round.number <= rounds; round.number++) {
        const struct trma_awaited awaited = {.ready = have_all_told,
                                             .argument = &round,
                                             .missing = count_untold,
                                             .whom = round.number % 2 ? first_untold : NULL};
        tell_all(&round);
        CHECK(trma_node_wait_for(&waiter, NULL, &awaited, NULL) == TRMA_OK);
    }
    return NULL;
}

static void play_out(void *(*part)(void *)) {
    pthread_t threads[MEMBERS];

    memset(told, 0, sizeof told);
    atomic_store(&sleeps, 0);
    atomic_store(&is_bounded_longer, true);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, part, &turns[i]), 0);
    }
    for (uint32_t i = 0; i < MEMBERS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&is_bounded_longer, false);
}

static void nobody_is_forgotten(void **state) {
    (void)state;
    play_out(play_rounds);
    print_message("%u sleeps\n", atomic_load(&sleeps));
    assert_true(atomic_load(&sleeps) > 0);
    play_out(wait_in_rounds);
}

/* The same on all cores that there are, between which members move: what they tell is often wrong. */
static void nobody_is_forgotten_who_moves(void **state) {
    cpu_set_t one;
    cpu_set_t all;

    assert_int_equal(sched_getaffinity(0, sizeof one, &one), 0);
    memset(&all, 0xff, sizeof all);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    nobody_is_forgotten(state);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kept_until_its_turn, set_up),
        cmocka_unit_test_setup(kept_by_who_comes, set_up),
        cmocka_unit_test(let_go_at_the_end),
        cmocka_unit_test(handed_on),
        cmocka_unit_test(not_kept),
        cmocka_unit_test(kept_where_it_comes),
        cmocka_unit_test(woken_by_the_last),
        cmocka_unit_test_setup(last_one_stays, set_up),
        cmocka_unit_test_setup(sleeps_for_so_long_at_most, set_up),
        cmocka_unit_test_setup(lying_down_lets_go, set_up),
        cmocka_unit_test_setup(handed_the_core, set_up),
        cmocka_unit_test_setup(waits_for_one_it_keeps, set_up),
        cmocka_unit_test_setup(yields_as_far_as_they_help, set_up),
        cmocka_unit_test_setup(nobody_is_forgotten, set_up),
        cmocka_unit_test_setup(nobody_is_forgotten_who_moves, set_up),
    };
    cpu_set_t cpus;

    /* Threads inherit it. */
    CPU_ZERO(&cpus);
    CPU_SET((unsigned)sched_getcpu(), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
