/* SPDX-License-Identifier: BSD-3-Clause */
#include "../move/move_turn.h"
#include "acc_kernel.h"
#include "acc_lock.h"
#include "acc_update.h"

/* What an update does to each of its pieces. */
struct array {
    const struct trma_acc_context *context;
    trma_acc_kernel *kernel; /* NULL: REPLACE */
    enum trma_element element;
    size_t size; /* of an element */
};

static inline enum trma_status update_in_stripe(const struct array *array, const char *from, char *to,
                                                uintptr_t target, size_t bytes) {
    const unsigned stripe = trma_acc_stripe_of(target);
    const size_t n = bytes >> __builtin_ctzl(array->size); /* a power of two */
    const enum trma_status status = trma_acc_lock_take(array->context, stripe);

    if (__builtin_expect(status != TRMA_OK, 0)) {
        return status;
    }
    if (array->kernel != NULL) {
        trma_acc_kernel_run(array->kernel, array->size, to, from, n);
    } else {
        trma_acc_copy(array->element, to, from, n);
    }
    trma_acc_lock_give(array->context, stripe);
    return TRMA_OK;
}

/* One stripe after the other, in the order of addresses. */
static enum trma_status update_stretch(const struct array *array, const char *from, char *to,
                                       uintptr_t target, size_t bytes) {
    enum trma_status status = TRMA_OK;

    while (bytes > 0 && status == TRMA_OK) {
        const size_t rest = trma_acc_stripe_rest(target);
        const size_t part = bytes < rest ? bytes : rest;
        status = update_in_stripe(array, from, to, target, part);
        from += part;
        to += part;
        target += part;
        bytes -= part;
    }
    return status;
}

/* The same order with parts that end where stripes do, so that none is taken twice. */
static struct trma_move_turn turn_at_stripes(struct trma_move_turn turn, uintptr_t target, size_t bytes) {
    if (turn.high < bytes) {
        const size_t below = (target + turn.high) % TRMA_ACC_STRIPE_BYTES;
        turn.high = below < turn.high ? turn.high - below : 0;
        turn.low += trma_acc_stripe_rest(target + turn.low) % TRMA_ACC_STRIPE_BYTES;
        turn.low = turn.low < turn.high ? turn.low : turn.high;
    }
    return turn;
}

static __attribute__((noinline)) enum trma_status update_in_turn(const struct array *array, const char *from,
                                                                 char *to, uintptr_t target, size_t bytes) {
    const struct trma_move_turn turn =
        turn_at_stripes(trma_move_turn_take(from, bytes, TRMA_MOVE_TURN_OF_TWO), target, bytes);
    enum trma_status status = TRMA_OK;

    if (turn.high < bytes) {
        status =
            update_stretch(array, from + turn.high, to + turn.high, target + turn.high, bytes - turn.high);
        if (!status) {
            status = update_stretch(array, from + turn.low, to + turn.low, target + turn.low,
                                    turn.high - turn.low);
        }
    }
    return status ? status : update_stretch(array, from, to, target, turn.low);
}

enum trma_status trma_acc_update_array(const struct trma_acc_context *context, enum trma_operation operation,
                                       enum trma_element element, const void *origin, void *local,
                                       uintptr_t target, size_t bytes) {
    const struct array array = {context, trma_acc_kernel_find(operation, element), element,
                                trma_acc_element_size(element)};

    return bytes <= trma_acc_stripe_rest(target) ? update_in_stripe(&array, origin, local, target, bytes)
                                                 : update_in_turn(&array, origin, local, target, bytes);
}
