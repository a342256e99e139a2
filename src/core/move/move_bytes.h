/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_BYTES_H
#define TRMA_MOVE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../trma_hidden.h"
#include "move_turn.h"

/*
 * The sizes, in bytes, for which the C library turns to the processor's string instructions too early: both
 * sides still fit into the first cache, where plain vector loads and stores take half to two thirds of the
 * time (measured on an AMD EPYC with AVX-512: 4 KiB in 16-26 ns against 30-46, 8 KiB in 32-42 against 54-74).
 */
enum { TRMA_MOVE_MIDDLE_MORE_THAN = 2048, TRMA_MOVE_MIDDLE_MOST = 16384 };

/* Whether two stretches of so many bytes overlap. */
static inline bool trma_move_overlap(const void *to, const void *from, size_t size) {
    const uintptr_t distance = (uintptr_t)to - (uintptr_t)from;

    return distance < size || -distance < size;
}

static inline bool trma_move_is_middle(size_t size) {
    return size > TRMA_MOVE_MIDDLE_MORE_THAN && size <= TRMA_MOVE_MIDDLE_MOST;
}

/*
 * memmove for such sizes, with the widest vectors that the processor has; memmove itself where it has none,
 * and where the data goes elsewhere than the last time: on 4 KiB pieces of 128 KiB the string instructions
 * take two thirds of the time. From the last byte to the first: a load is then never mistaken for one that
 * depends on a store just made, as it is when the two sides lie a few bytes apart modulo 4 KiB (a page and a
 * block of malloc do). Thread-safe.
 */
void trma_move_copy_middle(void *to, const void *from, size_t size);

/*
 * Larger ones go through the caches in turn (move_turn.h) as soon as the first cache is too small for them;
 * and from the size of the second cache on, where glibc turns away from string instructions too early on AMD
 * processors, by those (bench latency: 1 MiB at 1.13 to 1.21 of memcpy's bandwidth by them alone) as long as
 * they win: of 4 MiB they copy 0.84 to 0.99 as much in the same time (by hand, Zen 3). What the last cache
 * has no room for goes past it (move_stream.h); where that is not known, the library decides beyond the last
 * size.
 */
enum {
    TRMA_MOVE_FIRST_CACHE = 2 * TRMA_MOVE_TURN_OF_ONE,
    TRMA_MOVE_LARGE_LEAST = 512 << 10,
    TRMA_MOVE_LARGE_LESS_THAN = 2 << 20,
    TRMA_MOVE_LONG_MOST = 16 << 20
};

/*
 * Copies of more bytes than these are not left to the C library: TRMA_MOVE_FIRST_CACHE, and on AMD's family
 * 19h (Zen 3, Zen 4) TRMA_MOVE_MIDDLE_MORE_THAN. There the string instructions, which glibc 2.36 takes
 * from 2 KiB to the size of the second cache, take 20 to 40 times as long as vectors when the target lies 1
 * to 31 bytes behind the source modulo 4 KiB (measured on Zen 3: 4 KiB in 1.4-2.5 us against 0.065, 64 KiB in
 * 40 against 1.7; glibc's bug 30994 reports it of Zen 4 as well). So lies what malloc gives, 16 bytes behind
 * a page, to a window's beginning. And elsewhere vectors win (likewise, both sides in the second cache: 4 to
 * 64 KiB in 0.6 to 1.0 of the time, 0.75 to 1.06 where another core reads or writes the same memory in
 * between), the more so since a copy by them can go backwards as well: onward and backwards by turns, as
 * move_turn.h explains, 32 to 64 KiB take 0.77 to 0.88, 128 and 256 KiB 0.77 to 0.95, 1 to 4 MiB 0.92 to 1.0
 * of the library's time, ends gone through by strings or by the library 0.9 to 1.05.
 *
 * Set before main, and never again.
 */
extern TRMA_HIDDEN size_t trma_move_library_most;

/*
 * Of pieces of runs that are known (move_stream.h), of 2 MiB and more, those of the sizes from LEAST on and
 * less than LESS_THAN go by string instructions on Zen 4, where the distance of the two sides modulo 4 KiB is
 * not one that makes those slow (1 to 31, see above). Measured (bench-rate in turns, Open MPI, four launches,
 * bursts of 32 times 64 KiB, us): 46.1 and 45.5 instead of 47.1 by vectors, Open MPI alone 46.2 and 45.8; of
 * 32 times 256 KiB 242 and 257 instead of 230 and 257.
 */
enum {
    TRMA_MOVE_STRING_LEAST = 64 << 10,
    TRMA_MOVE_STRING_LESS_THAN = 128 << 10,
    TRMA_MOVE_STRING_BEHIND_LEAST = 64
};

/* Whether they go by vectors, onward and backwards by turns. */
static inline bool trma_move_goes_there_and_back(void) {
    return trma_move_library_most == TRMA_MOVE_MIDDLE_MORE_THAN;
}

/* memmove for sizes that are more than trma_move_library_most; past the caches where the target's lines are
 * contested (move_contest.h). Thread-safe. */
void trma_move_copy_long(void *to, const void *from, size_t size);

/*
 * The same, its last bytes by vectors: what is loaded after string instructions from where they have stored
 * waits for their end, and who fetches looks at what came (bench latency: gets of 64 KiB at 0.96 to 1.00 of
 * memcpy's bandwidth instead of 0.91 to 0.94, in one go; puts do not gain by it). Thread-safe.
 */
void trma_move_fetch_long(void *to, const void *from, size_t size);

/* A part, of some ten KiB and more, of a copy that another process does with this one: through the caches,
 * and nothing is noted of it. The sides do not overlap. Thread-safe. */
void trma_move_copy_part(void *to, const void *from, size_t size);

/* Moves the sizes of one number; false, and nothing is done, for others. Thread-safe. */
static inline bool trma_move_copy_number(void *to, const void *from, size_t size) {
    uint64_t eight;
    uint32_t four;

    if (size == sizeof eight) {
        memcpy(&eight, from, sizeof eight);
        memcpy(to, &eight, sizeof eight);
        return true;
    }
    if (size == sizeof four) {
        memcpy(&four, from, sizeof four);
        memcpy(to, &four, sizeof four);
        return true;
    }
    return false;
}

/* memmove, with the sizes of one number in line. Thread-safe. */
static inline void trma_move_copy_bytes(void *to, const void *from, size_t size) {
    if (trma_move_copy_number(to, from, size)) {
        return;
    }
    if (size > trma_move_library_most) {
        trma_move_copy_long(to, from, size);
    } else {
        memmove(to, from, size);
    }
}

/*
 * trma_move_copy_bytes for data that is fetched into memory of the caller's own. Not for what is written to
 * others: lines that another processor has are taken over faster by the string instructions, which do not
 * read them first (where they are not the slower ones in any case, see trma_move_library_most).
 */
static inline void trma_move_fetch_bytes(void *to, const void *from, size_t size) {
    if (trma_move_is_middle(size)) {
        trma_move_copy_middle(to, from, size);
    } else if (size > TRMA_MOVE_MIDDLE_MOST) {
        trma_move_fetch_long(to, from, size);
    } else {
        trma_move_copy_bytes(to, from, size);
    }
}

#endif
