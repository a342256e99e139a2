/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_DOORBELL_H
#define TRMA_NODE_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A doorbell lets a process sleep until a peer has changed one of the words it waits for. The words
 * themselves are written by plain release stores; the bell is only looked at, and rung only when somebody
 * sleeps. So a notification that nobody sleeps for costs one load of a line that rarely changes.
 *
 * Nobody may fall asleep between "the word is not there yet" and the peer's look at `sleepers`. The classic
 * cure is a full fence on both sides. Here the sleeper, who has time, pays for both: it issues the kernel's
 * membarrier, which makes every registered process run a fence; the notifier then needs none. Where
 * membarrier is refused, and where members take turns, notifiers run the fence (all members of a team agree
 * on it: trma_waiter).
 */
/* How an owner sleeps that takes turns on a core. */
enum trma_lying {
    TRMA_LYING_NOT,  /* it is awake, or sleeps otherwise */
    TRMA_LYING_FREE, /* who rings wakes it */
    TRMA_LYING_KEPT  /* who rings leaves that to those on its core */
};

struct trma_doorbell {
    _Alignas(64) atomic_uint sleepers; /* threads that sleep, or are about to */
    atomic_uint rings;                 /* the futex word: changes with every ring */
    /* Of owners that take turns on a core (node_turn.h), written by the owner unless it says otherwise. */
    atomic_uint asleep; /* odd: it sleeps, and nobody has woken it; grows; also written by who wakes */
    atomic_uint lying;  /* enum trma_lying; those on its core change it between the last two */
    atomic_uint seen;   /* `rings` when it lay down, */
    atomic_uint wanted; /* and how many more it waits for */
    char padding[40];
};

/*
 * Registers this process for membarrier, which the kernel remembers. The first time a process with several
 * threads is held up for a grace period of the kernel's (milliseconds), so it is done before main as well.
 * True when notifiers may leave the fence out, as far as this process is concerned. Thread-safe, idempotent.
 */
bool trma_node_doorbell_register(void);

/* Makes every registered process on the node run a full fence, the caller included, before it returns. False:
 * the kernel refuses. */
bool trma_node_doorbell_fence_all(void);

/* Rings: wakes all sleepers, unless they are kept or wait for more. The slow half of
 * trma_node_doorbell_notify. */
void trma_node_doorbell_ring(struct trma_doorbell *bell);

/* False as long as its owner, who takes turns, is to sleep until more have rung. */
bool trma_node_doorbell_is_called(const struct trma_doorbell *bell);

/*
 * Wakes all sleepers, whom somebody has rung for. From then on the owner is not asleep, before it runs: those
 * on its core are not to take it for one that leaves the core to them; unless it has gone to sleep again
 * since it was `asleep`, which the caller has read before it looked whether there is anybody to wake.
 */
void trma_node_doorbell_wake(struct trma_doorbell *bell, unsigned asleep);

static inline bool trma_node_doorbell_is_asleep(const struct trma_doorbell *bell) {
    /* seq_cst: see trma_node_turn_sleep. */
    return atomic_load_explicit(&bell->asleep, memory_order_seq_cst) % 2 != 0;
}

/* Of the owner, who says that it sleeps, or does not any more. */
void trma_node_doorbell_set_asleep(struct trma_doorbell *bell, bool is_asleep);

/* Lets the calling thread, which has announced itself in `sleepers`, sleep until it is woken, or somebody has
 * rung since there were so many `rings`. False: `timeout_ns` have passed before. */
bool trma_node_doorbell_lie_down(struct trma_doorbell *bell, unsigned rings, uint64_t timeout_ns);

/* To be called after the word was stored (release). */
static inline void trma_node_doorbell_notify(struct trma_doorbell *bell, bool needs_fence) {
    if (__builtin_expect(needs_fence, 0)) {
        atomic_thread_fence(memory_order_seq_cst);
    } else {
        /* The store and the load below must not be swapped by the compiler; the sleeper's membarrier keeps
         * the processor in order. */
        atomic_signal_fence(memory_order_seq_cst);
    }
    if (__builtin_expect(atomic_load_explicit(&bell->sleepers, memory_order_relaxed) != 0, 0)) {
        trma_node_doorbell_ring(bell);
    }
}

/*
 * Sleeps until the bell rings, `ready` is true, or `timeout_ns` have passed. `ready` is looked at once more
 * after the sleeper has announced itself. True when the bell has rung.
 */
bool trma_node_doorbell_sleep(struct trma_doorbell *bell, bool needs_fence, bool (*ready)(void *argument),
                              void *argument, uint64_t timeout_ns);

/*
 * The same without membarrier, which interrupts every other core. Where notifiers run no fence, one whose
 * store is still on its way while it looks at `sleepers` does not ring, and the nap lasts all of
 * `timeout_ns`: for one so short that this may happen once in thousands of times.
 */
bool trma_node_doorbell_nap(struct trma_doorbell *bell, bool (*ready)(void *argument), void *argument,
                            uint64_t timeout_ns);

#endif
