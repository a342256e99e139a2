/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_kernel.h"
#include "acc_lock.h"
#include "acc_update.h"

bool trma_acc_array_fits(const struct trma_acc_context *context, enum trma_element element,
                         uintptr_t target) {
    const size_t size = trma_acc_element_size(element);

    return !context->hardware_atomics && size == trma_acc_element_extent(element) &&
           (size & (size - 1)) == 0 && (target & (size - 1)) == 0;
}

enum trma_status trma_acc_update_array(const struct trma_acc_context *context, enum trma_operation operation,
                                       enum trma_element element, const void *origin, void *local,
                                       uintptr_t target, size_t n) {
    const size_t size = trma_acc_element_size(element);
    trma_acc_kernel *kernel = trma_acc_kernel_find(operation, element);
    const char *from = origin;
    char *to = local;

    for (size_t bytes = n * size; bytes > 0;) {
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
