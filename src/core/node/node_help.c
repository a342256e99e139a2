/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_help.h"

#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "node_peer.h"
#include "node_wait.h"

enum {
    PAGE_SHIFT = 12,       /* no page is smaller */
    FIRST_SPINS = 64,      /* a microsecond */
    ASK_SPINS = 128,       /* some microseconds: a target that attends answers in a fraction of one */
    WORK_SPINS = 4096,     /* then the target has lost its processor in the middle */
    YIELDS_PER_LOOK = 256, /* at whether it lives */
    MOST_PAUSE = 63
};

static bool is_asked(unsigned state) {
    return state == TRMA_HELP_PUT || state == TRMA_HELP_GET;
}

void trma_node_help_begin(struct trma_help *help) {
    if (!help->windows || help->is_attending) {
        return;
    }
    /* What was asked of an earlier wait and is still there: its origin is about to take it back, or has died,
     * and its window may be gone. */
    for (uint32_t i = 0; i < help->n_slots; i++) {
        atomic_uint *state = &help->words->slots[i].state;
        unsigned seen = atomic_load_explicit(state, memory_order_relaxed);
        if (is_asked(seen)) {
            /* Relaxed: the slot's bytes are not looked at. */
            atomic_compare_exchange_strong_explicit(state, &seen, TRMA_HELP_REFUSED, memory_order_relaxed,
                                                    memory_order_relaxed);
        }
    }
    help->n_proven = 0;
    help->is_attending = true;
    /* Relaxed: a hint, what is asked is ordered by the slots. */
    atomic_store_explicit(&help->words->is_attending, 1, memory_order_relaxed);
}

void trma_node_help_end(struct trma_help *help) {
    if (help->is_attending) {
        help->is_attending = false;
        atomic_store_explicit(&help->words->is_attending, 0, memory_order_relaxed);
    }
}

static bool is_proven(const struct trma_help *help, uintptr_t number, bool is_put) {
    for (uint32_t i = 0; i < help->n_proven && i < TRMA_HELP_PAGES; i++) {
        if (help->proven[i].number == number && (help->proven[i].is_writable || !is_put)) {
            return true;
        }
    }
    return false;
}

static void note_proven(struct trma_help *help, uintptr_t number, bool is_put) {
    if (!is_proven(help, number, is_put)) {
        help->proven[help->n_proven++ % TRMA_HELP_PAGES] = (struct trma_help_page){number, is_put};
    }
}

/* Through the kernel, by which memory that is not there, or not to be written, is found without a signal. */
static bool copy_tried(struct trma_help *help, struct trma_help_slot *slot, uintptr_t first, uintptr_t last,
                       bool is_put) {
    const struct iovec here = {slot->bytes, slot->size};
    const struct iovec there = {(void *)(uintptr_t)slot->address, slot->size};
    const ssize_t copied = is_put ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                                  : process_vm_readv(getpid(), &here, 1, &there, 1, 0);

    if (copied != (ssize_t)slot->size) {
        return false;
    }
    note_proven(help, first, is_put);
    note_proven(help, last, is_put);
    return true;
}

static void work(struct trma_help *help, struct trma_help_slot *slot, bool is_put) {
    const uintptr_t first = (uintptr_t)slot->address >> PAGE_SHIFT;
    const uintptr_t last = ((uintptr_t)slot->address + slot->size - 1) >> PAGE_SHIFT;
    void *memory = (void *)(uintptr_t)slot->address;
    bool is_done = true;

    if (!is_proven(help, first, is_put) || !is_proven(help, last, is_put)) {
        is_done = copy_tried(help, slot, first, last, is_put);
    } else if (is_put) {
        memcpy(memory, slot->bytes, slot->size);
    } else {
        memcpy(slot->bytes, memory, slot->size);
    }
    /* Release: the origin, and whom it tells, sees the bytes. */
    atomic_store_explicit(&slot->state, is_done ? TRMA_HELP_DONE : TRMA_HELP_REFUSED, memory_order_release);
}

bool trma_node_help_serve(struct trma_help *help) {
    bool has_served = false;

    for (uint32_t i = 0; i < help->n_slots; i++) {
        struct trma_help_slot *slot = &help->words->slots[i];
        unsigned state = atomic_load_explicit(&slot->state, memory_order_relaxed);
        const bool is_put = state == TRMA_HELP_PUT;
        /* Acquire: what is asked for, and the bytes. */
        if (is_asked(state) &&
            atomic_compare_exchange_strong_explicit(&slot->state, &state, TRMA_HELP_WORKING,
                                                    memory_order_acquire, memory_order_relaxed)) {
            work(help, slot, is_put);
            has_served = true;
        }
    }
    return has_served;
}

void trma_node_help_await(const struct trma_help_words *target) {
    for (unsigned i = 0;
         i < FIRST_SPINS && !atomic_load_explicit(&target->is_attending, memory_order_relaxed); i++) {
        trma_node_relax();
    }
}

/* Waits for the answer to what stands in the slot; false when it was taken back, or the target has died. */
static bool await_answer(const struct trma_help_words *target, struct trma_help_slot *slot,
                         const struct trma_peer *peer, bool *is_served) {
    for (unsigned tries = 1;; tries++) {
        /* Acquire: the bytes of a get. */
        unsigned state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (state == TRMA_HELP_DONE || state == TRMA_HELP_REFUSED) {
            *is_served = state == TRMA_HELP_DONE;
            return true;
        }
        if (is_asked(state) &&
            (tries > ASK_SPINS || !atomic_load_explicit(&target->is_attending, memory_order_relaxed)) &&
            atomic_compare_exchange_strong_explicit(&slot->state, &state, TRMA_HELP_IDLE,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            return true;
        }
        if (tries < WORK_SPINS) {
            trma_node_relax();
        } else if (tries % YIELDS_PER_LOOK || trma_node_peer_is_alive(peer)) {
            sched_yield();
        } else {
            return false;
        }
    }
}

bool trma_node_help_ask(struct trma_help *help, struct trma_help_words *target, const struct trma_peer *peer,
                        bool is_put, void *local, uintptr_t address, size_t size) {
    const uint32_t index = help->me % help->n_slots;
    struct trma_help_slot *slot = &target->slots[index];
    atomic_uint *owner = &target->claims[index].owner;
    unsigned nobody = 0;
    bool is_served = false;

    if (help->skips) {
        help->skips--;
        return false;
    }
    /* Acquire: the last owner is through with the slot. */
    if (!atomic_compare_exchange_strong_explicit(owner, &nobody, help->me + 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    slot->size = (uint32_t)size;
    slot->address = address;
    if (is_put) {
        memcpy(slot->bytes, local, size);
    }
    /* Release: who sees that it is asked sees what. */
    atomic_store_explicit(&slot->state, is_put ? TRMA_HELP_PUT : TRMA_HELP_GET, memory_order_release);
    if (!await_answer(target, slot, peer, &is_served)) {
        return false; /* the slot remains a dead target's */
    }
    if (is_served && !is_put) {
        memcpy(local, slot->bytes, size);
    }
    atomic_store_explicit(owner, 0, memory_order_release);
    if (is_served) {
        help->helped++;
        help->pause = 0;
    } else {
        help->pause = help->pause < MOST_PAUSE ? help->pause * 2 + 1 : help->pause;
        help->skips = help->pause;
    }
    return is_served;
}
