/* SPDX-License-Identifier: BSD-3-Clause */
#include "../move/move_turn.h"
#include "acc_kernel.h"
#include "acc_lock.h"
#include "acc_update.h"

bool trma_acc_array_fits(const struct trma_acc_context *context, enum trma_element element,
                         uintptr_t target) {
    const size_t size = trma_acc_element_size(element);

    return !context->hardware_atomics && size == trma_acc_element_extent(element) &&
           (size & (size - 1)) == 0 && (target & (size - 1)) == 0;
}

/* One stripe after the other, in the order of addresses. */
static enum trma_status update_stretch(const struct trma_acc_context *context, trma_acc_kernel *kernel,
                                       enum trma_element element, const char *from, char *to,
                                       uintptr_t target, size_t bytes) {
    const size_t size = trma_acc_element_size(element);

    while (bytes > 0) {
        const size_t rest = trma_acc_stripe_rest(target);
        const size_t part = bytes < rest ? bytes : rest;
        const unsigned stripe = trma_acc_stripe_of(target);
        enum trma_status status = trma_acc_lock_take(context, stripe);
        if (__builtin_expect(status != TRMA_OK, 0)) {
            return status;
        }
        if (kernel != NULL) {
            kernel(to, from, part / size);
        } else {
            trma_acc_copy(element, to, from, part / size);
        }
        trma_acc_lock_give(context, stripe);
        from += part;
        to += part;
        target += part;
        bytes -= part;
    }
    return TRMA_OK;
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

enum trma_status trma_acc_update_array(const struct trma_acc_context *context, enum trma_operation operation,
                                       enum trma_element element, const void *origin, void *local,
                                       uintptr_t target, size_t n) {
    const size_t bytes = n * trma_acc_element_size(element);
    trma_acc_kernel *kernel = trma_acc_kernel_find(operation, element);
    const struct trma_move_turn turn =
        turn_at_stripes(trma_move_turn_take(origin, bytes, TRMA_MOVE_TURN_OF_TWO), target, bytes);
    enum trma_status status = TRMA_OK;
    char *to = local;
    const char *from = origin;

    if (turn.high < bytes) {
        status = update_stretch(context, kernel, element, from + turn.high, to + turn.high,
                                target + turn.high, bytes - turn.high);
        if (!status) {
            status = update_stretch(context, kernel, element, from + turn.low, to + turn.low,
                                    target + turn.low, turn.high - turn.low);
        }
    }
    return status ? status : update_stretch(context, kernel, element, from, to, target, turn.low);
}
