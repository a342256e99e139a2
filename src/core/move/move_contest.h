/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_CONTEST_H
#define TRMA_MOVE_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Puts into memory that its owner reads between them. The lines then lie in the owner's caches, and a store
 * must take each of them away first. Where the two cores share their last cache that is soon done; where they
 * do not, it takes far longer than to write past the caches, which asks for no line. Measured (by hand, AMD
 * EPYC, Zen 3, us; the owner reads all; in brackets copy and reading together):
 *
 *            near each other          far from each other      past the caches
 *    8 KiB   0.52-0.58 (1.1)          1.9-2.6 (3.7-4.5)        0.2 (1.7-1.9)
 *   16 KiB   1.2-1.5 (2.0-2.3)        4.7-5.4 (7.4-8.4)        0.5 (3.0-3.5)
 *   64 KiB   5.0-5.2 (6.5-6.8)        17 (23)                  2.7-3.8 (7.2-7.9)
 *  256 KiB   19 (25)                  66-69 (88-90)            12 (27-28)
 *    1 MiB   33-57 (50-74)            230-260 (315-350)        48-51 (102-115)
 *
 * Neither where the cores of a virtual machine lie nor what the owner does can be known, so it is measured: a
 * put now and then, per part of memory. In multiples of what the same number of bytes takes that this process
 * writes past the caches in memory of its own, a core nearby makes it 1 to 2.8, one far away 7 to 10. In
 * between, TRMA_MOVE_CONTEST_TIMES, puts go past the caches, as long as that takes half the time at most, and
 * as long as a look at the other way finds them contested. A look is the first TRMA_MOVE_CONTEST_LEAST bytes
 * of a put: they show it as clearly as all of them do, and cost little. So looks can follow each other soon:
 * a virtual machine's cores are far from each other in one second and near in the next.
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum {
    TRMA_MOVE_CONTEST_LEAST = 8 << 10,     /* bytes of a put; longer than that of a run counts as one */
    TRMA_MOVE_CONTEST_LESS_THAN = 2 << 20, /* (move_place.h) */
    TRMA_MOVE_CONTEST_PART = 256 << 10,    /* bytes of memory that are alike */
    TRMA_MOVE_CONTEST_PARTS = 64,          /* that are kept */
    TRMA_MOVE_CONTEST_TIMES = 4,
    TRMA_MOVE_CONTEST_SURE = 3, /* such puts, one after the other */
    /* Puts until the next one is timed, and until the way past is tried again in vain; bytes that go past
     * until the next look: of what they and their reading take it takes 2 hundredths (by hand, Zen 3, far).
     */
    TRMA_MOVE_CONTEST_EVERY = 16,
    TRMA_MOVE_CONTEST_WAIT_IN_VAIN = 1024,
    TRMA_MOVE_CONTEST_BETWEEN_LOOKS = 1 << 20
};

struct trma_move_contest;

/* How a put is to be made. */
struct trma_move_contest_way {
    bool is_past;  /* past the caches */
    bool is_timed; /* what it takes is to be told to trma_move_contest_note */
    size_t bytes;  /* the first bytes of the put, of which this is said; the others go past the caches */
};

/* What is known of the part of memory that begins, or goes on, there. Nothing, if another part has taken its
 * place. */
struct trma_move_contest *trma_move_contest_find(uintptr_t to);

/* Whether the next put there goes through the caches and is not timed, as most do: then it is taken. */
bool trma_move_contest_pass(uintptr_t to);

/* How the next put into it, of `size` bytes, is to be made. */
struct trma_move_contest_way trma_move_contest_take(struct trma_move_contest *contest, size_t size);

/* The `size` bytes that were taken last took `ticks` of any one clock; 64 KiB of this process's own written
 * past the caches take `past` of it, 0 where that is not known: then nothing goes that way. */
void trma_move_contest_note(struct trma_move_contest *contest, uint64_t ticks, size_t size, uint64_t past);

#endif
