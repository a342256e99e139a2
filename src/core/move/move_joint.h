/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_JOINT_H
#define TRMA_MOVE_JOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../node/node_help.h"

/*
 * Large puts and gets between memory of this process and what is mapped of a target's, of which a target that
 * waits copies a part (node_joint.h), where that takes less: what either way takes the origin is compared, by
 * direction and size (move_ways.h).
 *
 * Of the short ones most lie in the second cache, and take a third alone of what they take jointly: to try
 * would cost more than what it finds is worth. But where the target reads between them what was put, each
 * line has to be taken away from it, and 64 KiB take 10 us instead of 1.4. So once several looks have found
 * the short ones of a class to be faster alone, they are made so, and now and then one of them is timed; when
 * several in a row take much longer than the fastest one did, both ways are tried again. Only several: who
 * comes to cold memory is slow there once, and faster jointly, but not when he comes back to it. (Until
 * 2026-11-29 one was enough: of bursts of 32 times 64 KiB, that began cold after some 500 copies, up to 3837
 * of 160000 were made jointly; now 9 to 107.) Measured (Intel Xeon, Emerald
 * Rapids, bench-latency in turns, us): puts of 64 KiB that the target reads 7.6 to 8.7 instead of 9.9
 * to 11.1, what nobody reads 1.35 to 1.39 instead of 1.35 to 1.38; 128 KiB that nobody reads 2.94 to 2.99
 * instead of 3.10 to 3.21, which they took when they were tried like large ones.
 *
 * Of a short put that is made jointly six eighths of its time count: where the target reads, what it has
 * copied lies in its own cache, and it reads sooner; that it is quick in coming back shows nowhere in the
 * put. Measured (Intel Xeon, 480 MiB of last cache, in turns with the
 * library of 2026-11-30, 64 KiB, MPICH and Open MPI): bench-latency --mode pscw_made 0.92 and 0.93 of the
 * time (10 launches), pscw_read and pscw, which were made jointly and alone before, as before. With all
 * lengths counted so 256 KiB and 1 MiB are as before.
 *
 * Short ones that go on with a long run are another matter (move_joint_run.h).
 *
 * Of those that are neither short nor large as well most are made alone once that is known to be faster, but
 * what it took the fastest one is not asked. Where other processes come and go in the caches a choice does
 * not last, and each look that it begins anew with moves lines to the target. Measured (Zen 4, bench-rate,
 * processes in turns, bursts of 32 puts of 256 KiB, of which 7000 to 11000 were made): 18 to 49 puts tried
 * jointly instead of 161 to 491.
 *
 * What a put takes alone depends on whether it goes past the caches, as those to contested lines do
 * (move_contest.h), and to find that takes some twenty that are made alone. But a look at that way has three
 * to five, and until all of the twenty are over it finds puts slow that go through the caches. So joint puts
 * count among those of which one in 16 is timed: the second and third look find it. (Until 2026-11-30 they
 * did not, and it took seven looks, the last ones 1024 puts apart: computed by move_ways.c and
 * move_contest.c, from what a put of 256 KiB takes on Zen 4, the CPUs far from each other. There most
 * launches of bench-latency --mode pscw_read took 34 to 35 us, 18 to 19 without joint copies; by this it was
 * not measured.)
 */
enum {
    TRMA_MOVE_JOINT_SHORT = 256 << 10, /* bytes; short ones are less */
    TRMA_MOVE_JOINT_LARGE = 2 << 20,   /* the least of large ones */
    TRMA_MOVE_JOINT_SLOW = 2,          /* times what the fastest one took */
    TRMA_MOVE_JOINT_EIGHTHS = 6,       /* that a short put counts when made jointly */
    TRMA_MOVE_JOINT_IN_A_ROW = 8,      /* timed ones that were slow, after which both ways are tried */
    TRMA_MOVE_JOINT_EVERY = 16         /* of those that are not large, of which one is timed */
};

/* One stretch of bytes. */
struct trma_move_joint {
    struct trma_help *own;
    struct trma_help_words *words; /* the target's */
    const struct trma_peer *peer;  /* the target, not this process */
    char *mapped;                  /* its bytes, here */
    uintptr_t place;               /* the same in its own address space */
    char *local;                   /* this process's; of puts only read */
    size_t size;
    bool is_put;
};

/* Whether the next copy, of so many bytes that lie there, is to be made alone, and not even timed, as most
 * short ones are: then it is taken. Thread-safe. */
bool trma_move_joint_is_alone(const void *mapped, const void *local, size_t size, bool is_put);

/* Copies it; gives how many blocks the target has copied. Sides that overlap are copied as by memmove.
 * Thread-safe. */
uint64_t trma_move_joint(const struct trma_move_joint *copy);

#endif
