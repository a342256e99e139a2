/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_epoch.h"

#include "../sync/sync_pscw.h"
#include "win_deferred.h"

/* Every synchronisation call comes by here, under the guard: a window whose traffic has earned it is adopted
 * now. */
static void look_at_account(struct trma_window *window) {
    if (__builtin_expect(trma_win_is_adoptable(window), 0)) {
        trma_win_adopt_look(window);
    }
}

/*
 * Who only puts to mapped memory, or updates it, never waits for its owner, and would not notice that it has
 * died: now and then a flush and an unlock look, at most five times a second. The clock is read after so many
 * calls as were made in about that time, at most 4096.
 */
static bool must_look(struct trma_window *window) {
    enum { MOST_CALLS = 4096 };
    const uint64_t look_period_ns = 200000000;

    if (window->until_look > 1) {
        window->until_look--;
        return false;
    }
    uint64_t now = trma_node_clock_ns();
    uint64_t periods = (now - window->looked_ns) / look_period_ns;
    if (periods == 0) {
        window->calls_per_look *= window->calls_per_look < MOST_CALLS ? 2 : 1;
    } else {
        window->calls_per_look =
            periods < window->calls_per_look ? window->calls_per_look / (uint32_t)periods : 1;
        window->looked_ns = now;
    }
    window->until_look = window->calls_per_look;
    return periods > 0;
}

static bool is_closed(const struct trma_target *target) {
    return atomic_load_explicit(&target->state, memory_order_relaxed) == TRMA_TARGET_CLOSED;
}

/* At so many ranks from the first on, as far as operations to them may go ahead. */
static enum trma_status look_at(struct trma_window *window, uint32_t first, uint32_t count) {
    if (!must_look(window)) {
        return TRMA_OK;
    }
    for (uint32_t i = first; i < first + count; i++) {
        if (!is_closed(&window->targets[i]) && !trma_node_peer_is_alive(window->team->peers[i])) {
            /* The next call looks again. */
            window->until_look = 1;
            window->looked_ns = 0;
            return TRMA_ERR_PEER_DEAD;
        }
    }
    return TRMA_OK;
}

static bool is_drained(void *argument) {
    return trma_move_test(argument);
}

/* Where the time of a wait is booked; NULL when nobody wants to know (two clock reads per wait). */
static uint64_t *book(struct trma_window *window, enum trma_wait_kind kind) {
    if (!trma_win_is_counted(window)) {
        return NULL;
    }
    window->waits.calls[kind]++;
    return &window->waits.nanoseconds[kind];
}

/* Waits until what movers still carry to the target is in place. */
static enum trma_status drain(struct trma_window *window, struct trma_target *target, uint64_t *waited_ns) {
    /* Acquire: as trma_move_test, which this saves. */
    if (atomic_load_explicit(&target->outstanding.pending, memory_order_acquire) == 0 ||
        trma_move_test(&target->outstanding)) {
        return TRMA_OK;
    }
    struct trma_waiter unrung = window->team->waiter;
    unrung.turns = NULL; /* nobody rings when it is so far */
    return trma_node_wait(&unrung, trma_win_guard(window), is_drained, &target->outstanding, waited_ns);
}

/* Ends the access epoch for all targets; the caller has drained them. */
static void close_all(struct trma_window *window) {
    for (uint32_t i = 0; i < window->n_active; i++) {
        trma_win_target_close(&window->targets[window->active[i]]);
    }
    window->n_active = 0;
    window->epoch.access = TRMA_ACCESS_NONE;
    window->fence_used = false;
}

/* The lock that trma_win_lock_quick has a ticket of; there are no threads. */
static enum trma_status take_queued_lock(struct trma_window *window, struct trma_target *target,
                                         enum trma_lock_kind kind) {
    struct trma_lock *lock = &target->words->lock;
    const struct trma_waiter *waiter = &window->team->waiter;

    return kind == TRMA_LOCK_EXCLUSIVE
               ? trma_sync_lock_await(lock, target->ticket, waiter, NULL, NULL)
               : trma_sync_lock_await_to_share(lock, target->ticket, waiter, NULL, NULL);
}

