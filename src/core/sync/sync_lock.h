/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_SYNC_LOCK_H
#define TRMA_SYNC_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "../node/node_wait.h"

/*
 * The lock of one target: shared or exclusive, first come first served. Tickets: whoever asks takes the next
 * one; an exclusive ticket is served when everybody before it has left, a shared one when every exclusive one
 * before it has left (a fair reader-writer ticket lock; the idea is Mellor-Crummey and Scott's of 1991). An
 * uncontended exclusive lock and unlock costs one atomic read-modify-write and one store, both to the same
 * cache line.
 *
 * `turns` holds two counters that wrap on their own: the low half is the ticket that may enter exclusively,
 * the high half the one that may enter as a shared holder. They share a word because an exclusive holder must
 * advance both at once: with one store each, the next holder could pass through between the two and have its
 * own step overwritten.
 */
enum { TRMA_LOCK_SHARED_SHIFT = 32 };

struct trma_lock {
    _Alignas(64) atomic_uint next; /* the next ticket to hand out */
    _Atomic uint64_t turns;
    char padding[48];
    struct trma_doorbell bell; /* who waits for this lock sleeps here */
};

/*
 * Takes the lock of another process or one's own; waits as long as it must (see trma_node_wait for waiter,
 * guard, waited_ns; the waiter's bell is not used, the lock has its own). Data stored by earlier holders is
 * visible on return. On TRMA_ERR_PEER_DEAD the lock is not held and can never be had again.
 */
static inline enum trma_status trma_sync_lock_shared(struct trma_lock *lock, const struct trma_waiter *waiter,
                                                     pthread_mutex_t *guard, uint64_t *waited_ns);
static inline enum trma_status trma_sync_lock_exclusive(struct trma_lock *lock,
                                                        const struct trma_waiter *waiter,
                                                        pthread_mutex_t *guard, uint64_t *waited_ns);

/* Gives the lock back and wakes who waits. What the holder stored is visible to later holders. */
static inline void trma_sync_unlock_shared(struct trma_lock *lock, bool needs_fence);
static inline void trma_sync_unlock_exclusive(struct trma_lock *lock, bool needs_fence);

/* The steps of a lock: a ticket, which must be used; whether its turn has come, and then an exclusive lock is
 * held, and a shared one after trma_sync_lock_admit; else waiting for that, as trma_sync_lock_exclusive and
 * trma_sync_lock_shared. */
static inline uint32_t trma_sync_lock_ask(struct trma_lock *lock) {
    /* Relaxed: the ticket orders nothing, seeing one's turn does. */
    return atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
}

static inline bool trma_sync_lock_is_turn(const struct trma_lock *lock, uint32_t ticket) {
    /* Acquire: pairs with the release of whoever left last. */
    return (uint32_t)atomic_load_explicit(&lock->turns, memory_order_acquire) == ticket;
}

static inline bool trma_sync_lock_is_turn_to_share(const struct trma_lock *lock, uint32_t ticket) {
    /* Acquire: as above. */
    return (uint32_t)(atomic_load_explicit(&lock->turns, memory_order_acquire) >> TRMA_LOCK_SHARED_SHIFT) ==
           ticket;
}

/* Only the entering holder lets the next shared one in. */
static inline void trma_sync_lock_admit(struct trma_lock *lock, bool needs_fence) {
    /* The carry out of the high half is lost, as it should be. Release: the next shared holder sees what this
     * one saw. */
    atomic_fetch_add_explicit(&lock->turns, UINT64_C(1) << TRMA_LOCK_SHARED_SHIFT, memory_order_acq_rel);
    trma_node_doorbell_notify(&lock->bell, needs_fence);
}

enum trma_status trma_sync_lock_await(struct trma_lock *lock, uint32_t ticket,
                                      const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                      uint64_t *waited_ns);
enum trma_status trma_sync_lock_await_to_share(struct trma_lock *lock, uint32_t ticket,
                                               const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                               uint64_t *waited_ns);

static inline enum trma_status trma_sync_lock_shared(struct trma_lock *lock, const struct trma_waiter *waiter,
                                                     pthread_mutex_t *guard, uint64_t *waited_ns) {
    uint32_t ticket = trma_sync_lock_ask(lock);

    if (__builtin_expect(!trma_sync_lock_is_turn_to_share(lock, ticket), 0)) {
        return trma_sync_lock_await_to_share(lock, ticket, waiter, guard, waited_ns);
    }
    trma_sync_lock_admit(lock, waiter->needs_fence);
    return TRMA_OK;
}

/* The steps of giving a lock back: the word, for which the bell is to be rung then. */
static inline void trma_sync_lock_leave_shared(struct trma_lock *lock) {
    uint64_t turns = atomic_load_explicit(&lock->turns, memory_order_relaxed);
    uint64_t after;

    /* Several shared holders leave in any order. Not a plain add: the low half must wrap without a carry into
     * the high one. */
    do {
        after = (turns & ~UINT64_C(0xffffffff)) | (uint32_t)(turns + 1);
    } while (!atomic_compare_exchange_weak_explicit(&lock->turns, &turns, after, memory_order_acq_rel,
                                                    memory_order_relaxed));
}

static inline void trma_sync_lock_leave_exclusive(struct trma_lock *lock) {
    /* The exclusive holder is alone: nobody else moves the turns until this store, and it moves both. */
    uint32_t after = (uint32_t)atomic_load_explicit(&lock->turns, memory_order_relaxed) + 1;

    atomic_store_explicit(&lock->turns, (uint64_t)after << TRMA_LOCK_SHARED_SHIFT | after,
                          memory_order_release);
}

static inline void trma_sync_unlock_shared(struct trma_lock *lock, bool needs_fence) {
    trma_sync_lock_leave_shared(lock);
    trma_node_doorbell_notify(&lock->bell, needs_fence);
}

static inline void trma_sync_unlock_exclusive(struct trma_lock *lock, bool needs_fence) {
    trma_sync_lock_leave_exclusive(lock);
    trma_node_doorbell_notify(&lock->bell, needs_fence);
}

static inline enum trma_status trma_sync_lock_exclusive(struct trma_lock *lock,
                                                        const struct trma_waiter *waiter,
                                                        pthread_mutex_t *guard, uint64_t *waited_ns) {
    uint32_t ticket = trma_sync_lock_ask(lock);

    return __builtin_expect(trma_sync_lock_is_turn(lock, ticket), 1)
               ? TRMA_OK
               : trma_sync_lock_await(lock, ticket, waiter, guard, waited_ns);
}

#endif
