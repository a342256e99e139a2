/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>

#include "node/node_wait.h"

/* A word that comes true when somebody says so, and what the waiter's callbacks saw. */
static atomic_bool is_true;
static atomic_uint pokes;
static atomic_uint looks;

static bool has_come_true(void *argument) {
    (void)argument;
    return atomic_load_explicit(&is_true, memory_order_acquire);
}

static void count_poke(void) {
    atomic_fetch_add(&pokes, 1);
}

/* The waiting is long enough when progress has been called often: then the word comes true. */
static void come_true_after_pokes(void) {
    if (atomic_fetch_add(&pokes, 1) + 1 == 20) {
        atomic_store(&is_true, true);
    }
}

static bool everybody_lives(const void *team) {
    (void)team;
    atomic_fetch_add(&looks, 1);
    return true;
}

static bool nobody_lives(const void *team) {
    (void)team;
    atomic_fetch_add(&looks, 1);
    return false;
}

/* Somebody ends, having done its part: between the waiter's last look at the word and its look at the living.
 */
static bool ends_after_its_part(const void *team) {
    (void)team;
    atomic_store(&is_true, true);
    return false;
}

static void reset(void) {
    atomic_store(&is_true, false);
    atomic_store(&pokes, 0);
    atomic_store(&looks, 0);
}

static struct trma_doorbell bell;

static struct trma_waiter waiter_of(bool crowded, uint32_t spin_us) {
    return (struct trma_waiter){.bell = &bell, .rings_fence = true, .crowded = crowded, .spin_us = spin_us};
}

static void test_true_already(void **state) {
    (void)state;
    struct trma_waiter waiter = waiter_of(true, 20);
    pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    uint64_t waited = 7;

    reset();
    atomic_store(&is_true, true);
    waiter.progress = count_poke;
    pthread_mutex_lock(&guard);
    assert_int_equal(trma_node_wait(&waiter, &guard, has_come_true, NULL, &waited), TRMA_OK);
    pthread_mutex_unlock(&guard);
    assert_int_equal(waited, 7);
    assert_int_equal(atomic_load(&pokes), 0);
}

/* The host's progress is called in every phase, and the time is booked on top of what was there. */
static void test_pokes_progress(void **state) {
    (void)state;
    static const uint32_t spins[] = {0, 20, 1000000};
    for (int crowded = 0; crowded < 2; crowded++) {
        for (size_t i = 0; i < sizeof spins / sizeof spins[0]; i++) {
            struct trma_waiter waiter = waiter_of(crowded, spins[i]);
            uint64_t waited = 1000;
            uint64_t start = trma_node_clock_ns();
            reset();
            waiter.progress = come_true_after_pokes;
            assert_int_equal(trma_node_wait(&waiter, NULL, has_come_true, NULL, &waited), TRMA_OK);
            assert_int_equal(atomic_load(&pokes), 20);
            assert_true(waited > 1000 && waited - 1000 <= trma_node_clock_ns() - start);
        }
    }
}

struct holder {
    pthread_mutex_t guard;
};

static void *come_true_under_guard(void *argument) {
    struct holder *holder = argument;

    pthread_mutex_lock(&holder->guard);
    atomic_store_explicit(&is_true, true, memory_order_release);
    trma_node_doorbell_notify(&bell, true);
    pthread_mutex_unlock(&holder->guard);
    return NULL;
}

static void *try_guard(void *argument) {
    struct holder *holder = argument;

    return pthread_mutex_trylock(&holder->guard) == 0 ? holder : NULL;
}

/* Another thread can have the guard while we wait, and we have it again afterwards. */
static void test_releases_guard(void **state) {
    (void)state;
    for (int crowded = 0; crowded < 2; crowded++) {
        struct holder holder = {PTHREAD_MUTEX_INITIALIZER};
        struct trma_waiter waiter = waiter_of(crowded, 20);
        pthread_t thread;
        void *got = NULL;

        reset();
        pthread_mutex_lock(&holder.guard);
        assert_int_equal(pthread_create(&thread, NULL, come_true_under_guard, &holder), 0);
        assert_int_equal(trma_node_wait(&waiter, &holder.guard, has_come_true, NULL, NULL), TRMA_OK);
        pthread_join(thread, NULL);
        assert_int_equal(pthread_create(&thread, NULL, try_guard, &holder), 0);
        pthread_join(thread, &got);
        assert_null(got);
        pthread_mutex_unlock(&holder.guard);
        pthread_mutex_destroy(&holder.guard);
    }
}

