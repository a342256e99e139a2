/* SPDX-License-Identifier: BSD-3-Clause */
/* Help, the origin's side. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "node_gate.h"
#include "node_help.h"
#include "node_peer.h"
#include "node_wait.h"

enum {
    PAGE_SHIFT = 12, /* no page is smaller */
    STRETCH_SHIFT = 16,
    STRETCH_PAGES = 1 << (STRETCH_SHIFT - PAGE_SHIFT),
    AWAIT_SPINS = 64,     /* a microsecond */
    ASK_SPINS = 128,      /* some microseconds: a target that attends answers in a fraction of one */
    WORK_SPINS = 4096,    /* then the target has lost its processor in the middle */
    YIELDS_PER_LOOK = 16, /* at whether it lives */
    MOST_PAUSE = 63,
    LEAST_PIECE = 2048 /* an exchange of lines between two processors takes as long as copying this */
};

enum answer { SERVED, NOT_SERVED, DEAD };

static _Thread_local uint64_t received; /* pieces */

uint64_t trma_node_help_received(void) {
    return received;
}

bool trma_node_help_is_skipped(struct trma_help_patience *patience) {
    const unsigned skips = atomic_load_explicit(&patience->skips, memory_order_relaxed);

    if (skips) {
        atomic_store_explicit(&patience->skips, skips - 1, memory_order_relaxed);
    }
    return skips > 0;
}

void trma_node_help_note_try(struct trma_help_patience *patience, bool was_vain) {
    unsigned pause = atomic_load_explicit(&patience->pause, memory_order_relaxed);

    if (was_vain) {
        pause = pause < MOST_PAUSE ? pause * 2 + 1 : pause;
        atomic_store_explicit(&patience->pause, pause, memory_order_relaxed);
        atomic_store_explicit(&patience->skips, pause, memory_order_relaxed);
    } else if (pause) {
        atomic_store_explicit(&patience->pause, 0, memory_order_relaxed);
    }
}

struct trma_helper *trma_node_helper_create(struct trma_help *own, struct trma_help_words *words,
                                            struct trma_peer *peer) {
    struct trma_helper *helper = calloc(1, sizeof *helper);

    if (helper) {
        helper->own = own;
        helper->words = words;
        helper->peer = peer;
    }
    return helper;
}

void trma_node_helper_forget(struct trma_helper *helper) {
    for (int i = 0; i < TRMA_HELP_STRETCHES; i++) {
        atomic_store_explicit(&helper->known[i], 0, memory_order_relaxed);
    }
}

/* A part of a range within one stretch: its pages there by bits, as they stand in `known`, and which stretch
 * it is. The range goes on behind it, at *address with *size bytes. */
static uint64_t next_part(uintptr_t *address, size_t *size, bool is_write, uint64_t *stretch) {
    const uint64_t first = *address >> PAGE_SHIFT;
    const size_t rest = (size_t)(((*address >> STRETCH_SHIFT) + 1) << STRETCH_SHIFT) - *address;
    const size_t part = *size < rest ? *size : rest;
    const uint64_t pages = ((*address + part - 1) >> PAGE_SHIFT) - first + 1;
    const uint64_t bits = ((UINT64_C(1) << pages) - 1) << first % STRETCH_PAGES;

    *stretch = *address >> STRETCH_SHIFT;
    *address += part;
    *size -= part;
    return is_write ? bits << STRETCH_PAGES : bits;
}

/* Relaxed, all that follows on `known`: it tells of the target's memory, not of anything of ours. When
 * threads get in each other's way something that is true is forgotten. */
void trma_node_helper_note(struct trma_helper *helper, uintptr_t address, size_t size, bool is_write) {
    while (size > 0) {
        uint64_t stretch;
        const uint64_t bits = next_part(&address, &size, is_write, &stretch);
        _Atomic uint64_t *entry = &helper->known[stretch % TRMA_HELP_STRETCHES];
        const uint64_t known = atomic_load_explicit(entry, memory_order_relaxed);
        /* What can be written can be read. */
        const uint64_t more = stretch << 32 | bits | bits >> STRETCH_PAGES;
        const uint64_t all = known >> 32 == stretch ? known | more : more;
        if (all != known && stretch <= UINT32_MAX) {
            atomic_store_explicit(entry, all, memory_order_relaxed);
        }
    }
}