/* Takes the target's lock under the guard, which is released while waiting; `lock` says WAITING meanwhile. */
static enum trma_status take_lock(struct trma_window *window, uint32_t index, enum trma_lock_kind kind,
                                  uint64_t *waited_ns) {
    struct trma_target *target = &window->targets[index];
    const struct trma_waiter *waiter = &window->team->waiter;
    enum trma_status status = TRMA_OK;
    const bool is_queued = target->lock == TRMA_LOCK_QUEUED;

    target->lock = TRMA_LOCK_WAITING;
    if (is_queued) {
        status = take_queued_lock(window, target, kind);
    } else if (kind == TRMA_LOCK_EXCLUSIVE) {
        status = trma_sync_lock_exclusive(&target->words->lock, waiter, trma_win_guard(window), waited_ns);
    } else if (kind == TRMA_LOCK_SHARED) {
        status = trma_sync_lock_shared(&target->words->lock, waiter, trma_win_guard(window), waited_ns);
    }
    target->lock = status ? TRMA_LOCK_NONE : kind;
    trma_win_order_pay();
    return status;
}

static void give_lock(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];
    bool needs_fence = window->needs_fence;

    if (target->lock == TRMA_LOCK_EXCLUSIVE) {
        trma_sync_unlock_exclusive(&target->words->lock, needs_fence);
    } else if (target->lock == TRMA_LOCK_SHARED) {
        trma_sync_unlock_shared(&target->words->lock, needs_fence);
    }
    trma_win_order_unlock(window, target->lock);
    target->lock = TRMA_LOCK_NONE;
}

/* Whether operations may go ahead. Remembering them costs more than a turn of the target's, if that is all it
 * needs. */
static bool has_posted(const struct trma_window *window, const struct trma_target *target) {
    bool has = trma_sync_pscw_reached(target->posted, target->started);

    if (!has && !target->first_deferred && !trma_win_is_threaded(window)) {
        trma_node_wait_turn(&window->team->waiter);
        has = trma_sync_pscw_reached(target->posted, target->started);
    }
    return has;
}

enum trma_status trma_win_epoch_open_target(struct trma_window *window, uint32_t index, bool *is_open) {
    struct trma_target *target = &window->targets[index];
    enum trma_status status = TRMA_OK;

    *is_open = true;
    if (!is_closed(target)) {
        return TRMA_OK;
    }
    switch (window->epoch.access) {
    case TRMA_ACCESS_FENCE:
        window->fence_used = true;
        trma_win_epoch_admit(window, index);
        return TRMA_OK;
    case TRMA_ACCESS_PSCW:
        if (!target->in_start_group) {
            return TRMA_ERR_SYNC;
        }
        if (!has_posted(window, target)) {
            *is_open = false;
            return TRMA_OK;
        }
        if (target->first_deferred) {
            status = trma_win_deferred_run(window, target);
        }
        trma_win_epoch_admit(window, index);
        return status;
    case TRMA_ACCESS_LOCK: /* a locked target is open, this one is not */
    case TRMA_ACCESS_LOCK_ALL:
    case TRMA_ACCESS_NONE:
        break;
    }
    return TRMA_ERR_SYNC;
}

bool trma_win_epoch_open_late(struct trma_window *window, uint32_t index) {
    const struct trma_target *target = &window->targets[index];
    bool is_open = false;

    return !trma_win_is_threaded(window) && !target->first_deferred && is_closed(target) &&
           trma_win_epoch_open_target(window, index, &is_open) == TRMA_OK && is_open;
}

enum trma_status trma_win_fence(struct trma_window *window, unsigned assertions) {
    enum trma_status status = TRMA_OK;

    trma_win_guard_enter(window);
    look_at_account(window);
    if ((window->epoch.access != TRMA_ACCESS_NONE && window->epoch.access != TRMA_ACCESS_FENCE) ||
        window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    uint64_t *waited_ns = book(window, TRMA_WAIT_FENCE);
    for (uint32_t i = 0; i < window->n_active && !status; i++) {
        status = drain(window, &window->targets[window->active[i]], waited_ns);
    }
    close_all(window);
    /* Without operations on either side there is nothing to wait for; with them on one side, the targets must
     * be known to have finished their local accesses (or their part of the epoch): everybody waits for
     * everybody. */
    if (!status && assertions != (TRMA_FENCE_NOPRECEDE | TRMA_FENCE_NOSUCCEED)) {
        status =
            trma_sync_barrier_pass(&window->fence, &window->team->waiter, trma_win_guard(window), waited_ns);
    }
    if (!(assertions & TRMA_FENCE_NOSUCCEED)) {
        window->epoch.access = TRMA_ACCESS_FENCE;
    }
    trma_win_guard_leave(window);
    trma_win_order_pay();
    return status;
}

enum trma_status trma_win_fence_await(struct trma_window *window) {
    enum trma_status status = trma_sync_barrier_await(&window->fence, &window->team->waiter, NULL, NULL);