static void test_death(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        struct trma_waiter waiter = waiter_of(kind % 2, 20);
        pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
        uint64_t waited = 0;

        waiter.keeps_progress = kind / 2 % 2;
        waiter.may_have_left = kind / 4;
        reset();
        waiter.is_alive = nobody_lives;
        pthread_mutex_lock(&guard);
        assert_int_equal(trma_node_wait(&waiter, &guard, has_come_true, NULL, &waited), TRMA_ERR_PEER_DEAD);
        pthread_mutex_unlock(&guard);
        /* Who has left a barrier may have ended while others come. */
        assert_int_equal(atomic_load(&looks), waiter.may_have_left ? 4 : 1);
        assert_true(waited < UINT64_C(2000000000));

        /* Who did its part before it ended is not missed. */
        reset();
        waiter.is_alive = ends_after_its_part;
        assert_int_equal(trma_node_wait(&waiter, NULL, has_come_true, NULL, NULL), TRMA_OK);
    }
}

static void come_true_after_looks(void) {
    if (atomic_load(&looks) == 2) {
        atomic_store(&is_true, true);
    }
}

/* A long wait goes on as long as everybody lives. */
static void test_everybody_lives(void **state) {
    (void)state;
    struct trma_waiter waiter = waiter_of(false, 20);
    reset();
    waiter.is_alive = everybody_lives;
    waiter.progress = come_true_after_looks;
    assert_int_equal(trma_node_wait(&waiter, NULL, has_come_true, NULL, NULL), TRMA_OK);
    assert_int_equal(atomic_load(&looks), 2);
}

/* Steps of a loop of somebody else's: they look at the living now and then, and not too often. */
static void test_steps(void **state) {
    (void)state;
    for (int crowded = 0; crowded < 2; crowded++) {
        struct trma_waiter waiter = waiter_of(crowded, 20);
        unsigned tries = 0;
        uint64_t start = trma_node_clock_ns();

        reset();
        waiter.is_alive = nobody_lives;
        while (trma_node_wait_step(&waiter, tries) == TRMA_OK) {
            tries++;
        }
        assert_int_equal(trma_node_wait_step(&waiter, tries), TRMA_ERR_PEER_DEAD);
        assert_int_equal(atomic_load(&looks), 2);
        assert_true(trma_node_clock_ns() - start < UINT64_C(2000000000));
        waiter.is_alive = NULL;
        assert_int_equal(trma_node_wait_step(&waiter, tries), TRMA_OK);
    }
}

struct sleeper {
    unsigned looks; /* before it sleeps */
    bool has_slept;
};

static bool falls_asleep(void *argument) {
    struct sleeper *sleeper = argument;

    sleeper->has_slept = sleeper->has_slept || atomic_load(&bell.sleepers) > 0;
    sleeper->looks += !sleeper->has_slept;
    return sleeper->has_slept;
}

/* A look before each yield, one before them and one after. They end with a poke, which comes after every 8.
 */
