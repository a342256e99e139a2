/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_bytes.h"
#include "move_mover.h"

#include <string.h>

/* Where the blocks of one side lie. */
struct side {
    uintptr_t address;
    ptrdiff_t stride;
};

/*
 * Blocks of a length that the compiler knows: a few loads and stores each, no call. Each block goes through
 * registers, which makes it a memmove.
 */
__attribute__((always_inline)) static inline void copy_fixed(struct side to, struct side from, size_t count,
                                                             const size_t length) {
    for (size_t i = 0; i < count; i++) {
        unsigned char block[64];
        memcpy(block, (const void *)from.address, length);
        memcpy((void *)to.address, block, length);
        to.address += (uintptr_t)to.stride;
        from.address += (uintptr_t)from.stride;
    }
}

static void copy_blocks(struct side to, struct side from, size_t count, size_t length) {
    switch (length) {
    case 1:
        copy_fixed(to, from, count, 1);
        return;
    case 2:
        copy_fixed(to, from, count, 2);
        return;
    case 4:
        copy_fixed(to, from, count, 4);
        return;
    case 8:
        copy_fixed(to, from, count, 8);
        return;
    case 12:
        copy_fixed(to, from, count, 12);
        return;
    case 16:
        copy_fixed(to, from, count, 16);
        return;
    case 24:
        copy_fixed(to, from, count, 24);
        return;
    case 32:
        copy_fixed(to, from, count, 32);
        return;
    case 48:
        copy_fixed(to, from, count, 48);
        return;
    case 64:
        copy_fixed(to, from, count, 64);
        return;
    default:
        for (size_t i = 0; i < count; i++) {
            trma_move_copy_bytes((void *)to.address, (const void *)from.address, length);
            to.address += (uintptr_t)to.stride;
            from.address += (uintptr_t)from.stride;
        }
    }
}

static enum trma_status map_put(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                struct trma_outstanding *outstanding) {
    (void)path;
    (void)outstanding;
    for (const struct trma_pair *pair = pairs; pair < pairs + n; pair++) {
        copy_blocks((struct side){pair->target, pair->target_stride},
                    (struct side){pair->origin, pair->origin_stride}, pair->count, pair->length);
    }
    return TRMA_OK;
}

static enum trma_status map_get(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                struct trma_outstanding *outstanding) {
    (void)path;
    (void)outstanding;
    for (const struct trma_pair *pair = pairs; pair < pairs + n; pair++) {
        copy_blocks((struct side){pair->origin, pair->origin_stride},
                    (struct side){pair->target, pair->target_stride}, pair->count, pair->length);
    }
    return TRMA_OK;
}

const struct trma_mover trma_move_mover_map = {
    .name = "map", .put = map_put, .get = map_get, .progress = NULL};
