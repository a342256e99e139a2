/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_REACH_H
#define TRMA_ACC_REACH_H

#include "../move/move_path.h"

/* Where `size` bytes of the target can be loaded and stored by this process; NULL when they are reached by
 * CMA. */
static inline char *trma_acc_reach(const struct trma_path *path, uintptr_t address, size_t size) {
    if (__builtin_expect(trma_move_path_is_mapped(path, address, size), 1)) {
        return trma_move_path_local(path, address);
    }
    return path->peer->is_self ? (char *)address : NULL;
}

#endif
