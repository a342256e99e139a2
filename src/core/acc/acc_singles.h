/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_SINGLES_H
#define TRMA_ACC_SINGLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../trma_status.h"
#include "acc_update.h"

/*
 * A domain is in one of two modes. In locked mode, which it begins in, all updates take stripe locks: best
 * for arrays. In singles mode elements are updated by one atomic instruction each, which is half the work of
 * a lock: best for counters. The two ways know nothing of each other, so a domain changes from one to the
 * other as a whole:
 *
 * - to singles mode, when an origin has made so many updates of single elements: it takes all stripes (nobody
 *   else is at work then), sets the mode, and gives them. Who takes a stripe looks at the mode afterwards and
 *   gives it back when it is not locked.
 * - to locked mode, when somebody needs a stripe, whatever for: an array, an element that no instruction can
 *   update or that must go by CMA, a process with threads. It announces the change, and waits until each
 *   origin that was inside an atomic update has left it.
 *
 * An origin says that it is inside by a plain store, and looks at the mode afterwards. That the store is not
 * overtaken by the look is paid for by who changes the mode: the kernel's membarrier makes all members run
 * a fence. (The asymmetry of doorbells, node_doorbell.h, and of biased locks: Dice, Kogan, "BRAVO", 2019.)
 * Each change to singles mode makes the next one eight times as expensive, so that a domain whose updates are
 * mixed stays locked.
 *
 * The mode word is a generation and a state: a change that somebody has slept through cannot be taken for
 * the present one.
 */
enum trma_acc_mode {
    TRMA_ACC_LOCKED,
    TRMA_ACC_SINGLES,
    TRMA_ACC_LEAVING, /* singles no more; some may still be inside */
    TRMA_ACC_MODES = 4
};

static inline enum trma_acc_mode trma_acc_mode_of(unsigned word) {
    return (enum trma_acc_mode)(word % TRMA_ACC_MODES);
}

/* True: this origin may update elements by atomic instructions until trma_acc_singles_leave. Only with a
 * presence; not for several threads at once. */
static inline bool trma_acc_singles_enter(const struct trma_acc_context *context) {
    atomic_uint *inside = &context->presence->inside;
    const unsigned mark = atomic_load_explicit(inside, memory_order_relaxed);

    atomic_store_explicit(inside, mark + 1, memory_order_relaxed);
    /* For the compiler; the membarrier of who ends singles mode keeps the processor in order. */
    atomic_signal_fence(memory_order_seq_cst);
    /* Acquire: what was done under locks before singles mode is seen. */
    if (__builtin_expect(trma_acc_mode_of(atomic_load_explicit(&context->domain->mode,
                                                               memory_order_acquire)) == TRMA_ACC_SINGLES,
                         1)) {
        return true;
    }
    atomic_store_explicit(inside, mark + 2, memory_order_release);
    return false;
}