bool trma_node_helper_knows(struct trma_helper *helper, uintptr_t address, size_t size, bool is_write) {
    while (size > 0) {
        uint64_t stretch;
        const uint64_t bits = next_part(&address, &size, is_write, &stretch);
        const uint64_t known =
            atomic_load_explicit(&helper->known[stretch % TRMA_HELP_STRETCHES], memory_order_relaxed);
        if (known >> 32 != stretch || (known & bits) != bits) {
            return false;
        }
    }
    return true;
}

/* Gives a target that does not attend a moment in which it may come to its wait. Not when that was in vain
 * lately. */
static bool await(struct trma_helper *helper) {
    struct trma_help_patience *awaiting = &helper->own->awaiting;
    bool is_there = false;

    if (helper->own->is_crowded || trma_node_help_is_skipped(awaiting)) {
        return false;
    }
    for (unsigned i = 0; i < AWAIT_SPINS && !is_there; i++) {
        trma_node_relax();
        is_there = atomic_load_explicit(&helper->words->is_attending, memory_order_relaxed);
    }
    trma_node_help_note_try(awaiting, !is_there);
    return is_there;
}

bool trma_node_helper_is_there(struct trma_helper *helper) {
    return atomic_load_explicit(&helper->words->is_attending, memory_order_relaxed) || await(helper);
}

static bool is_answer(unsigned state) {
    return state == TRMA_HELP_DONE || state == TRMA_HELP_REFUSED;
}