    trma_win_order_pay();
    return status;
}

enum trma_status trma_win_start(struct trma_window *window, const uint32_t *group, uint32_t n) {
    trma_win_guard_enter(window);
    look_at_account(window);
    if (!trma_win_epoch_may_begin(window)) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    book(window, TRMA_WAIT_START);
    for (uint32_t i = 0; i < n; i++) {
        window->start_group[i] = group[i];
        window->targets[group[i]].started++;
        window->targets[group[i]].in_start_group = true;
    }
    window->n_started = n;
    window->epoch.access = TRMA_ACCESS_PSCW;
    trma_win_guard_leave(window);
    return TRMA_OK;
}

/* True when the target has remembered operations and has not posted. */
static bool is_late(const struct trma_target *target) {
    return target->first_deferred && !trma_sync_pscw_reached(target->posted, target->started);
}

/* True when a target that complete waits for has posted. Reads nothing that the guard protects from change
 * while complete is under way. */
static bool has_late_one_posted(void *argument) {
    const struct trma_window *window = argument;

    for (uint32_t i = 0; i < window->n_started; i++) {
        const struct trma_target *target = &window->targets[window->start_group[i]];
        if (target->in_start_group && !is_late(target)) {
            return true;
        }
    }
    return false;
}

/* The first target that complete waits for. */
static uint32_t first_waited_for(void *argument) {
    const struct trma_window *window = argument;
    uint32_t i = 0;

    while (i + 1 < window->n_started && !window->targets[window->start_group[i]].in_start_group) {
        i++;
    }
    return window->start_group[i];
}

/* Ends the access epoch towards one target of the group, which is not late. */
static enum trma_status finish_target(struct trma_window *window, uint32_t index, uint64_t *waited_ns) {
    struct trma_target *target = &window->targets[index];
    enum trma_status status = target->first_deferred ? trma_win_deferred_run(window, target) : TRMA_OK;
    enum trma_status drained = drain(window, target, waited_ns);

    target->in_start_group = false;
    trma_sync_pscw_announce(target->completed, target->started);
    trma_node_doorbell_notify(window->team->bells[index], window->rings_fence);
    return status ? status : drained;
}

/* Ends it towards all that are not late; *late tells whether one is. The first error is kept. */
static enum trma_status finish_ready(struct trma_window *window, bool *late, uint64_t *waited_ns) {
    enum trma_status first_error = TRMA_OK;

    *late = false;
    for (uint32_t i = 0; i < window->n_started; i++) {
        struct trma_target *target = &window->targets[window->start_group[i]];
        if (!target->in_start_group) {
            continue;
        }
        if (is_late(target)) {
            *late = true;
            continue;
        }
        enum trma_status status = finish_target(window, window->start_group[i], waited_ns);
        first_error = first_error ? first_error : status;
    }
    return first_error;
}

enum trma_status trma_win_complete(struct trma_window *window) {
    const struct trma_awaited post = {
        .ready = has_late_one_posted, .argument = window, .whom = first_waited_for};
    bool late;

