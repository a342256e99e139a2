/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_SYNCHRONISE_H
#define TRMA_CALL_SYNCHRONISE_H

#include "face_window.h"
#include "win/win_epoch.h"

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
