/* SPDX-License-Identifier: BSD-3-Clause */
#include "sync_barrier.h"

struct arrival {
    atomic_uint *word;
    uint32_t sequence;
};

static bool has_arrived(void *argument) {
    const struct arrival *arrival = argument;

    return trma_sync_barrier_has_come(arrival->word, arrival->sequence);
}

/* Whether the other member of the caller's core, if it has another one, has entered the caller's barrier. */
static bool is_last_of_core(const struct trma_barrier *barrier, struct trma_turns *turns) {
    uint32_t others = 0;

    trma_node_turn_tell(turns);
    for (uint32_t i = 0; i < barrier->size; i++) {
        if (i != barrier->me && trma_node_turn_is_beside(turns, i) &&
            (++others > 1 ||
             !trma_sync_barrier_has_come(&barrier->words[i]->arrived[0], barrier->sequence))) {
            return false;
        }
    }
    return true;
}

/* While the members of other cores change places: nobody here has anything to do. */
static bool spin(struct arrival *release, uint64_t *waited_ns) {
    const uint64_t start = waited_ns ? trma_node_clock_ns() : 0;
    bool is_released = has_arrived(release);

    for (int i = 0; i < TRMA_BARRIER_SPINS && !is_released; i++) {
        trma_node_relax();
        is_released = has_arrived(release);
    }
    if (waited_ns) {
        *waited_ns += trma_node_clock_ns() - start;
    }
    return is_released;
}

/* The barrier of crowded members. */
static enum trma_status gather(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                               pthread_mutex_t *guard, uint64_t *waited_ns) {
    struct arrival release = {&barrier->words[barrier->me]->released, barrier->sequence};

    /* Before it enters: until then nobody has left, and may free the words that are looked at. */
    const bool is_last_here = waiter->turns && is_last_of_core(barrier, waiter->turns);

    /* Relaxed: it only tells who shares the core that this member has nothing to do. */
    atomic_store_explicit(&barrier->words[barrier->me]->arrived[0], barrier->sequence, memory_order_relaxed);
    /* Release: what this member stored comes before. Acquire: the last one passes on what all others stored.
     */
    uint32_t before = atomic_fetch_add_explicit(&barrier->words[0]->gathered, 1, memory_order_acq_rel);
    if (before + 1 != barrier->sequence * barrier->size) {
        if (is_last_here && spin(&release, waited_ns)) {
            return TRMA_OK;
        }
        /* Not in turns: the last one releases all at once. Measured (Emerald Rapids, 2 cores, MPICH), a fence
         * of 8 and 16 members: 5.3 and 25 us, in turns 7 to 11 and 33. */
        struct trma_waiter at_barrier = *waiter;
        at_barrier.turns = NULL;
        return trma_node_wait(&at_barrier, guard, has_arrived, &release, waited_ns);
    }
    /* Each waits at its own word: whoever has left may free its words, and nobody looks at them any more. */
    for (uint32_t i = 0; i < barrier->size; i++) {
        if (i != barrier->me) {
            atomic_store_explicit(&barrier->words[i]->released, barrier->sequence, memory_order_release);
        }
    }
    /* One fence for all of them, as trma_node_doorbell_notify would make. Bells outlast all barriers. */
    if (waiter->rings_fence) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    for (uint32_t i = 0; i < barrier->size; i++) {
        if (i != barrier->me) {
            trma_node_doorbell_notify(barrier->bells[i], false);
        }
    }
    return TRMA_OK;
}

enum trma_status trma_sync_barrier_await(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                                         pthread_mutex_t *guard, uint64_t *waited_ns) {
    uint32_t distance = 1;

    for (unsigned round = 0;; round++) {
        struct arrival arrival = {&barrier->words[barrier->me]->arrived[round], barrier->sequence};
        enum trma_status status = trma_node_wait(waiter, guard, has_arrived, &arrival, waited_ns);
        distance *= 2;
        if (status || distance >= barrier->size) {
            return status;
        }
        trma_sync_barrier_announce(barrier, distance, round + 1, waiter->rings_fence);
    }
}

enum trma_status trma_sync_barrier_pass(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                                        pthread_mutex_t *guard, uint64_t *waited_ns) {
    if (barrier->crowded) {
        barrier->sequence++;
        return gather(barrier, waiter, guard, waited_ns);
    }
    trma_sync_barrier_enter(barrier, waiter->rings_fence);
    return trma_sync_barrier_await(barrier, waiter, guard, waited_ns);
}
