/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_update.h"

#include "acc_hardware.h"
#include "acc_kernel.h"
#include "acc_lock.h"
#include "acc_reach.h"
#include "acc_side.h"
#include "acc_singles.h"

/* Elements further apart than this are read one by one over CMA: the kernel copies fewer bytes, and no hole
 * is a whole page. */
#define CMA_STRIDE_LIMIT 512

/*
 * What a step costs besides its bytes, in bytes that could have been combined meanwhile, and the cost after
 * which a stripe is given: bounds how long it is held by an update of many small pieces.
 */
#define STEP_COST     64U
#define CMA_STEP_COST 4096U
#define HELD_COST     4096U

#define NO_STRIPE TRMA_ACC_STRIPES

_Static_assert(TRMA_ACC_STRIPE_BYTES <= 16384U, "a stripe's worth is staged on the stack");
_Static_assert((TRMA_ACC_STRIPE_BYTES & (TRMA_ACC_STRIPE_BYTES - 1)) == 0,
               "stripes do not shift where addresses wrap");

/* One call's state. */
struct update {
    const struct trma_acc_context *context;
    const struct trma_path *path;
    enum trma_operation operation;
    enum trma_element element;
    const struct trma_element_shape *shape;
    trma_acc_kernel *kernel; /* NULL: REPLACE or NO_OP */
    bool has_origin;
    bool has_result;
    struct trma_side origin;
    struct trma_side result;
    struct trma_side target;
    unsigned held;    /* the stripe that is held from step to step, or NO_STRIPE */
    size_t work_done; /* since it was taken */
};

static void give_held(struct update *update) {
    if (update->held != NO_STRIPE) {
        trma_acc_lock_give(update->context, update->held);
        update->held = NO_STRIPE;
    }
}

/* Makes sure that the stripe is held, and no other; lets others in between when it was held for HELD_COST. */
static enum trma_status hold(struct update *update, unsigned stripe) {
    if (update->held == stripe && update->work_done < HELD_COST) {
        return TRMA_OK;
    }
    give_held(update);
    enum trma_status status = trma_acc_lock_take(update->context, stripe);
    if (status == TRMA_OK) {
        update->held = stripe;
        update->work_done = 0;
    }
    return status;
}

/* Applies origin and result, whose elements lie anyhow, to n elements at `target`, `stride` apart. False:
 * they ran out. */
static bool combine(struct update *update, char *target, size_t n, ptrdiff_t stride) {
    const ptrdiff_t extent = (ptrdiff_t)update->shape->extent;

    while (n > 0) {
        size_t part = n;
        bool is_array = stride == extent;
        if (update->has_origin) {
            part = part < update->origin.n ? part : update->origin.n;
            is_array = is_array && update->origin.stride == extent;
        }
        if (update->has_result) {
            part = part < update->result.n ? part : update->result.n;
            is_array = is_array && update->result.stride == extent;
        }
        if (part == 0) {
            return false;
        }
        if (!is_array) {
            part = 1;
        }
        if (update->has_result) {
            trma_acc_copy(update->element, (void *)update->result.address, target, part);
            trma_acc_side_step(&update->result, part);
        }
        if (update->has_origin) {
            if (update->kernel != NULL) {
                trma_acc_kernel_run(update->kernel, update->shape->extent, target,
                                    (const void *)update->origin.address, part);
            } else {
                trma_acc_copy(update->element, target, (const void *)update->origin.address, part);
            }
            trma_acc_side_step(&update->origin, part);
        }
        target += (ptrdiff_t)part * stride;
        n -= part;
    }
    return true;
}

/* As combine, over memory that cannot be mapped. Writes back data bytes alone: what lies in between may
 * change meanwhile. */
static enum trma_status combine_remotely(struct update *update, uintptr_t target, size_t n,
                                         ptrdiff_t stride) {
    char stage[TRMA_ACC_STRIPE_BYTES];
    const struct trma_element_shape *shape = update->shape;
    const size_t bytes = (n - 1) * (size_t)stride + shape->span;
    enum trma_status status = TRMA_OK;

    if (update->operation != TRMA_OPERATION_REPLACE || update->has_result) {
        status = trma_move_read(update->path, stage, target, bytes);
    }
    if (status == TRMA_OK && !combine(update, stage, n, stride)) {
        status = TRMA_ERR_ARGUMENT;
    }
    if (status || update->operation == TRMA_OPERATION_NO_OP) {
        return status;
    }
    if (stride == (ptrdiff_t)shape->size) {
        return trma_move_write(update->path, stage, target, bytes);
    }
    for (size_t i = 0; i < n && status == TRMA_OK; i++) {
        for (size_t b = 0; b < shape->n_blocks && status == TRMA_OK; b++) {
            const size_t offset = i * (size_t)stride + shape->blocks[b].offset;
            status = trma_move_write(update->path, stage + offset, target + offset, shape->blocks[b].length);
        }
    }
    return status;
}

static bool is_array(const struct trma_side *side, size_t n) {
    return side->stride == (ptrdiff_t)side->shape->size && side->n >= n;
}

