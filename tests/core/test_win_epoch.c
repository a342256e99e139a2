/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "win/win_epoch.h"

/* Which call may follow which, and which bytes an operation may touch. */

static const struct trma_window_options plain = {0};
static const uint32_t myself = 0;

/* What a refused call must leave as it was: everything that epochs change, private and shared, of a window of
 * one. */
struct snapshot {
    enum trma_access access;
    enum trma_lock_kind lock;
    bool fence_used, is_exposed, in_start_group;
    unsigned char state;
    uint32_t n_active, n_started, n_posted, n_locked, started, exposed, fence_sequence;
    uint32_t next, posted, completed;
    uint64_t turns;
    void *deferred;
    int64_t memory[4];
};

static void take_snapshot(const struct stage_window *window, struct snapshot *out) {
    struct trma_window *core = window->core;
    struct trma_target *target = &core->targets[0];

    memset(out, 0, sizeof *out); /* compared as bytes: padding counts */
    out->access = core->epoch.access;
    out->lock = target->lock;
    out->fence_used = core->fence_used;
    out->is_exposed = core->is_exposed;
    out->state = atomic_load(&target->state);
    out->in_start_group = target->in_start_group;
    out->n_active = core->n_active;
    out->n_started = core->n_started;
    out->n_posted = core->n_posted;
    out->n_locked = core->epoch.n_locked;
    out->started = target->started;
    out->exposed = target->exposed;
    out->fence_sequence = core->fence.sequence;
    out->next = atomic_load(&core->words->lock.next);
    out->turns = atomic_load(&core->words->lock.turns);
    out->posted = atomic_load(target->posted);
    out->completed = atomic_load(target->completed);
    out->deferred = target->first_deferred;
    memcpy(out->memory, window->memory, sizeof out->memory);
}

/* The states of a window, each with how it is entered and left. */

static void enter_none(struct trma_window *window) {
    (void)window;
}

static void enter_fence(struct trma_window *window) {
    CHECK(trma_win_fence(window, TRMA_FENCE_NOPRECEDE) == TRMA_OK);
}

static void leave_fence(struct trma_window *window) {
    CHECK(trma_win_fence(window, TRMA_FENCE_NOSUCCEED) == TRMA_OK);
}

static void enter_fence_used(struct trma_window *window) {
    int64_t value = 1;

    enter_fence(window);
    CHECK(window_put(window, 0, 0, &value, 1) == TRMA_OK);
}

static void enter_access(struct trma_window *window) {
    CHECK(trma_win_start(window, &myself, 1) == TRMA_OK);
}

static void leave_access(struct trma_window *window) {
    CHECK(trma_win_post(window, &myself, 1) == TRMA_OK);
    CHECK(trma_win_complete(window) == TRMA_OK);
    CHECK(trma_win_wait(window) == TRMA_OK);
}

static void enter_exposure(struct trma_window *window) {
    CHECK(trma_win_post(window, &myself, 1) == TRMA_OK);
}

static void leave_exposure(struct trma_window *window) {
    CHECK(window_start(window, &myself, 1) == TRMA_OK);
    CHECK(window_complete(window) == TRMA_OK);
    CHECK(trma_win_wait(window) == TRMA_OK);
}

static void enter_lock(struct trma_window *window) {
    CHECK(trma_win_lock(window, TRMA_LOCK_EXCLUSIVE, 0) == TRMA_OK);
}

static void enter_unchecked(struct trma_window *window) {
    CHECK(trma_win_lock(window, TRMA_LOCK_UNCHECKED, 0) == TRMA_OK);
}

static void leave_lock(struct trma_window *window) {
    CHECK(trma_win_unlock(window, 0) == TRMA_OK);
}

static void enter_lock_all(struct trma_window *window) {
    CHECK(trma_win_lock_all(window, false) == TRMA_OK);
}

static void leave_lock_all(struct trma_window *window) {
    CHECK(trma_win_unlock_all(window) == TRMA_OK);
}

/* The calls. */

static enum trma_status call_fence(struct trma_window *window) {
    return trma_win_fence(window, 0);
}

