/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_JOINT_H
#define TRMA_NODE_JOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Joint copies: of a large put or get a target that waits copies a part itself. Origin and target take blocks
 * by turns, the origin from the first on, by loads and stores, and the target from the last on, by the kernel
 * (it reaches the origin's memory by CMA), until none is left: who is faster copies more. The origin asks by
 * one of the target's slots of help (node_help.h) and does not wait for an answer. It begins, and when no
 * block is left it takes back what was not taken up, or waits until the target is through with its last
 * block. Where cores are few a target takes part while all of its core's members wait, itself one of them.
 * One that cannot reach the origin's memory says how many blocks it has done, and the origin does the others.
 * So nobody depends on it, and a target that does not wait in a call of ours takes no part.
 *
 * Source of the idea: the hybrid of copies by the processor and by an engine of Lai, Sur, Panda 2010; the
 * engine is the processor that waits.
 */

enum {
    TRMA_JOINT_LEAST = 64 << 10, /* bytes that may be worth asking for (move_joint.h) */
    TRMA_JOINT_MOST = 4 << 20,   /* that are asked for at once: then the target looks at what it waits for */
    /* That so many are cut into, each of so many bytes at least, since a call of the kernel takes as long as
     * to copy a few KiB; but not into fewer than that. */
    TRMA_JOINT_BLOCKS = 32,
    TRMA_JOINT_LEAST_BLOCK = 32 << 10,
    TRMA_JOINT_LEAST_BLOCKS = 4,
    TRMA_JOINT_EAGER_WAITS = 32 /* of a target's after one, in which another one is looked for at once */
};

struct trma_help;
struct trma_help_words;
struct trma_peer;

/* In a slot. Written by the origin before it asks, but for the last two words. */
struct trma_joint {
    uint64_t place; /* of the first byte in the target's address space */
    uint64_t local; /* in the origin's */
    uint64_t size;  /* bytes, not more than TRMA_JOINT_MOST */
    uint32_t block;
    uint32_t n_blocks;
    uint32_t origin; /* its index in the team */
    bool is_put;
    uint32_t done;     /* blocks, by the target; with its answer */
    atomic_uint taken; /* blocks, by both; more when there are none left */
};

/* An origin's view of a joint copy that is under way. Private; the first two are the caller's to set. */
struct trma_joint_ask {
    struct trma_help_words *words; /* the target's */
    const struct trma_peer *peer;  /* the target */
    uint32_t index;                /* of the slot */
    uint32_t copied;               /* blocks, by the origin */
};

/* What is to be copied: for origins by `offset` from the first byte on. */
struct trma_joint_block {
    size_t offset;
    size_t size;
};

/* False where cores are few and the target does not attend just now: it will not soon, either. For origins.
 * Thread-safe. */
bool trma_node_joint_may_come(const struct trma_help *own, const struct trma_help_words *words);

/*
 * The origin's side. begin: asks the target for a part of `size` bytes, at most TRMA_JOINT_MOST, between
 * `local` here and `place` there; false when it should not be asked now (it does not attend, and to ask was
 * in vain lately), or its slot is taken. After a begin that was true: next gives the next block that the
 * origin is to copy, until it says that there is none; then end gives how many the target has copied, and in
 * *rest what is still to be copied, if anything. Thread-safe.
 */
bool trma_node_joint_begin(struct trma_joint_ask *ask, struct trma_help *own, uintptr_t local,
                           uintptr_t place, size_t size, bool is_put);
bool trma_node_joint_next(struct trma_joint_ask *ask, struct trma_joint_block *block);
uint32_t trma_node_joint_end(struct trma_joint_ask *ask, struct trma_help *own,
                             struct trma_joint_block *rest);

/* The target's side, for the attendant: copies blocks until none is left. False: one could not be copied, and
 * joint->done are those before it. Never blocks. */
bool trma_node_joint_work(const struct trma_help *help, struct trma_joint *joint);

#endif
