/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_ORDER_H
#define TRMA_WIN_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../acc/acc_singles.h"
#include "../trma_hidden.h"
#include "win_window.h"

/*
 * What a flush promises beyond the bytes being on their way: that the operations are done, at the target too,
 * before anything that the caller does next. Later stores stay behind a put's by a release fence, which costs
 * nothing on x86. Later loads do not: two origins that put, flush and get could both miss, each put still in
 * its processor's store buffer. Only a full fence, which waits for that buffer, keeps them behind, and it was
 * a quarter of the time of a small put and its flush (bench latency).
 *
 * So the flush only notes that a fence is owed, and what loads next from memory that others may have put into
 * pays it (trma_win_order_pay): get, the updates, taking a lock, trma_win_sync, the end of wait, test and
 * fence, and whoever gets from windows that are not ours. Nobody can tell the difference before such a load:
 * the processor writes its stores back in order and without delay, whatever else it does. A program's own
 * loads from its window's memory are ordered after its puts by those calls alone (section 12.7 of the
 * standard: a flush says nothing of the memory of the process that calls it), except in memory that it shares
 * for loads and stores: there completing stores is a flush's task (section 12.2.3), and the fence is made at
 * once.
 *
 * One debt per process, whatever the windows: a get from one window is after the flush of another as well.
 * With several threads the debt would have to be the thread's that made the stores; there, too, the fence is
 * made at once.
 */

/* True while a fence is owed. Atomic, relaxed, as everything here: threads come only one after the other. */
extern TRMA_HIDDEN atomic_bool trma_win_order_is_owed;

/* To be called before the window's memory is stored to, except by what notes it itself (acc_update.h). */
static inline void trma_win_order_note_store(struct trma_window *window) {
    atomic_store_explicit(&window->has_stored, true, memory_order_relaxed);
}

/* From here on the window's flushes make their fence at once: it has threads, or its program loads and stores
 * in other members' memory by itself, of which nothing is noted. */
static inline void trma_win_order_at_once(struct trma_window *window) {
    window->fences_at_once = true;
    trma_win_order_note_store(window);
}

/* A fence, or the debt of one. */
static inline void trma_win_order_owe(const struct trma_window *window) {
    if (__builtin_expect(window->fences_at_once, 0)) {
        atomic_thread_fence(memory_order_seq_cst);
    } else {
        atomic_store_explicit(&trma_win_order_is_owed, true, memory_order_relaxed);
    }
}

/* For a flush. After gets alone there are no stores to wait for, and later accesses must only not overtake
 * the loads. */
static inline void trma_win_order_flush(struct trma_window *window) {
    if (!atomic_load_explicit(&window->has_stored, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acq_rel);
        return;
    }
    atomic_thread_fence(memory_order_acq_rel);
    trma_win_order_owe(window);
    /* What was stored by the program itself is noted nowhere: there it stays set. */
    atomic_store_explicit(&window->has_stored, window->fences_at_once, memory_order_relaxed);
}

/* For an unlock, which promises what a flush does; giving a shared lock is an atomic instruction. That who
 * looks at what was put under an exclusive one has waited for it is not enough: the target may load without.
 */
static inline void trma_win_order_unlock(const struct trma_window *window, enum trma_lock_kind kind) {
    if (kind != TRMA_LOCK_SHARED || !TRMA_ATOMICS_ARE_FENCES) {
        trma_win_order_owe(window);
    }
}

/* The fence that is owed, before a load that must not overtake what was flushed. */
static inline void trma_win_order_pay(void) {
    if (__builtin_expect(atomic_load_explicit(&trma_win_order_is_owed, memory_order_relaxed), 0)) {
        atomic_thread_fence(memory_order_seq_cst);
        atomic_store_explicit(&trma_win_order_is_owed, false, memory_order_relaxed);
    }
}

/* The same right after an atomic instruction that writes, before anything is loaded. */
static inline void trma_win_order_pay_after_atomic(void) {
    if (TRMA_ATOMICS_ARE_FENCES) {
        atomic_store_explicit(&trma_win_order_is_owed, false, memory_order_relaxed);
    } else {
        trma_win_order_pay();
    }
}

#endif