/* Waits for the answer to what was asked; what is not taken up is taken back. */
static enum answer await_answer(const struct trma_help_words *target, struct trma_help_piece *piece,
                                const struct trma_peer *peer) {
    unsigned away = 0;

    for (unsigned tries = 1;; tries++) {
        /* Acquire: the bytes that come back. */
        unsigned state = atomic_load_explicit(&piece->state, memory_order_acquire);
        if (is_answer(state)) {
            return state == TRMA_HELP_DONE ? SERVED : NOT_SERVED;
        }
        /* In a row of fences it is away between two waits, and comes back at once. */
        away += !atomic_load_explicit(&target->is_attending, memory_order_relaxed);
        if (state != TRMA_HELP_WORKING && (away > AWAIT_SPINS || tries > ASK_SPINS) &&
            atomic_compare_exchange_strong_explicit(&piece->state, &state, TRMA_HELP_IDLE,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            return NOT_SERVED;
        }
        if (tries < WORK_SPINS) {
            trma_node_relax();
        } else if (tries % YIELDS_PER_LOOK || trma_node_peer_is_alive(peer)) {
            sched_yield();
        } else {
            return DEAD;
        }
    }
}

static size_t size_of(const struct trma_help_job *job, size_t index) {
    const size_t rest = job->size - index * job->piece;

    return rest < job->piece ? rest : job->piece;
}

static void post(struct trma_help_piece *piece, char *bytes, const struct trma_help_job *job, size_t index) {
    const size_t size = size_of(job, index);

    piece->size = (uint16_t)size;
    piece->is_proven = job->is_proven;
    piece->operation = (uint8_t)job->operation;
    piece->element = (uint8_t)job->element;
    piece->address = job->address + index * job->piece;
    if (job->from != NULL) {
        memcpy(bytes, job->from + index * job->piece, size);
    }
    /* Release: who sees that it is asked sees what. */
    atomic_store_explicit(&piece->state, job->kind, memory_order_release);
}

/* Waits until what was posted is done or will not be; takes over what comes back. */
static enum answer collect(const struct trma_helper *helper, struct trma_help_piece *piece, const char *bytes,
                           const struct trma_help_job *job, size_t index) {
    const enum answer answer = await_answer(helper->words, piece, helper->peer);

    if (answer == SERVED && job->to != NULL) {
        memcpy(job->to + index * job->piece, bytes, size_of(job, index));
    }
    return answer;
}

bool trma_node_help_claim(struct trma_help_claim *claim, const struct trma_help *own) {
    unsigned nobody = 0;

    /* Acquire: the last owner is through with it. */
    return atomic_compare_exchange_strong_explicit(&claim->owner, &nobody, own->me + 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

void trma_node_help_unclaim(struct trma_help_claim *claim) {
    atomic_store_explicit(&claim->owner, 0, memory_order_release);
}

static uint32_t ask_by_slot(const struct trma_helper *helper, const struct trma_help_job *job) {
    struct trma_help_words *target = helper->words;
    const uint32_t index = helper->own->me % helper->own->n_slots;
    struct trma_help_slot *slot = &target->slots[index];

    if (!trma_node_help_claim(&target->claims[index], helper->own)) {
        return 0;
    }
    post(&slot->piece, slot->bytes, job, 0);
    const enum answer answer = collect(helper, &slot->piece, slot->bytes, job, 0);
    if (answer != DEAD) { /* else the slot remains the dead target's */
        trma_node_help_unclaim(&target->claims[index]);
    }
    return answer == SERVED;
}

/* As many pieces as there are trays are on their way at once. After one that was not done no more is asked
 * for. */
static uint32_t ask_by_trays(const struct trma_helper *helper, const struct trma_help_job *job) {
    struct trma_help_trays *trays = &helper->peer->gate->trays;
    size_t rest = (job->size + job->piece - 1) / job->piece;
    size_t posted = 0;
    uint32_t done = 0;

    if (!trma_node_help_claim(&trays->claim, helper->own)) {
        return 0;
    }
    for (size_t collected = 0; collected < posted || rest > 0; collected++) {
        for (; rest > 0 && posted < collected + TRMA_HELP_TRAYS; posted++, rest--) {
            struct trma_help_tray *tray = &trays->all[posted % TRMA_HELP_TRAYS];
            post(&tray->piece, tray->bytes, job, posted);
        }
        struct trma_help_tray *tray = &trays->all[collected % TRMA_HELP_TRAYS];
        const enum answer answer = collect(helper, &tray->piece, tray->bytes, job, collected);
        if (answer == DEAD) {
            return done; /* the trays remain the dead target's */
        }
        if (answer == SERVED) {
            done |= UINT32_C(1) << collected;
        } else {
            rest = 0;
        }
    }
    trma_node_help_unclaim(&trays->claim);
    return done;
}

size_t trma_node_help_piece(size_t size) {
    const size_t part = size / TRMA_HELP_TRAYS / 64 * 64;

    if (part < LEAST_PIECE) {
        return size < LEAST_PIECE ? size : LEAST_PIECE;
    }
    return part < TRMA_HELP_TRAY_BYTES ? part : TRMA_HELP_TRAY_BYTES;
}

uint32_t trma_node_help_ask(struct trma_helper *helper, const struct trma_help_job *job) {
    struct trma_help_patience *asking = &helper->own->asking;

    if (trma_node_help_is_skipped(asking)) {
        return 0;
    }
    const uint32_t done =
        job->size <= TRMA_HELP_SLOT_BYTES ? ask_by_slot(helper, job) : ask_by_trays(helper, job);
    received += (unsigned)__builtin_popcount(done);
    trma_node_help_note_try(asking, !done);
    return done;
}

/* True for the first transfer through the window, if it is one for a slot. */
static bool is_first(struct trma_helper *helper, size_t size) {
    return !atomic_load_explicit(&helper->was_tried, memory_order_relaxed) &&
           !atomic_exchange_explicit(&helper->was_tried, true, memory_order_relaxed) &&
           size <= TRMA_HELP_SLOT_BYTES;
}

size_t trma_node_help_carry(struct trma_helper *helper, bool is_known, bool is_put, void *local,
                            uintptr_t address, size_t size) {
    size_t carried = 0;

    if ((!is_known && !is_first(helper, size)) || !trma_node_helper_is_there(helper)) {
        return 0;
    }
    for (size_t part = 0; carried < size; carried += part) {
        char *here = (char *)local + carried;
        part = size - carried < TRMA_HELP_MOST_BYTES ? size - carried : TRMA_HELP_MOST_BYTES;
        const struct trma_help_job job = {.kind = is_put ? TRMA_HELP_PUT : TRMA_HELP_GET,
                                          .is_proven = is_known,
                                          .from = is_put ? here : NULL,
                                          .to = is_put ? NULL : here,
                                          .address = address + carried,
                                          .size = part,
                                          .piece = trma_node_help_piece(part)};
        const size_t pieces = (part + job.piece - 1) / job.piece;
        if (trma_node_help_ask(helper, &job) != UINT32_MAX >> (TRMA_HELP_MOST_PIECES - pieces)) {
            break;
        }
    }
    if (!is_known) {
        trma_node_helper_note(helper, address, carried, is_put);
    }
    return carried;
}
