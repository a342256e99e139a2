/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_PLACE_H
#define TRMA_MOVE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "move_watch.h"

/*
 * What runs of copies (move_stream.h) between the same two places took, by either way: through the caches or
 * past the last one. How much of a shared cache a process has is what its neighbours leave, and whether
 * something is still there is what the program did meanwhile: neither can be known, but a copy that misses
 * the cache takes two to three times as long as one that does not. So both ways are tried (move_ways.h).
 *
 * Past the cache only when it takes clearly less: who reads the data then finds it in memory. Measured (by
 * hand, AMD EPYC, 32 MiB of last cache, shared with neighbours, pieces of 256 KiB, a run after the other;
 * GB/s, copy and reading together in brackets): runs of 6 MiB at 16-22 (12-13) through the cache and at 18-20
 * (6-8) past it; of 8 MiB at 10-16 (7.5-9) and 17-20 (7.4-7.6), of 12 MiB at 7.5-10 (5.1-6.5) and 14-17
 * (6.5-7.1). A part of the run this way and the rest that way lies between the two. With five eighths
 * instead of seven, epochs of 4 MiB that the target reads took 0.6 to 1.06 of the time, mostly 0.93, where
 * the two cores are near each other (bench-latency --mode pscw_read, Zen 3, in turns, 4 to 5 launches near),
 * but epochs of 16 times 256 KiB that nobody reads 1.3 to 1.4 of it (bench-skew), and of 4 MiB 1.07.
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum {
    TRMA_MOVE_PLACE_LEAST = 2 << 20, /* bytes of one side of a run whose time counts */
    /* Of one that is lengthy: it is kept where it began. The second cache of a core has about as much room,
     * and not for both sides. */
    TRMA_MOVE_PLACE_LENGTHY = 1 << 20,
    /* Pairs of places that are kept, and how many are in any case, if those are used by turns: by chance,
     * which of more. (With one place for each to fall into, two windows that met there began anew all the
     * time, and tried both ways each time: puts of 4 MiB in 1.4 of the time.) */
    TRMA_MOVE_PLACE_COUNT = 64,
    TRMA_MOVE_PLACE_TOGETHER = 4
};

struct trma_move_place;

/* Where a run from `from` to `to` begins: what is known of it, or NULL. */
struct trma_move_place *trma_move_place_find(uintptr_t to, uintptr_t from);

/* The same; begins anew with a pair of places that is not known. Once it `is_timed`, by this call or an
 * earlier one, what runs take that begin there is measured, and both ways are tried. */
struct trma_move_place *trma_move_place_learn(uintptr_t to, uintptr_t from, bool is_timed);

bool trma_move_place_is_timed(const struct trma_move_place *place);

/* Whether the last run that began there was lengthy. */
bool trma_move_place_is_lengthy(const struct trma_move_place *place);

/* Begins a run: true when it should go past the cache. So it should, whatever it took, when it and those that
 * others stream beside it (node_stream.h) are as long together as `together` bytes, if the last one was as
 * long as TRMA_MOVE_PLACE_LEAST; or when that one alone was as long as `alone`. */
bool trma_move_place_begin(struct trma_move_place *place, size_t alone, size_t together);

/* Of a run that begins there and goes past the cache: what is to be done with its first bytes if they are put
 * (move_watch.h); and what they took. */
enum trma_move_watch_look trma_move_place_watch(struct trma_move_place *place);
void trma_move_place_note_watched(struct trma_move_place *place, uint64_t ticks);

/*
 * Pieces of the run under way that take less than so many ticks for 64 KiB are usual: four times what runs by
 * its way take; 0 where that is not known. Where processes share a core, a piece of a run now and then waits
 * for its turn, and a few of these made the way look slower, and the other one worth a look. Measured
 * (bench-aggregate of 512 KiB, AMD EPYC, Zen 3, 3 and 8 members on 2 cores, 4 to 5 launches in turns): runs
 * without such pieces, where they are the smaller part, take 0.99 and 0.98 of the time on Open MPI, 0.94 and
 * 0.94 on MPICH.
 */
uint64_t trma_move_place_usual_below(const struct trma_move_place *place);

/*
 * The run that begins there has come to its end after `length` bytes. `bytes` of it, which may be 0, took
 * `ticks` of any one clock, all by the way that it began.
 */
void trma_move_place_end(struct trma_move_place *place, size_t length, uint64_t ticks, size_t bytes);

#endif
