/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_PATH_H
#define TRMA_MOVE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../node/node_help.h"
#include "../node/node_peer.h"

/*
 * A path: how this process reaches a stretch of one target's memory. Addresses are the *target's* own virtual
 * addresses. The part [mapped_low, mapped_high) is mapped here, at `local`; all else is reached by CMA. Both
 * at once occur on adopted windows, whose ragged edge pages stay private. A path is plain data and owns
 * nothing: who makes it keeps peer and mapping alive. The process itself (peer->is_self) reaches all of its
 * memory directly, mapped or not; a path to it with mapped_low 0, mapped_high UINTPTR_MAX and local NULL
 * takes the fastest way everywhere.
 */
struct trma_path {
    uintptr_t mapped_low;
    uintptr_t mapped_high; /* == mapped_low: nothing is mapped */
    char *local;           /* where mapped_low lies in this process */
    struct trma_peer *peer;
    struct trma_helper *helper; /* by which the target is asked for help (node_help.h); NULL: never */
};

/* True when [address, address + size) lies wholly in the mapped part. */
static inline bool trma_move_path_is_mapped(const struct trma_path *path, uintptr_t address, size_t size) {
    return address >= path->mapped_low && address <= path->mapped_high && size <= path->mapped_high - address;
}

/* Where the target's `address`, which lies in the mapped part, is in this process. */
static inline void *trma_move_path_local(const struct trma_path *path, uintptr_t address) {
    return (void *)((uintptr_t)path->local + (address - path->mapped_low));
}

/* How many of the `size` bytes from `address` on lie in (*is_mapped true) or out of the mapped part, up to
 * its next border. */
static inline size_t trma_move_path_side(const struct trma_path *path, uintptr_t address, size_t size,
                                         bool *is_mapped) {
    uintptr_t border = UINTPTR_MAX;
    *is_mapped = address >= path->mapped_low && address < path->mapped_high;
    if (*is_mapped) {
        border = path->mapped_high;
    } else if (address < path->mapped_low && path->mapped_low != path->mapped_high) {
        border = path->mapped_low;
    }
    return size < border - address ? size : border - address;
}

#endif