/* True when the target, which waits, may combine n elements of its memory with ours itself. */
static bool may_be_helped(const struct update *update, size_t n) {
    const struct trma_path *path = update->path;
    const size_t bytes = n * update->shape->size;

    return path->helper != NULL && is_array(&update->target, n) &&
           (!update->has_origin || is_array(&update->origin, n)) &&
           (!update->has_result || is_array(&update->result, n)) &&
           trma_node_helper_knows(path->helper, update->target.address, bytes, true) &&
           trma_node_helper_is_there(path->helper);
}

/* As combine_remotely, for arrays, by the target itself; what it did not do is done from here. */
static enum trma_status combine_by_help(struct update *update, uintptr_t target, size_t n) {
    const size_t size = update->shape->size;
    const struct trma_help_job job = {.kind = update->has_result ? TRMA_HELP_FETCH : TRMA_HELP_UPDATE,
                                      .is_proven = true,
                                      .operation = update->operation,
                                      .element = update->element,
                                      .from =
                                          update->has_origin ? (const char *)update->origin.address : NULL,
                                      .to = update->has_result ? (char *)update->result.address : NULL,
                                      .address = target,
                                      .size = n * size,
                                      .piece = trma_node_help_piece(n * size)};
    const uint32_t done = trma_node_help_ask(update->path->helper, &job);
    enum trma_status status = TRMA_OK;

    for (size_t i = 0, rest = n; rest > 0 && status == TRMA_OK; i++) {
        const size_t part = rest < job.piece / size ? rest : job.piece / size;
        if ((done >> i & 1U) == 0) {
            status = combine_remotely(update, target + i * job.piece, part, (ptrdiff_t)size);
        } else {
            if (update->has_origin) {
                trma_acc_side_step(&update->origin, part);
            }
            if (update->has_result) {
                trma_acc_side_step(&update->result, part);
            }
        }
        rest -= part;
    }
    return status;
}

/* How many of the n elements from `address` on end within `bytes` bytes; the first one does. */
static size_t count_within(const struct trma_side *target, size_t bytes) {
    const size_t span = target->shape->span;

    if (target->stride <= 0) {
        return 1; /* backwards, or one over the other: one at a time */
    }
    const size_t fitting = (bytes - span) / (size_t)target->stride + 1;
    return fitting < target->n ? fitting : target->n;
}

/* Updates the first n elements of the target's run, under the stripe that is held or the two that the element
 * touches. */
static enum trma_status apply(struct update *update, size_t n) {
    struct trma_side *target = &update->target;
    const struct trma_path *path = update->path;
    const size_t span = target->shape->span;
    char *local = trma_acc_reach(path, target->address, span);

    if (local != NULL) {
        if (trma_move_path_is_mapped(path, target->address, span)) { /* the rest of the run in a later step */
            const size_t mapped = count_within(target, path->mapped_high - target->address);
            n = n < mapped ? n : mapped;
        }
        update->work_done +=
            n * (target->stride == (ptrdiff_t)target->shape->size ? span : STEP_COST) + STEP_COST;
        if (!combine(update, local, n, target->stride)) {
            return TRMA_ERR_ARGUMENT;
        }
    } else {
        if (target->stride > CMA_STRIDE_LIMIT) {
            n = 1;
        }
        update->work_done += CMA_STEP_COST;
        enum trma_status status = may_be_helped(update, n)
                                      ? combine_by_help(update, target->address, n)
                                      : combine_remotely(update, target->address, n, target->stride);
        if (status) {
            return status;
        }
    }
    trma_acc_side_step(target, n);
    return TRMA_OK;
}

/* An element that lies in two stripes. */
static enum trma_status apply_across(struct update *update) {
    const struct trma_acc_context *context = update->context;
    const unsigned first = trma_acc_stripe_of(update->target.address);

    give_held(update);
    enum trma_status status = trma_acc_lock_take_both(context, first);
    if (status == TRMA_OK) {
        status = apply(update, 1);
        trma_acc_lock_give_both(context, first);
    }
    return status;
}

/* True when the next element is updated by an atomic instruction: then done. *status: TRMA_ERR_ARGUMENT when
 * a side ran out. */
static bool apply_by_hardware(struct update *update, enum trma_status *status) {
    struct trma_side *target = &update->target;

    if (!update->context->hardware_atomics || !trma_acc_hardware_fits(update->shape, target->address) ||
        !trma_move_path_is_mapped(update->path, target->address, update->shape->span)) {
        return false;
    }
    if ((update->has_origin && update->origin.n == 0) || (update->has_result && update->result.n == 0)) {
        *status = TRMA_ERR_ARGUMENT;
        return true;
    }
    trma_acc_hardware_update(
        update->operation, update->element, trma_move_path_local(update->path, target->address),
        (const void *)update->origin.address, update->has_result ? (void *)update->result.address : NULL);
    if (update->has_origin) {
        trma_acc_side_step(&update->origin, 1);
    }
    if (update->has_result) {
        trma_acc_side_step(&update->result, 1);
    }
    trma_acc_side_step(target, 1);
    return true;
}

