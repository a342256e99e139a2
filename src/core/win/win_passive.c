/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and flushes. */
#include "win_epoch.h"
#include "win_step.h"

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

/* At so many ranks from the first on, as far as operations to them may go ahead. */
static enum trma_status look_at(struct trma_window *window, uint32_t first, uint32_t count) {
    if (!must_look(window)) {
        return TRMA_OK;
    }
    for (uint32_t i = first; i < first + count; i++) {
        if (!trma_win_target_is_closed(&window->targets[i]) &&
            !trma_node_peer_is_alive(window->team->peers[i])) {
            /* The next call looks again. */
            window->until_look = 1;
            window->looked_ns = 0;
            return TRMA_ERR_PEER_DEAD;
        }
    }
    return TRMA_OK;
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

enum trma_status trma_win_lock(struct trma_window *window, enum trma_lock_kind kind, uint32_t index) {
    enum trma_status status = TRMA_ERR_SYNC;

    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if ((trma_win_epoch_may_begin(window) || window->epoch.access == TRMA_ACCESS_LOCK) &&
        (window->targets[index].lock == TRMA_LOCK_NONE || window->targets[index].lock == TRMA_LOCK_QUEUED)) {
        window->epoch.access = TRMA_ACCESS_LOCK;
        window->epoch.n_locked++;
        status = take_lock(window, index, kind, trma_win_step_book(window, TRMA_WAIT_LOCK));
        /* Release: as in trma_win_epoch_admit. */
        atomic_store_explicit(&window->targets[index].state, status ? TRMA_TARGET_CLOSED : TRMA_TARGET_OPEN,
                              memory_order_release);
        if (status && --window->epoch.n_locked == 0) {
            trma_win_step_close_all(window);
        }
    }
    trma_win_guard_leave(window);
    return status;
}

enum trma_status trma_win_unlock(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];

    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (window->epoch.access != TRMA_ACCESS_LOCK || target->lock == TRMA_LOCK_NONE ||
        target->lock == TRMA_LOCK_WAITING) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    enum trma_status status =
        trma_win_step_drain(window, target, trma_win_step_book(window, TRMA_WAIT_UNLOCK));
    enum trma_status seen = look_at(window, index, 1);
    trma_win_target_close(target);
    give_lock(window, index);
    if (--window->epoch.n_locked == 0) {
        trma_win_step_close_all(window);
    }
    trma_win_guard_leave(window);
    return status ? status : seen;
}

/* Gives all locks back and ends the epoch; the first error of what movers still carried. */
static enum trma_status leave_all(struct trma_window *window, uint64_t *waited_ns) {
    enum trma_status first_error = TRMA_OK;

    for (uint32_t i = 0; i < window->n_active; i++) {
        enum trma_status status = trma_win_step_drain(window, &window->targets[window->active[i]], waited_ns);
        first_error = first_error ? first_error : status;
        give_lock(window, window->active[i]);
    }
    trma_win_step_close_all(window);
    return first_error;
}

enum trma_status trma_win_lock_all(struct trma_window *window, bool unchecked) {
    enum trma_status status = TRMA_OK;

    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (!trma_win_epoch_may_begin(window)) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    window->epoch.access = TRMA_ACCESS_LOCK_ALL;
    uint64_t *waited_ns = trma_win_step_book(window, TRMA_WAIT_LOCK_ALL);
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
    trma_win_step_account(window);
    if (window->epoch.access != TRMA_ACCESS_LOCK_ALL) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    enum trma_status seen = look_at(window, 0, window->size);
    enum trma_status status = leave_all(window, trma_win_step_book(window, TRMA_WAIT_UNLOCK_ALL));
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
    trma_win_step_account(window);
    if (window->epoch.access == TRMA_ACCESS_LOCK_ALL ||
        (window->epoch.access == TRMA_ACCESS_LOCK && target->lock != TRMA_LOCK_NONE)) {
        status = trma_win_step_drain(window, target, trma_win_step_book(window, TRMA_WAIT_FLUSH));
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
    trma_win_step_account(window);
    if (is_passive(window)) {
        uint64_t *waited_ns = trma_win_step_book(window, TRMA_WAIT_FLUSH);
        status = look_at(window, 0, window->size);
        for (uint32_t i = 0; i < window->size && !status; i++) {
            if (!trma_win_target_is_closed(&window->targets[i])) {
                status = trma_win_step_drain(window, &window->targets[i], waited_ns);
            }
        }
        if (!local) {
            trma_win_order_flush(window);
        }
    }
    trma_win_guard_leave(window);
    return status;
}
