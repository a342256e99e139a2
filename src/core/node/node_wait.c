/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_wait.h"

#include <sched.h>
#include <time.h>

enum {
    SPINS_PER_LOOK = 32, /* conditions looked at between two looks at the clock */
    /* Who looks all the time takes the line away from the peer that is about to announce in it, between the
     * data and the word, or between complete and post. Measured (Intel Xeon, bench-latency in turns, 14
     * launches each, geometric means): post/start/complete/wait and fences of 8 bytes with two pauses in 0.94
     * to 0.96 of the time with one, in 1.1 with none; four are better for puts and worse for gets. */
    PAUSES_PER_SPIN = 2,
    /* So many looks after the first come after one pause, on AMD's processors: between two near each other a
     * word takes 50 to 60 ns, and two pauses take 50. Measured (Zen 4, bench-latency in turns, 8 launches,
     * geometric means of post/start/complete/wait and fences of 8 B to 64 KiB): in 0.87 of the time, 8 and 64
     * B in 0.66 to 0.87, but gets of 4 KiB in 1.12 to 1.29, and (5 launches) sums of 2 KiB in 1.12 and 1.23,
     * puts of 2 KiB in 1.12 and 0.89; 1.00 while the processors were far from each other. With one pause
     * before all later looks 0.86 and 1.04. */
    LOOKS_SOON_AMD = 2,
    YIELDS_PER_PROGRESS = 8,
    /* When not crowded: with idle cores a yield is a short system call, and waking a sleeper takes some 50 us
     * and more in a virtual machine: who waits longer than this loses one or two hundredths by it. */
    YIELD_NS = 5000000,
    YIELDS_BEFORE_PAUSE = 64,   /* of a step: what is waited for there is held for less than a turn */
    PROGRESS_PERIOD_NS = 20000, /* while spinning: the host's progress costs up to a microsecond */
    SPINS_AFTER_HELP = 256,     /* some 10 us: an origin that was helped may have more */
    /* Without a look at anything else, and a poke. Measured (Intel Xeon, bench-adopt, 10000 puts of 8 bytes
     * that a waiting target does, two launches): with 1024 they took 1.06 to 1.34 times as long as without
     * the poke, with 4096 in twelve launches 1.00 and 1.08 (medians, MPICH and Open MPI). */
    MOST_SPINS_OF_HELP = 4096,
    SLEEP_NS = 500000, /* bound of one sleep: the host MPI needs a poke even when nobody rings */
    NAP_NS = 50000,    /* bound of the first sleeps, where cores are few */
    /* Of those in turns: at least the kernel's tick. A timer that is to go off before it has to be set, which
     * takes 10 us in a virtual machine, and again when the sleep ends. Measured (by hand as in node_turn.h, 2
     * origins): 45 us with 4 ms and more, 56 with 2, 62 with 1, 67 with 200 us, 105 with 50. */
    KEPT_NS = 5000000,
    ALONE_NS = 200000, /* how long to stay awake for others of a core, who all sleep */
    LOOKS_ALONE = 256, /* at what they and origins ask for, 10 to 20 us, until others may have the core */
    LIVENESS_PERIOD_NS = 200000000,
    DEATHS_LEFT = 4 /* looks that find one, where may_have_left is set */
};

/* Set before main, and never again. */
static int looks_soon;

#if defined(__x86_64__)
__attribute__((constructor)) static void choose_looks_soon(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd")) {
        looks_soon = LOOKS_SOON_AMD;
    }
}
#endif

uint64_t trma_node_clock_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void poke(const struct trma_waiter *waiter) {
    if (waiter->progress) {
        waiter->progress();
    }
}

/* Helps while the waiting goes on: true when this thread does. Not when crowded: who does not spin cannot
 * answer soon. */
static bool begin_help(const struct trma_waiter *waiter) {
    return waiter->help && !waiter->crowded && trma_node_help_begin(waiter->help);
}

/* The same for joint copies, after a while: to say so in every wait would cost the short ones more than it
 * brings. */
static bool begin_late_help(const struct trma_waiter *waiter) {
    return waiter->help && trma_node_help_begin_late(waiter->help);
}

