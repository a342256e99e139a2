/* SPDX-License-Identifier: BSD-3-Clause */
#include "sync_lock.h"

/* When crowded, before sleeping. More than in other waits: a lock is mostly held for less than a waking
 * takes, and who comes next in line has to be woken before anybody else gets it (lock, put of 8 bytes, unlock
 * of one target by 4 and 8 members on 2 cores: 1.6 and 3.8 us; with 8 and 16 yields 2.2 and 10). */
enum { YIELDS_OF_LOCK = 64 };

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
    at_lock.rings_fence = waiter->needs_fence;
    at_lock.turns = NULL; /* the bell is not a member's */
    at_lock.yields = YIELDS_OF_LOCK;
    return trma_node_wait(&at_lock, guard, is_my_turn, turn, waited_ns);
}

enum trma_status trma_sync_lock_await(struct trma_lock *lock, uint32_t ticket,
                                      const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                      uint64_t *waited_ns) {
    struct turn turn = {&lock->turns, 0, ticket};

    return await_turn(lock, &turn, waiter, guard, waited_ns);
}

enum trma_status trma_sync_lock_await_to_share(struct trma_lock *lock, uint32_t ticket,
                                               const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                               uint64_t *waited_ns) {
    struct turn turn = {&lock->turns, TRMA_LOCK_SHARED_SHIFT, ticket};
    enum trma_status status = await_turn(lock, &turn, waiter, guard, waited_ns);

    if (!status) {
        trma_sync_lock_admit(lock, waiter->needs_fence);
    }
    return status;
}
