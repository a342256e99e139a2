/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_epoch.h"

#include "../sync/sync_pscw.h"
#include "win_deferred.h"
#include "win_step.h"

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
    if (!trma_win_target_is_closed(target)) {
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

    return !trma_win_is_threaded(window) && !target->first_deferred && trma_win_target_is_closed(target) &&
           trma_win_epoch_open_target(window, index, &is_open) == TRMA_OK && is_open;
}

enum trma_status trma_win_fence(struct trma_window *window, unsigned assertions) {
    enum trma_status status = TRMA_OK;

    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if ((window->epoch.access != TRMA_ACCESS_NONE && window->epoch.access != TRMA_ACCESS_FENCE) ||
        window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    uint64_t *waited_ns = trma_win_step_book(window, TRMA_WAIT_FENCE);
    for (uint32_t i = 0; i < window->n_active && !status; i++) {
        status = trma_win_step_drain(window, &window->targets[window->active[i]], waited_ns);
    }
    trma_win_step_close_all(window);
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