static enum trma_status call_start(struct trma_window *window) {
    return trma_win_start(window, &myself, 1);
}

static enum trma_status call_post(struct trma_window *window) {
    return trma_win_post(window, &myself, 1);
}

static enum trma_status call_start_quick(struct trma_window *window) {
    return window_start(window, &myself, 1);
}

static enum trma_status call_post_quick(struct trma_window *window) {
    return window_post(window, &myself, 1);
}

static enum trma_status call_test(struct trma_window *window) {
    bool done = true;
    enum trma_status status = trma_win_test(window, &done);

    CHECK(!done);
    return status;
}

static enum trma_status call_lock(struct trma_window *window) {
    return trma_win_lock(window, TRMA_LOCK_SHARED, 0);
}

static enum trma_status call_unlock(struct trma_window *window) {
    return trma_win_unlock(window, 0);
}

static enum trma_status call_lock_all(struct trma_window *window) {
    return trma_win_lock_all(window, false);
}

static enum trma_status call_flush(struct trma_window *window) {
    return trma_win_flush(window, 0, false);
}

static enum trma_status call_flush_all(struct trma_window *window) {
    return trma_win_flush_all(window, true);
}

static enum trma_status call_put(struct trma_window *window) {
    static const int64_t value = 42;

    return window_put(window, 0, 3, &value, 1);
}

enum {
    FENCE = 1 << 0,
    START = 1 << 1,
    COMPLETE = 1 << 2,
    POST = 1 << 3,
    WAIT = 1 << 4,
    TEST = 1 << 5,
    LOCK = 1 << 6,
    UNLOCK = 1 << 7,
    LOCK_ALL = 1 << 8,
    UNLOCK_ALL = 1 << 9,
    FLUSH = 1 << 10,
    FLUSH_ALL = 1 << 11,
    PUT = 1 << 12
};

static const struct {
    unsigned bit;
    enum trma_status (*call)(struct trma_window *);
} calls[] = {
    {FENCE, call_fence},
    {FENCE, window_fence},
    {START, call_start},
    {START, call_start_quick},
    {COMPLETE, trma_win_complete},
    {COMPLETE, window_complete},
    {POST, call_post},
    {POST, call_post_quick},
    {WAIT, trma_win_wait},
    {WAIT, window_wait},
    {TEST, call_test},
    {LOCK, call_lock},
    {UNLOCK, call_unlock},
    {LOCK_ALL, call_lock_all},
    {UNLOCK_ALL, trma_win_unlock_all},
    {FLUSH, call_flush},
    {FLUSH_ALL, call_flush_all},
    {PUT, call_put},
};

/* POST stands beside passive epochs because exposure is the target's matter; the test does not insist on it.
 */
static const struct {
    void (*enter)(struct trma_window *);
    void (*leave)(struct trma_window *);
    unsigned refused;
    bool may_be_freed;
} states[] = {
    {enter_none, enter_none, COMPLETE | WAIT | TEST | UNLOCK | UNLOCK_ALL | FLUSH | FLUSH_ALL | PUT, true},
    {enter_fence, leave_fence, COMPLETE | WAIT | TEST | UNLOCK | UNLOCK_ALL | FLUSH | FLUSH_ALL, true},
    {enter_fence_used, leave_fence,
     START | COMPLETE | WAIT | TEST | LOCK | UNLOCK | LOCK_ALL | UNLOCK_ALL | FLUSH | FLUSH_ALL, false},
    {enter_access, leave_access,
     FENCE | START | WAIT | TEST | LOCK | UNLOCK | LOCK_ALL | UNLOCK_ALL | FLUSH | FLUSH_ALL, false},
    {enter_exposure, leave_exposure, FENCE | COMPLETE | POST | UNLOCK | UNLOCK_ALL | FLUSH | FLUSH_ALL | PUT,
     false},
    {enter_lock, leave_lock, FENCE | START | COMPLETE | WAIT | TEST | LOCK | LOCK_ALL | UNLOCK_ALL, false},
    {enter_unchecked, leave_lock, FENCE | START | COMPLETE | WAIT | TEST | LOCK | LOCK_ALL | UNLOCK_ALL,
     false},
    {enter_lock_all, leave_lock_all, FENCE | START | COMPLETE | WAIT | TEST | LOCK | UNLOCK | LOCK_ALL,
     false},
};