static void test_yields_before_sleeping(void **state) {
    (void)state;
    static const struct {
        uint32_t yields;
        unsigned done;
    } cases[] = {{8, 8}, {9, 16}, {16, 16}, {64, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trma_waiter waiter = waiter_of(true, 20);
        struct sleeper sleeper = {0};
        waiter.yields = cases[i].yields;
        assert_int_equal(trma_node_wait(&waiter, NULL, falls_asleep, &sleeper, NULL), TRMA_OK);
        assert_int_equal(sleeper.looks, cases[i].done + 2);
    }
}

/* Every sleep goes through here (see CMakeLists.txt). */
static uint64_t longest_sleep;

/* In the place of sleeps: how they end, and how often the condition was looked at before each. */
enum { MOST_SLEEPS = 4 };
struct script {
    bool is_rung[MOST_SLEEPS];
    bool is_nap[MOST_SLEEPS];
    unsigned n_sleeps;
    unsigned looks;
    unsigned looks_before[MOST_SLEEPS];
};
static struct script *script; /* NULL: sleeps are real */

bool __real_trma_node_doorbell_sleep(struct trma_doorbell *bell_slept_on, bool needs_fence,
                                     trma_condition ready, void *argument, uint64_t bound_ns);
bool __wrap_trma_node_doorbell_sleep(struct trma_doorbell *bell_slept_on, bool needs_fence,
                                     trma_condition ready, void *argument, uint64_t bound_ns);

bool __real_trma_node_doorbell_nap(struct trma_doorbell *bell_slept_on, trma_condition ready, void *argument,
                                   uint64_t bound_ns);
bool __wrap_trma_node_doorbell_nap(struct trma_doorbell *bell_slept_on, trma_condition ready, void *argument,
                                   uint64_t bound_ns);

static bool sleep_by_script(bool is_nap) {
    script->looks_before[script->n_sleeps] = script->looks;
    script->is_nap[script->n_sleeps] = is_nap;
    script->looks = 0;
    return script->is_rung[script->n_sleeps++];
}

bool __wrap_trma_node_doorbell_sleep(struct trma_doorbell *bell_slept_on, bool needs_fence,
                                     trma_condition ready, void *argument, uint64_t bound_ns) {
    longest_sleep = bound_ns > longest_sleep ? bound_ns : longest_sleep;
    return script ? sleep_by_script(false)
                  : __real_trma_node_doorbell_sleep(bell_slept_on, needs_fence, ready, argument, bound_ns);
}

bool __wrap_trma_node_doorbell_nap(struct trma_doorbell *bell_slept_on, trma_condition ready, void *argument,
                                   uint64_t bound_ns) {
    longest_sleep = bound_ns > longest_sleep ? bound_ns : longest_sleep;
    return script ? sleep_by_script(true)
                  : __real_trma_node_doorbell_nap(bell_slept_on, ready, argument, bound_ns);
}

static bool has_script_ended(void *argument) {
    (void)argument;
    script->looks++;
    return script->n_sleeps == MOST_SLEEPS;
}

/* Where cores are few, who is woken in vain yields again before it sleeps again: others that are late may
 * have been waiting for the core. Not who wakes by itself, and goes back to sleep after one look. */
static void test_yields_when_woken_in_vain(void **state) {
    (void)state;
    enum { YIELDS = 16 };
    struct script sleeps = {.is_rung = {true, false, true, false}};
    struct trma_waiter waiter = waiter_of(true, 20);

    waiter.yields = YIELDS;
    script = &sleeps;
    assert_int_equal(trma_node_wait(&waiter, NULL, has_script_ended, NULL, NULL), TRMA_OK);
    script = NULL;
    for (int i = 1; i < MOST_SLEEPS; i++) {
        assert_int_equal(sleeps.looks_before[i], sleeps.is_rung[i - 1] ? YIELDS + 2 : 1);
    }
}

/* Where cores are few, a wait begins with naps, as long as each is ended by a ring: one that was not may have
 * missed it. Where the host is kept up all are naps, as long as the waiter says. Elsewhere a sleep is long.
 */
static void test_naps_until_one_lasts(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        const bool crowded = kind > 0;
        const bool keeps_progress = kind > 1;
        struct script sleeps = {.is_rung = {true, false, true, false}};
        struct trma_waiter waiter = waiter_of(crowded, 20);

        waiter.keeps_progress = keeps_progress;
        script = &sleeps;
        assert_int_equal(trma_node_wait(&waiter, NULL, has_script_ended, NULL, NULL), TRMA_OK);
        script = NULL;
        for (int i = 0; i < MOST_SLEEPS; i++) {
            assert_int_equal(sleeps.is_nap[i], crowded && (keeps_progress || i < 2));
        }
    }
}

enum { PROGRESS_US = 70, LONGEST_US = 500 };

/* How long it sleeps at a time in a wait for two looks at the living, two fifths of a second; 0: not at all.
 * It keeps the host's progress up unless `progress_us` is 0. */
static uint64_t sleep_of(bool crowded, uint32_t progress_us) {
    struct trma_waiter waiter = waiter_of(crowded, 20);

    reset();
    longest_sleep = 0;
    waiter.keeps_progress = progress_us > 0;
    waiter.progress_us = progress_us;
    waiter.is_alive = everybody_lives;
    waiter.progress = come_true_after_looks;
    assert_int_equal(trma_node_wait(&waiter, NULL, has_come_true, NULL, NULL), TRMA_OK);
    assert_int_equal(atomic_load(&looks), 2);
    return longest_sleep;
}

