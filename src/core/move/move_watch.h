/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_WATCH_H
#define TRMA_MOVE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Runs of puts that go past the last cache because that took less (move_place.h): whether their lines have
 * become sooner to be had. Which way takes less is looked at the more rarely, the longer the other one took,
 * up to some hundred ms apart; but the cores of a virtual machine that are far from each other in one second
 * are near in the next. Of epochs of 4 MiB that the target reads each way then takes, in us (Zen 4, by traces
 * of bench-latency --mode pscw_read; jointly: move_joint.h), the put alone:
 *
 *            through the caches   past them   jointly
 *   far      1400-1700            150-160     470-530
 *   near     106-117              148-154     88-97
 *
 * So now and then the first bytes of such a run go through the caches, which costs little. As with contested
 * puts (move_contest.h) it is done in two runs, of which the second one is timed, and what is found again at
 * once counts. Only that they take much less than before has a meaning, not what they take: then the other
 * ways are looked at.
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum {
    TRMA_MOVE_WATCH_BYTES = 32 << 10, /* of a run */
    /* Runs until the next one is watched. Of those of the table, far, it takes 1 of 100 (computed). */
    TRMA_MOVE_WATCH_EVERY = 16,
    TRMA_MOVE_WATCH_TIMES = 2, /* as quick as before, at least */
    TRMA_MOVE_WATCH_SURE = 2   /* so quick, one after the other */
};

/* What is to be done with the first bytes of a run. */
enum trma_move_watch_look {
    TRMA_MOVE_WATCH_NOTHING,
    TRMA_MOVE_WATCH_PREPARE, /* they are to go through the caches */
    TRMA_MOVE_WATCH_TIME     /* and what they take is to be told to trma_move_watch_note */
};

/* All zero: nothing is known. */
struct trma_move_watch {
    atomic_uint left;     /* runs until the next one is watched */
    atomic_uint is_ready; /* the last run's first bytes went through the caches */
    atomic_uint known;    /* ticks that they take; 0: not known */
    atomic_uint quick;    /* timed ones that took much less, one after the other */
};

/* Forgets everything. */
void trma_move_watch_reset(struct trma_move_watch *watch);

/* A run begins there. */
enum trma_move_watch_look trma_move_watch_take(struct trma_move_watch *watch);

/* Its first bytes took `ticks` of any one clock. True: much less than they did, so that the other ways should
 * be looked at. */
bool trma_move_watch_note(struct trma_move_watch *watch, uint64_t ticks);

/* Changes whenever a note was true, of whatever run. */
unsigned trma_move_watch_news(void);

#endif
