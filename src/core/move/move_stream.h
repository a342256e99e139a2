/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_STREAM_H
#define TRMA_MOVE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies whose both sides go on where the last ones ended make up a run. What the last cache has no room for
 * is better written past it: a store that goes through the cache first reads the line that it is about to
 * overwrite, and pushes out another one. Measured (by hand, AMD EPYC, 32 MiB of last cache, runs of 32
 * pieces, in turns): 32 MiB at 12.1-12.5 GB/s past the cache and at 7.6-7.7 through it; 16 MiB at 15-17.5
 * and 8.7. When the data is then read, by a core that shares the cache, copy and reading together at 5.9
 * and 5.0 GB/s, at 6.6 and 5.7. Runs of 8 MiB are copied faster past the cache as well (20 and 16 GB/s), but
 * what reads them then finds nothing there (7.6 and 9.0): who puts something wants it to be read. 12 MiB is
 * where neither wins by the reading. Of shorter runs it is measured which way takes less (move_place.h).
 *
 * That each process measures for itself, and where several stream at the same time it is misled: what one
 * gains by the cache the others lose. So where the runs that are known to be under way together take twice as
 * much as a single one may (node_stream.h) all go past it. Measured (bench-aggregate, 16 x 512 KiB, Open MPI,
 * Zen 4, 32 MiB of last cache, in turns with Intel MPI alone, of its time; each by its own choice, all past):
 * 2 origins 0.78, 0.985 (12 launches); 3 origins, the CPUs near each other, 1.09, 1.03 (11), far 1.00, 1.02
 * (7); 4 origins, near, 1.11, 0.96 (4), far 0.93, 0.98 (10); 7 origins 1.02, 0.94 (6). Traced: with 4
 * origins, near, one that went through the cache took 0.52 ms of copying, and one that went past it meanwhile
 * 0.42 instead of 0.37.
 */
enum {
    TRMA_MOVE_STREAM_EIGHTHS = 3,  /* of the last cache, that one side of a run takes at least */
    TRMA_MOVE_STREAM_TOGETHER = 2, /* times as much: such sides of runs that several processes stream */
    /* Of a known run through the caches one copy of so many is timed, if they are less than so many bytes.
     * Measured (Zen 4, bench-rate in turns, 3 to 4 launches, bursts of 32): of 64 KiB by string instructions
     * (move_bytes.h) 0.99 of the time that they take when all are timed, by vectors 1.01; of 256 KiB 1.04. */
    TRMA_MOVE_STREAM_EVERY = 4,
    TRMA_MOVE_STREAM_SHORT = 128 << 10
};

struct trma_move_place;

/* How the next copy is to be made. */
struct trma_move_stream {
    bool is_past;  /* past the last cache */
    bool is_known; /* a part of a run that begins where one has before: which way it goes is measured */
    bool is_timed; /* of these: what it takes is to be told to trma_move_stream_note */
    /* Where a run begins with it that goes past the cache, and that has begun there before; else NULL. */
    struct trma_move_place *begins;
};

/*
 * Notes the next copy. Past the cache when its run is long enough by now for `cache` bytes of last cache;
 * from its begin on, when the run that began at the same places was so the last time, or took clearly less
 * that way (move_place.h). `cache` 0: unknown, never. Threads that mislead one another lose time, not data.
 */
struct trma_move_stream trma_move_stream_take(const void *to, const void *from, size_t size, size_t cache);

/*
 * The same in short, for most copies but the first one of a run: true, and noted, when it goes on with a run
 * and is neither past the cache nor timed. False, and nothing is noted, for all others.
 */
bool trma_move_stream_goes_on(const void *to, const void *from, size_t size);

/* Whether a copy there would go on with a run that began where a lengthy one has (move_place.h). */
bool trma_move_stream_is_part(const void *to, const void *from);

/* The number of the run under way; each has another one than those before, and wraps around. */
unsigned trma_move_stream_number(void);

/* Whether the run under way is a known one, see above. */
bool trma_move_stream_is_known(void);

/*
 * A copy that is made jointly (move_joint.h), and neither past the cache nor timed. A run that it goes on
 * with goes on: else what comes behind it would be one of its own, of which nothing is known. Measured (Zen
 * 4, Open MPI, bench-rate in turns, four launches, bursts of 32 times 256 KiB, of which the way past the
 * cache takes less and joint copies more): with this, and with fewer looks at either (move_ways.h), 0.92
 * to 1.01 of the time; without any joint copies as much.
 */
void trma_move_stream_pass(const void *to, const void *from, size_t size);

/* The copy that was taken last, or that of its last `size` bytes, took `ticks` of any one clock. */
void trma_move_stream_note(uint64_t ticks, size_t size);

#endif
