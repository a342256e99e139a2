/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_TEAM_H
#define TRMA_NODE_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "../mem/mem_ticket.h"
#include "../sync/sync_barrier.h"
#include "../trma_status.h"
#include "node_help.h"
#include "node_peer.h"
#include "node_wait.h"

/*
 * A team: the processes of one communicator, all on this node, who share a few control words: a doorbell
 * each, a barrier, another one for the program, and slots to exchange plain records. It is made once per
 * communicator with the help of the host MPI's collectives and serves every window made from it; window
 * creation then needs no message.
 *
 * Making one, collectively: every process fills a card (trma_node_team_card), the caller gathers all cards,
 * every process calls trma_node_team_create with them, and the caller agrees on the worst status. If anybody
 * failed, all destroy.
 */

enum { TRMA_TEAM_SLOT_BYTES = 512, TRMA_TEAM_CPU_WORDS = 16 };

/* Shared words of one member, in its control heap. */
struct trma_team_block {
    struct trma_doorbell bell;
    struct trma_barrier_words barrier;
    struct trma_barrier_words meeting;
    struct trma_help_words help;
    struct trma_turn_words turn;
    /* Two slots: whoever writes slot (e mod 2) for exchange e+2 has passed barrier e+1, which everybody
     * entered after reading e. */
    _Alignas(64) char slots[2][TRMA_TEAM_SLOT_BYTES];
};

/* Plain data, travels by value. */
struct trma_team_card {
    struct trma_identity identity;
    struct trma_share block;            /* of the member's struct trma_team_block */
    struct trma_share gate;             /* of the member's struct trma_gate */
    uint64_t cpus[TRMA_TEAM_CPU_WORDS]; /* cores that the member may run on */
    uint32_t has_membarrier;
    uint32_t usable;        /* 0: the member could not make its block; the team must not be made */
    uint32_t ranks_on_node; /* of the whole program, as the launcher tells; 0 when unknown */
    uint32_t yield;         /* enum trma_knob_yield of the member */
};

struct trma_team {
    uint32_t size;
    uint32_t me;
    struct trma_peer **peers;
    struct trma_team_block **blocks; /* mapped here; blocks[me] is this process's own */
    struct trma_doorbell **bells;    /* into blocks */
    struct trma_barrier_words **barrier_words;
    struct trma_barrier_words **meeting_words;
    struct trma_barrier barrier;
    struct trma_barrier meeting;
    uint64_t *gate_serials;
    uint64_t *serials;                   /* of the regions that hold the blocks, for release */
    struct trma_help help;               /* for whom this process waits in the team, and asks others */
    struct trma_turn_words **turn_words; /* into blocks */
    struct trma_turns turns;             /* of crowded members */
    struct trma_waiter waiter;           /* how members wait for each other; bell is this member's own */
    struct trma_waiter meeting_waiter;   /* the same, but keeps the host's progress up */
    bool all_have_cma;                   /* this process can read and write every member's private memory */
};

/* Tunables that are not the team's own to find out. */
struct trma_team_options {
    uint32_t spin_us;
    bool is_threaded; /* several threads may wait at once */
    void (*progress)(void);
    trma_help_update *update; /* by which this process does updates for origins; NULL: it does none */
    trma_help_copy *copy;     /* by which it takes part in their copies; NULL: no joint copies */
};

/* Fills this process's card, ranks_on_node apart, and allocates its block; *block goes to
 * trma_node_team_create, or trma_node_team_block_give when none follows. */
void trma_node_team_card_fill(struct trma_team_card *card, struct trma_team_block **block);

/* Gives a block back that no team was made with. NULL is allowed. */
void trma_node_team_block_give(struct trma_team_block *block);

/*
 * Makes this process's view of the team from everybody's cards. Takes `block` over in any case. On failure
 * *refusal is a static text that says why in a user's words, and *out is NULL.
 */
enum trma_status trma_node_team_create(const struct trma_team_card *cards, uint32_t size, uint32_t me,
                                       struct trma_team_block *block, const struct trma_team_options *options,
                                       struct trma_team **out, const char **refusal);

/* Unmaps and frees. No member may use the team any more (the caller has synchronised). NULL is allowed. */
void trma_node_team_destroy(struct trma_team *team);

/*
 * Collective over the team: gives everybody's record, `size` bytes each (at most TRMA_TEAM_SLOT_BYTES), in
 * `all`, by member. Also a barrier. One thread of a member at a time.
 */
enum trma_status trma_node_team_exchange(struct trma_team *team, const void *mine, size_t size, void *all);

/* Barrier over the team. */
enum trma_status trma_node_team_barrier(struct trma_team *team);

/* A barrier of the program's own, which has nothing to do with the one before: another thread may be in that
 * one meanwhile. Messages may be under way: the wait keeps the host's progress up. */
enum trma_status trma_node_team_meet(struct trma_team *team);

/* True while no member has ended. For waiters. */
bool trma_node_team_is_alive(const void *team);

#endif