static void play_orders(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 4, plain);

    for (size_t s = 0; s < sizeof states / sizeof states[0]; s++) {
        struct snapshot before;
        struct snapshot after;
        states[s].enter(window.core);
        CHECK(trma_win_epoch_is_closed(window.core) == states[s].may_be_freed);
        take_snapshot(&window, &before);
        for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
            if (states[s].refused & calls[c].bit) {
                CHECK(calls[c].call(window.core) == TRMA_ERR_SYNC);
                take_snapshot(&window, &after);
                /* Both were cleared before they were filled: padding is equal.
                 * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
                CHECK(memcmp(&before, &after, sizeof before) == 0);
            }
        }
        CHECK(trma_win_sync(window.core) == TRMA_OK);
        /* Looking for the end of an exposure epoch changes nothing either. */
        if (window.core->is_exposed) {
            CHECK(call_test(window.core) == TRMA_OK);
        }
        /* What the state is for still works. */
        if (!(states[s].refused & PUT)) {
            CHECK(call_put(window.core) == TRMA_OK);
        }
        if (!(states[s].refused & FLUSH)) {
            CHECK(call_flush(window.core) == TRMA_OK && call_flush_all(window.core) == TRMA_OK);
        }
        states[s].leave(window.core);
        CHECK(trma_win_epoch_is_closed(window.core));
        CHECK(trma_win_complete(window.core) == TRMA_ERR_SYNC);
        CHECK(window_complete(window.core) == TRMA_ERR_SYNC);
        CHECK(states[s].refused & PUT || window.memory[3] == 42);
        window.memory[3] = 0;
    }
    /* A fence that nothing followed lets every kind of epoch begin. */
    for (size_t s = 3; s < sizeof states / sizeof states[0]; s++) {
        enter_fence(window.core);
        states[s].enter(window.core);
        states[s].leave(window.core);
    }
    /* And so does one that ended an epoch of fences. */
    enter_fence_used(window.core);
    CHECK(window_fence(window.core) == TRMA_OK);
    CHECK(window.core->n_active == 0);
    CHECK(call_start(window.core) == TRMA_OK);
    leave_access(window.core);
    CHECK(trma_win_fence(window.core, TRMA_FENCE_NOSUCCEED) == TRMA_OK);
    CHECK(call_put(window.core) == TRMA_ERR_SYNC);
    window_close(actor, &window);
}

static void test_orders(void **state) {
    (void)state;
    play_run(1, play_orders);
}

