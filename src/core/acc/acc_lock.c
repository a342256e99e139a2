/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_lock.h"

#include "../node/node_wait.h"

/*
 * Looks before the first wait: about a microsecond, twice the time that a stripe's worth of work takes. After
 * that the owner is probably not running, and each wait is followed by few.
 */
#define FIRST_LOOKS 64U
#define LOOKS       4U

static bool try_often(const struct trma_acc_context *context, unsigned stripe, unsigned looks,
                      uint32_t *holder) {
    atomic_uint *owner = &context->domain->stripes[stripe].owner;

    for (unsigned look = 0; look < looks; look++) {
        /* Only a word that looks free is written to: waiters share its line instead of tearing at it. */
        *holder = atomic_load_explicit(owner, memory_order_relaxed);
        if (*holder == 0 && trma_acc_lock_try(context, stripe)) {
            return true;
        }
        trma_node_relax();
    }
    return false;
}

enum trma_status trma_acc_lock_wait(const struct trma_acc_context *context, unsigned stripe) {
    uint32_t holder;
    unsigned tries = 0;

    while (!try_often(context, stripe, tries == 0 ? FIRST_LOOKS : LOOKS, &holder)) {
        if (holder == 0) {
            continue; /* it changes hands all the time: there is nobody to wait for */
        }
        enum trma_status status = context->wait(context->argument, holder - 1, tries);
        if (status) {
            return status;
        }
        tries++;
    }
    return TRMA_OK;
}
