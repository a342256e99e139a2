/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_CONTEST_H
#define TRMA_MOVE_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Puts into memory that its owner reads between them. The lines then lie in the owner's caches, and a store
 * must take each of them away first. That can take far longer than to write past the caches, which asks for
 * no line; but what went past the owner must fetch from further away. Measured (by hand, AMD EPYC, us; the
 * owner reads all; in brackets copy and reading together):
 *
 *            near each other          far from each other      past the caches
 * Zen 3
 *    8 KiB   0.52-0.58 (1.1)          1.9-2.6 (3.7-4.5)        0.2 (1.7-1.9)
 *   16 KiB   1.2-1.5 (2.0-2.3)        4.7-5.4 (7.4-8.4)        0.5 (3.0-3.5)
 *   64 KiB   5.0-5.2 (6.5-6.8)        17 (23)                  2.7-3.8 (7.2-7.9)
 *  256 KiB   19 (25)                  66-69 (88-90)            12 (27-28)
 *    1 MiB   33-57 (50-74)            230-260 (315-350)        48-51 (102-115)
 * Zen 4
 *    8 KiB   0.26-0.38 (0.6-0.8)      1.0-1.6 (2.5-3.2)        0.11-0.16 (1.6-1.9)
 *   16 KiB   0.9-2.1 (1.6-2.8)        3.6-5.5 (6.5-8.4)        0.20-0.33 (2.5-3.2)
 *   32 KiB   2.3-4.2 (3.3-5.0)        11-14 (15-18)            0.8-0.9 (3.3-4.7)
 *   64 KiB   5.6-8.8 (7.0-10)         25-28 (29-34)            2.0-2.1 (5.4-6.5)
 *  256 KiB   25-39 (29-43)            110 (122-129)            9.3 (18-19)
 *    1 MiB   84-126 (98-140)          440-490 (490-540)        38-43 (69-81)
 *
 * Neither where the cores of a virtual machine lie nor what the owner does can be known, so it is measured: a
 * put now and then, per part of memory. In multiples of what the same number of bytes takes that this process
 * writes past the caches in memory of its own, a core nearby makes it 1 to 2.8 on Zen 3 and 3.3 to 6 on Zen 4
 * (up to 16 KiB 1.3 to 5), where past the caches wins from 64 KiB on; one far away 5 to 19. Above a number in
 * between (trma_move_contest_times) puts go past the caches, if one of two takes half the time at most, and
 * as long as looks at the other way find them contested. A look is the first bytes of a put
 * (trma_move_contest_look_bytes): they show it as clearly as all of them do (of puts of 64 KiB and more on
 * Zen 4 near each other 32 KiB do, 3.6 to 5.9 times, 8 KiB do not, 2 to 5: their last stores still wait), and
 * cost little. So looks can follow each other soon: a virtual machine's cores are far from each other in one
 * second and near in the next.
 *
 * An owner that reads once makes all lines contested once, those of several puts of one epoch too. So puts to
 * the same place count. (When it was any three puts, one after the other, one reading was enough. Traced, Zen
 * 4, Open MPI, eight launches by turns with today's, epochs of 16 puts of 64 KiB that nobody reads but
 * bench-aggregate's check after each sample: in five launches 29 to 88 % of puts went past the caches, and
 * epochs took 23.6 to 31.3 us; by today's none did, and they took 23.1 to 23.8.)
 *
 * What went past the caches must come from memory, so writing through them right after it is slow whoever
 * reads it. A look is therefore the second put to its place whose first bytes go through. (Of looks at the
 * first one, most found puts contested that nobody read any more. Measured by hand, Zen 4 near each other,
 * puts of 64 to 256 KiB after 300 that were read: 9 of 24 runs still took 2.1 to 2.5 times as long 300 puts
 * later, now none; what was read took as long as before.) Where a place does not come again, another one is
 * looked at as it is.
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum {
    TRMA_MOVE_CONTEST_LEAST = 8 << 10,     /* bytes of a put; longer than that of a run counts as one */
    TRMA_MOVE_CONTEST_LESS_THAN = 2 << 20, /* (move_place.h) */
    TRMA_MOVE_CONTEST_PART = 256 << 10,    /* bytes of memory that are alike */
    TRMA_MOVE_CONTEST_PARTS = 64,          /* that are kept */
    /* Contested puts to one place, one after the other, until the way past is tried; and how many go
     * elsewhere, to this part, until another place is as good: that one may not come again. */
    TRMA_MOVE_CONTEST_SURE = 3,
    TRMA_MOVE_CONTEST_OTHERS = 64,
    /* Puts of a trial that take too long, until it has failed: one may have lost its processor. */
    TRMA_MOVE_CONTEST_VAIN = 2,
    TRMA_MOVE_CONTEST_QUICK_LOOKS = 2, /* one after the other, until puts go through again */
    /* Puts until the next one is timed, and until the way past is tried again in vain; bytes that go past
     * until the next look, and that its place may take to come again: of puts of 64 KiB and more, whose looks
     * are longer, LONG. Measured (Zen 4, far, traces of puts of 1 MiB that the target reads): a put whose
     * first bytes are written for a look takes 51 us instead of 38, and with 4 MiB between looks two of five
     * were such. */
    TRMA_MOVE_CONTEST_EVERY = 16,
    TRMA_MOVE_CONTEST_WAIT_IN_VAIN = 1024,
    TRMA_MOVE_CONTEST_BETWEEN_LOOKS = 4 << 20,
    TRMA_MOVE_CONTEST_BETWEEN_LONG_LOOKS = 16 << 20
};

/* How much of a put of `size` bytes a look is. */
static inline size_t trma_move_contest_look_bytes(size_t size) {
    return size < 64 << 10 ? TRMA_MOVE_CONTEST_LEAST : 32 << 10;
}

/* Bytes that go past the caches until the next look. */
static inline unsigned trma_move_contest_between_looks(size_t size) {
    return size < 64 << 10 ? TRMA_MOVE_CONTEST_BETWEEN_LOOKS : TRMA_MOVE_CONTEST_BETWEEN_LONG_LOOKS;
}

/* From how many times one's own pace past the caches on a put of `size` bytes is contested. */
static inline unsigned trma_move_contest_times(size_t size) {
    return size < 32 << 10 ? 5 : size < 64 << 10 ? 4 : 3;
}

struct trma_move_contest;

/* How a put is to be made. */
struct trma_move_contest_way {
    bool is_past;  /* past the caches */
    bool is_timed; /* what it takes is to be told to trma_move_contest_note */
    size_t bytes;  /* the first bytes of the put, of which this is said; the others go past the caches */
    size_t size;   /* of the put */
};

/* What is known of the part of memory that begins, or goes on, there. Nothing, if another part has taken its
 * place. */
struct trma_move_contest *trma_move_contest_find(uintptr_t to);

/* Whether the next put there goes through the caches and is not timed, as most do: then it is taken. */
bool trma_move_contest_pass(uintptr_t to);

/* How the next put into it, of `size` bytes, is to be made. */
struct trma_move_contest_way trma_move_contest_take(struct trma_move_contest *contest, uintptr_t to,
                                                    size_t size);

/* The bytes of that way, which was taken last, took `ticks` of any one clock; 64 KiB of this process's own
 * written past the caches take `past` of it, 0 where that is not known: then nothing goes that way. */
void trma_move_contest_note(struct trma_move_contest *contest, const struct trma_move_contest_way *way,
                            uint64_t ticks, uint64_t past);

/* Whether that is not contested, but would be if `past` were half as much: then it is worth to be known
 * better.
 */
bool trma_move_contest_is_close(const struct trma_move_contest_way *way, uint64_t ticks, uint64_t past);

#endif
