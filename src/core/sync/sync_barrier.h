/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_SYNC_BARRIER_H
#define TRMA_SYNC_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../node/node_turn.h"
#include "../node/node_wait.h"

/*
 * A dissemination barrier (Hensgen, Finkel, Manber 1988): in round k a rank tells the one 2^k behind it that
 * it has arrived, and waits for the one 2^k in front. ceil(log2 n) rounds; for two ranks one store each way.
 * Every word has one writer and only grows, so nothing is reset between uses.
 *
 * With more members than cores that would have every member scheduled once a round. There all count
 * themselves in one word, and the last one releases the others: each runs once.
 *
 * There, too, who enters as the last one of its core does not yield at once: those beside it have nothing to
 * do, and it would have to be scheduled again only to find that the others have come meanwhile. So of two on
 * a core each goes on to its next barrier before the core changes hands. Measured (Zen 4, 2 cores, by hand,
 * ten rows of 20000 fences, launches by turns): 4 members in 0.61 to 0.70 of the time in one session, in one
 * launch of four 0.95, 0.73 to 0.77 in sessions of their own; with four on a core 0.86 and 1.16, so that it
 * is done with two only.
 */
enum {
    TRMA_BARRIER_ROUNDS = 16,
    TRMA_BARRIER_SPINS = 64 /* looks: as long as it takes to change places on another core, 1 to 3 us */
};

/* The shared half: lies in each member's control words, zeroed at the start; word k is written by the sender
 * of round k only, and where the members are crowded the first one by the member itself: the last barrier
 * that it has entered. */
struct trma_barrier_words {
    _Alignas(64) atomic_uint arrived[TRMA_BARRIER_ROUNDS];
    /* Where the members are crowded. */
    _Alignas(64) atomic_uint gathered; /* member 0's: members that have entered, over all barriers */
    atomic_uint released; /* the last barrier that all have entered, written by the last of them */
};

/* The private half: where this member finds everybody's words. Owned by the object that embeds it. */
struct trma_barrier {
    uint32_t size;
    uint32_t me;
    bool crowded;                      /* more members than cores; the same at every member */
    uint32_t sequence;                 /* of the last barrier entered; the words follow it, wrapping around */
    struct trma_barrier_words **words; /* one per member, mapped here; owned by the embedding object */
    struct trma_doorbell **bells;      /* one per member */
};

/*
 * Enters the next barrier and waits for all members. What a member stored before entering is visible to all
 * after leaving. One thread of a member at a time. Statuses and parameters as trma_node_wait.
 */
enum trma_status trma_sync_barrier_pass(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                                        pthread_mutex_t *guard, uint64_t *waited_ns);

/* The second half of it, after trma_sync_barrier_enter. */
enum trma_status trma_sync_barrier_await(struct trma_barrier *barrier, const struct trma_waiter *waiter,
                                         pthread_mutex_t *guard, uint64_t *waited_ns);

/* Tells the member so far behind this one that it has come to a round. Release: everything this member
 * stored, and everything earlier rounds showed it, comes before. */
static inline void trma_sync_barrier_announce(const struct trma_barrier *barrier, uint32_t distance,
                                              unsigned round, bool needs_fence) {
    const uint32_t after = barrier->me + distance;
    /* No remainder: a division is some nanoseconds of a fence. */
    const uint32_t to = after < barrier->size ? after : after - barrier->size;

    atomic_store_explicit(&barrier->words[to]->arrived[round], barrier->sequence, memory_order_release);
    trma_node_doorbell_notify(barrier->bells[to], needs_fence);
}

/* Acquire: what the sender stored before its round is visible from here on; rounds chain this to everybody.
 */
static inline bool trma_sync_barrier_has_come(atomic_uint *word, uint32_t sequence) {
    return (int32_t)(atomic_load_explicit(word, memory_order_acquire) - sequence) >= 0;
}

/* The first half, of members that are not crowded: tells the first of the others (one who is alone, itself).
 * Unless trma_sync_barrier_is_over then, trma_sync_barrier_await must follow. */
static inline void trma_sync_barrier_enter(struct trma_barrier *barrier, bool needs_fence) {
    barrier->sequence++;
    trma_sync_barrier_announce(barrier, 1, 0, needs_fence);
}

/* More than two members do not see so much by one look. */
static inline bool trma_sync_barrier_is_over(const struct trma_barrier *barrier) {
    return barrier->size <= 2 &&
           trma_sync_barrier_has_come(&barrier->words[barrier->me]->arrived[0], barrier->sequence);
}

/* The word that this member changes first in its next barrier. */
static inline atomic_uint *trma_sync_barrier_first_word(const struct trma_barrier *barrier) {
    const uint32_t next = barrier->me + 1 < barrier->size ? barrier->me + 1 : 0;

    return barrier->crowded ? &barrier->words[0]->gathered : &barrier->words[next]->arrived[0];
}

#endif
