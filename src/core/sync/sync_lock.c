/* SPDX-License-Identifier: BSD-3-Clause */
#include "sync_lock.h"

struct turn {
    _Atomic uint64_t *turns;
    unsigned shift;
    uint32_t ticket;
};

static bool is_my_turn(void *argument) {
    const struct turn *turn = argument;

    /* Acquire: pairs with the release of whoever left last. */
    return (uint32_t)(atomic_load_explicit(turn->turns, memory_order_acquire) >> turn->shift) == turn->ticket;
}

static enum trma_status await_turn(struct trma_lock *lock, struct turn *turn,
                                   const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                   uint64_t *waited_ns) {
    struct trma_waiter at_lock = *waiter;

    at_lock.bell = &lock->bell;
    return trma_node_wait(&at_lock, guard, is_my_turn, turn, waited_ns);
}

enum trma_status trma_sync_lock_await(struct trma_lock *lock, uint32_t ticket,
                                      const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                      uint64_t *waited_ns) {
    struct turn turn = {&lock->turns, 0, ticket};

    return await_turn(lock, &turn, waiter, guard, waited_ns);
}

enum trma_status trma_sync_lock_shared(struct trma_lock *lock, const struct trma_waiter *waiter,
                                       pthread_mutex_t *guard, uint64_t *waited_ns) {
    struct turn turn = {&lock->turns, TRMA_LOCK_SHARED_SHIFT, trma_sync_lock_ask(lock)};

    if (!is_my_turn(&turn)) {
        enum trma_status status = await_turn(lock, &turn, waiter, guard, waited_ns);
        if (status) {
            return status;
        }
    }
    /* Only the entering holder lets the next shared one in; the carry out of the high half is lost, as it
     * should be. Release: the next shared holder sees what this one saw. */
    atomic_fetch_add_explicit(&lock->turns, UINT64_C(1) << TRMA_LOCK_SHARED_SHIFT, memory_order_acq_rel);
    trma_node_doorbell_notify(&lock->bell, waiter->needs_fence);
    return TRMA_OK;
}

void trma_sync_unlock_shared(struct trma_lock *lock, bool needs_fence) {
    uint64_t turns = atomic_load_explicit(&lock->turns, memory_order_relaxed);
    uint64_t after;

    /* Several shared holders leave in any order. Not a plain add: the low half must wrap without a carry into
     * the high one. */
    do {
        after = (turns & ~UINT64_C(0xffffffff)) | (uint32_t)(turns + 1);
    } while (!atomic_compare_exchange_weak_explicit(&lock->turns, &turns, after, memory_order_acq_rel,
                                                    memory_order_relaxed));
    trma_node_doorbell_notify(&lock->bell, needs_fence);
}