    trma_win_guard_enter(window);
    look_at_account(window);
    if (window->epoch.access != TRMA_ACCESS_PSCW) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    uint64_t *waited_ns = book(window, TRMA_WAIT_COMPLETE);
    struct trma_turns *turns = trma_win_is_threaded(window) ? NULL : window->team->waiter.turns;
    if (turns) {
        trma_node_turn_begin(turns); /* also while it moves what was put off */
    }
    /* Each target as soon as it can be: none waits because another one is late. */
    enum trma_status first_error = finish_ready(window, &late, waited_ns);
    while (late) {
        enum trma_status status =
            trma_node_wait_for(&window->team->waiter, trma_win_guard(window), &post, waited_ns);
        if (status) {
            /* Nobody will post any more. The buffers are the user's again, so the operations are dropped. */
            for (uint32_t i = 0; i < window->n_started; i++) {
                trma_win_deferred_clear(&window->targets[window->start_group[i]]);
            }
        }
        enum trma_status finished = finish_ready(window, &late, waited_ns);
        status = status ? status : finished;
        first_error = first_error ? first_error : status;
    }
    window->n_started = 0;
    close_all(window);
    if (turns) {
        trma_node_turn_end(turns);
    }
    trma_win_guard_leave(window);
    return first_error;
}

enum trma_status trma_win_post(struct trma_window *window, const uint32_t *group, uint32_t n) {
    trma_win_guard_enter(window);
    look_at_account(window);
    if (window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    book(window, TRMA_WAIT_POST);
    for (uint32_t i = 0; i < n; i++) {
        struct trma_target *origin = &window->targets[group[i]];
        window->post_group[i] = group[i];
        trma_sync_pscw_announce(&origin->words->pairs[window->me].posted, ++origin->exposed);
    }
    /* One fence for all. */
    if (window->rings_fence) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    for (uint32_t i = 0; i < n; i++) {
        trma_node_doorbell_notify(window->team->bells[group[i]], false);
    }
    window->n_posted = n;
    window->is_exposed = true;
    trma_win_guard_leave(window);
    return TRMA_OK;
}

struct exposure {
    struct trma_window *window;
    uint32_t n_done; /* members of the post group, in its order, that have completed */
};

/* Looks at the origins in order, and never again at one that has completed. Reads nothing that the guard
 * protects from change while an exposure epoch is open. */
static bool have_completed(void *argument) {
    struct exposure *exposure = argument;
    struct trma_window *window = exposure->window;

    while (exposure->n_done < window->n_posted) {
        uint32_t origin = window->post_group[exposure->n_done];
        if (!trma_sync_pscw_reached(&window->words->pairs[origin].completed,
                                    window->targets[origin].exposed)) {
            return false;
        }
        exposure->n_done++;
    }
    return true;
}

/* Those that have not; where cores are few only who sleeps asks. */
static uint32_t count_late(void *argument) {
    const struct exposure *exposure = argument;
    struct trma_window *window = exposure->window;
    uint32_t n = 0;

    for (uint32_t i = exposure->n_done; i < window->n_posted; i++) {
        const uint32_t origin = window->post_group[i];
        n +=
            !trma_sync_pscw_reached(&window->words->pairs[origin].completed, window->targets[origin].exposed);
    }
    return n;
}

enum trma_status trma_win_wait(struct trma_window *window) {
    struct exposure exposure = {window, 0};
    const struct trma_awaited completes = {
        .ready = have_completed, .argument = &exposure, .missing = count_late};

    trma_win_guard_enter(window);
    look_at_account(window);
    if (!window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    enum trma_status status = trma_node_wait_for(&window->team->waiter, trma_win_guard(window), &completes,
                                                 book(window, TRMA_WAIT_WAIT));
    window->is_exposed = false;
    window->n_posted = 0;
    trma_win_guard_leave(window);
    trma_win_order_pay();
    return status;
}

enum trma_status trma_win_test(struct trma_window *window, bool *done) {
    struct exposure exposure = {window, 0};

    *done = false;
    trma_win_guard_enter(window);
    look_at_account(window);
    if (!window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    *done = have_completed(&exposure);
    if (*done) {
        window->is_exposed = false;
        window->n_posted = 0;
    }
    trma_win_guard_leave(window);
    trma_win_order_pay();
    if (!*done && window->team->waiter.progress) {
        window->team->waiter.progress();
    }
    return TRMA_OK;
}

enum trma_status trma_win_lock(struct trma_window *window, enum trma_lock_kind kind, uint32_t index) {
    enum trma_status status = TRMA_ERR_SYNC;

    trma_win_guard_enter(window);
    look_at_account(window);
    if ((trma_win_epoch_may_begin(window) || window->epoch.access == TRMA_ACCESS_LOCK) &&
        (window->targets[index].lock == TRMA_LOCK_NONE || window->targets[index].lock == TRMA_LOCK_QUEUED)) {
        window->epoch.access = TRMA_ACCESS_LOCK;
        window->epoch.n_locked++;
        status = take_lock(window, index, kind, book(window, TRMA_WAIT_LOCK));
        /* Release: as in trma_win_epoch_admit. */
        atomic_store_explicit(&window->targets[index].state, status ? TRMA_TARGET_CLOSED : TRMA_TARGET_OPEN,
                              memory_order_release);
        if (status && --window->epoch.n_locked == 0) {
            close_all(window);
        }
    }
    trma_win_guard_leave(window);
    return status;
}

enum trma_status trma_win_unlock(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];

