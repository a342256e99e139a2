/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_EPOCH_H
#define TRMA_WIN_EPOCH_H

#include "../move/move_claim.h"
#include "win_order.h"
#include "win_window.h"

/*
 * The synchronisation calls on a window of ours, and the rules about which call may follow which (MPI-4.1
 * section 12.5). All give TRMA_ERR_SYNC, and change nothing, when the call does not fit the epoch;
 * TRMA_ERR_PEER_DEAD when they waited for a process that has ended. Thread-safe: with several threads
 * they take the window's guard and release it while waiting. Those of post, start, complete and wait are in
 * win_pscw.c, locks and flushes in win_passive.c.
 */

enum trma_fence_assertion {
    TRMA_FENCE_NOPRECEDE = 1, /* no operations since the last fence, on any member */
    TRMA_FENCE_NOSUCCEED = 2  /* none will follow before the next */
};

enum trma_status trma_win_fence(struct trma_window *window, unsigned assertions);
/* Waits for who has not arrived after trma_win_fence_quick. */
enum trma_status trma_win_fence_await(struct trma_window *window);

/* True when the traffic to this process's memory, which may be adopted, has earned a look at its account
 * (trma_win_adopt_look). Relaxed: what is missed now is seen by the next call. */
static inline bool trma_win_adopt_is_due(const struct trma_window *window) {
    const struct trma_adopt_words *words = &window->words->adopt;

    return atomic_load_explicit(&words->earned_ns, memory_order_relaxed) >=
           atomic_load_explicit(&words->price_ns, memory_order_relaxed);
}

/* True when calls must take the long way: threads need the guard, statistics are wanted, or this process's
 * memory may be adopted now. */
static inline bool trma_win_must_go_long(const struct trma_window *window) {
    const unsigned special = trma_win_special(window);

    return __builtin_expect(special != 0, 0) &&
           (special != TRMA_SPECIAL_ADOPTABLE || trma_win_adopt_is_due(window));
}

/* The same of a call that leaves the account to others: it opens an access epoch, or looks now and then only
 * (trma_win_count_down). */
static inline bool trma_win_must_go_long_anyway(const struct trma_window *window) {
    return __builtin_expect((trma_win_special(window) & ~TRMA_SPECIAL_ADOPTABLE) != 0, 0);
}

/* Flushes and unlocks of which one looks at the account: an adoption is paid for by hundreds of operations.
 * Measured (AMD EPYC, Zen 3, bench-latency in turns, 10 to 12 launches): lock + put + unlock and put + flush
 * of 8 bytes on created windows in 0.88 to 0.92 of the time when not every call looks. */
enum { TRMA_WIN_CALLS_PER_ACCOUNT = 16 };

/* Counts a flush or an unlock. False: this one is to look, at the clock or at the account. */
static inline bool trma_win_count_down(struct trma_window *window) {
    const uint32_t left = --window->until_look;

    return __builtin_expect(left % TRMA_WIN_CALLS_PER_ACCOUNT != 0, 1) ||
           (left != 0 && !trma_win_must_go_long(window));
}

/* Lets operations to the target go ahead, until the epoch ends. Under the guard. */
static inline void trma_win_epoch_admit(struct trma_window *window, uint32_t target) {
    window->active[window->n_active++] = target;
    /* Release: a thread that sees the target open sees what made it so. */
    atomic_store_explicit(&window->targets[target].state, TRMA_TARGET_OPEN, memory_order_release);
}

/* No more of them. Under the guard; relaxed: no other thread may issue any. */
static inline void trma_win_target_close(struct trma_target *target) {
    atomic_store_explicit(&target->state, TRMA_TARGET_CLOSED, memory_order_relaxed);
}

/* True when no access epoch is open; a fence that nothing followed opens none (MPI-4.1 section 12.5.1). Under
 * the guard. */
static inline bool trma_win_epoch_may_begin(const struct trma_window *window) {
    return window->epoch.access == TRMA_ACCESS_NONE ||
           (window->epoch.access == TRMA_ACCESS_FENCE && !window->fence_used);
}

