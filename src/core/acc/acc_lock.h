/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_LOCK_H
#define TRMA_ACC_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "acc_update.h"

/*
 * Stripe locks: the atomicity domain's words. Test-and-test-and-set; the word names its owner, so that a
 * waiter can find out that the owner has died. Holders do a bounded piece of work, so there is no queue: who
 * waits spins a little, then leaves the processor to others through the context's `wait`, and a process that
 * was preempted while it held a stripe gets to run. No process may lock a stripe that it holds; who needs two
 * takes them in ascending order.
 */

static inline unsigned trma_acc_stripe_of(uintptr_t address) {
    return (unsigned)(address / TRMA_ACC_STRIPE_BYTES % TRMA_ACC_STRIPES);
}

/* How many bytes from `address` on lie in the same stripe, itself included. */
static inline size_t trma_acc_stripe_rest(uintptr_t address) {
    return TRMA_ACC_STRIPE_BYTES - address % TRMA_ACC_STRIPE_BYTES;
}

/* Takes the stripe when it is free. Acquire: what the last owner did to the stripe's memory is seen from here
 * on. */
static inline bool trma_acc_lock_try(const struct trma_acc_context *context, unsigned stripe) {
    uint32_t nobody = 0;

    return atomic_compare_exchange_strong_explicit(&context->domain->stripes[stripe].owner, &nobody,
                                                   context->me + 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* Takes the stripe after waiting for it. What context->wait reports ends the waiting, without the stripe. */
enum trma_status trma_acc_lock_wait(const struct trma_acc_context *context, unsigned stripe);

static inline enum trma_status trma_acc_lock_take(const struct trma_acc_context *context, unsigned stripe) {
    if (__builtin_expect(trma_acc_lock_try(context, stripe), 1)) {
        return TRMA_OK;
    }
    return trma_acc_lock_wait(context, stripe);
}

/* Release: the next owner sees what was done under the lock. Only the owner writes a taken word, so a store
 * is enough. */
static inline void trma_acc_lock_give(const struct trma_acc_context *context, unsigned stripe) {
    atomic_store_explicit(&context->domain->stripes[stripe].owner, 0, memory_order_release);
}

#endif
