/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "win/win_epoch.h"

/* How a target looks for the end of its exposure epoch. */

static const struct trma_window_options plain = {0};
static const struct trma_window_options counted = {.counts_operations = true};

enum { BEGUN, ENDED, WAITED }; /* words of the scene: the epoch of which it has happened */

/* Of the test that follows: there is one target, and one scene. */
static struct scene *_Atomic scene_of_target;

static uint64_t tell_waited(void) {
    struct scene *scene = atomic_load(&scene_of_target);
    const uint64_t epoch = atomic_load(&scene->words[BEGUN]);

    scene_set(scene, WAITED, epoch);
    return epoch;
}

static void poke(void) {
    (void)tell_waited();
}

static void let_end(void) {
    const uint64_t epoch = tell_waited();

    scene_await(atomic_load(&scene_of_target), ENDED, epoch);
}

/* Every wait goes through here (see CMakeLists.txt). It is counted, and may be made to look in vain first. */
static _Thread_local unsigned waits;
static _Thread_local unsigned looks_in_vain;

enum trma_status __real_trma_node_wait_for(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                           const struct trma_awaited *awaited, uint64_t *waited_ns);
enum trma_status __wrap_trma_node_wait_for(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                           const struct trma_awaited *awaited, uint64_t *waited_ns);

enum trma_status __wrap_trma_node_wait_for(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                           const struct trma_awaited *awaited, uint64_t *waited_ns) {
    waits++;
    if (looks_in_vain) {
        for (unsigned i = 0; i < looks_in_vain; i++) {
            CHECK(!awaited->ready(awaited->argument));
        }
        let_end();
    }
    return __real_trma_node_wait_for(waiter, guard, awaited, waited_ns);
}

/* When an epoch ends. */
enum end {
    BEFORE,    /* its target waits */
    AFTER_ONE, /* look in vain: before the first pause */
    AFTER_TWO, /* after it */
    LATE       /* when the target has waited for so long that it pokes its host */
};

/* True when the target had looked, and found the end, before it waited as others do. */
static bool ends_at_once(struct actor *actor, struct trma_window *window, uint64_t epoch, enum end end) {
    static const uint32_t origin = 1;
    const unsigned waits_before = waits;

    CHECK(trma_win_post(window, &origin, 1) == TRMA_OK);
    scene_set(actor->scene, BEGUN, epoch);
    if (end == BEFORE) {
        let_end();
    }
    looks_in_vain = end == AFTER_ONE ? 1 : end == AFTER_TWO ? 2 : 0;
    CHECK(trma_win_wait(window) == TRMA_OK);
    looks_in_vain = 0;
    return waits == waits_before;
}

static void play_ends(struct actor *actor, struct trma_window_options options, unsigned n,
                      const enum end *ends, const bool *at_once) {
    static const uint32_t target = 0;

    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, options);
    if (actor->me == 0) {
        atomic_store(&scene_of_target, actor->scene);
        actor->team->waiter.progress = poke;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (actor->me == 0) {
            CHECK(ends_at_once(actor, window.core, i + 1, ends[i]) == at_once[i]);
        } else {
            CHECK(trma_win_start(window.core, &target, 1) == TRMA_OK);
            scene_await(actor->scene, WAITED, i + 1);
            CHECK(trma_win_complete(window.core) == TRMA_OK);
            scene_set(actor->scene, ENDED, i + 1);
        }
    }
    if (actor->me == 0) {
        actor->team->waiter.progress = NULL;
    }
    window_close(actor, &window);
}

static void play_ends_soon(struct actor *actor) {
    /* Each way to end is followed by one that tells what was made of it. */
    static const enum end ends[] = {BEFORE, BEFORE,    LATE,      AFTER_TWO, BEFORE,
                                    LATE,   AFTER_ONE, AFTER_ONE, BEFORE};
    static const bool at_once[] = {false, true, false, false, false, false, false, false, true};

    play_ends(actor, plain, sizeof at_once / sizeof *at_once, ends, at_once);
}

/* A target whose last epoch had ended before the first pause of its wait looks for the end of the next one
 * before it waits as others do. */
static void test_ends_soon(void **state) {
    (void)state;
    play_run(2, play_ends_soon);
}

static void play_tries(struct actor *actor) {
    /* The first of these is the 32nd wait without a reason, the second one the 64th. */
    enum { NO_TRY = 31, TRY = 64, EPOCHS };
    enum end ends[EPOCHS + 1];
    bool at_once[EPOCHS + 1];

    for (unsigned i = 0; i <= EPOCHS; i++) {
        ends[i] = i == NO_TRY || i >= TRY ? BEFORE : AFTER_TWO;
        at_once[i] = i >= TRY;
    }
    play_ends(actor, plain, EPOCHS + 1, ends, at_once);
}

/* So does every 64th that has no reason to, and the next one goes on from what it finds. */
static void test_tries(void **state) {
    (void)state;
    play_run(2, play_tries);
}

static void play_counted(struct actor *actor) {
    static const enum end ends[] = {BEFORE, BEFORE, BEFORE};
    static const bool at_once[] = {false, false, false};

    play_ends(actor, counted, sizeof at_once / sizeof *at_once, ends, at_once);
}

/* Where the time of waits is wanted all of it is spent where it is counted. */
static void test_counted(void **state) {
    (void)state;
    play_run(2, play_counted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_soon),
        cmocka_unit_test(test_tries),
        cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