static bool spin(const struct trma_waiter *waiter, bool *helps, trma_condition ready, void *argument) {
    uint64_t start = 0;
    uint64_t poked = 0;

    if (waiter->crowded) {
        return false; /* whoever is waited for may be waiting for this core */
    }
    for (;;) {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (ready(argument)) {
                return true;
            }
            if (*helps) {
                (void)trma_node_help_serve(waiter->help);
            }
            const int pauses = !start && i > 0 && i <= looks_soon ? 1 : PAUSES_PER_SPIN;
            for (int pause = 0; pause < pauses; pause++) {
                trma_node_relax();
            }
        }
        /* The clock is looked at only now: most waits are shorter than it takes. */
        uint64_t now = trma_node_clock_ns();
        if (!start) {
            start = poked = now;
            *helps = *helps || begin_late_help(waiter);
        }
        if (now - start > (uint64_t)waiter->spin_us * 1000U) {
            return false;
        }
        if (waiter->keeps_progress || now - poked > PROGRESS_PERIOD_NS) {
            poke(waiter);
            poked = now;
        }
    }
}

/* Answers what is asked, and for a while what follows it: true when anything was. */
static bool help_on(const struct trma_waiter *waiter, trma_condition ready, void *argument) {
    bool has_helped = false;

    for (unsigned i = 0, last = 0; i < MOST_SPINS_OF_HELP && i - last < SPINS_AFTER_HELP; i++) {
        if (trma_node_help_serve(waiter->help)) {
            has_helped = true;
            last = i;
        } else if (!has_helped || ready(argument)) {
            break;
        }
        trma_node_relax();
    }
    return has_helped;
}

static bool yield(const struct trma_waiter *waiter, bool helps, trma_condition ready, void *argument) {
    uint64_t start = waiter->crowded ? 0 : trma_node_clock_ns();

    for (unsigned i = 1;; i++) {
        if (ready(argument)) {
            return true;
        }
        if (helps && help_on(waiter, ready, argument)) {
            /* An origin that goes on asking would keep it from the host, and from adopting what it asks for.
             */
            poke(waiter);
            start = trma_node_clock_ns(); /* it is not idle */
        }
        if (i % YIELDS_PER_PROGRESS == 0) {
            poke(waiter);
            if (waiter->crowded ? i >= waiter->yields : trma_node_clock_ns() - start > YIELD_NS) {
                return ready(argument);
            }
        }
        sched_yield();
    }
}

static uint32_t count_missing(void *argument) {
    const struct trma_awaited *awaited = argument;

    return awaited->missing ? awaited->missing(awaited->argument) : !awaited->ready(awaited->argument);
}

/* While nobody else of the core has anything to do: copies parts of what others put and get (node_joint.h).
 * True when it has, or somebody has something to do now. */
static bool help_alone(const struct trma_waiter *waiter, const struct trma_awaited *awaited) {
    bool has_helped = false;
    bool is_alone = true;

    if (!begin_late_help(waiter)) {
        return false;
    }
    for (unsigned looks = 0; looks < LOOKS_ALONE && !awaited->ready(awaited->argument); looks++) {
        if (trma_node_help_serve(waiter->help)) {
            has_helped = true;
            looks = 0;
            poke(waiter);
        }
        if (trma_node_turn_wake_next(waiter->turns) || !trma_node_turn_is_alone(waiter->turns)) {
            is_alone = false;
            break;
        }
        trma_node_relax();
    }
    trma_node_help_end(waiter->help);
    return has_helped || !is_alone;
}

