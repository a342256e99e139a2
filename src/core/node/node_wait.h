/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_WAIT_H
#define TRMA_NODE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../trma_status.h"
#include "node_doorbell.h"
#include "node_help.h"
#include "node_turn.h"

/*
 * Of `yields` of a crowded waiter that takes no turns (node_turn.h), per member that a core has. A yield lets
 * another one have a turn, if the kernel divides the core among the processes alone. If it divides it among
 * sessions or control groups first (node_probe_yield.h) a yield returns at once as long as the process has
 * had less of the core than the others, which in the end get as much time for their copies as this one for
 * its yields. So it sleeps soon; but not before all have had a turn, or in every barrier all sleep and the
 * last one has to wake them, nor before a peer with a core of its own has copied something. Measured (2
 * cores, each process in a session of its own), a fence of 5 and 8 members, eight launches: 4-7 and 8-10 us;
 * with 64 yields for all up to 90 in one of eight. With half as many a fence after puts of 64 KiB among 3
 * members takes 9 instead of 6 us. Where a core has two, later: it paid there, and cost scientific codes with
 * more ranks per core. Measured (Zen 4, bench-aggregate of 64 KiB on MPICH, in turns, 3 launches; 64 yields
 * against 16): 3 members 0.97, 4 members 0.73 of the time; with 32 per member also where a core has more, 8
 * members 0.91, but scientific codes of 8 ranks (mg, lu, ljmd, 7 launches) in 0.97 to 1.19, of 4 ranks 0.90
 * to 1.07.
 */
enum { TRMA_WAIT_YIELDS_PER_MEMBER = 8, TRMA_WAIT_YIELDS_OF_TWO = 64 };

/*
 * Of `progress_us` of a crowded waiter, per member that a core has: with two, some 64 KiB of a message of the
 * host's go by each poke. With more members the pokes of a core stay as many. Measured (AMD EPYC, Zen 3, 16
 * members on 2 cores, 15 of them in the program's own barrier): one that computes for a second of its core's
 * time takes 1.06 to 1.16 s above MPICH, and 1.49 to 1.66 if each of the others pokes every 50 us.
 */
enum { TRMA_WAIT_PROGRESS_US_PER_MEMBER = 25 };

/*
 * Waiting: spin briefly when cores are free, else take turns (node_turn.h) or yield, then sleep on the bell
 * with a bound; not where the host's progress is to be kept up and cores are free. A waiter calls `progress`
 * now and then (a rank that waits for us may be needed by a send elsewhere) and notices a dead peer.
 */
struct trma_waiter {
    struct trma_doorbell *bell; /* what the peers ring when they change a word of ours */
    bool needs_fence;           /* see node_doorbell.h: no membarrier reaches all members */
    bool rings_fence;           /* who rings that bell runs the fence; also where members take turns */
    bool crowded; /* more ranks than cores: do not spin, a spinner keeps the one it waits for off the core */
    uint32_t spin_us;         /* how long to spin before yielding, when not crowded */
    uint32_t yields;          /* how often, about, to yield before sleeping, when crowded without turns */
    struct trma_turns *turns; /* how crowded members share a core; NULL, and with a guard: they do not */
    bool keeps_progress;    /* pokes so often that the host's messages go on nearly as in a wait of its own */
    uint32_t progress_us;   /* bound of a sleep of one who does, when crowded; at most 500 */
    bool may_have_left;     /* who has ended may have done its part in what others have not: a barrier */
    void (*progress)(void); /* pokes the host MPI; NULL: nothing to poke */
    struct trma_help *help; /* origins that are served meanwhile (node_help.h); NULL: none */
    bool (*is_alive)(
        const void *team); /* false when a process has ended whom we might be waiting for; NULL: not asked */
    const void *team;
};

/* A condition over shared words. Called often, must be cheap and read the announcing word with acquire order.
 */
typedef bool (*trma_condition)(void *argument);

/*
 * Waits until ready(argument). `guard`, when not NULL, is a mutex that the caller holds: it is released while
 * waiting, so that other threads may work on the same object, and held again on return; `ready` then runs
 * without it. *waited_ns, when not NULL, is increased by the time spent here. TRMA_ERR_PEER_DEAD when a peer
 * has ended.
 */
enum trma_status trma_node_wait(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                trma_condition ready, void *argument, uint64_t *waited_ns);

/* What is waited for, and what is known of it. */
struct trma_awaited {
    trma_condition ready;
    void *argument;
    /* How many announcements must come at least: 0 when ready(argument). NULL: one. Where cores are few the
     * waiter is woken by the last of them. */
    uint32_t (*missing)(void *argument);
    /* A member that has to go on before it is ready. NULL: not known. Where cores are few, and that one has
     * to wait as well, on the same core, it is the one that stays awake. */
    uint32_t (*whom)(void *argument);
};

/* The same as trma_node_wait with all that is known. */
enum trma_status trma_node_wait_for(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                    const struct trma_awaited *awaited, uint64_t *waited_ns);

/* Where cores are few, lets others have this one for a turn: before doing what theirs may make unnecessary.
 */
void trma_node_wait_turn(const struct trma_waiter *waiter);

/* One step of waiting by somebody who has a loop of their own (accumulate's stripes): spins, yields, or
 * sleeps a little, by `tries`. */
enum trma_status trma_node_wait_step(const struct trma_waiter *waiter, unsigned tries);

/* So often a wait looks at its condition before it first pauses, or yields. */
enum { TRMA_WAIT_LOOKS_BEFORE_PAUSE = 2 };

/* Monotonic clock, nanoseconds. */
uint64_t trma_node_clock_ns(void);

/* Tells the processor that this is a spin loop. */
static inline void trma_node_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/*
 * Between two looks of a loop that is short and must not miss by a pause what comes: multiplications, each of
 * which waits for the one before. Those of several looks overlap: 16 looks take 26 ns (by hand, Zen 4).
 * Measured (Zen 4, bench-overlap of 100 % in turns, MPICH, 5 launches, near each other): a target that looks
 * before its first pause hides 0.97 to 0.98 of epochs of 8 B, 0.96 to 0.97 of 512 B and 0.98 to 0.99 of 4 KiB
 * with 3, 6 and 12 of them; without any 0.93, 0.93 and 0.95, with 24 or with an empty loop of 20 0.88 to
 * 0.90, 0.88 to 0.89 and 0.91 to 0.93; with an lfence (2 launches) 0.63 to 0.64 and 0.71. Probably the looks
 * that are under way when the word changes have all to be made again.
 */
static inline void trma_node_linger(void) {
    enum { MULTIPLICATIONS = 6 };
    unsigned long product = 1;

    for (int i = 0; i < MULTIPLICATIONS; i++) {
        __asm__ volatile("" : "+r"(product)); /* which the compiler must not know */
        product *= product;
    }
    __asm__ volatile("" : : "r"(product));
}

#endif