static bool has_come_true_counted(void *argument) {
    unsigned *calls = argument;

    ++*calls;
    return has_come_true(NULL);
}

/* Looks at the condition until 20 pokes have been made. */
static unsigned looks_for_pokes(bool keeps_progress) {
    struct trma_waiter waiter = waiter_of(false, 0);
    unsigned calls = 0;

    reset();
    waiter.keeps_progress = keeps_progress;
    waiter.progress = come_true_after_pokes;
    assert_int_equal(trma_node_wait(&waiter, NULL, has_come_true_counted, &calls, NULL), TRMA_OK);
    assert_int_equal(atomic_load(&pokes), 20);
    return calls;
}

/* Who keeps the host's progress up never sleeps and pokes at each look after its 32 first ones (others after
 * 8); where cores are few it sleeps as long at a time as it is told, but no longer than others, half a
 * millisecond. */
static void test_keeps_progress(void **state) {
    (void)state;
    enum { SPUN = 2 * 32 + 4 };

    assert_true(sleep_of(false, 0) > 0);
    assert_int_equal(sleep_of(false, PROGRESS_US), 0);
    assert_true(looks_for_pokes(false) > SPUN + 20);
    assert_true(looks_for_pokes(true) <= SPUN + 20);
    assert_int_equal(sleep_of(true, PROGRESS_US), PROGRESS_US * 1000);
    assert_int_equal(sleep_of(true, 0), LONGEST_US * 1000);
    assert_int_equal(sleep_of(true, LONGEST_US + 1), LONGEST_US * 1000);
}

/* An origin that asks for another piece as soon as the waiter looks whether it is to go on. */
struct endless {
    struct trma_help_words words;
    struct trma_help_trays trays;
    char place;
    unsigned asked;
    unsigned longest; /* asked between two pokes */
};

static struct endless endless;

static bool ask_for_more(void *argument) {
    struct trma_help_piece *piece = &endless.words.slots[0].piece;
    const unsigned state = atomic_load_explicit(&piece->state, memory_order_relaxed);

    if (state == TRMA_HELP_IDLE || state == TRMA_HELP_DONE) {
        endless.asked++;
        piece->size = 1;
        piece->is_proven = true;
        piece->address = (uintptr_t)&endless.place;
        atomic_store_explicit(&piece->state, TRMA_HELP_PUT, memory_order_release);
    }
    return has_come_true(argument);
}

static void note_poke(void) {
    endless.longest = endless.asked > endless.longest ? endless.asked : endless.longest;
    endless.asked = 0;
    come_true_after_pokes();
}

/* Who is asked for help all the time pokes all the same, each time it has helped at a stretch: in a poke the
 * host goes on, and a window is adopted that this traffic has paid for. */
static void test_pokes_while_helping(void **state) {
    (void)state;
    enum { MOST_AT_A_STRETCH = 4096, SPUN = 3 * 32 };
    struct trma_help help = {.words = &endless.words, .trays = &endless.trays, .n_slots = 1, .windows = 1};
    struct trma_waiter waiter = waiter_of(false, 0);

    reset();
    waiter.help = &help;
    waiter.progress = note_poke;
    assert_int_equal(trma_node_wait(&waiter, NULL, ask_for_more, NULL, NULL), TRMA_OK);
    assert_true(endless.longest > MOST_AT_A_STRETCH / 8);
    assert_true(endless.longest <= MOST_AT_A_STRETCH + SPUN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pokes_while_helping),
        cmocka_unit_test(test_keeps_progress),
        cmocka_unit_test(test_yields_before_sleeping),
        cmocka_unit_test(test_yields_when_woken_in_vain),
        cmocka_unit_test(test_naps_until_one_lasts),
        cmocka_unit_test(test_true_already),
        cmocka_unit_test(test_pokes_progress),
        cmocka_unit_test(test_releases_guard),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_everybody_lives),
        cmocka_unit_test(test_steps),
    };
    alarm(PLAY_LIMIT_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
