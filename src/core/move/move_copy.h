/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_COPY_H
#define TRMA_MOVE_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../trma_hidden.h"
#include "../trma_status.h"
#include "move_cursor.h"
#include "move_layout.h"
#include "move_path.h"

/*
 * Movements along a path: load/store where the target is mapped, CMA elsewhere, each by its mover
 * (move_mover.h). A mover may complete later (an offloaded copy): it then counts itself in `outstanding`, and
 * the synchronisation calls wait until trma_move_test is true. Sources of the idea: UCX uct/sm (movers behind
 * small tables); Lai, Sur, Panda 2010 (copies offloaded to an engine).
 */

/* Movements of one origin to one target that have been started and not finished. Zero-initialised is idle. */
struct trma_outstanding {
    atomic_uint pending;
    atomic_int failure; /* status of the first of them that failed after it had been started; TRMA_OK when
                           none did */
};

/* One side of a movement: `count` elements of `layout` at `address` (origin: here; target: the target's own
 * address). */
struct trma_extent {
    const struct trma_layout *layout;
    uintptr_t address;
    size_t count;
};

/*
 * Carries the origin's bytes to the target (put) or back (get), pairing the n-th byte of one side with the
 * n-th of the other, without an intermediate buffer. Both sides hold the same number of bytes, less than
 * 2^63: the caller has checked that, and the target range. The layouts are no longer needed on return; the
 * memory is, until trma_move_test is true. TRMA_ERR_RANGE: the target (or, on a CMA path, the origin) has no
 * memory there; TRMA_ERR_REFUSED: CMA was refused (peer->has_cma is cleared, peer->cma_reason set);
 * TRMA_ERR_PEER_DEAD. On an error a part may have been carried. Overlapping origin and target ranges (self)
 * behave like memmove per block. Thread-safe. Bytes that were written are visible to who synchronises through
 * release/acquire words after trma_move_test was true.
 */
enum trma_status trma_move_put(const struct trma_path *path, const struct trma_extent *origin,
                               const struct trma_extent *target, struct trma_outstanding *outstanding);
enum trma_status trma_move_get(const struct trma_path *path, const struct trma_extent *origin,
                               const struct trma_extent *target, struct trma_outstanding *outstanding);

/*
 * One stretch of the path's private memory, by the target's help or by CMA, without looking at anything
 * first: the short way of a put and a get. False: not all was carried, take the long way, which finds out
 * why. Thread-safe.
 */
bool trma_move_dense(const struct trma_path *path, uintptr_t origin, uintptr_t target, size_t size,
                     bool is_put);

/*
 * Plain bytes of one stretch of the target, finished on return: what accumulate uses on memory that is not
 * mapped. Errors and visibility as above. Thread-safe.
 */
enum trma_status trma_move_read(const struct trma_path *path, void *local, uintptr_t target, size_t size);
enum trma_status trma_move_write(const struct trma_path *path, const void *local, uintptr_t target,
                                 size_t size);

/*
 * A trma_help_copy: bytes between this process's memory and a peer's private memory, by CMA. Never waits,
 * not even for a peer that is exchanging pages: who is inside a gate himself must not. Thread-safe.
 */
bool trma_move_at_once(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer);

/* False when all movements are finished before the call that starts them returns: no mover has been set that
 * may complete later. Then there is nothing to ask trma_move_test for. */
extern TRMA_HIDDEN atomic_bool trma_move_has_late_mover;
static inline bool trma_move_may_be_late(void) {
    /* Relaxed: it is set before there are windows. */
    return __builtin_expect(atomic_load_explicit(&trma_move_has_late_mover, memory_order_relaxed), 0);
}

/*
 * True when all movements counted in `outstanding` are finished; gives movers that need it a chance to go on.
 * Never blocks. Thread-safe.
 */
bool trma_move_test(struct trma_outstanding *outstanding);

/*
 * TRMA_OK, or why a movement failed after the call that started it had returned TRMA_OK; forgets it. To be
 * asked once trma_move_test is true. Thread-safe.
 */
enum trma_status trma_move_failure(struct trma_outstanding *outstanding);

#endif
