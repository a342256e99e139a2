/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_SYNCHRONISE_H
#define TRMA_CALL_SYNCHRONISE_H

#include "face_window.h"
#include "win/win_epoch.h"

/* The long ways of locks: every error, and every other kind of lock (call_synchronise.c). */
int trma_synchronise_lock(struct trma_win *window, int lock_type, int rank, int assert);
int trma_synchronise_unlock(struct trma_win *window, int rank);

static inline int trma_call_Win_lock(struct trma_win *window, int lock_type, int rank, int assert) {
    if (__builtin_expect((uint32_t)rank < window->size && !assert, 1)) {
        if (lock_type == MPI_LOCK_EXCLUSIVE) {
            return trma_win_conclude(window,
                                     trma_win_lock_quick(window->core, TRMA_LOCK_EXCLUSIVE, (uint32_t)rank));
        }
        if (lock_type == MPI_LOCK_SHARED) {
            return trma_win_conclude(window,
                                     trma_win_lock_quick(window->core, TRMA_LOCK_SHARED, (uint32_t)rank));
        }
    }
    return trma_synchronise_lock(window, lock_type, rank, assert);
}

static inline int trma_call_Win_unlock(struct trma_win *window, int rank) {
    if (__builtin_expect((uint32_t)rank < window->size, 1)) {
        return trma_win_conclude(window, trma_win_unlock_quick(window->core, (uint32_t)rank));
    }
    return trma_synchronise_unlock(window, rank);
}

/* The long way of MPI_Win_flush: every error, and all that is to be waited for (call_synchronise.c). */
int trma_synchronise_flush(struct trma_win *window, int rank);

static inline int trma_call_Win_flush(struct trma_win *window, int rank) {
    if (__builtin_expect((uint32_t)rank < window->size, 1) &&
        __builtin_expect(trma_win_flush_quick(window->core, (uint32_t)rank), 1)) {
        return MPI_SUCCESS;
    }
    return trma_synchronise_flush(window, rank);
}

#endif
