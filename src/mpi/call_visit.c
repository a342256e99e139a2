/* SPDX-License-Identifier: BSD-3-Clause */
#include "call_visit.h"

#include "face_window.h"

static struct trma_gate nobodys;

_Atomic(struct trma_gate *) trma_visit_gate = &nobodys;

static void look_at(struct trma_handle *object) {
    struct trma_window *window = ((struct trma_win *)object)->core;

    trma_win_guard_enter(window);
    trma_win_adopt_look(window);
    trma_win_guard_leave(window);
}

void trma_visit_slow(void) {
    struct trma_gate *gate = atomic_load_explicit(&trma_visit_gate, memory_order_relaxed);

    /* Acquire: with the request comes the account that it is about (win_adopt.c). */
    (void)atomic_exchange_explicit(&gate->wanted, 0, memory_order_acquire);
    trma_handle_visit(&trma_windows, look_at);
}
