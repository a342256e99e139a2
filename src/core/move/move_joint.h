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
 */

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

/* Copies it; gives how many blocks the target has copied. Sides that overlap are copied as by memmove.
 * Thread-safe. */
uint64_t trma_move_joint(const struct trma_move_joint *copy);

#endif
