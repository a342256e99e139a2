/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_CONTEST_H
#define TRMA_MOVE_CONTEST_H

#include <stddef.h>
#include <stdint.h>

#include "move_stream.h"

/*
 * Puts into memory that its owner reads between them. The lines then lie in the owner's caches, and a store
 * must take each of them away first. Where the two cores share their last cache that is soon done; where they
 * do not, it takes five times as long as to write past the caches, which asks for no line. Measured (by hand,
 * AMD EPYC, Zen 3, us; the owner reads all; in brackets copy and reading together), 64 KiB: cores far from
 * each other 15-16 (16-21) through the caches and 2.7 (7.0-7.6) past them, near each other 4.0-4.4 (3.8-4.1)
 * and 2.7 (6.5-6.6); 1 MiB: 210-240 (250-290), 50 (106-112), 43-47 (56-58), 48-50 (99-101). And where the
 * owner does not touch the lines, 1.4 and 2.8.
 *
 * Neither where the cores of a virtual machine lie nor what the owner does can be known, so it is measured: a
 * put now and then, per part of memory. One that takes TRMA_MOVE_CONTEST_TIMES the time of the same number of
 * bytes written past the caches is contested by a core far away; by one nearby it takes less than twice that
 * from 64 KiB on, and 1.5 to 2.7 times with 4 and 16 KiB. Puts go past the caches from then on, as long as
 * that takes half the time at most, and as long as a look at the other way finds them contested.
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum {
    TRMA_MOVE_CONTEST_LEAST = 32 << 10,    /* bytes of a put; longer than that of a run counts as one */
    TRMA_MOVE_CONTEST_LESS_THAN = 2 << 20, /* (move_place.h) */
    TRMA_MOVE_CONTEST_PART = 256 << 10,    /* bytes of memory that are alike */
    TRMA_MOVE_CONTEST_PARTS = 64,          /* that are kept */
    TRMA_MOVE_CONTEST_TIMES = 3,
    TRMA_MOVE_CONTEST_SURE = 3, /* such puts, one after the other */
    /* Puts until the next one is timed; until the next look at the way through, which takes two puts, and is
     * taken half as often each time it changes nothing; and until the way past is tried again in vain. */
    TRMA_MOVE_CONTEST_EVERY = 8,
    TRMA_MOVE_CONTEST_WAIT_LEAST = 64,
    TRMA_MOVE_CONTEST_WAIT_MOST = 256,
    TRMA_MOVE_CONTEST_WAIT_IN_VAIN = 1024
};

struct trma_move_contest;

/* What is known of the part of memory that begins, or goes on, there. Nothing, if another part has taken its
 * place. */
struct trma_move_contest *trma_move_contest_find(uintptr_t to);

/* How the next put into it is to be made, and whether trma_move_contest_note is to be told its time. */
struct trma_move_stream trma_move_contest_take(struct trma_move_contest *contest);

/* The put that was taken last, of `size` bytes, took `ticks` of any one clock; 64 KiB of this process's own
 * written past the caches take `past` of it, 0 where that is not known: then nothing goes that way. */
void trma_move_contest_note(struct trma_move_contest *contest, uint64_t ticks, size_t size, uint64_t past);

#endif
