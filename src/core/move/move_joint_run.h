/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_JOINT_RUN_H
#define TRMA_MOVE_JOINT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Short copies (move_joint.h) that go on with a lengthy run (move_place.h), as in a burst: the second cache
 * has no room for both sides of it, and what lies further out comes at the pace at which one processor can
 * have it. Two have more, where the target waits and copies a part. A choice for each copy would tell
 * nothing: where a line lies is decided by how the whole run went the last time. So whole runs go one way or
 * the other, by what they take (move_ways.h); once several looks have found them to be faster alone, some of
 * them are timed, but of a look all, one after the other: where those in between went alone, one that goes
 * jointly finds nothing where it would have left it, and takes as long.
 *
 * Measured (Intel Xeon, 2 MiB of second cache per core, in turns, bursts on allocated windows, of the time of
 * the host alone): 32 times 64 KiB 0.72 to 0.75, and 0.95 to 1.00 when they are made alone; when each copy
 * was tried on its own, 0.82 to 0.99: some launches never found it. 16 times 64 KiB 0.75 to 0.82 and 0.93 to
 * 1.00, 8 times 128 KiB 0.66 to 0.74 and 0.91 to 1.03 (MPICH and Open MPI, five and six launches).
 *
 * Not with more ranks than cores, where a target takes a part only while nobody else of its core is awake:
 * traced, it takes 6 to 10 us for its first block after it has looked elsewhere, and 2.2 to 5 us for each of
 * the later ones, of 16 KiB, while the origin takes 4.3 for all 64 KiB. Runs of 16 and of 64 times 64 KiB of
 * 2, 3, 4 and 7 origins took 1.00 to 1.015 of the time without (six launches, Open MPI).
 *
 * All functions are thread-safe: threads that mislead one another lose time, not data.
 */
enum { TRMA_MOVE_JOINT_RUN_EVERY = 4 /* runs that are faster alone, of which one is timed */ };

/* How the next copy is to be made. */
struct trma_move_joint_run {
    bool is_joint; /* or else alone */
    bool is_timed; /* what it takes is to be told to trma_move_joint_run_note */
};

/* Whether a copy there is such a one, if ranks are not more than cores. */
bool trma_move_joint_run_is_one(const void *to, const void *from, size_t size);

/* Whether the next one of the run under way is to be made alone, and not even timed. */
bool trma_move_joint_run_is_alone(size_t size, bool is_put);

/* The next one, of a target that may come. */
struct trma_move_joint_run trma_move_joint_run_take(size_t size, bool is_put);

/* The one that was taken last took `ticks` of any one clock; also where the target took no part in it. */
void trma_move_joint_run_note(size_t size, bool is_put, uint64_t ticks);

#endif