/* Groups are given as ranks in the window; duplicates are not allowed, which MPI groups guarantee. */
enum trma_status trma_win_start(struct trma_window *window, const uint32_t *group, uint32_t n);
enum trma_status trma_win_complete(struct trma_window *window);
enum trma_status trma_win_post(struct trma_window *window, const uint32_t *group, uint32_t n);
enum trma_status trma_win_wait(struct trma_window *window);

/*
 * The short ways of calls, in line with their entry points. True: done, without an error. False: nothing was
 * done but what the long way of the same name goes on from, which must follow.
 */

/* The first half of a fence without assertions, of members with cores of their own. True: this member has
 * arrived, and trma_win_fence_finish must follow. */
static inline bool trma_win_fence_quick(struct trma_window *window) {
    if (trma_win_must_go_long(window) ||
        (window->epoch.access != TRMA_ACCESS_NONE && window->epoch.access != TRMA_ACCESS_FENCE) ||
        window->is_exposed || window->fence.crowded) {
        return false;
    }
    for (uint32_t i = 0; i < window->n_active; i++) {
        trma_win_target_close(&window->targets[window->active[i]]);
    }
    window->n_active = 0;
    window->fence_used = false;
    window->epoch.access = TRMA_ACCESS_FENCE;
    trma_sync_barrier_enter(&window->fence, window->rings_fence);
    return true;
}

static inline enum trma_status trma_win_fence_finish(struct trma_window *window) {
    if (__builtin_expect(!trma_sync_barrier_is_over(&window->fence), 0)) {
        return trma_win_fence_await(window);
    }
    trma_win_order_pay();
    return TRMA_OK;
}

/* Start, complete and post: of a group of one. A target that has posted by now is noted, so that the epoch's
 * first operation need not look; the line of the word that will announce the end may be asked for
 * (move_claim.h). */
static inline bool trma_win_start_quick(struct trma_window *window, const uint32_t *group, uint32_t n) {
    if (trma_win_must_go_long_anyway(window) || n != 1 || !trma_win_epoch_may_begin(window)) {
        return false;
    }
    struct trma_target *target = &window->targets[group[0]];
    window->start_group[0] = group[0];
    window->n_started = 1;
    window->epoch.access = TRMA_ACCESS_PSCW;
    target->started++;
    target->in_start_group = true;
    if (trma_sync_pscw_reached(target->posted, target->started)) {
        if (target->claims_early) {
            trma_move_claim_line(target->completed);
        }
        window->active[0] = group[0];
        window->n_active = 1;
        /* Relaxed: no other thread looks. */
        atomic_store_explicit(&target->state, TRMA_TARGET_POSTED, memory_order_relaxed);
    }
    return true;
}

static inline bool trma_win_complete_quick(struct trma_window *window) {
    const uint32_t index = window->start_group[0];
    struct trma_target *target = &window->targets[index];

    /* A target is in the group between start and complete alone. */
    if (trma_win_must_go_long(window) || window->n_started != 1 || target->first_deferred) {
        return false;
    }
    trma_sync_pscw_announce(target->completed, target->started);
    target->in_start_group = false;
    trma_win_target_close(target);
    window->n_active = 0;
    window->n_started = 0;
    window->epoch.access = TRMA_ACCESS_NONE;
    trma_node_doorbell_notify(window->team->bells[index], window->rings_fence);
    return true;
}

static inline bool trma_win_post_quick(struct trma_window *window, const uint32_t *group, uint32_t n) {
    if (trma_win_must_go_long(window) || n != 1 || window->is_exposed) {
        return false;
    }
    struct trma_target *origin = &window->targets[group[0]];
    window->post_group[0] = group[0];
    window->n_posted = 1;
    window->is_exposed = true;
    trma_sync_pscw_announce(&origin->words->pairs[window->me].posted, ++origin->exposed);
    trma_node_doorbell_notify(window->team->bells[group[0]], window->rings_fence);
    return true;
}

