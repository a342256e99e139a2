/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_WAYS_H
#define TRMA_MOVE_WAYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Two ways of doing the same again and again, the usual one and another, of which the faster one cannot be
 * known: both are tried and timed. The first times of a change find in the caches what the other way has left
 * there; they do not count.
 *
 * The other way is looked at again when the chosen one has become slower (than what is known of the other
 * one, or by a quarter than when it was last seen to be the faster one), so many times one after the other
 * that they took longer by twice what a look has cost, or by four times, and after some times: the more of
 * them, the more a look costs. A look is three times that way, five where it seems to be the faster one. Only
 * what it finds now can change the choice: where a neighbour takes the memory's time, both are slower. (Until
 * 2026-11-29 a choice changed by what was known, or found once; then looks come soon again. Of three origins
 * that put 16 x 512 KiB, faster past the caches, each went through them in 6 to 40 of 100 epochs.)
 *
 * A few slow times one after the other are no reason: so it is when something else has used the caches. Nor
 * is the first one that counts, which may have found nothing in them: after a reset the first look waits.
 * (Traced, Intel Xeon, 4 origins that put 16 x 512 KiB, both ways as quick, 470 epochs, after every 14 of
 * which the target reads all: when four slow times were enough, whatever they took, each process changed its
 * way 15 to 31 times, and epochs took 1.06 +- 0.01 of Open MPI alone's time; now 9 times, of which 8 are
 * early looks, and 0.985 +- 0.003.)
 *
 * So what looks cost stays below a hundredth of all, if one costs no more than eight times of the chosen way:
 * what its times take longer, and those of who comes back and finds the caches cold. The four early looks of
 * the first 700 times are not counted. Measured (by bench-rate in turns, Intel Xeon, 480 MiB of last cache,
 * bursts of 32 times 256 KiB, through the caches or past them): with looks at most 64 runs apart, and one
 * place for each pair to fall into (move_place.h), they took 1.02 to 1.14 times as long as without any.
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum {
    TRMA_MOVE_WAYS_EIGHTHS = 7, /* the other way when it takes less than so much of the usual one */
    /* Times until the other way is looked at again. At most FIRST after a change, GROWTH times as many after
     * each look that finds the same: what was measured once, right after the memory was first touched or
     * while other processes used the caches, may be wrong. LEAST and MORE for each time of the chosen
     * one's that the last look cost, and MOST, are the most that it grows to. */
    TRMA_MOVE_WAYS_WAIT_FIRST = 8,
    TRMA_MOVE_WAYS_WAIT_GROWTH = 4,
    TRMA_MOVE_WAYS_WAIT_LEAST = 64,
    TRMA_MOVE_WAYS_WAIT_MORE = 130,
    TRMA_MOVE_WAYS_WAIT_MOST = 1024
};

/* All zero: nothing is known, and the first look comes as soon as the usual way has been timed. */
struct trma_move_ways {
    atomic_uint pace[2];    /* ticks for 64 KiB, the usual way and the other; 0: not known */
    atomic_uint way;        /* of the time under way, or of the last one */
    atomic_uint chosen;     /* the way that took less the last time */
    atomic_uint looked;     /* its slowest pace by which it was seen to be the faster one */
    atomic_uint left;       /* times until the other one is tried */
    atomic_uint most_left;  /* what it may be at most after the next look; 0: WAIT_FIRST */
    atomic_uint same;       /* times before, at most CONFIRMED, that took the same way as the one under way */
    atomic_uint lost;       /* ticks that slow times of the chosen way, one after the other, took longer */
    atomic_uint slow_least; /* the quickest of them, ticks for 64 KiB */
    atomic_uint price;      /* ticks that the last look, and coming back from it, took longer; 64 KiB each */
};

/* Forgets everything; the first look waits for TRMA_MOVE_WAYS_WAIT_FIRST times more. */
void trma_move_ways_reset(struct trma_move_ways *ways);

/* Begins: true when it should go the other way. */
bool trma_move_ways_begin(struct trma_move_ways *ways);

/* What began has come to its end: `bytes` of it took `ticks` of any one clock. Not to be called when that is
 * not known, or when another way was taken than begin said. */
void trma_move_ways_end(struct trma_move_ways *ways, uint64_t ticks, size_t bytes);

/* The next time that is not one of a look is the first one of a look. */
void trma_move_ways_look_soon(struct trma_move_ways *ways);

/* Whether it goes the other way as a rule, because that takes less. */
bool trma_move_ways_has_chosen_other(const struct trma_move_ways *ways);

/* What its way takes as a rule, in ticks for 64 KiB; 0 where that is not known. */
uint64_t trma_move_ways_pace(const struct trma_move_ways *ways);

/* Whether the last time was one of a look: those after it tell what that way takes only where nothing else is
 * copied in between. */
bool trma_move_ways_is_looking(const struct trma_move_ways *ways);

/* Whether several looks, one after the other, have found the usual way to be the faster one. */
bool trma_move_ways_is_sure_of_usual(const struct trma_move_ways *ways);

#endif
