/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_STEP_H
#define TRMA_WIN_STEP_H

#include "win_adopt.h"
#include "win_epoch.h"

/* What the synchronisation calls have in common. All under the window's guard, which is released while
 * waiting.
 */

/* Every synchronisation call comes by here: a window whose traffic has earned it is adopted now. */
static inline void trma_win_step_account(struct trma_window *window) {
    if (__builtin_expect(trma_win_is_adoptable(window), 0)) {
        trma_win_adopt_look(window);
    }
}

/* Relaxed: it changes under the guard, or there are no threads. */
static inline bool trma_win_target_is_closed(const struct trma_target *target) {
    return atomic_load_explicit(&target->state, memory_order_relaxed) == TRMA_TARGET_CLOSED;
}

/* Counts a call. Where the time of its wait is booked; NULL when nobody wants to know (two clock reads per
 * wait). */
static inline uint64_t *trma_win_step_book(struct trma_window *window, enum trma_wait_kind kind) {
    if (!trma_win_is_counted(window)) {
        return NULL;
    }
    window->waits.calls[kind]++;
    return &window->waits.nanoseconds[kind];
}

/* Waits until what movers still carry to the target is in place. TRMA_ERR_PEER_DEAD: as trma_node_wait. */
enum trma_status trma_win_step_drain(struct trma_window *window, struct trma_target *target,
                                     uint64_t *waited_ns);

/* Ends the access epoch for all targets; the caller has drained them. */
void trma_win_step_close_all(struct trma_window *window);

#endif
