/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_DEFERRED_H
#define TRMA_WIN_DEFERRED_H

#include "win_operation.h"
#include "win_window.h"

/*
 * Operations that were called before their target had posted (MPI-4.1 section 12.5.2 forbids them to block):
 * remembered per target, in order, and done in a later call, at the latest in the epoch's end. Layouts are
 * retained, buffers are the user's until the epoch ends. All functions under the window's guard.
 */

/* Remembers a copy of the operation. */
enum trma_status trma_win_deferred_add(struct trma_target *target, const struct trma_rma *rma);

/* Does everything that is remembered for the target, in order; the first error is kept and the rest still
 * done. */
enum trma_status trma_win_deferred_run(struct trma_window *window, struct trma_target *target);

/* Forgets it all (window destruction after an error). */
void trma_win_deferred_clear(struct trma_target *target);

#endif
