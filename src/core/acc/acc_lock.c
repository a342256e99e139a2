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

enum trma_status trma_acc_lock_wait(const struct trma_acc_context *context, unsigned stripe,
                                    bool *found_singles) {
    uint32_t holder = 0;

    for (unsigned tries = 0;;) {
        const unsigned mode = atomic_load_explicit(&context->domain->mode, memory_order_relaxed);
        enum trma_status status = TRMA_OK;
        if (found_singles != NULL && trma_acc_mode_of(mode) == TRMA_ACC_SINGLES) {
            *found_singles = true;
            return TRMA_OK;
        }
        if (trma_acc_mode_of(mode) != TRMA_ACC_LOCKED) {
            status = trma_acc_singles_end(context);
        } else if (try_often(context, stripe, tries == 0 ? FIRST_LOOKS : LOOKS, &holder)) {
            return TRMA_OK;
        } else if (holder != 0) { /* else it changes hands all the time: there is nobody to wait for */
            status = context->wait(context->argument, holder - 1, tries);
            tries++;
        }
        if (status) {
            return status;
        }
    }
}

/* After the last they begin again. */
static unsigned stripe_after(unsigned stripe) {
    return (stripe + 1) % TRMA_ACC_STRIPES;
}

enum trma_status trma_acc_lock_take_both(const struct trma_acc_context *context, unsigned first) {
    const unsigned next = stripe_after(first);
    const unsigned low = first < next ? first : next;
    const unsigned high = first < next ? next : first;
    enum trma_status status = trma_acc_lock_take(context, low);

    if (status == TRMA_OK) {
        status = trma_acc_lock_take(context, high);
        if (status) {
            trma_acc_lock_give(context, low);
        }
    }
    return status;
}

void trma_acc_lock_give_both(const struct trma_acc_context *context, unsigned first) {
    trma_acc_lock_give(context, first);
    trma_acc_lock_give(context, stripe_after(first));
}
