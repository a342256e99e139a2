/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_WINDOW_H
#define TRMA_WIN_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../acc/acc_update.h"
#include "../mem/mem_ticket.h"
#include "../move/move_copy.h"
#include "../move/move_path.h"
#include "../node/node_team.h"
#include "../sync/sync_barrier.h"
#include "../sync/sync_lock.h"
#include "../sync/sync_pscw.h"
#include "../trma_status.h"
#include "win_adopt.h"
#include "win_attach.h"
#include "win_statistics.h"

/*
 * A window as the core sees it: one shared block of words per member, and this process's private view of
 * every target. Ranks are the members' indices in the team (the communicator's ranks).
 */

/* Shared words of one member for one window, in its control heap, zeroed. */
struct trma_window_words {
    struct trma_lock lock;
    struct trma_barrier_words fence;
    struct trma_acc_domain updates;
    struct trma_acc_presence presence;
    struct trma_attach_words attached; /* dynamic windows only */
    struct trma_adopt_words adopt;
    /* One per member, at its rank: what that member announces to this one, see sync_pscw.h. */
    _Alignas(64) struct trma_pscw_words pairs[];
};

/* Plain data, travels by trma_node_team_exchange. */
struct trma_window_card {
    struct trma_share words;
    struct trma_share memory; /* how peers reach [base, base+size) */
    uint64_t base;            /* in the member's address space */
    uint64_t size;            /* bytes */
    uint32_t disp_unit;
    uint32_t memory_owner; /* the member whose region memory.ticket names */
    uint32_t usable;       /* 0: the member could not make what it needs */
    uint32_t reserved;
    uint64_t adopted;         /* for the member itself: what it owes trma_win_adopt_release */
    const char *adopt_reason; /* for the member itself: why its memory was not adopted, when that was tried */
};

enum trma_lock_kind {
    TRMA_LOCK_NONE,
    TRMA_LOCK_SHARED,
    TRMA_LOCK_EXCLUSIVE,
    TRMA_LOCK_UNCHECKED, /* an epoch without a lock (assertion NOCHECK) */
    TRMA_LOCK_WAITING,   /* another thread of this process is about to get it */
    TRMA_LOCK_QUEUED     /* trma_win_lock_quick has a ticket, by which trma_win_lock must go on */
};

enum trma_access {
    TRMA_ACCESS_NONE,
    TRMA_ACCESS_FENCE, /* after a fence that may open an epoch */
    TRMA_ACCESS_PSCW,  /* between start and complete */
    TRMA_ACCESS_LOCK,  /* at least one target is locked */
    TRMA_ACCESS_LOCK_ALL
};

/* Looked at and changed as one word where only one value of both will do (trma_win_epoch_of). */
union trma_epoch {
    struct {
        enum trma_access access;
        uint32_t n_locked; /* targets */
    };
    uint64_t word;
};

struct trma_deferred;

/* Why calls on a window must take the long way. */
enum trma_special {
    TRMA_SPECIAL_COUNTED = 1,   /* statistics are wanted */
    TRMA_SPECIAL_THREADED = 2,  /* several threads may call at once: the guard is used */
    TRMA_SPECIAL_ADOPTABLE = 4, /* this process's memory is private and may earn its adoption */
    TRMA_SPECIAL_LATE = 8       /* what is carried may not be finished when an operation returns */
};

/* Whether the epoch lets operations to a target go straight ahead. */
enum trma_target_state {
    TRMA_TARGET_CLOSED, /* 0: not, or it is not known yet */
    TRMA_TARGET_POSTED, /* it had posted by start: the epoch's first operation opens it without a look */
    TRMA_TARGET_OPEN
};

