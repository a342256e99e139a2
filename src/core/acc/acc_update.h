/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_UPDATE_H
#define TRMA_ACC_UPDATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../move/move_copy.h"
#include "../trma_status.h"
#include "acc_element.h"

/*
 * Atomic updates of target memory: accumulate, get_accumulate, fetch_and_op, compare_and_swap. The atomicity
 * domain is one target of one window: an array of striped locks in the target's shared control words. A
 * stripe covers TRMA_ACC_STRIPE_BYTES of the target's addresses (all stripes round-robin); an element is
 * protected by every stripe that it touches, taken in ascending order of stripe index. A long update takes
 * one stripe after the other and runs the vectorised kernel under it, so that it never blocks others for long
 * (design.md, "Accumulate").
 */
#define TRMA_ACC_STRIPES      64U
#define TRMA_ACC_STRIPE_BYTES 16384U

/* One cache line, so that stripes do not disturb each other. */
struct trma_acc_stripe {
    _Alignas(64) atomic_uint owner; /* 0: free; else the owner's index in the window + 1 */
    atomic_uint version;            /* grows whenever the stripe is given back: for who only looks */
};

struct trma_acc_domain {
    struct trma_acc_stripe stripes[TRMA_ACC_STRIPES];
    _Alignas(64) atomic_uint mode; /* see acc_singles.h; 0: locked */
};

/* What an origin shows of itself to all domains of a window: a line that it alone writes. */
struct trma_acc_presence {
    _Alignas(64) atomic_uint inside; /* odd while it updates by an atomic instruction */
    atomic_uint singles;             /* updates under a stripe's lock that an atomic instruction could do */
};

/*
 * What a stripe's waiter does between tries: `wait` is called with the owner's index and how often was tried;
 * it spins, yields or sleeps, and gives TRMA_ERR_PEER_DEAD when that process has ended (the update then ends
 * with this status). The owner may be this process itself, when another of its threads holds the stripe.
 *
 * `hardware_atomics`: naturally aligned elements of 1, 2, 4 and 8 bytes on mapped memory are updated by
 * atomic instructions, without a lock; all else still takes the locks. That is faster for single elements and
 * slower for long updates, so it suits windows with a small `mpi_accumulate_granularity`. It is right because
 * whether an element takes a lock depends on nothing but its address and size, so that two updates of the
 * same element by the same size always go the same way; updates by different sizes or displacements that
 * overlap may then tear, which MPI-4.1 section 12.7.1 leaves undefined. Two things must hold: all members of
 * the window set the flag alike, and all have the same bytes of the target in the mapped part of their paths,
 * the target itself included. Off (false) needs neither.
 */
struct trma_acc_context {
    struct trma_acc_domain *domain; /* the target's, mapped here */
    uint32_t me;                    /* this origin's index in the window */
    bool hardware_atomics;
    struct trma_acc_presence
        *presence; /* this origin's; NULL: it may not enter singles mode (acc_singles.h) */
    struct trma_acc_presence *const *presences; /* of all members, by rank */
    uint32_t n_members;
    atomic_bool *has_stored; /* set by an update of one element that may have stored; NULL: nobody asks */
    enum trma_status (*wait)(void *argument, uint32_t owner, unsigned tries);
    void *argument;
};

/*
 * target = target op origin, element by element, each atomically towards all other updates in the domain.
 * With `result` the target's old content is stored there first (get_accumulate), else it is NULL; `origin` is
 * not looked at with NO_OP. All sides have the same number of elements of type `element`, laid out in any
 * way; the sides must not overlap. Works along mapped and CMA paths (there: read, combine, write under the
 * lock). Finished, and visible under the usual release/acquire rules, on return. Thread-safe. Statuses as
 * trma_move_put, and TRMA_ERR_ARGUMENT when the operation is not allowed on the element or a side has too few
 * elements; on an error a part may have been updated, and no stripe is held.
 */
enum trma_status trma_acc_update(const struct trma_acc_context *context, const struct trma_path *path,
                                 enum trma_operation operation, enum trma_element element,
                                 const struct trma_extent *origin, const struct trma_extent *result,
                                 const struct trma_extent *target);

/*
 * The short way of an accumulate of arrays: `bytes` bytes of elements from the array `origin` to the array at
 * `target`, which is mapped at `local`. Only where trma_acc_array_fits, the operation is allowed on the
 * element, and not for NO_OP. Otherwise as trma_acc_update.
 */
static inline bool trma_acc_array_fits(const struct trma_acc_context *context, enum trma_element element,
                                       uintptr_t target) {
    const struct trma_element_shape *shape = trma_acc_element_shape(element);
    const size_t size = shape->size;

    /* Elements of a power of two bytes, none of which lies in two stripes. */
    return !context->hardware_atomics && size == shape->extent && (size & (size - 1)) == 0 &&
           (target & (size - 1)) == 0;
}
enum trma_status trma_acc_update_array(const struct trma_acc_context *context, enum trma_operation operation,
                                       enum trma_element element, const void *origin, void *local,
                                       uintptr_t target, size_t bytes);

/* One element: *result = *target; *target = *target op *origin. The fast way of fetch_and_op. */
enum trma_status trma_acc_fetch_and_op(const struct trma_acc_context *context, const struct trma_path *path,
                                       enum trma_operation operation, enum trma_element element,
                                       const void *origin, void *result, uintptr_t target);

/* One element: *result = *target; if its bytes equal *compare's, *target = *origin. */
enum trma_status trma_acc_compare_and_swap(const struct trma_acc_context *context,
                                           const struct trma_path *path, enum trma_element element,
                                           const void *origin, const void *compare, void *result,
                                           uintptr_t target);

#endif
