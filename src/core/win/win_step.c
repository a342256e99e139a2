/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_step.h"

static bool is_drained(void *argument) {
    return trma_move_test(argument);
}

enum trma_status trma_win_step_drain(struct trma_window *window, struct trma_target *target,
                                     uint64_t *waited_ns) {
    /* Acquire: as trma_move_test, which this saves. */
    if (atomic_load_explicit(&target->outstanding.pending, memory_order_acquire) == 0 ||
        trma_move_test(&target->outstanding)) {
        return TRMA_OK;
    }
    struct trma_waiter unrung = window->team->waiter;
    unrung.turns = NULL; /* nobody rings when it is so far */
    return trma_node_wait(&unrung, trma_win_guard(window), is_drained, &target->outstanding, waited_ns);
}

void trma_win_step_close_all(struct trma_window *window) {
    for (uint32_t i = 0; i < window->n_active; i++) {
        trma_win_target_close(&window->targets[window->active[i]]);
    }
    window->n_active = 0;
    window->epoch.access = TRMA_ACCESS_NONE;
    window->fence_used = false;
}