    trma_win_guard_enter(window);
    look_at_account(window);
    if (window->epoch.access != TRMA_ACCESS_LOCK || target->lock == TRMA_LOCK_NONE ||
        target->lock == TRMA_LOCK_WAITING) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    enum trma_status status = drain(window, target, book(window, TRMA_WAIT_UNLOCK));
    enum trma_status seen = look_at(window, index, 1);
    trma_win_target_close(target);
    give_lock(window, index);
    if (--window->epoch.n_locked == 0) {
        close_all(window);
    }
    trma_win_guard_leave(window);
    return status ? status : seen;
}

/* Gives all locks back and ends the epoch; the first error of what movers still carried. */
static enum trma_status leave_all(struct trma_window *window, uint64_t *waited_ns) {
    enum trma_status first_error = TRMA_OK;

    for (uint32_t i = 0; i < window->n_active; i++) {
        enum trma_status status = drain(window, &window->targets[window->active[i]], waited_ns);
        first_error = first_error ? first_error : status;
        give_lock(window, window->active[i]);
    }
    close_all(window);
    return first_error;
}

enum trma_status trma_win_lock_all(struct trma_window *window, bool unchecked) {
    enum trma_status status = TRMA_OK;

    trma_win_guard_enter(window);
    look_at_account(window);
    if (!trma_win_epoch_may_begin(window)) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    window->epoch.access = TRMA_ACCESS_LOCK_ALL;
    uint64_t *waited_ns = book(window, TRMA_WAIT_LOCK_ALL);
    /* In the order of ranks, all of them, now. Taken at the first touch they would be taken in any order, and
     * two such epochs dead-lock with two askers for exclusive locks, each queued between the two. */
    for (uint32_t i = 0; i < window->size && !status; i++) {
        status = take_lock(window, i, unchecked ? TRMA_LOCK_UNCHECKED : TRMA_LOCK_SHARED, waited_ns);
        if (!status) {
            trma_win_epoch_admit(window, i);
        }
    }
    if (status) {
        leave_all(window, waited_ns);
    }
    trma_win_guard_leave(window);
    return status;
}

enum trma_status trma_win_unlock_all(struct trma_window *window) {
    trma_win_guard_enter(window);
    look_at_account(window);
    if (window->epoch.access != TRMA_ACCESS_LOCK_ALL) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    enum trma_status seen = look_at(window, 0, window->size);
    enum trma_status status = leave_all(window, book(window, TRMA_WAIT_UNLOCK_ALL));
    trma_win_guard_leave(window);
    return status ? status : seen;
}

static bool is_passive(const struct trma_window *window) {
    return window->epoch.access == TRMA_ACCESS_LOCK || window->epoch.access == TRMA_ACCESS_LOCK_ALL;
}

enum trma_status trma_win_flush(struct trma_window *window, uint32_t index, bool local) {
    struct trma_target *target = &window->targets[index];
    enum trma_status status = TRMA_ERR_SYNC;

    trma_win_guard_enter(window);
    look_at_account(window);
    if (window->epoch.access == TRMA_ACCESS_LOCK_ALL ||
        (window->epoch.access == TRMA_ACCESS_LOCK && target->lock != TRMA_LOCK_NONE)) {
        status = drain(window, target, book(window, TRMA_WAIT_FLUSH));
        enum trma_status seen = look_at(window, index, 1);
        status = status ? status : seen;
        if (!local) {
            trma_win_order_flush(window);
        }
    }
    trma_win_guard_leave(window);
    return status;
}

enum trma_status trma_win_flush_all(struct trma_window *window, bool local) {
    enum trma_status status = TRMA_ERR_SYNC;

    trma_win_guard_enter(window);
    look_at_account(window);
    if (is_passive(window)) {
        uint64_t *waited_ns = book(window, TRMA_WAIT_FLUSH);
        status = look_at(window, 0, window->size);
        for (uint32_t i = 0; i < window->size && !status; i++) {
            if (!is_closed(&window->targets[i])) {
                status = drain(window, &window->targets[i], waited_ns);
            }
        }
        if (!local) {
            trma_win_order_flush(window);
        }
    }
    trma_win_guard_leave(window);
    return status;
}

enum trma_status trma_win_sync(struct trma_window *window) {
    (void)window;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&trma_win_order_is_owed, false, memory_order_relaxed);
    return TRMA_OK;
}

bool trma_win_epoch_is_closed(struct trma_window *window) {
    trma_win_guard_enter(window);
    bool closed = trma_win_epoch_may_begin(window) && !window->is_exposed;
    trma_win_guard_leave(window);
    return closed;
}