/* True when several elements lie ahead that CMA carries together. */
static bool is_remote_run(const struct update *update) {
    const struct trma_side *target = &update->target;

    return target->n > 1 && target->stride > 0 && target->stride <= CMA_STRIDE_LIMIT &&
           trma_acc_reach(update->path, target->address, update->shape->span) == NULL;
}

static enum trma_status apply_next(struct update *update) {
    const struct trma_side *target = &update->target;
    const size_t rest = trma_acc_stripe_rest(target->address);
    enum trma_status status = TRMA_OK;

    if (apply_by_hardware(update, &status)) {
        return status;
    }
    if (update->shape->span > rest) {
        return apply_across(update);
    }
    status = hold(update, trma_acc_stripe_of(target->address));
    /* In hardware mode the mapped elements of a run may differ in their alignment, so each is looked at. */
    const bool one_by_one = update->context->hardware_atomics && !is_remote_run(update);
    return status ? status : apply(update, one_by_one ? 1 : count_within(target, rest));
}

/* True when the side's elements are an array: *address is that of the first, of `bytes` bytes in all. */
static bool is_array_of(const struct trma_extent *extent, size_t bytes, uintptr_t *address) {
    *address = extent->address + (uintptr_t)extent->layout->true_low;
    return extent->layout->is_dense && extent->count * extent->layout->size == bytes;
}

/*
 * The short way for a small array that is mapped and lies in one stripe. False: nothing was done, for
 * whatever reason. Elements with holes are left to the long way.
 */
static bool update_shortly(const struct trma_acc_context *context, const struct trma_path *path,
                           enum trma_operation operation, enum trma_element element,
                           const struct trma_extent *origin, const struct trma_extent *result,
                           const struct trma_extent *target) {
    const size_t size = trma_acc_element_size(element);
    const size_t bytes = target->count * target->layout->size;
    const bool has_origin = operation != TRMA_OPERATION_NO_OP;
    uintptr_t from = 0;
    uintptr_t old = 0;
    uintptr_t to;

    if (size != trma_acc_element_extent(element) || bytes > TRMA_ACC_STRIPE_BYTES ||
        !is_array_of(target, bytes, &to) || bytes > trma_acc_stripe_rest(to) ||
        !trma_move_path_is_mapped(path, to, bytes) || (has_origin && !is_array_of(origin, bytes, &from)) ||
        (result != NULL && !is_array_of(result, bytes, &old))) {
        return false;
    }
    char *local = trma_move_path_local(path, to);
    if (context->hardware_atomics) {
        if (bytes != size || !trma_acc_hardware_fits(trma_acc_element_shape(element), to)) {
            return false;
        }
        trma_acc_hardware_update(operation, element, local, (const void *)from, (void *)old);
        return true;
    }
    if (bytes == size && context->presence != NULL &&
        trma_acc_hardware_fits(trma_acc_element_shape(element), to) && trma_acc_singles_enter(context)) {
        trma_acc_hardware_update(operation, element, local, (const void *)from, (void *)old);
        trma_acc_singles_leave(context);
        return true;
    }
    const size_t n = bytes == size ? 1 : bytes / size;
    const unsigned stripe = trma_acc_stripe_of(to);
    if (!trma_acc_lock_try(context, stripe)) {
        return false;
    }
    if (result != NULL) {
        trma_acc_copy(element, (void *)old, local, n);
    }
    if (has_origin) {
        trma_acc_combine(operation, element, local, (const void *)from, n);
    }
    trma_acc_lock_give(context, stripe);
    return true;
}

enum trma_status trma_acc_update(const struct trma_acc_context *context, const struct trma_path *path,
                                 enum trma_operation operation, enum trma_element element,
                                 const struct trma_extent *origin, const struct trma_extent *result,
                                 const struct trma_extent *target) {
    if (!trma_acc_operation_is_allowed(operation, element)) {
        return TRMA_ERR_ARGUMENT;
    }
    if (update_shortly(context, path, operation, element, origin, result, target)) {
        return TRMA_OK;
    }
    struct update update;
    update.context = context;
    update.path = path;
    update.operation = operation;
    update.element = element;
    update.shape = trma_acc_element_shape(element);
    update.kernel = trma_acc_kernel_find(operation, element);
    update.has_origin = operation != TRMA_OPERATION_NO_OP;
    update.has_result = result != NULL;
    update.held = NO_STRIPE;
    update.work_done = 0;
    if (update.has_origin) {
        trma_acc_side_init(&update.origin, origin, update.shape);
    }
    if (update.has_result) {
        trma_acc_side_init(&update.result, result, update.shape);
    } else if (!update.has_origin) {
        return TRMA_OK; /* NO_OP without a result: nothing is read or written */
    }
    trma_acc_side_init(&update.target, target, update.shape);

    enum trma_status status = TRMA_OK;
    while (update.target.n > 0 && status == TRMA_OK) {
        status = apply_next(&update);
    }
    give_held(&update);
    return status;
}
