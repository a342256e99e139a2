/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_HELP_H
#define TRMA_NODE_HELP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node_joint.h"

/*
 * A target that waits helps. Private memory is reached by a system call, which takes a microsecond and
 * more for every page; a target that spins in a wait of ours at that moment could store the bytes
 * itself in a fraction of that. So it says that it attends, and origins hand transfers over: a few bytes in a
 * slot of the target's words, the answer back in the same line; more in pieces, by trays, so that both sides
 * copy at once; updates as operands, which the target combines with its memory. Nobody depends on it: an
 * origin whose piece is not taken up soon, or whose target stops waiting, takes it back and goes by the
 * kernel. (Every MPI carries all transfers to such memory like this, and stalls when the target does
 * something else.)
 *
 * An origin asks only for pages that the kernel has let somebody access in the same way before, through the
 * same window: to the kernel a bad address is an error and not a signal. A window has memory until it is
 * freed, so there is nothing else to look at. The very first transfer is tried by the target, by the kernel
 * as well, since a page that nobody has touched is provided sooner to its owner.
 *
 * One thread of the target attends at a time. In crowded teams nobody spins but who is alone
 * on its core (node_turn.h).
 */

enum {
    TRMA_HELP_SLOTS = 8,
    TRMA_HELP_SLOT_BYTES = 240,
    TRMA_HELP_TRAYS = 4,
    TRMA_HELP_TRAY_BYTES = 8192,
    TRMA_HELP_MOST_PIECES = 32,
    TRMA_HELP_MOST_BYTES = TRMA_HELP_MOST_PIECES * TRMA_HELP_TRAY_BYTES,
    TRMA_HELP_STRETCHES = 128,
    TRMA_HELP_PRICE_CLASSES = 16,
    TRMA_HELP_PRICE_TRIES = 4,  /* of either way before they are compared; the first does not count */
    TRMA_HELP_PRICE_REVIEW = 64 /* transfers after which the dearer way is tried again */
};

struct trma_peer;

enum trma_help_state {
    TRMA_HELP_IDLE,
    /* What is asked for. */
    TRMA_HELP_PUT,
    TRMA_HELP_GET,
    TRMA_HELP_UPDATE, /* operands come, nothing goes back */
    TRMA_HELP_FETCH,  /* as that, and what was there before goes back */
    TRMA_HELP_JOINT,  /* a part of a large put or get, see node_joint.h */
    TRMA_HELP_WORKING,
    /* Answers. */
    TRMA_HELP_DONE,
    TRMA_HELP_REFUSED
};

/* One piece. Written by the origin that has claimed slot or trays until `state` asks, by the target while
 * that says that it works, and by the origin again; so are the bytes that belong to it. */
struct trma_help_piece {
    atomic_uint state; /* enum trma_help_state */
    uint16_t size;     /* bytes */
    bool is_proven;    /* see above; else the kernel is to copy */
    uint8_t operation; /* of updates, as trma_help_update understands them */
    uint8_t element;
    uint64_t address; /* in the target's address space */
};

struct trma_help_slot {
    _Alignas(64) struct trma_help_piece piece;
    union {
        char bytes[TRMA_HELP_SLOT_BYTES];
        struct trma_joint joint;
    };
};

struct trma_help_tray {
    _Alignas(64) struct trma_help_piece piece;
    _Alignas(64) char bytes[TRMA_HELP_TRAY_BYTES];
};

/* Not in the line of what it claims, at which the target looks all the time. */
struct trma_help_claim {
    _Alignas(64) atomic_uint owner; /* 0: free; else the origin's index in the team + 1 */
};

/* Shared words of one member, in its team block. All zero: does not attend. */
struct trma_help_words {
    _Alignas(64) atomic_uint is_attending; /* written by the attendant alone */
    struct trma_help_claim claims[TRMA_HELP_SLOTS];
    struct trma_help_slot slots[TRMA_HELP_SLOTS];
};

/* Shared by all teams of a process: they would take too much memory in each. All zero: unused. */
struct trma_help_trays {
    struct trma_help_claim claim; /* all of them are one origin's */
    struct trma_help_tray all[TRMA_HELP_TRAYS];
};

/* Combines `bytes` bytes of operands with as many at `target`; false: no such operation, nothing was done. */
typedef bool trma_help_update(unsigned operation, unsigned element, void *target, const void *operands,
                              size_t bytes);

/* Copies `size` bytes between this process's memory at `own` and a peer's at `place`, without waiting for
 * anything: to the peer or from it. False: not all, nor is it known which. */
typedef bool trma_help_copy(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer);

/* After a vain try the next ones are left out, more each time. Estimates, which threads may blur. */
struct trma_help_patience {
    atomic_uint skips; /* so many are left out now */
    atomic_uint pause; /* so many after the last vain try */
};

/*
 * What more bytes than a slot takes have cost lately, in one direction and one class of sizes. Which way is
 * the cheaper one is the machine's matter: where a line takes long from one processor to another, the
 * kernel's single copy by the origin is faster than two copies through trays. Estimates, which threads may
 * blur.
 */
struct trma_help_price {
    atomic_uint by_kernel_ns;
    atomic_uint by_help_ns;
    atomic_uint kernel_samples; /* up to TRMA_HELP_PRICE_TRIES */
    atomic_uint help_samples;
    atomic_uint choices; /* by price, so far */
};

