/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_singles.h"

#include "../node/node_doorbell.h"
#include "acc_lock.h"

/* A change to singles mode and back costs some microseconds, what a lock costs more is some nanoseconds. */
enum { FIRST_PRICE = 64, PRICE_GROWTH_BITS = 3, PRICE_GROWTHS_MAX = 8 };

static unsigned generation_of(unsigned word) {
    return word / TRMA_ACC_MODES;
}

static unsigned price_after(unsigned generation) {
    const unsigned growths = generation < PRICE_GROWTHS_MAX ? generation : PRICE_GROWTHS_MAX;

    return FIRST_PRICE << (growths * PRICE_GROWTH_BITS);
}

/* False: somebody held a stripe. */
static bool begin(const struct trma_acc_context *context) {
    unsigned n_taken = 0;

    while (n_taken < TRMA_ACC_STRIPES && trma_acc_lock_try(context, n_taken)) {
        n_taken++;
    }
    const bool has_all = n_taken == TRMA_ACC_STRIPES;
    if (has_all) {
        /* Who holds a stripe keeps the domain in locked mode, and who holds all is the only one to write the
         * word. Release: who enters sees what was done under the locks. */
        const unsigned word = atomic_load_explicit(&context->domain->mode, memory_order_relaxed);
        atomic_store_explicit(&context->domain->mode,
                              (generation_of(word) + 1) * TRMA_ACC_MODES + TRMA_ACC_SINGLES,
                              memory_order_release);
    }
    while (n_taken > 0) {
        trma_acc_lock_give(context, --n_taken);
    }
    return has_all;
}

bool trma_acc_singles_earn(const struct trma_acc_context *context) {
    atomic_uint *singles = &context->presence->singles;
    const unsigned word = atomic_load_explicit(&context->domain->mode, memory_order_relaxed);
    const unsigned price = price_after(generation_of(word));
    const unsigned n = atomic_load_explicit(singles, memory_order_relaxed) + 1;

    if (n < price) {
        atomic_store_explicit(singles, n, memory_order_relaxed);
        return false;
    }
    const bool has_begun = begin(context);
    atomic_store_explicit(singles, has_begun ? 0 : price / 2, memory_order_relaxed);
    return has_begun;
}

static enum trma_status await_outside(const struct trma_acc_context *context, uint32_t member) {
    const atomic_uint *inside = &context->presences[member]->inside;
    /* Acquire, both: the update that it was inside of is seen. */
    const unsigned mark = atomic_load_explicit(inside, memory_order_acquire);
    enum trma_status status = TRMA_OK;

    for (unsigned tries = 0; mark % 2 && status == TRMA_OK; tries++) {
        if (atomic_load_explicit(inside, memory_order_acquire) != mark) {
            break; /* it may be inside again, but not without having seen the mode */
        }
        status = context->wait(context->argument, member, tries);
    }
    return status;
}

enum trma_status trma_acc_singles_end(const struct trma_acc_context *context) {
    atomic_uint *mode = &context->domain->mode;
    /* Acquire: when it is locked, then by somebody who has seen all updates that were made inside. */
    unsigned word = atomic_load_explicit(mode, memory_order_acquire);

    if (trma_acc_mode_of(word) == TRMA_ACC_LOCKED) {
        return TRMA_OK;
    }
    unsigned leaving = generation_of(word) * TRMA_ACC_MODES + TRMA_ACC_LEAVING;
    /* A failure means that somebody else was faster; then it is the next call's business. */
    if (word != leaving && !atomic_compare_exchange_strong_explicit(
                               mode, &word, leaving, memory_order_seq_cst, memory_order_relaxed)) {
        return TRMA_OK;
    }
    /* Who has announced it may have died or be slow: everyone who sees it waits for himself. */
    if (!trma_node_doorbell_fence_all()) {
        return TRMA_ERR_REFUSED;
    }
    enum trma_status status = TRMA_OK;
    for (uint32_t member = 0; member < context->n_members && status == TRMA_OK; member++) {
        status = await_outside(context, member);
    }
    if (status == TRMA_OK) {
        /* Release: who sees locked mode sees the updates that were made inside. */
        atomic_compare_exchange_strong_explicit(mode, &leaving,
                                                generation_of(leaving) * TRMA_ACC_MODES + TRMA_ACC_LOCKED,
                                                memory_order_acq_rel, memory_order_relaxed);
    }
    return status;
}
