/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_HELP_H
#define TRMA_NODE_HELP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A target that waits helps. Private memory is reached by a system call, which takes a microsecond; a target
 * that spins in a wait of ours at that moment could store a few bytes itself in a tenth of that. So it says
 * that it attends, and origins hand small transfers over: the bytes to a slot in the target's words, the
 * answer back in the same line. Nobody depends on it: an origin whose slot is not taken up soon, or whose
 * target stops waiting, takes the slot back and goes by the kernel. (Every MPI carries all transfers to such
 * memory like this, and stalls when the target does something else.)
 *
 * The target is one thread that does nothing else meanwhile, so what it has found to be its memory stays that
 * until its wait is over. The first access to a page is the kernel's, to which a bad address is an error and
 * not a signal. Not for processes with MPI threads, nor for crowded teams, where nobody spins.
 */

enum { TRMA_HELP_BYTES = 240, TRMA_HELP_SLOTS = 8, TRMA_HELP_PAGES = 8 };

struct trma_peer;

enum trma_help_state {
    TRMA_HELP_IDLE,
    TRMA_HELP_PUT, /* asked */
    TRMA_HELP_GET, /* asked */
    TRMA_HELP_WORKING,
    TRMA_HELP_DONE,
    TRMA_HELP_REFUSED
};

/* One transfer. Written by the origin that has claimed the slot until `state` asks, by the target while that
 * says that it works, and by the origin again. */
struct trma_help_slot {
    _Alignas(64) atomic_uint state; /* enum trma_help_state */
    uint32_t size;                  /* bytes */
    uint64_t address;               /* in the target's address space */
    char bytes[TRMA_HELP_BYTES];
};

/* Not in the slot's line, at which the target looks all the time. */
struct trma_help_claim {
    _Alignas(64) atomic_uint owner; /* 0: free; else the origin's index in the team + 1 */
};

/* Shared words of one member, in its team block. All zero: does not attend. */
struct trma_help_words {
    _Alignas(64) atomic_uint is_attending; /* written by the target alone */
    struct trma_help_claim claims[TRMA_HELP_SLOTS];
    struct trma_help_slot slots[TRMA_HELP_SLOTS];
};

/* A process's own part in a team, both as target and as origin. Private, for one thread. */
struct trma_help {
    struct trma_help_words *words; /* its own */
    uint32_t me;                   /* its index in the team */
    uint32_t n_slots;              /* that the members use */
    uint32_t windows; /* whose memory, this process's, peers reach by the kernel: it attends for these */
    bool is_attending;
    uint32_t n_proven; /* pages whose access has been tried since it attends */
    struct trma_help_page {
        uintptr_t number;
        bool is_writable;
    } proven[TRMA_HELP_PAGES];
    uint32_t skips;  /* as origin: so many transfers do not ask, */
    uint32_t pause;  /* and so many after the next that asked in vain */
    uint64_t helped; /* transfers that targets did for it */
};

/*
 * The target's side. begin: from now on origins may ask. Does nothing when no window needs it. serve: does
 * what was asked, true when there was anything; end: nobody is served any more. Never fail, never block.
 */
void trma_node_help_begin(struct trma_help *help);
bool trma_node_help_serve(struct trma_help *help);
void trma_node_help_end(struct trma_help *help);

/* The origin's side: gives a target that does not attend a moment, a microsecond, in which it may come to its
 * wait. For a window's first transfer: the members have all just made it. */
void trma_node_help_await(const struct trma_help_words *target);

/* The origin's side, when the target attends: see trma_node_help_carry. */
bool trma_node_help_ask(struct trma_help *help, struct trma_help_words *target, const struct trma_peer *peer,
                        bool is_put, void *local, uintptr_t address, size_t size);

/*
 * Carries `size` bytes between `local` and the target's `address` with its help: finished on return. False:
 * nothing was carried, or nothing that the kernel may not carry again. peer: the target, to see whether it
 * lives.
 */
static inline bool trma_node_help_carry(struct trma_help *help, struct trma_help_words *target,
                                        const struct trma_peer *peer, bool is_put, void *local,
                                        uintptr_t address, size_t size) {
    return size <= TRMA_HELP_BYTES &&
           atomic_load_explicit(&target->is_attending, memory_order_relaxed) != 0 &&
           trma_node_help_ask(help, target, peer, is_put, local, address, size);
}

#endif