/* Awake, or asleep as long as that is the better way to wait: true when it is ready. */
static bool wait_in_turn(const struct trma_waiter *waiter, const struct trma_awaited *awaited) {
    unsigned patience = trma_node_turn_patience(waiter->turns);
    unsigned yields = 0;
    uint64_t poked = 0;
    uint64_t woken = 0;
    bool can_hand = awaited->whom != NULL; /* once: that one may wait for this one in its turn */

    while (!awaited->ready(awaited->argument)) {
        if (trma_node_turn_wake_next(waiter->turns)) {
            yields = patience = 0; /* somebody has something to do */
        }
        if (yields < patience) {
            yields++;
            sched_yield();
            continue;
        }
        /* The clock is looked at only now: most waits are shorter than so many yields. */
        const uint64_t now = trma_node_clock_ns();
        poked = poked ? poked : now;
        woken = woken ? woken : now;
        if (now - poked > PROGRESS_PERIOD_NS) {
            poke(waiter);
            poked = now;
        }
        switch (trma_node_turn_sleep(waiter->turns, count_missing, (void *)(uintptr_t)awaited, KEPT_NS)) {
        case TRMA_TURN_RUNG:
            trma_node_turn_learn(waiter->turns, yields, false);
            patience = trma_node_turn_patience(waiter->turns);
            yields = 0;
            woken = 0;
            break;
        case TRMA_TURN_STAYED:
            if (can_hand && trma_node_turn_hand_to(waiter->turns, awaited->whom(awaited->argument))) {
                can_hand = false;
                yields = patience = 0;
                break;
            }
            if (now - woken > ALONE_NS) {
                return false;
            }
            if (help_alone(waiter, awaited)) {
                woken = 0;
                yields = patience = 0;
            } else {
                sched_yield(); /* to who has nothing to do with us */
            }
            break;
        case TRMA_TURN_QUIET:
            return false;
        }
    }
    trma_node_turn_learn(waiter->turns, yields, true);
    return true;
}

/* In turns (node_turn.h): true when it is ready, false when it is better to sleep for longer, or otherwise.
 */
static bool take_turns(const struct trma_waiter *waiter, const struct trma_awaited *awaited) {
    trma_node_turn_begin(waiter->turns);
    const bool is_ready = wait_in_turn(waiter, awaited);
    if (!is_ready) {
        trma_node_turn_pause(waiter->turns);
    }
    trma_node_turn_end(waiter->turns);
    return is_ready;
}

/* True when a peer has ended who has not done its part; `deaths` counts the looks that found one. */
static bool is_in_vain(const struct trma_waiter *waiter, unsigned *deaths, trma_condition ready,
                       void *argument) {
    if (!waiter->is_alive || waiter->is_alive(waiter->team)) {
        return false;
    }
    /* Look at the words once more after a death: the peer may have done its part before it ended. It may have
     * left this barrier, and ended, while others are still on their way. */
    return ++*deaths >= (waiter->may_have_left ? DEATHS_LEFT : 1) && !ready(argument);
}

/* Yields as long as it takes, and pokes all the time, as the host would. */
static enum trma_status stay_awake(const struct trma_waiter *waiter, bool helps, trma_condition ready,
                                   void *argument) {
    uint64_t looked = trma_node_clock_ns();
    unsigned deaths = 0;

    while (!ready(argument)) {
        if (helps) {
            (void)help_on(waiter, ready, argument);
        }
        poke(waiter);
        const uint64_t now = trma_node_clock_ns();
        if (now - looked > LIVENESS_PERIOD_NS) {
            if (is_in_vain(waiter, &deaths, ready, argument)) {
                return TRMA_ERR_PEER_DEAD;
            }
            looked = now;
        }
        sched_yield();
    }
    return TRMA_OK;
}

/* Members take turns, without threads. */
static bool takes_turns(const struct trma_waiter *waiter, const pthread_mutex_t *guard) {
    return waiter->crowded && waiter->turns && !guard;
}

