/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_joint.h"

#include <sched.h>

#include "node_gate.h"
#include "node_help.h"
#include "node_peer.h"
#include "node_wait.h"

enum {
    WORK_SPINS = 4096,    /* a block takes less; then the target has lost its processor in the middle */
    YIELDS_PER_LOOK = 16, /* at whether it lives */
    LINE = 64             /* bytes */
};

/* Takes a block: its number among those that were taken; false when there are no more. Relaxed: blocks do not
 * overlap, and what lies in them is ordered by the piece's state. */
static bool take(struct trma_joint *joint, uint32_t *number) {
    *number = atomic_fetch_add_explicit(&joint->taken, 1, memory_order_relaxed);
    return *number < joint->n_blocks;
}

static struct trma_joint_block block_at(const struct trma_joint *joint, uint32_t index) {
    const size_t offset = (size_t)index * joint->block;
    const size_t left = joint->size - offset;

    return (struct trma_joint_block){.offset = offset, .size = left < joint->block ? left : joint->block};
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Whole lines. */
static size_t block_for(size_t size) {
    const size_t least = smaller(TRMA_JOINT_LEAST_BLOCK, size / TRMA_JOINT_LEAST_BLOCKS);

    return larger(larger(size / TRMA_JOINT_BLOCKS, least) / LINE * LINE, LINE);
}

static struct trma_help_slot *slot_of(const struct trma_joint_ask *ask) {
    return &ask->words->slots[ask->index];
}

/* Relaxed: a hint, what is asked is ordered by the slot. */
static bool attends(const struct trma_help_words *words) {
    return atomic_load_explicit(&words->is_attending, memory_order_relaxed);
}

bool trma_node_joint_may_come(const struct trma_help *own, const struct trma_help_words *words) {
    return !own->is_crowded || attends(words);
}

bool trma_node_joint_begin(struct trma_joint_ask *ask, struct trma_help *own, uintptr_t local,
                           uintptr_t place, size_t size, bool is_put) {
    const bool is_skipped = !own->is_crowded && trma_node_help_is_skipped(&own->joining);

    if (!own->copy || ((own->is_crowded || is_skipped) && !attends(ask->words))) {
        return false;
    }
    ask->index = own->me % own->n_slots;
    if (!trma_node_help_claim(&ask->words->claims[ask->index], own)) {
        return false;
    }
    struct trma_help_slot *slot = slot_of(ask);
    struct trma_joint *joint = &slot->joint;
    const size_t block = block_for(size);
    joint->place = place;
    joint->local = local;
    joint->size = size;
    joint->block = (uint32_t)block;
    joint->n_blocks = (uint32_t)((size + block - 1) / block);
    joint->origin = own->me;
    joint->is_put = is_put;
    joint->done = 0;
    atomic_store_explicit(&joint->taken, 0, memory_order_relaxed);
    ask->copied = 0;
    slot->piece.size = sizeof *joint;
    slot->piece.is_proven = true;
    /* Release: who sees that it is asked sees for what. */
    atomic_store_explicit(&slot->piece.state, TRMA_HELP_JOINT, memory_order_release);
    return true;
}

bool trma_node_joint_next(struct trma_joint_ask *ask, struct trma_joint_block *block) {
    struct trma_joint *joint = &slot_of(ask)->joint;
    uint32_t number;

    if (!take(joint, &number)) {
        return false;
    }
    *block = block_at(joint, ask->copied++);
    return true;
}

/* No block is left: takes back what was asked for, or waits for the target's last block. False: the target is
 * dead. */
static bool settle(const struct trma_joint_ask *ask, unsigned *state) {
    struct trma_help_piece *piece = &slot_of(ask)->piece;

    *state = TRMA_HELP_JOINT;
    if (atomic_compare_exchange_strong_explicit(&piece->state, state, TRMA_HELP_IDLE, memory_order_acquire,
                                                memory_order_acquire)) {
        return true;
    }
    for (unsigned tries = 1;; tries++) {
        /* Acquire: the target's blocks, and how many they are. */
        *state = atomic_load_explicit(&piece->state, memory_order_acquire);
        if (*state != TRMA_HELP_WORKING) {
            return true;
        }
        if (tries < WORK_SPINS) {
            trma_node_relax();
        } else if (tries % YIELDS_PER_LOOK || trma_node_peer_is_alive(ask->peer)) {
            sched_yield();
        } else {
            return false;
        }
    }
}

uint32_t trma_node_joint_end(struct trma_joint_ask *ask, struct trma_help *own,
                             struct trma_joint_block *rest) {
    const struct trma_joint *joint = &slot_of(ask)->joint;
    unsigned state;
    const bool is_alive = settle(ask, &state);
    const uint32_t done = is_alive && state != TRMA_HELP_JOINT ? joint->done : 0;
    const size_t begin = (size_t)ask->copied * joint->block;
    const size_t end = done ? (size_t)(joint->n_blocks - done) * joint->block : joint->size;

    *rest = (struct trma_joint_block){.offset = begin, .size = end > begin ? end - begin : 0};
    if (is_alive) { /* else the slot remains the dead target's */
        trma_node_help_unclaim(&ask->words->claims[ask->index]);
    }
    trma_node_help_note_try(&own->joining, done == 0);
    return done;
}

bool trma_node_joint_work(const struct trma_help *help, struct trma_joint *joint) {
    struct trma_gate *gate = trma_node_gate_self();
    uint32_t number;

    while (take(joint, &number)) {
        const struct trma_joint_block block = block_at(joint, joint->n_blocks - 1 - joint->done);
        /* As a peer's: another thread may be about to exchange the page, and what holds back stores of
         * threads does not hold back the kernel's. */
        if (!gate || !trma_node_gate_try(gate)) {
            return false;
        }
        const bool is_done =
            help->copy(help->peers[joint->origin], (void *)(uintptr_t)(joint->place + block.offset),
                       joint->local + block.offset, block.size, !joint->is_put);
        trma_node_gate_leave(gate);
        if (!is_done) {
            return false;
        }
        joint->done++;
    }
    return true;
}