/* Wait: for a group of one that has completed. */
static inline bool trma_win_wait_quick(struct trma_window *window) {
    const uint32_t origin = window->post_group[0];

    if (trma_win_must_go_long(window) || !window->is_exposed || window->n_posted != 1 ||
        !trma_sync_pscw_reached(&window->words->pairs[origin].completed, window->targets[origin].exposed)) {
        return false;
    }
    window->is_exposed = false;
    window->n_posted = 0;
    trma_win_order_pay();
    return true;
}

/* As wait, but *done says whether the epoch has ended instead of waiting for it. */
enum trma_status trma_win_test(struct trma_window *window, bool *done);

enum trma_status trma_win_lock(struct trma_window *window, enum trma_lock_kind kind, uint32_t target);
enum trma_status trma_win_unlock(struct trma_window *window, uint32_t target);

/* What `epoch` is with that access and so many locks. Read and written as one word where it is the only one
 * of its kind: fewer looks, and fewer stores for the next atomic instruction to wait for. */
static inline uint64_t trma_win_epoch_of(enum trma_access access, uint32_t n_locked) {
    const union trma_epoch epoch = {{access, n_locked}};

    return epoch.word;
}

/* Exclusive or shared, and the epoch's first. One that is not to be had at once leaves its ticket to
 * trma_win_lock. Without an epoch no target is locked. */
static inline bool trma_win_lock_quick(struct trma_window *window, enum trma_lock_kind kind, uint32_t index) {
    struct trma_target *target = &window->targets[index];

    if (trma_win_must_go_long_anyway(window) ||
        window->epoch.word != trma_win_epoch_of(TRMA_ACCESS_NONE, 0)) {
        return false;
    }
    struct trma_lock *lock = &target->words->lock;
    uint32_t ticket = trma_sync_lock_ask(lock);
    trma_win_order_pay_after_atomic();
    if (__builtin_expect(kind == TRMA_LOCK_EXCLUSIVE ? !trma_sync_lock_is_turn(lock, ticket)
                                                     : !trma_sync_lock_is_turn_to_share(lock, ticket),
                         0)) {
        target->lock = TRMA_LOCK_QUEUED;
        target->ticket = ticket;
        return false;
    }
    window->epoch.word = trma_win_epoch_of(TRMA_ACCESS_LOCK, 1);
    target->lock = kind;
    /* Relaxed: no other thread looks. */
    atomic_store_explicit(&target->state, TRMA_TARGET_OPEN, memory_order_relaxed);
    if (kind == TRMA_LOCK_SHARED) {
        trma_sync_lock_admit(lock, window->needs_fence);
    }
    return true;
}

/* The end of an epoch of one lock, all but giving it. */
static inline void trma_win_end_lock(struct trma_window *window, struct trma_target *target,
                                     enum trma_lock_kind kind) {
    window->epoch.word = trma_win_epoch_of(TRMA_ACCESS_NONE, 0);
    target->lock = TRMA_LOCK_NONE;
    trma_win_target_close(target);
    trma_win_order_unlock(window, kind);
}

/* Of the one lock that is held. */
static inline bool trma_win_unlock_quick(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];
    const enum trma_lock_kind kind = target->lock;
    struct trma_lock *lock = &target->words->lock;

    if (trma_win_must_go_long_anyway(window) ||
        window->epoch.word != trma_win_epoch_of(TRMA_ACCESS_LOCK, 1) || !trma_win_count_down(window)) {
        return false;
    }
    /* Before the atomic instruction, which loads that come after it wait for. */
    const bool needs_fence = window->needs_fence;
    if (kind == TRMA_LOCK_EXCLUSIVE) {
        trma_win_end_lock(window, target, TRMA_LOCK_EXCLUSIVE);
        trma_sync_lock_leave_exclusive(lock);
    } else if (kind == TRMA_LOCK_SHARED) {
        trma_win_end_lock(window, target, TRMA_LOCK_SHARED);
        trma_sync_lock_leave_shared(lock);
    } else {
        return false;
    }
    /* Once for both: with a call in one place alone, the way that does not make it needs no stack frame. */
    trma_node_doorbell_notify(&lock->bell, needs_fence);
    return true;
}