static enum trma_status sleep_until(const struct trma_waiter *waiter, bool in_turns,
                                    const struct trma_awaited *awaited) {
    const trma_condition ready = awaited->ready;
    void *argument = awaited->argument;
    const uint64_t progress_ns = (uint64_t)waiter->progress_us * 1000U;
    const uint64_t bound = waiter->keeps_progress && progress_ns < SLEEP_NS ? progress_ns : SLEEP_NS;
    const uint64_t nap_ns = waiter->keeps_progress ? bound : NAP_NS;
    uint64_t looked = trma_node_clock_ns();
    unsigned deaths = 0;
    /* Crowded, most waits end within microseconds, when another one has had its turn, and the others' cores
     * are better left to their copies than interrupted by a fence. Measured (2 cores, bench-aggregate of 64
     * KiB, 3 to 8 members, 5 launches each): 0.87 to 0.91 of the time with each process in a session of its
     * own, 0.86 to 0.97 with all in one. */
    bool naps = waiter->crowded && !in_turns;

    for (;;) {
        const bool has_rung =
            naps ? trma_node_doorbell_nap(waiter->bell, ready, argument, nap_ns)
                 : trma_node_doorbell_sleep(waiter->bell, waiter->rings_fence, ready, argument, bound);
        /* Where the host has to keep up a sleep soon ends by itself, and needs no fence either.
         * Measured (AMD EPYC, Zen 3, 4 members on 2 cores, three of them in the program's own barrier for a
         * second): each of them takes 0.11 to 0.14 s of it above one host, with a fence before every sleep
         * 0.24 to 0.33. */
        naps = naps && (has_rung || waiter->keeps_progress);
        /* Somebody has done its part, and others have not: they may have been waiting for the same core. To
         * yield to them costs less than to be woken by each. */
        if (ready(argument) ||
            (has_rung && waiter->crowded &&
             (in_turns ? take_turns(waiter, awaited) : yield(waiter, false, ready, argument)))) {
            return TRMA_OK;
        }
        poke(waiter);
        uint64_t now = trma_node_clock_ns();
        if (now - looked > LIVENESS_PERIOD_NS) {
            if (is_in_vain(waiter, &deaths, ready, argument)) {
                return TRMA_ERR_PEER_DEAD;
            }
            looked = now;
        }
    }
}

enum trma_status trma_node_wait_for(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                    const struct trma_awaited *awaited, uint64_t *waited_ns) {
    const trma_condition ready = awaited->ready;
    void *argument = awaited->argument;
    const bool in_turns = takes_turns(waiter, guard);
    enum trma_status status = TRMA_OK;

    if (ready(argument)) {
        return TRMA_OK;
    }
    uint64_t start = waited_ns ? trma_node_clock_ns() : 0;
    if (guard) {
        pthread_mutex_unlock(guard);
    }
    bool helps = begin_help(waiter);
    bool is_ready = spin(waiter, &helps, ready, argument);
    if (!is_ready && waiter->keeps_progress && !waiter->crowded) {
        status = stay_awake(waiter, helps, ready, argument);
        is_ready = true; /* or never will be */
    }
    is_ready = is_ready || (in_turns ? take_turns(waiter, awaited) : yield(waiter, helps, ready, argument));
    if (helps) {
        trma_node_help_end(waiter->help);
    }
    if (!is_ready) {
        status = sleep_until(waiter, in_turns, awaited);
    }
    if (guard) {
        pthread_mutex_lock(guard);
    }
    if (waited_ns) {
        *waited_ns += trma_node_clock_ns() - start;
    }
    return status;
}

enum trma_status trma_node_wait(const struct trma_waiter *waiter, pthread_mutex_t *guard,
                                trma_condition ready, void *argument, uint64_t *waited_ns) {
    const struct trma_awaited awaited = {.ready = ready, .argument = argument};

    return trma_node_wait_for(waiter, guard, &awaited, waited_ns);
}

void trma_node_wait_turn(const struct trma_waiter *waiter) {
    if (waiter->crowded) {
        sched_yield();
    }
}

enum trma_status trma_node_wait_step(const struct trma_waiter *waiter, unsigned tries) {
    unsigned spins = waiter->crowded ? 4 : 64;

    if (tries < spins) {
        trma_node_relax();
        return TRMA_OK;
    }
    if (tries < spins + YIELDS_BEFORE_PAUSE) {
        sched_yield();
        return TRMA_OK;
    }
    const struct timespec pause = {.tv_nsec = 50000};
    nanosleep(&pause, NULL);
    /* About every 100 ms of such pauses. */
    if (tries % 1024 == 0 && waiter->is_alive && !waiter->is_alive(waiter->team)) {
        return TRMA_ERR_PEER_DEAD;
    }
    return TRMA_OK;
}
