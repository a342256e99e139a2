/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_OPERATION_H
#define TRMA_WIN_OPERATION_H

#include "../move/move_bytes.h"
#include "../node/node_joint.h"
#include "win_window.h"

/*
 * RMA operations on a window of ours. Arguments have been checked as far as MPI's types go (rank within the
 * group, layouts valid, same number of bytes on both sides, operation allowed on the element); epoch and
 * target range are checked here: TRMA_ERR_SYNC outside of an access epoch, TRMA_ERR_RANGE when target bytes
 * lie outside of the window. All return when the operation is done or remembered; data is in place after the
 * epoch's synchronisation.
 */
struct trma_rma {
    enum trma_count_kind kind;
    uint32_t target;
    enum trma_operation operation; /* accumulate family */
    enum trma_element element;     /* accumulate family and compare-and-swap */
    struct trma_extent origin;     /* get: where the data goes */
    struct trma_extent result;     /* get_accumulate, fetch_and_op, compare_and_swap */
    struct trma_extent place;      /* at the target: address is the target's own (absolute) */
    const void *compare;           /* compare_and_swap */
};

/*
 * Turns a displacement, in the target's units (absolute for dynamic windows), into the target's address;
 * false when that leaves the address space. Whether the window has memory there is checked when the operation
 * is issued.
 */
static inline bool trma_win_target_address(const struct trma_window *window, uint32_t target,
                                           int64_t displacement, uintptr_t *address) {
    const struct trma_target *at = &window->targets[target];
    int64_t offset;

    if (window->is_dynamic) {
        *address = (uintptr_t)displacement;
        return true;
    }
    return !__builtin_mul_overflow(displacement, (int64_t)at->disp_unit, &offset) &&
           !__builtin_add_overflow((int64_t)at->base, offset, (int64_t *)address);
}

/* Issues one operation; everything but the address and epoch checks is in *rma. */
enum trma_status trma_win_operation_issue(struct trma_window *window, const struct trma_rma *rma);

/* True when the epoch lets operations to the target go straight ahead. Acquire: what opening the epoch made
 * visible (the target's post, the lock) comes before our access. */
static inline bool trma_win_is_open(const struct trma_target *target) {
    return atomic_load_explicit(&target->state, memory_order_acquire) == TRMA_TARGET_OPEN;
}

/*
 * The short way for one stretch of bytes to or from a target that is open (trma_win_is_open has been asked)
 * and mapped there: where the target's bytes lie here. NULL: take trma_win_operation_issue, which also finds
 * the error if there is one.
 */
static inline void *trma_win_quick_place(const struct trma_target *target, int64_t displacement,
                                         size_t size) {
    int64_t distance;

    if (__builtin_mul_overflow(displacement, (int64_t)target->disp_unit, &distance)) {
        return NULL;
    }
    /* Acquire: the place was stored before the span. */
    const uint64_t span = atomic_load_explicit(&target->quick_span, memory_order_acquire);
    const uint64_t offset = (uint64_t)distance - target->quick_low;
    uint64_t last;
    /* What is negative, a displacement, a count or an offset below quick_low, is more than any span. */
    return !__builtin_sub_overflow(span, (uint64_t)size, &last) && offset <= last
               ? target->quick_local + offset
               : NULL;
}

/* The same of a target that need not be open: NULL when it is not. */
static inline void *trma_win_quick_address(const struct trma_window *window, uint32_t target,
                                           int64_t displacement, size_t size) {
    const struct trma_target *at = &window->targets[target];

    return trma_win_is_open(at) ? trma_win_quick_place(at, displacement, size) : NULL;
}

/*
 * The short way for one stretch of bytes to or from private memory of a target that is open. After a system
 * call the processor has forgotten its predictions: every branch and call less counts for ten. False: take
 * trma_win_operation_issue.
 */
bool trma_win_operation_carry(struct trma_window *window, uint32_t target, int64_t displacement, void *local,
                              size_t size, bool is_put);

/*
 * A put or get of one stretch of bytes of a target that is open, between `mapped`, where they are mapped
 * here, and `local`; large ones together with a target that waits (move_joint.h). Thread-safe.
 */
void trma_win_operation_copy_large(struct trma_window *window, uint32_t target, void *mapped, void *local,
                                   size_t size, bool is_put);

static inline void trma_win_operation_store(struct trma_window *window, uint32_t target, void *mapped,
                                            const void *local, size_t size) {
    if (size >= TRMA_JOINT_LEAST) {
        trma_win_operation_copy_large(window, target, mapped, (void *)(uintptr_t)local, size, true);
    } else {
        trma_move_copy_bytes(mapped, local, size);
    }
}

static inline void trma_win_operation_fetch(struct trma_window *window, uint32_t target, const void *mapped,
                                            void *local, size_t size) {
    if (size >= TRMA_JOINT_LEAST) {
        trma_win_operation_copy_large(window, target, (void *)(uintptr_t)mapped, local, size, false);
    } else {
        trma_move_fetch_bytes(local, mapped, size);
    }
}

/* Does an operation whose target is open: used by issue and by the deferred queue. */
enum trma_status trma_win_operation_perform(struct trma_window *window, const struct trma_rma *rma);

#endif
