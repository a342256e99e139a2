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
enum trma_status trma_sync_lock_shared(struct trma_lock *lock, const struct trma_waiter *waiter,
                                       pthread_mutex_t *guard, uint64_t *waited_ns);
enum trma_status trma_sync_lock_exclusive(struct trma_lock *lock, const struct trma_waiter *waiter,
                                          pthread_mutex_t *guard, uint64_t *waited_ns);

/* Gives the lock back and wakes who waits. What the holder stored is visible to later holders. */
void trma_sync_unlock_shared(struct trma_lock *lock, bool needs_fence);
void trma_sync_unlock_exclusive(struct trma_lock *lock, bool needs_fence);

#endif
