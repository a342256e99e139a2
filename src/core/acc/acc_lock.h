/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_LOCK_H
#define TRMA_ACC_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "acc_singles.h"
#include "acc_update.h"

/*
 * Stripe locks: the atomicity domain's words. Test-and-test-and-set; the word names its owner, so that a
 * waiter can find out that the owner has died. Holders do a bounded piece of work, so there is no queue: who
 * waits spins a little, then leaves the processor to others through the context's `wait`, and a process that
 * was preempted while it held a stripe gets to run. No process may lock a stripe that it holds; who needs
 * two takes them in ascending order (trma_acc_lock_take_both).
 *
 * Who only looks need not take a stripe: it is a sequence lock as well (trma_acc_look_begin).
 *
 * Stripes protect in locked mode only (acc_singles.h): taking one ends singles mode.
 */

static inline unsigned trma_acc_stripe_of(uintptr_t address) {
    return (unsigned)(address / TRMA_ACC_STRIPE_BYTES % TRMA_ACC_STRIPES);
}

/* How many bytes from `address` on lie in the same stripe, itself included. */
static inline size_t trma_acc_stripe_rest(uintptr_t address) {
    return TRMA_ACC_STRIPE_BYTES - address % TRMA_ACC_STRIPE_BYTES;
}

/* Release: the next owner sees what was done under the lock. Only the owner writes a taken stripe's words, so
 * stores are enough. */
static inline void trma_acc_lock_give(const struct trma_acc_context *context, unsigned stripe) {
    struct trma_acc_stripe *words = &context->domain->stripes[stripe];
    const unsigned version = atomic_load_explicit(&words->version, memory_order_relaxed);

    atomic_store_explicit(&words->version, version + 1, memory_order_relaxed);
    atomic_store_explicit(&words->owner, 0, memory_order_release);
}

/* Takes the stripe when it is free and the domain in locked mode. Acquire: what the last owner did to the
 * stripe's memory is seen from here on. */
static inline bool trma_acc_lock_try(const struct trma_acc_context *context, unsigned stripe) {
    uint32_t nobody = 0;

    if (!atomic_compare_exchange_strong_explicit(&context->domain->stripes[stripe].owner, &nobody,
                                                 context->me + 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    /* Acquire: what was done in singles mode before is seen. */
    if (__builtin_expect(trma_acc_mode_of(atomic_load_explicit(&context->domain->mode,
                                                               memory_order_acquire)) != TRMA_ACC_LOCKED,
                         0)) {
        trma_acc_lock_give(context, stripe);
        return false;
    }
    /* Release: who looks and sees a byte that is written from here on sees the owner as well. */
    atomic_thread_fence(memory_order_release);
    return true;
}

/*
 * Takes the stripe after waiting for it; what context->wait reports ends the waiting, without the stripe.
 * Singles mode is ended, unless `found_singles` is given: then nothing is taken, and *found_singles says so.
 */
enum trma_status trma_acc_lock_wait(const struct trma_acc_context *context, unsigned stripe,
                                    bool *found_singles);

static inline enum trma_status trma_acc_lock_take(const struct trma_acc_context *context, unsigned stripe) {
    if (__builtin_expect(trma_acc_lock_try(context, stripe), 1)) {
        return TRMA_OK;
    }
    return trma_acc_lock_wait(context, stripe, NULL);
}

/* The stripe and the one that follows, both or none: for an element that lies in two. In ascending order, so
 * that there is no circle of waiters. */
enum trma_status trma_acc_lock_take_both(const struct trma_acc_context *context, unsigned first);
void trma_acc_lock_give_both(const struct trma_acc_context *context, unsigned first);

/*
 * Looking at a stripe's memory without taking it: what is loaded between a begin that gives true and an end
 * that gives true is what no owner was changing meanwhile. Else nothing is known.
 */
static inline bool trma_acc_look_begin(const struct trma_acc_context *context, unsigned stripe,
                                       unsigned *version) {
    struct trma_acc_stripe *words = &context->domain->stripes[stripe];

    /* Acquire, both: what is loaded afterwards is no older than they are. */
    if (atomic_load_explicit(&words->owner, memory_order_acquire) != 0) {
        return false;
    }
    *version = atomic_load_explicit(&words->version, memory_order_acquire);
    /* After the version: a domain that leaves locked mode changes it. */
    return trma_acc_mode_of(atomic_load_explicit(&context->domain->mode, memory_order_acquire)) ==
           TRMA_ACC_LOCKED;
}

static inline bool trma_acc_look_end(const struct trma_acc_context *context, unsigned stripe,
                                     unsigned version) {
    struct trma_acc_stripe *words = &context->domain->stripes[stripe];

    /* Pairs with the fence of who takes the stripe: if a byte of what was loaded is its, the owner is seen
     * here; and who is gone again has left another version, which the acquire of its give shows. */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&words->owner, memory_order_acquire) == 0 &&
           atomic_load_explicit(&words->version, memory_order_relaxed) == version;
}

#endif