/* A process's own part in a team, both as target and as origin. Private. */
struct trma_help {
    struct trma_help_words *words; /* its own */
    struct trma_help_trays *trays; /* its own */
    trma_help_update *update;      /* NULL: it does no updates */
    trma_help_copy *copy;          /* NULL: no joint copies, as target and as origin */
    struct trma_peer **peers;      /* the team's members */
    uint32_t me;                   /* its index in the team */
    uint32_t n_slots;              /* that the members use */
    bool is_crowded;               /* members attend while they are alone on their core */
    atomic_uint windows; /* whose memory, this process's, peers reach by the kernel: it attends for these */
    atomic_bool has_attendant;
    atomic_uint eager_waits;            /* so many more begin by attending, whatever windows need */
    struct trma_help_patience asking;   /* as origin */
    struct trma_help_patience awaiting; /* as origin */
    struct trma_help_patience joining;  /* as origin */
    /* As origin: of gets and of puts. */
    struct trma_help_price prices[2][TRMA_HELP_PRICE_CLASSES];
};

/* A window's target, as an origin sees it. Private. */
struct trma_helper {
    struct trma_help *own;
    struct trma_help_words *words; /* the target's */
    struct trma_peer *peer;        /* the target */
    atomic_bool was_tried;         /* the very first transfer has been made */
    /* Pages that the kernel has let somebody access, by stretches of 64 KiB: a stretch's number, 16 bits for
     * pages that can be written, 16 for those that can be read. */
    _Atomic uint64_t known[TRMA_HELP_STRETCHES];
};

/*
 * The target's side. begin: from now on origins may ask, and the calling thread is the attendant. False when
 * no window needs it, or another thread is. begin_late: the same for who has waited a while: windows that
 * need it for joint copies alone are served then, and from the begin on for some waits after one. For the
 * attendant alone: serve does what was asked, true when there was anything; end: nobody is served any more.
 * Never fail, never block.
 */
bool trma_node_help_begin(struct trma_help *help);
bool trma_node_help_begin_late(struct trma_help *help);
bool trma_node_help_serve(struct trma_help *help);
void trma_node_help_end(struct trma_help *help);

/* What an origin asks for: bytes from `from` to the target's `address`, from there to `to`, or both. */
struct trma_help_job {
    enum trma_help_state kind;
    bool is_proven;
    unsigned operation;
    unsigned element;
    const char *from; /* all but GET */
    char *to;         /* GET and FETCH */
    uintptr_t address;
    size_t size;
    size_t piece; /* bytes that are done together: see trma_node_help_piece */
};

/* Makes the view of a target: NULL without memory. To be freed by free(). */
struct trma_helper *trma_node_helper_create(struct trma_help *own, struct trma_help_words *words,
                                            struct trma_peer *peer);

/* Forgets all pages: other memory may lie there now. */
void trma_node_helper_forget(struct trma_helper *helper);

/* Notes that the kernel has carried [address, address + size) and looked at what the pages allow.
 * Thread-safe. */
void trma_node_helper_note(struct trma_helper *helper, uintptr_t address, size_t size, bool is_write);

/* True when all of that was noted. Thread-safe. */
bool trma_node_helper_knows(struct trma_helper *helper, uintptr_t address, size_t size, bool is_write);

/* True when the target attends, or comes to its wait within a microsecond. Thread-safe. */
bool trma_node_helper_is_there(struct trma_helper *helper);

/* Bytes per piece by which a job of so many is done soonest: all, or a multiple of 64, of which there are not
 * too many. */
size_t trma_node_help_piece(size_t size);

/*
 * Asks the target for a job of up to TRMA_HELP_MOST_BYTES. Gives the pieces that were done, by bits, the
 * first the lowest; of the others nothing was done (of puts and gets a part may have been, where the target
 * has died). Finished on return. Thread-safe.
 */
uint32_t trma_node_help_ask(struct trma_helper *helper, const struct trma_help_job *job);

/* Carries bytes between `local` and the target's `address` with its help. Gives how many of the `size` are
 * done, from the first on: the kernel has to carry the others. is_known: what trma_node_helper_knows says.
 * Thread-safe. */
size_t trma_node_help_carry(struct trma_helper *helper, bool is_known, bool is_put, void *local,
                            uintptr_t address, size_t size);

/* True when the target should be asked to carry so many bytes: what a slot takes always, else as prices say.
 * Notes nothing but that it was asked. Thread-safe. */
bool trma_node_help_is_cheaper(struct trma_help *own, bool is_put, size_t size);

/* Notes how long so many bytes, more than a slot takes, took one way. Thread-safe. */
void trma_node_help_note_price(struct trma_help *own, bool is_put, size_t size, bool by_help, uint64_t ns);

/* How many pieces, blocks of joint copies apart, targets have done for the calling thread. */
uint64_t trma_node_help_received(void);

/* For who asks (node_help_ask.c, node_joint.c). is_skipped: true when this one is to be left out; note_try:
 * after one that was not. claim: true when what is claimed is this origin's until unclaim. Thread-safe. */
bool trma_node_help_is_skipped(struct trma_help_patience *patience);
void trma_node_help_note_try(struct trma_help_patience *patience, bool was_vain);
bool trma_node_help_claim(struct trma_help_claim *claim, const struct trma_help *own);
void trma_node_help_unclaim(struct trma_help_claim *claim);

#endif