/* This process's view of one member. Private. */
struct trma_target {
    /* What a put or get and its synchronisation look at comes first, in one cache line: a transfer of many
     * bytes pushes everything out of the first cache, and each line costs some nanoseconds then. */
    _Alignas(64) atomic_uchar state; /* an enum trma_target_state; changes under the guard */
    bool in_start_group;
    bool claims_early; /* start asks for the line of the word that ends the epoch */
    uint32_t disp_unit;
    /* The offsets that the short ways of operations may touch: [quick_low, quick_low + quick_span), mapped
     * here at quick_local. quick_span is 0 when there are none, and set last (release) when a window becomes
     * mapped. */
    uint64_t quick_low;
    _Atomic uint64_t quick_span;
    char *quick_local;
    enum trma_lock_kind lock;
    uint32_t started;                /* access epochs (PSCW) opened towards it */
    struct trma_window_words *words; /* the target's, mapped here */
    atomic_uint *posted;             /* in this process's words: this target's exposure epochs for us */
    atomic_uint *completed;          /* in the target's words: our access epochs towards it */

    uint64_t size;
    uintptr_t base; /* in the target's address space */
    struct trma_path path;
    uint64_t words_serial;           /* of the region that holds the words */
    uint64_t memory_serial;          /* of the mapped region behind path, 0 when none */
    struct trma_peer *memory_owner;  /* whose region that is */
    uint32_t exposed;                /* exposure epochs opened for it as an origin */
    uint32_t ticket;                 /* while `lock` says QUEUED */
    struct trma_acc_context updates; /* for accumulates to it */
    unsigned adopt_version;          /* of what the target published about its adoption */
    struct trma_helper *helper;      /* by which it is asked for help; made when needed, kept until the end */
    struct trma_outstanding outstanding;
    struct trma_deferred *first_deferred; /* operations that wait for its post, in order */
    struct trma_deferred *last_deferred;
    struct trma_attached attached; /* dynamic windows: our copy of what it has attached */
    struct trma_target_counts counts;
    bool may_help;           /* small transfers may be asked for (node_help.h) */
    bool is_whole;           /* the whole memory of the target is mapped */
    const char *path_reason; /* why it is not mapped, in a user's words; NULL when it is */
    char padding[64];        /* to a power of two */
};

_Static_assert((sizeof(struct trma_target) & (sizeof(struct trma_target) - 1)) == 0,
               "a power of two: its place is one shift away");

struct trma_window {
    /* The first cache line, as in trma_target. */
    _Alignas(64) atomic_uchar special; /* a sum of enum trma_special: one look at all of them. Relaxed:
                                          what changes, changes under the guard */
    atomic_bool has_stored; /* some may have stored since the last flush: the next one must order that */
    bool fences_at_once;    /* its flushes do not leave the fence to later loads: see win_order.h */
    bool needs_fence;       /* the team's waiter's: whoever notifies at a lock makes the fence, */
    bool rings_fence;       /* and whoever does a member */
    bool fence_used;        /* operations were issued since the last fence */
    bool is_exposed;        /* between post and wait */
    bool ends_soon;         /* the last exposure epoch had ended before its wait's first pause */
    uint8_t waits_without;  /* of which this was not expected; counted up, and wraps */
    union trma_epoch epoch;
    uint32_t until_look; /* flushes and unlocks until the clock is read: see must_look */
    uint32_t n_active;   /* targets that are not closed until the epoch ends: not those locked alone */
    uint32_t *active;
    uint32_t n_started; /* the group of start */
    uint32_t n_posted;  /* the group of post */
    uint32_t *start_group;
    uint32_t *post_group;
    struct trma_team *team;

    pthread_mutex_t guard; /* protects everything private here and in the targets */
    uint32_t size;
    uint32_t me;
    bool is_dynamic;
    bool needs_help;          /* peers reach this process's memory by the kernel: counted in team->help */
    uint64_t adopted_serial;  /* what this window has a share in; 0 when nothing is adopted */
    const char *adopt_reason; /* why it was not adopted; static text, NULL when nothing was tried */
    uint64_t looked_ns;       /* when the members were last seen alive */
    uint32_t calls_per_look;  /* what until_look begins at */
    struct trma_barrier fence;
    struct trma_barrier_words **fence_words;
    struct trma_acc_presence **presences;
    struct trma_window_words *words;      /* this process's own */
    struct trma_attachments *attachments; /* dynamic windows: what this process has attached */
    struct trma_wait_counts waits;
    struct trma_target targets[];
};