/*
 * Takes every member's lock, in the order of ranks: some ten nanoseconds for each. When that fails, none is
 * held and no epoch is open.
 */
enum trma_status trma_win_lock_all(struct trma_window *window, bool unchecked);
enum trma_status trma_win_unlock_all(struct trma_window *window);

/* Operations to the target (or all) are done, at the target too, on return. local: only the origin's buffers
 * are free. */
enum trma_status trma_win_flush(struct trma_window *window, uint32_t target, bool local);
enum trma_status trma_win_flush_all(struct trma_window *window, bool local);

/* Not of a local one, which does less. */
static inline bool trma_win_flush_quick(struct trma_window *window, uint32_t target) {
    struct trma_target *at = &window->targets[target];

    if (trma_win_must_go_long_anyway(window) ||
        (window->epoch.access != TRMA_ACCESS_LOCK_ALL &&
         (window->epoch.access != TRMA_ACCESS_LOCK || at->lock == TRMA_LOCK_NONE))) {
        return false;
    }
    trma_win_order_flush(window);
    return trma_win_count_down(window);
}

/* Orders the member's own loads and stores with what others did (the unified memory model needs no more than
 * a fence). */
enum trma_status trma_win_sync(struct trma_window *window);

/* False when an epoch is open, in which freeing the window is not allowed. */
bool trma_win_epoch_is_closed(struct trma_window *window);

/*
 * Before an operation, under the guard: makes the target ready if the epoch allows it. *is_open false with
 * TRMA_OK: the target has not posted yet, the operation must be remembered.
 */
enum trma_status trma_win_epoch_open_target(struct trma_window *window, uint32_t target, bool *is_open);

/* Opens a target that start has seen to have posted, for a get of so many bytes, and asks for the line of the
 * word that will announce the end of the epoch, if start has not. */
static inline void trma_win_epoch_open_to_get(struct trma_window *window, uint32_t index, size_t bytes) {
    struct trma_target *target = &window->targets[index];

    /* Relaxed, both: there are no other threads then. */
    if (atomic_load_explicit(&target->state, memory_order_relaxed) == TRMA_TARGET_POSTED) {
        if (!target->claims_early) {
            trma_move_claim_line(target->completed);
        }
        target->claims_early = bytes <= TRMA_MOVE_CLAIM_EARLY_MOST;
        atomic_store_explicit(&target->state, TRMA_TARGET_OPEN, memory_order_relaxed);
    }
}

/* Opens a target that is not open yet, where that needs no more than a look: the operation that is the first
 * to it in its epoch can go the short way then. False: nothing has changed. Only without threads is there
 * anything to win. */
static inline bool trma_win_epoch_open(struct trma_window *window, uint32_t index) {
    struct trma_target *target = &window->targets[index];
    const unsigned state = atomic_load_explicit(&target->state, memory_order_relaxed);

    if (state == TRMA_TARGET_POSTED) {
        target->claims_early = false;
        atomic_store_explicit(&target->state, TRMA_TARGET_OPEN, memory_order_relaxed);
        return true;
    }
    if (trma_win_is_threaded(window) || target->first_deferred || state != TRMA_TARGET_CLOSED) {
        return false;
    }
    if (window->epoch.access == TRMA_ACCESS_FENCE) {
        window->fence_used = true;
    } else if (window->epoch.access != TRMA_ACCESS_PSCW || !target->in_start_group ||
               !trma_sync_pscw_reached(target->posted, target->started)) {
        return false;
    }
    trma_win_epoch_admit(window, index);
    return true;
}

/* The same, also where it takes a turn of the target's, with more ranks than cores. */
bool trma_win_epoch_open_late(struct trma_window *window, uint32_t index);

/* The word by which this process will announce the end of its epoch, of fence or PSCW, to the target; of a
 * fence, to whoever comes first. */
static inline atomic_uint *trma_win_epoch_word(const struct trma_window *window, uint32_t target) {
    return window->epoch.access == TRMA_ACCESS_PSCW ? window->targets[target].completed
                                                    : trma_sync_barrier_first_word(&window->fence);
}

#endif
