/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_joint.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "../node/node_wait.h"
#include "move_bytes.h"
#include "move_ways.h"

static uint64_t ticks(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return trma_node_clock_ns();
#endif
}

static bool overlap(const struct trma_move_joint *copy) {
    const uintptr_t distance = (uintptr_t)copy->mapped - (uintptr_t)copy->local;

    return distance < copy->size || -distance < copy->size;
}

static void copy_alone(const struct trma_move_joint *copy) {
    if (copy->is_put) {
        trma_move_copy_bytes(copy->mapped, copy->local, copy->size);
    } else {
        trma_move_fetch_bytes(copy->local, copy->mapped, copy->size);
    }
}

static void copy_block(const struct trma_move_joint *copy, const struct trma_joint_block *block) {
    char *mapped = copy->mapped + block->offset;
    char *local = copy->local + block->offset;

    trma_move_copy_part(copy->is_put ? mapped : local, copy->is_put ? local : mapped, block->size);
}

/* False: the target was not asked, and nothing was done. Else all is, and the target has done *blocks. */
static bool copy_jointly(const struct trma_move_joint *copy, uint64_t *blocks) {
    struct trma_joint_ask ask = {.words = copy->words, .peer = copy->peer};
    struct trma_joint_block block;

    if (!trma_node_joint_begin(&ask, copy->own, (uintptr_t)copy->local, copy->place, copy->size,
                               copy->is_put)) {
        return false;
    }
    while (trma_node_joint_next(&ask, &block)) {
        copy_block(copy, &block);
    }
    *blocks = trma_node_joint_end(&ask, copy->own, &block);
    if (block.size > 0) {
        copy_block(copy, &block);
    }
    return true;
}

/* What is known of copies of this direction and size, from a power of two to the next, whatever the target.
 */
static struct trma_move_ways *ways_of(const struct trma_move_joint *copy) {
    enum { CLASSES = 8 };
    static struct trma_move_ways ways[2][CLASSES];
    size_t index = 0;

    for (size_t least = TRMA_JOINT_LEAST; index < CLASSES - 1 && copy->size >= 2 * least; least *= 2) {
        index++;
    }
    return &ways[copy->is_put][index];
}

/* By the way that takes less. */
static uint64_t copy_some(const struct trma_move_joint *copy) {
    struct trma_move_ways *ways = ways_of(copy);
    const bool is_joint = trma_move_ways_begin(ways);
    const uint64_t begin = ticks();
    uint64_t blocks = 0;
    const bool was_asked = is_joint && copy_jointly(copy, &blocks);

    if (!was_asked) {
        copy_alone(copy);
    }
    if (is_joint == (blocks > 0)) {
        trma_move_ways_end(ways, ticks() - begin, copy->size);
    }
    return blocks;
}

uint64_t trma_move_joint(const struct trma_move_joint *copy) {
    struct trma_move_joint part = *copy;
    uint64_t blocks = 0;

    if (overlap(copy)) {
        copy_alone(copy);
        return 0;
    }
    for (size_t left = copy->size; left > 0; left -= part.size) {
        part.mapped = copy->mapped + (copy->size - left);
        part.place = copy->place + (copy->size - left);
        part.local = copy->local + (copy->size - left);
        part.size = left < TRMA_JOINT_MOST ? left : TRMA_JOINT_MOST;
        blocks += copy_some(&part);
    }
    return blocks;
}