struct trma_window_options {
    bool is_dynamic;
    bool is_threaded;
    bool counts_operations;
    enum trma_adopt_mode adopt; /* for memory that the user brings */
    bool hardware_atomics; /* see acc_update.h: the same on all members, all memory mapped on all of them */
    bool by_xpmem;         /* such memory stays as it is, and all members attach it */
};

/*
 * Fills this member's card: allocates its shared words (*words) and describes [base, base+size), adopting it
 * when options->adopt says so. card->usable is 0 on failure. base may be NULL with size 0. Card and words go
 * to trma_win_window_create, or to trma_win_card_drop when none follows.
 */
void trma_win_card_fill(const struct trma_team *team, void *base, size_t size, uint32_t disp_unit,
                        const struct trma_window_options *options, struct trma_window_card *card,
                        struct trma_window_words **words);
void trma_win_card_drop(const struct trma_window_card *card, struct trma_window_words *words);

/*
 * Makes this process's view from everybody's cards. On failure *refusal says why in a user's words; the
 * caller must agree with all members before the window is used. Takes `words` and this
 * member's card over in any case.
 */
enum trma_status trma_win_window_create(struct trma_team *team, const struct trma_window_card *cards,
                                        struct trma_window_words *words,
                                        const struct trma_window_options *options, struct trma_window **out,
                                        const char **refusal);

/* Frees this process's view and words. The caller has synchronised all members: nobody uses the window any
 * more. */
void trma_win_window_destroy(struct trma_window *window);

/* Says whether peers reach this process's memory by the kernel alone; false at first. Under the guard. */
void trma_win_window_need_help(struct trma_window *window, bool needs_help);

/* By which the target may be asked for help with its private memory; NULL when it may not, or there is no
 * memory for it. Under the guard. */
struct trma_helper *trma_win_target_helper(struct trma_window *window, uint32_t target);

/* Takes a region into the target's path: its bytes are mapped from `base` (the region's start) on. Under the
 * guard, or before the window is used. */
void trma_win_target_map(struct trma_window *window, uint32_t target, const struct trma_share *share,
                         void *base);

/* The path of a target as a word for people: "self", "mapped", "mapped + cma", "cma", "dynamic", "none" (no
 * memory). */
const char *trma_win_target_path_name(const struct trma_window *window, uint32_t target);

/* Why calls on this window must take the long way: a sum of enum trma_special. */
static inline unsigned trma_win_special(const struct trma_window *window) {
    return atomic_load_explicit(&window->special, memory_order_relaxed);
}

static inline bool trma_win_is_counted(const struct trma_window *window) {
    return trma_win_special(window) & TRMA_SPECIAL_COUNTED;
}

static inline bool trma_win_is_threaded(const struct trma_window *window) {
    return trma_win_special(window) & TRMA_SPECIAL_THREADED;
}

static inline bool trma_win_is_adoptable(const struct trma_window *window) {
    return trma_win_special(window) & TRMA_SPECIAL_ADOPTABLE;
}

static inline void trma_win_guard_enter(struct trma_window *window) {
    if (trma_win_is_threaded(window)) {
        pthread_mutex_lock(&window->guard);
    }
}

static inline void trma_win_guard_leave(struct trma_window *window) {
    if (trma_win_is_threaded(window)) {
        pthread_mutex_unlock(&window->guard);
    }
}

/* The mutex that waits must release, NULL when threads do not matter. */
static inline pthread_mutex_t *trma_win_guard(struct trma_window *window) {
    return trma_win_is_threaded(window) ? &window->guard : NULL;
}

#endif