/* What an epoch towards one target does not allow towards another. */
static void play_other_target(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 4, plain);
    static const uint32_t one = 1;
    static const uint32_t two = 2;
    int64_t value = 9;
    int64_t old = 0;

    if (actor->me == 0) {
        CHECK(trma_win_lock(window.core, TRMA_LOCK_SHARED, 1) == TRMA_OK);
        CHECK(window_put(window.core, 2, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(window_get(window.core, 0, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(window_add(window.core, 2, 0, 1) == TRMA_ERR_SYNC);
        CHECK(window_fetch_add(window.core, 2, 0, 1, &old) == TRMA_ERR_SYNC);
        CHECK(trma_win_unlock(window.core, 2) == TRMA_ERR_SYNC);
        CHECK(trma_win_flush(window.core, 2, false) == TRMA_ERR_SYNC);
        CHECK(window_put(window.core, 1, 0, &value, 1) == TRMA_OK);
        CHECK(trma_win_unlock(window.core, 1) == TRMA_OK);
        CHECK(window_put(window.core, 1, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(trma_win_start(window.core, &one, 1) == TRMA_OK);
        CHECK(window_put(window.core, 2, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(window_put(window.core, 0, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(window_complete(window.core) == TRMA_OK);
        CHECK(window_start(window.core, &two, 1) == TRMA_OK);
        CHECK(window_put(window.core, 1, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(trma_win_complete(window.core) == TRMA_OK);
        /* Empty groups are groups. */
        CHECK(trma_win_start(window.core, NULL, 0) == TRMA_OK);
        CHECK(window_put(window.core, 1, 0, &value, 1) == TRMA_ERR_SYNC);
        CHECK(trma_win_complete(window.core) == TRMA_OK);
        CHECK(trma_win_post(window.core, NULL, 0) == TRMA_OK);
        CHECK(trma_win_wait(window.core) == TRMA_OK);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(window.memory[0] == (actor->me == 1 ? 9 : 0));
    window_close(actor, &window);
}

static void test_other_target(void **state) {
    (void)state;
    play_run(3, play_other_target);
}

/* The word that is asked for early is the one that tells the end of the epoch: no other would do any good. */
static void find_word(struct actor *actor, bool crowded) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);
    const uint32_t next = (actor->me + 1) % actor->size;
    const uint32_t before = (actor->me + actor->size - 1) % actor->size;

    window.core->fence.crowded = crowded; /* before the first one, at all members */
    CHECK(trma_win_fence(window.core, 0) == TRMA_OK);
    const atomic_uint *word = trma_win_epoch_word(window.core, before);
    CHECK(crowded || word != window.core->fence.words[actor->me]->arrived); /* another one's */
    /* Nobody is in the next fence yet. */
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    unsigned value = atomic_load(word);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK((actor->me % 2 ? window_fence : call_fence)(window.core) == TRMA_OK);
    CHECK(atomic_load(word) - value == (crowded ? actor->size : 1));
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(trma_win_fence(window.core, TRMA_FENCE_NOSUCCEED) == TRMA_OK);

    CHECK(trma_win_post(window.core, &before, 1) == TRMA_OK);
    CHECK(trma_win_start(window.core, &next, 1) == TRMA_OK);
    word = trma_win_epoch_word(window.core, next);
    value = atomic_load(word);
    CHECK(trma_win_complete(window.core) == TRMA_OK);
    CHECK(atomic_load(word) - value == 1);
    CHECK(trma_win_wait(window.core) == TRMA_OK);
    window_close(actor, &window);
}

static void play_word(struct actor *actor) {
    find_word(actor, false);
    find_word(actor, true);
}

static void test_word(void **state) {
    (void)state;
    play_run(2, play_word);
    play_run(5, play_word);
}

/* Who sleeps until a post, the end of an epoch or a fence is woken by it, whichever way it goes. */
static void play_rings(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);
    struct trma_doorbell *bell = actor->team->bells[0];

    atomic_fetch_add(&bell->sleepers, 1);
    for (int quick = 0; quick < 2; quick++) {
        unsigned rings = atomic_load(&bell->rings);
        CHECK((quick ? window_post : trma_win_post)(window.core, &myself, 1) == TRMA_OK);
        CHECK(atomic_load(&bell->rings) == rings + 1);
        CHECK(trma_win_start(window.core, &myself, 1) == TRMA_OK);
        CHECK((quick ? window_complete : trma_win_complete)(window.core) == TRMA_OK);
        CHECK(atomic_load(&bell->rings) == rings + 2);
        CHECK((quick ? window_wait : trma_win_wait)(window.core) == TRMA_OK);
        CHECK((quick ? window_fence : call_fence)(window.core) == TRMA_OK);
        CHECK(atomic_load(&bell->rings) == rings + 3);
    }
    atomic_fetch_sub(&bell->sleepers, 1);
    window_close(actor, &window);
}

static void test_rings(void **state) {
    (void)state;
    play_run(1, play_rings);
}

/* An operation on `count` of a layout at an address of target 1, which lies wherever the test wants it to. */
static enum trma_status issue_at(struct trma_window *window, struct trma_layout *layout, uintptr_t address,
                                 size_t count, void *origin) {
    struct trma_rma rma = {.kind = TRMA_COUNT_GET,
                           .target = 1,
                           .origin = {layout, (uintptr_t)origin, count},
                           .place = {layout, address, count}};
    return trma_win_operation_issue(window, &rma);
}

enum { ELEMENTS = 16 };

static void check_displacements(struct trma_window *window) {
    static const int64_t outside[] = {
        -1,
        -ELEMENTS,
        ELEMENTS,
        ELEMENTS + 1,
        INT64_MAX,
        INT64_MIN,
        INT64_MAX / 8,
        INT64_MIN / 8,
        INT64_MAX / 8 + 1,
        INT64_MIN / 8 - 1,
        (int64_t)1 << 61,
        -((int64_t)1 << 61),
        ((int64_t)1 << 61) + 1,
        (int64_t)1 << 60,
    };
    int64_t values[ELEMENTS + 1] = {0};
    int64_t old = 0;

    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        CHECK(trma_win_quick_address(window, 1, outside[i], 8) == NULL);
        CHECK(window_put(window, 1, outside[i], values, 1) == TRMA_ERR_RANGE);
        CHECK(window_get(window, 1, outside[i], values, 1) == TRMA_ERR_RANGE);
        CHECK(window_add(window, 1, outside[i], 1) == TRMA_ERR_RANGE);
        CHECK(window_fetch_add(window, 1, outside[i], 1, &old) == TRMA_ERR_RANGE);
    }
    for (size_t count = 0; count <= ELEMENTS + 1; count++) {
        for (int64_t at = 0; at <= ELEMENTS; at++) {
            bool fits = count == 0 || (size_t)at + count <= ELEMENTS;
            CHECK(window_put(window, 1, at, values, count) == (fits ? TRMA_OK : TRMA_ERR_RANGE));
            CHECK(window_get(window, 1, at, values, count) == (fits ? TRMA_OK : TRMA_ERR_RANGE));
        }
    }
    CHECK(trma_win_quick_address(window, 1, 0, SIZE_MAX) == NULL);
    CHECK(trma_win_quick_address(window, 1, 1, SIZE_MAX - 7) == NULL);
}

/* Layouts whose bytes lie before their address, or spread; counts whose span leaves the address space. */
static void check_layouts(struct trma_window *window) {
    const size_t one = 1;
    struct trma_layout *element = NULL;
    struct trma_layout *before = NULL;
    struct trma_layout *spread = NULL;
    struct trma_layout *far = NULL;
    uintptr_t base = window->targets[1].base;
    int64_t values[ELEMENTS];

    CHECK(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &element) == TRMA_OK);
    CHECK(trma_move_layout_make_struct(1, &one, &(ptrdiff_t){-16},
                                       (const struct trma_layout *const *)&element, &before) == TRMA_OK);
    CHECK(trma_move_layout_make_vector(2, 1, 64, element, &spread) == TRMA_OK);
    CHECK(trma_move_layout_make_resized(element, 0, (ptrdiff_t)1 << 61, &far) == TRMA_OK);

    CHECK(issue_at(window, before, base + 16, 1, values + 2) == TRMA_OK);
    CHECK(issue_at(window, before, base + 15, 1, values + 2) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, before, base, 1, values + 2) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, before, base + 8 * ELEMENTS + 8, 1, values + 2) == TRMA_OK);
    CHECK(issue_at(window, before, base + 8 * ELEMENTS + 9, 1, values + 2) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, spread, base + 8 * ELEMENTS - 72, 1, values) == TRMA_OK);
    CHECK(issue_at(window, spread, base + 8 * ELEMENTS - 71, 1, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, far, base, 1, values) == TRMA_OK);
    CHECK(issue_at(window, far, base, 2, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, far, base, 4, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, far, base, 1000, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, far, base + INT64_MAX, 4, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, element, base, SIZE_MAX / 8, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, element, base, SIZE_MAX, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, element, UINTPTR_MAX, 1, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, element, 0, 1, values) == TRMA_ERR_RANGE);
    CHECK(issue_at(window, before, 0, 1, values) == TRMA_ERR_RANGE);
    trma_move_layout_release(far);
    trma_move_layout_release(spread);
    trma_move_layout_release(before);
    trma_move_layout_release(element);
}

static void check_ranges(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, ELEMENTS, plain);
    struct stage_window empty = window_open(actor, kind, 0, plain);

    if (actor->me == 0) {
        int64_t value = 1;
        CHECK(trma_win_lock(window.core, TRMA_LOCK_EXCLUSIVE, 1) == TRMA_OK);
        check_displacements(window.core);
        check_layouts(window.core);
        CHECK(trma_win_unlock(window.core, 1) == TRMA_OK);
        CHECK(trma_win_lock_all(empty.core, true) == TRMA_OK);
        CHECK(window_put(empty.core, 1, 0, &value, 0) == TRMA_OK);
        CHECK(window_put(empty.core, 1, 0, &value, 1) == TRMA_ERR_RANGE);
        CHECK(trma_win_unlock_all(empty.core) == TRMA_OK);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        CHECK(window.memory[i] == 0);
    }
    window_close(actor, &empty);
    window_close(actor, &window);
}

static void play_ranges(struct actor *actor) {
    check_ranges(actor, PLAY_MAPPED);
    check_ranges(actor, PLAY_PRIVATE);
}

static void test_ranges(void **state) {
    (void)state;
    play_run(2, play_ranges);
}

/* Statistics count what was done, and only that; they keep nothing from working. */
static void play_statistics(struct actor *actor) {
    struct trma_window_options options = {.counts_operations = true};
    struct stage_window window = window_open(actor, PLAY_MAPPED, 4, options);
    struct trma_target_counts *counts = &window.core->targets[1].counts;
    int64_t values[4] = {1, 2, 3, 4};

    if (actor->me == 0) {
        CHECK(window_lock(window.core, TRMA_LOCK_SHARED, 1) == TRMA_OK);
        CHECK(trma_win_quick_address(window.core, 1, 0, 8) == NULL);
        CHECK(window_put(window.core, 1, 0, values, 3) == TRMA_OK);
        CHECK(window_put(window.core, 1, 0, values, 4) == TRMA_OK);
        CHECK(window_put(window.core, 1, 2, values, 4) == TRMA_ERR_RANGE);
        CHECK(window_add(window.core, 1, 0, 1) == TRMA_OK);
        CHECK(window_unlock(window.core, 1) == TRMA_OK);
        CHECK(atomic_load(&counts->operations[TRMA_COUNT_PUT]) == 2);
        CHECK(atomic_load(&counts->bytes[TRMA_COUNT_PUT]) == 56);
        CHECK(atomic_load(&counts->operations[TRMA_COUNT_ACCUMULATE]) == 1);
        CHECK(atomic_load(&counts->operations[TRMA_COUNT_GET]) == 0);
        CHECK(window.core->waits.calls[TRMA_WAIT_LOCK] == 1 &&
              window.core->waits.calls[TRMA_WAIT_UNLOCK] == 1);
        CHECK(window.core->waits.calls[TRMA_WAIT_FENCE] == 0);
        CHECK(window_post(window.core, &myself, 1) == TRMA_OK);
        CHECK(window_start(window.core, &myself, 1) == TRMA_OK);
        CHECK(window_complete(window.core) == TRMA_OK);
        CHECK(window_wait(window.core) == TRMA_OK);
        CHECK(window.core->waits.calls[TRMA_WAIT_WAIT] == 1);
    }
    CHECK(window_fence(window.core) == TRMA_OK);
    CHECK(window.core->waits.calls[TRMA_WAIT_FENCE] == 1);
    for (int kind = 0; kind < TRMA_COUNT_KINDS; kind++) {
        CHECK(trma_win_count_name(kind)[0] != 0);
    }
    for (int kind = 0; kind < TRMA_WAIT_KINDS; kind++) {
        CHECK(trma_win_wait_name(kind)[0] != 0);
    }
    CHECK(strcmp(trma_win_target_path_name(window.core, actor->me), "self") == 0);
    CHECK(PLAY_IN_THREADS || strcmp(trma_win_target_path_name(window.core, 1 - actor->me), "mapped") == 0);
    window_close(actor, &window);
}

static void test_statistics(void **state) {
    (void)state;
    play_run(2, play_statistics);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders), cmocka_unit_test(test_other_target), cmocka_unit_test(test_word),
        cmocka_unit_test(test_rings),  cmocka_unit_test(test_ranges),       cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
