/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_TURN_H
#define TRMA_NODE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "node_doorbell.h"

/*
 * Turns: members of a team that share a core hand it on to one another. To yield is not enough: Linux may
 * divide a core between sessions or control groups first (node_probe_yield.h), and gives it back at once to
 * who yields as long as its group has had less of it than the others. And to be woken from another core takes
 * the waker's time, and interrupts whoever runs there.
 *
 * So a member attends while it is in a call of ours in which it waits, or moves what it had to put off until
 * its peers were ready. Whoever of its core sleeps meanwhile is kept by it: who rings for a kept one only
 * counts the ring. Whoever attends and has to wait looks whether one that it keeps has been rung for, wakes
 * it, and lies down itself, so that the core goes from one to the next by a system call each, and never to
 * somebody who has nothing to do. The last one that is awake stays so, and looks at its own word and at the
 * others' bells, unless one of those whom it keeps has to go on before it can: then that one looks, and goes
 * on as soon as it may, instead of being woken first. One who is to be rung for by several sleeps until all
 * have done so. Who ceases to attend lets those go whom nobody else keeps: who rings for them wakes them
 * again.
 *
 * Which core is whose is what the members last told: one who has moved since costs time, not correctness, and
 * so does one that ends while it attends, since nobody sleeps for longer than trma_node_turn_sleep is told.
 *
 * Measured (Emerald Rapids, 2 cores, by hand, each process in a session of its own, one target and 2, 3, 4, 7
 * origins of 1 MiB each): 43, 142, 161 and 312 us; where all yield until it is their turn 85, 150, 235 and
 * 323, and in one session 44, 142, 159 and 320; where who rings also wakes 60, 170, 185 and 370.
 */
enum {
    /* Of a wait, before lying down: most short waits end by them, and where they hand the core over they cost
     * less. By hand, origins of 64 B in sessions of their own, us, with 0, 4, 8, 16 of them: 2 origins 2.9,
     * 2.1, 2.1, 2.1; 4 origins 6.3, 3.8, 3.6, 3.6; 7 origins 10.6, 9.0, 8.0, 8.3. */
    TRMA_TURN_YIELDS = 16,
    /* Where so many waits one after another have yielded in vain, one in so many does so, the others once:
     * see trma_node_turn_patience. */
    TRMA_TURN_VAIN = 8,
    TRMA_TURN_TRIAL = 64,
    TRMA_TURN_MOST = 32 /* neighbours that are looked at */
};

/* What a member tells. All look at the core, which hardly ever changes, when they begin to wait; those on the
 * same core alone at the other word, which changes all the time. */
struct trma_turn_words {
    _Alignas(64) atomic_uint core;    /* where it last waited, plus one; 0: it takes no part */
    _Alignas(64) atomic_uint attends; /* as above; also while it sleeps in such a call */
};

struct trma_turn_neighbour {
    struct trma_doorbell *bell;
    const struct trma_turn_words *words;
};

/* A member's part in the turns of a team; one thread's. */
struct trma_turns {
    struct trma_doorbell *const *bells;   /* one per member, mapped here; owned by the team, */
    struct trma_turn_words *const *words; /* and so are these */
    uint32_t size;
    uint32_t me;
    uint32_t depth; /* calls within each other that attend */
    uint32_t vain;  /* waits that yielded in vain since one last did not */
    uint32_t waits; /* since those yield once */
    uint32_t n;     /* who shares the caller's core, those after it in the team's order first */
    struct trma_turn_neighbour neighbours[TRMA_TURN_MOST];
};

/* Tells the others which core the caller is on. */
void trma_node_turn_tell(struct trma_turns *turns);

/* Whether another member last told the same core as the caller. */
bool trma_node_turn_is_beside(const struct trma_turns *turns, uint32_t member);

/* The caller attends from here to trma_node_turn_end: tells the same, finds who shares the core, and keeps
 * those who sleep. Calls may lie within each other. */
void trma_node_turn_begin(struct trma_turns *turns);
void trma_node_turn_end(struct trma_turns *turns);

/* To be called before sleeping otherwise: the caller does not attend until it begins anew. */
void trma_node_turn_pause(struct trma_turns *turns);

/* Wakes the next one that has been rung for; false when there is none. */
bool trma_node_turn_wake_next(const struct trma_turns *turns);

/*
 * How often a wait is to yield before it lies down. Yields cost nothing where they hand the core over, and
 * all of their time where they return at once, as they do between sessions: which of them it is depends on
 * what the others do, so it is learnt. Measured (Zen 4, bench-aggregate on MPICH, in turns, against 16 yields
 * always): 2, 4, 7 origins of 16 times 64 KiB in 0.84 to 0.91, 0.94 to 0.98, 0.97 to 1.03 of the time, of 64
 * B and 4 KiB in 0.95 to 1.07; Open MPI's, whose ranks are of one session, the same within chance.
 */
unsigned trma_node_turn_patience(struct trma_turns *turns);

/* Whether all of those sleep who, when the caller last looked, shared its core. */
bool trma_node_turn_is_alone(const struct trma_turns *turns);

/* What came of so many yields: the wait was over, or lay down. Those that it did not make by its own choice
 * do not count: 0. */
void trma_node_turn_learn(struct trma_turns *turns, unsigned yields, bool is_over);

/*
 * Wakes a member that is kept on the caller's core, whether it has been rung for or not: to be called by who
 * has to wait for what that one does next, before it lies down itself. False when that one is not there.
 * Measured as above: 3 origins of 16 times 64 KiB, of which two share a core that the target is not on, in
 * 0.95 of the time, all others the same.
 */
bool trma_node_turn_hand_to(const struct trma_turns *turns, uint32_t member);

enum trma_turn_sleep {
    TRMA_TURN_RUNG,  /* somebody has rung, or handed the core to the caller, or `missing` is 0 */
    TRMA_TURN_QUIET, /* nobody has for all of the time */
    TRMA_TURN_STAYED /* all neighbours sleep: the caller did not */
};

/*
 * Lies down until so many peers have rung as missing(argument) says, or `timeout_ns` have passed. All who
 * ring must run the fence (trma_node_doorbell_notify). `missing` is called after the caller has announced
 * itself: 0 when there is nothing to wait for, else at most the number of rings to come.
 */
enum trma_turn_sleep trma_node_turn_sleep(struct trma_turns *turns, uint32_t (*missing)(void *argument),
                                          void *argument, uint64_t timeout_ns);

#endif
