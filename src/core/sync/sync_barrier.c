/* SPDX-License-Identifier: BSD-3-Clause */
#include "sync_barrier.h"

struct arrival {
    atomic_uint *word;
    uint32_t sequence;
};

static bool has_arrived(void *argument) {
    const struct arrival *arrival = argument;

    /* Acquire: what the sender stored before its round is visible from here on; rounds chain this to
     * everybody. */
    return (int32_t)(atomic_load_explicit(arrival->word, memory_order_acquire) - arrival->sequence) >= 0;
}

/* The barrier of crowded members. */
static enum trma_status gather(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                               pthread_mutex_t *guard, uint64_t *waited_ns) {
    struct arrival release = {&barrier->words[barrier->me]->released, barrier->sequence};

    /* Release: what this member stored comes before. Acquire: the last one passes on what all others stored.
     */
    uint32_t before = atomic_fetch_add_explicit(&barrier->words[0]->gathered, 1, memory_order_acq_rel);
    if (before + 1 != barrier->sequence * barrier->size) {
        return trma_node_wait(waiter, guard, has_arrived, &release, waited_ns);
    }
    /* Each waits at its own word: whoever has left may free its words, and nobody looks at them any more. */
    for (uint32_t i = 0; i < barrier->size; i++) {
        if (i != barrier->me) {
            atomic_store_explicit(&barrier->words[i]->released, barrier->sequence, memory_order_release);
            trma_node_doorbell_notify(barrier->bells[i], waiter->needs_fence);
        }
    }
    return TRMA_OK;
}

enum trma_status trma_sync_barrier_pass(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                                        pthread_mutex_t *guard, uint64_t *waited_ns) {
    uint32_t sequence = ++barrier->sequence;
    unsigned round = 0;

    if (barrier->crowded) {
        return gather(barrier, waiter, guard, waited_ns);
    }
    for (uint32_t distance = 1; distance < barrier->size; distance *= 2, round++) {
        const uint32_t after = barrier->me + distance;
        /* No remainder: a division is some nanoseconds of a fence. */
        const uint32_t to = after < barrier->size ? after : after - barrier->size;
        struct arrival arrival = {&barrier->words[barrier->me]->arrived[round], sequence};

        /* Release: everything this member stored, and everything earlier rounds showed it, comes before. */
        atomic_store_explicit(&barrier->words[to]->arrived[round], sequence, memory_order_release);
        trma_node_doorbell_notify(barrier->bells[to], waiter->needs_fence);
        enum trma_status status = trma_node_wait(waiter, guard, has_arrived, &arrival, waited_ns);
        if (status) {
            return status;
        }
    }
    return TRMA_OK;
}