/* Release: who ends singles mode, and sees this, sees the update. */
static inline void trma_acc_singles_leave(const struct trma_acc_context *context) {
    atomic_uint *inside = &context->presence->inside;

    atomic_store_explicit(inside, atomic_load_explicit(inside, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Where an atomic instruction is a full fence, as on x86, a flush has nothing to wait for after one. */
#if defined(__x86_64__)
enum { TRMA_ATOMICS_ARE_FENCES = true };
#else
enum { TRMA_ATOMICS_ARE_FENCES = false };
#endif

/* For the next flush: an update by stores, or by an atomic instruction, has been made. Relaxed: no other
 * thread is meant. */
static inline void trma_acc_note_store(const struct trma_acc_context *context) {
    if (context->has_stored != NULL) {
        atomic_store_explicit(context->has_stored, true, memory_order_relaxed);
    }
}

static inline void trma_acc_note_atomic(const struct trma_acc_context *context) {
    if (!TRMA_ATOMICS_ARE_FENCES) {
        trma_acc_note_store(context);
    }
}

/* The elements that the short ways below are for. */
static inline bool trma_acc_singles_is_word(enum trma_element element) {
    return element == TRMA_ELEMENT_INT64 || element == TRMA_ELEMENT_UINT64;
}

/* *word = the greater (MAX) or lesser of it and `operand`; returns what it was. Where that is `operand`'s
 * better already nothing is stored: origins that look at the same words share their lines. */
static inline uint64_t trma_acc_singles_raise(_Atomic uint64_t *word, bool is_max, bool is_signed,
                                              uint64_t operand) {
    /* Turns the order of signed numbers into that of unsigned ones, and of MIN into that of MAX. */
    const uint64_t flip = (is_signed ? (uint64_t)1 << 63 : 0) ^ (is_max ? 0 : UINT64_MAX);
    uint64_t old = atomic_load_explicit(word, memory_order_acquire);

    while ((old ^ flip) < (operand ^ flip) &&
           !atomic_compare_exchange_weak_explicit(word, &old, operand, memory_order_acq_rel,
                                                  memory_order_acquire)) {
    }
    return old;
}

/*
 * The short ways of fetch_and_op (SUM, MAX and MIN of integers of 8 bytes) and compare_and_swap (8 bytes), in
 * line with the entry points: what counters, task lists and searches use. `local` is where the target's
 * element is mapped here. The caller knows that the operation is allowed on the element. False: nothing was
 * done, take trma_acc_fetch_and_op or trma_acc_compare_and_swap.
 */
static inline bool trma_acc_singles_update(const struct trma_acc_context *context,
                                           enum trma_operation operation, enum trma_element element,
                                           const void *origin, void *result, void *local) {
    _Atomic uint64_t *word = local;
    uint64_t operand;
    uint64_t old;

    if ((operation != TRMA_OPERATION_SUM && operation != TRMA_OPERATION_MAX &&
         operation != TRMA_OPERATION_MIN) ||
        !trma_acc_singles_is_word(element) || (uintptr_t)local % sizeof(uint64_t) != 0 ||
        !context->presence || !trma_acc_singles_enter(context)) {
        return false;
    }
    memcpy(&operand, origin, sizeof operand);
    old = operation == TRMA_OPERATION_SUM ? atomic_fetch_add_explicit(word, operand, memory_order_acq_rel)
                                          : trma_acc_singles_raise(word, operation == TRMA_OPERATION_MAX,
                                                                   element == TRMA_ELEMENT_INT64, operand);
    trma_acc_singles_leave(context);
    memcpy(result, &old, sizeof old);
    trma_acc_note_atomic(context);
    return true;
}

static inline bool trma_acc_singles_swap(const struct trma_acc_context *context, enum trma_element element,
                                         const void *origin, const void *compare, void *result, void *local) {
    uint64_t wanted;
    uint64_t old;

    if (!trma_acc_singles_is_word(element) || (uintptr_t)local % sizeof(uint64_t) != 0 ||
        !context->presence || !trma_acc_singles_enter(context)) {
        return false;
    }
    memcpy(&wanted, origin, sizeof wanted);
    memcpy(&old, compare, sizeof old);
    atomic_compare_exchange_strong_explicit((_Atomic uint64_t *)local, &old, wanted, memory_order_acq_rel,
                                            memory_order_acquire);
    trma_acc_singles_leave(context);
    memcpy(result, &old, sizeof old); /* on failure what was found, else equal to *compare */
    trma_acc_note_atomic(context);
    return true;
}

/*
 * The same for an origin that holds the target's exclusive lock, by a load and a store: nobody else updates
 * the target meanwhile (MPI-4.1 section 12.5.3), in whichever mode the domain is. The lock is an atomic
 * instruction already, and another one would wait for all stores since. Only with a presence, too: threads of
 * one origin share its lock, and where the hardware's atomicity is wanted, others may be at work without any.
 * What is owed (win_order.h) has been paid.
 */
static inline bool trma_acc_alone_add(const struct trma_acc_context *context, const void *origin,
                                      void *result, void *local) {
    _Atomic uint64_t *word = local;
    uint64_t operand;

    if ((uintptr_t)local % sizeof(uint64_t) != 0 || !context->presence) {
        return false;
    }
    memcpy(&operand, origin, sizeof operand);
    /* Relaxed: the lock orders them for other origins, and a flush for the target. */
    const uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, old + operand, memory_order_relaxed);
    memcpy(result, &old, sizeof old);
    trma_acc_note_store(context);
    return true;
}

static inline bool trma_acc_alone_swap(const struct trma_acc_context *context, const void *origin,
                                       const void *compare, void *result, void *local) {
    _Atomic uint64_t *word = local;
    uint64_t wanted;
    uint64_t expected;

    if ((uintptr_t)local % sizeof(uint64_t) != 0 || !context->presence) {
        return false;
    }
    memcpy(&wanted, origin, sizeof wanted);
    memcpy(&expected, compare, sizeof expected);
    /* Relaxed: as above. */
    const uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    if (old == expected) {
        atomic_store_explicit(word, wanted, memory_order_relaxed);
        trma_acc_note_store(context);
    }
    memcpy(result, &old, sizeof old);
    return true;
}

/* Counts an update that takes a lock and need not; when they are enough, changes to singles mode if nobody
 * holds a stripe. True: it has changed. No stripe is held. */
bool trma_acc_singles_earn(const struct trma_acc_context *context);

/* Returns when the domain has been in locked mode. No stripe is held, and the caller is not inside.
 * TRMA_ERR_REFUSED when the kernel refuses the membarrier that it granted before; else what context->wait
 * reports. */
enum trma_status trma_acc_singles_end(const struct trma_acc_context *context);

#endif
