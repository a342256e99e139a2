/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../mem/mem_heap.h"
#include "../mem/mem_map.h"
#include "node_gate.h"

/*
 * Blocks that are not in use. They never go back to the heap: whoever has just released a member from its
 * last barrier may still be about to look at that member's doorbell, and must find a doorbell there.
 */
struct spare {
    struct trma_team_block *block;
    struct spare *next;
};

static struct spare *spares;
static pid_t spares_owner; /* the process whose blocks they are; a forked child inherits the list only */
static pthread_mutex_t spares_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_spares(void) {
    pthread_mutex_lock(&spares_mutex);
    if (spares_owner != getpid()) {
        spares = NULL;
        spares_owner = getpid();
    }
}

static void reset_barrier(struct trma_barrier_words *words) {
    for (int round = 0; round < TRMA_BARRIER_ROUNDS; round++) {
        atomic_store_explicit(&words->arrived[round], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&words->gathered, 0, memory_order_relaxed);
    atomic_store_explicit(&words->released, 0, memory_order_relaxed);
}

static struct trma_team_block *take_block(void) {
    void *memory = NULL;

    lock_spares();
    struct spare *spare = spares;
    if (spare) {
        spares = spare->next;
    }
    pthread_mutex_unlock(&spares_mutex);
    if (!spare) {
        return trma_mem_heap_allocate(TRMA_HEAP_CONTROL, sizeof(struct trma_team_block), 64, &memory)
                   ? NULL
                   : memory;
    }
    struct trma_team_block *block = spare->block;
    free(spare);
    /* All but the doorbell, which stays a working one. */
    reset_barrier(&block->barrier);
    reset_barrier(&block->meeting);
    memset(&block->help, 0, sizeof block->help);
    memset(&block->turn, 0, sizeof block->turn);
    memset(block->slots, 0, sizeof block->slots);
    return block;
}

void trma_node_team_block_give(struct trma_team_block *block) {
    struct spare *spare = block ? malloc(sizeof *spare) : NULL;

    /* Without memory for the note the block is lost, which is better than reused for something else. */
    if (spare) {
        lock_spares();
        *spare = (struct spare){block, spares};
        spares = spare;
        pthread_mutex_unlock(&spares_mutex);
    }
}

void trma_node_team_card_fill(struct trma_team_card *card, struct trma_team_block **block) {
    cpu_set_t cpus;

    memset(card, 0, sizeof *card);
    *block = NULL;
    card->has_membarrier = trma_node_doorbell_register();
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        memcpy(card->cpus, &cpus, sizeof card->cpus < sizeof cpus ? sizeof card->cpus : sizeof cpus);
    }
    struct trma_gate *gate = trma_node_gate_self();
    if (trma_node_identity_self(&card->identity) || !gate || !(*block = take_block())) {
        return;
    }
    trma_mem_share_describe(gate, sizeof *gate, &card->gate);
    trma_mem_share_describe(*block, sizeof(struct trma_team_block), &card->block);
    card->usable = 1;
}

static const char *find_obstacle(const struct trma_team_card *cards, uint32_t size, uint32_t me) {
    for (uint32_t i = 0; i < size; i++) {
        if (!cards[i].usable) {
            return "a member cannot make shared memory";
        }
        if (cards[i].identity.layout_version != cards[me].identity.layout_version) {
            return "members run different versions of TrueRMA";
        }
        if (!trma_node_identity_is_near(&cards[i].identity, &cards[me].identity)) {
            return "the communicator spans several nodes";
        }
    }
    return NULL;
}

/* How many of them share a core, rounded up; 0: each has one. */
static uint32_t count_per_core(uint32_t processes, uint32_t cores) {
    return processes > cores ? (processes + cores - 1) / cores : 0;
}

static uint32_t count_members_per_core(const struct trma_team_card *cards, uint32_t size) {
    uint64_t all[TRMA_TEAM_CPU_WORDS] = {0};
    uint32_t cores = 0;

    for (uint32_t i = 0; i < size; i++) {
        for (int word = 0; word < TRMA_TEAM_CPU_WORDS; word++) {
            all[word] |= cards[i].cpus[word];
        }
    }
    for (int word = 0; word < TRMA_TEAM_CPU_WORDS; word++) {
        cores += (uint32_t)__builtin_popcountll(all[word]);
    }
    /* Also when this team is small, but the program as a whole has more ranks here than the machine has
     * cores. */
    const uint32_t members = count_per_core(size, cores ? cores : 1);
    const uint32_t ranks = count_per_core(cards[0].ranks_on_node, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
    return members > ranks ? members : ranks;
}

static struct trma_team *allocate_team(uint32_t size) {
    struct trma_team *team = calloc(1, sizeof *team);

    if (team) {
        team->peers = calloc(size, sizeof(void *));
        team->blocks = calloc(size, sizeof(void *));
        team->bells = calloc(size, sizeof(void *));
        team->barrier_words = calloc(size, sizeof(void *));
        team->meeting_words = calloc(size, sizeof(void *));
        team->turn_words = calloc(size, sizeof(void *));
        team->serials = calloc(size, sizeof(uint64_t));
        team->gate_serials = calloc(size, sizeof(uint64_t));
        if (team->gate_serials && team->peers && team->blocks && team->bells && team->barrier_words &&
            team->meeting_words && team->turn_words && team->serials) {
            return team;
        }
        trma_node_team_destroy(team);
    }
    return NULL;
}

/* Maps the words of one member. */
static enum trma_status join_member(struct trma_team *team, uint32_t member,
                                    const struct trma_team_card *card) {
    void *base = NULL;
    void *gate_base = NULL;
    enum trma_status status = trma_node_peer_acquire(&card->identity, &team->peers[member]);

    if (status) {
        return status;
    }
    status = trma_mem_map_acquire(team->peers[member], &card->block.ticket, &base);
    if (status) {
        return status;
    }
    team->serials[member] = card->block.ticket.serial;
    status = trma_mem_map_acquire(team->peers[member], &card->gate.ticket, &gate_base);
    if (status) {
        return status;
    }
    /* The mapping stays as long as some team with the peer does, and so does everybody's use of the gate. */
    team->gate_serials[member] = card->gate.ticket.serial;
    struct trma_gate *gate = (struct trma_gate *)((char *)gate_base + card->gate.offset);
    team->peers[member]->gate = gate;
    if (team->peers[member]->is_self) {
        trma_node_stream_own(&gate->stream);
    } else {
        trma_node_stream_join(&gate->stream);
    }
    /* A block lies wholly in its region: mapped_low is its own address. */
    team->blocks[member] = (struct trma_team_block *)((char *)base + card->block.offset);
    team->bells[member] = &team->blocks[member]->bell;
    team->barrier_words[member] = &team->blocks[member]->barrier;
    team->meeting_words[member] = &team->blocks[member]->meeting;
    team->turn_words[member] = &team->blocks[member]->turn;
    team->all_have_cma = team->all_have_cma && (team->peers[member]->is_self || team->peers[member]->has_cma);
    return TRMA_OK;
}

static uint32_t yields_of(uint32_t per_core) {
    return per_core == 2 ? TRMA_WAIT_YIELDS_OF_TWO : per_core * TRMA_WAIT_YIELDS_PER_MEMBER;
}

enum trma_status trma_node_team_create(const struct trma_team_card *cards, uint32_t size, uint32_t me,
                                       struct trma_team_block *block, const struct trma_team_options *options,
                                       struct trma_team **out, const char **refusal) {
    enum trma_status status = TRMA_OK;
    struct trma_team *team = NULL;

    *out = NULL;
    *refusal = find_obstacle(cards, size, me);
    if (*refusal) {
        status = TRMA_ERR_REFUSED;
    } else {
        team = allocate_team(size);
        status = team ? TRMA_OK : TRMA_ERR_NO_MEMORY;
    }
    if (status) {
        trma_node_team_block_give(block);
        return status;
    }

    team->size = size;
    team->me = me;
    team->all_have_cma = true;
    const uint32_t per_core = count_members_per_core(cards, size);
    team->waiter = (struct trma_waiter){.crowded = per_core > 0,
                                        .yields = yields_of(per_core),
                                        .spin_us = options->spin_us,
                                        .progress = options->progress,
                                        .is_alive = trma_node_team_is_alive,
                                        .team = team};
    for (uint32_t i = 0; i < size && !status; i++) {
        team->waiter.needs_fence |= !cards[i].has_membarrier;
        status = join_member(team, i, &cards[i]);
        if (status) {
            const struct trma_peer *peer = team->peers[i];
            /* A peer that is mapped tells there which door was taken. */
            *refusal =
                peer && !peer->is_mapped && peer->map_reason ? peer->map_reason : trma_status_text(status);
        }
    }
    if (status) {
        /* The own block may not have been reached yet. */
        if (!team->blocks[me]) {
            trma_node_team_block_give(block);
        }
        trma_node_team_destroy(team);
        return status;
    }
    /* The same at every member. */
    team->waiter.rings_fence = team->waiter.needs_fence || team->waiter.crowded;
    team->waiter.bell = team->bells[me];
    if (team->waiter.crowded && !options->is_threaded) {
        team->turns =
            (struct trma_turns){.bells = team->bells, .words = team->turn_words, .size = size, .me = me};
        team->waiter.turns = &team->turns;
        trma_node_turn_tell(&team->turns);
    }
    team->help = (struct trma_help){.words = &team->blocks[me]->help,
                                    .trays = &trma_node_gate_self()->trays,
                                    .update = options->update,
                                    .copy = options->copy,
                                    .peers = team->peers,
                                    .is_crowded = team->waiter.crowded,
                                    .me = me,
                                    .n_slots = size < TRMA_HELP_SLOTS ? size : TRMA_HELP_SLOTS};
    team->waiter.help = &team->help;
    team->barrier = (struct trma_barrier){.size = size,
                                          .me = me,
                                          .crowded = team->waiter.crowded,
                                          .words = team->barrier_words,
                                          .bells = team->bells};
    team->meeting = team->barrier;
    team->meeting.words = team->meeting_words;
    team->meeting_waiter = team->waiter;
    team->meeting_waiter.keeps_progress = true;
    team->meeting_waiter.progress_us = per_core * TRMA_WAIT_PROGRESS_US_PER_MEMBER;
    team->meeting_waiter.may_have_left = true;
    *out = team;
    return TRMA_OK;
}

void trma_node_team_destroy(struct trma_team *team) {
    if (!team) {
        return;
    }
    if (team->blocks && team->size) {
        trma_node_team_block_give(team->blocks[team->me]);
    }
    for (uint32_t i = 0; i < team->size; i++) {
        if (team->serials[i]) {
            trma_mem_map_release(team->peers[i], team->serials[i]);
        }
        if (team->gate_serials[i]) {
            if (!team->peers[i]->is_self) {
                trma_node_stream_leave(
                    &atomic_load_explicit(&team->peers[i]->gate, memory_order_relaxed)->stream);
            }
            trma_mem_map_release(team->peers[i], team->gate_serials[i]);
        }
        if (team->peers[i]) {
            trma_node_peer_release(team->peers[i]);
        }
    }
    free(team->peers);
    free(team->blocks);
    free(team->bells);
    free(team->barrier_words);
    free(team->meeting_words);
    free(team->turn_words);
    free(team->serials);
    free(team->gate_serials);
    free(team);
}

enum trma_status trma_node_team_exchange(struct trma_team *team, const void *mine, size_t size, void *all) {
    /* The barrier's sequence is the same in all members at this point. */
    unsigned slot = (team->barrier.sequence + 1) % 2;

    if (size > TRMA_TEAM_SLOT_BYTES) {
        return TRMA_ERR_ARGUMENT;
    }
    memcpy(team->blocks[team->me]->slots[slot], mine, size);
    enum trma_status status = trma_node_team_barrier(team);
    if (status) {
        return status;
    }
    for (uint32_t i = 0; i < team->size; i++) {
        memcpy((char *)all + i * size, team->blocks[i]->slots[slot], size);
    }
    return TRMA_OK;
}

enum trma_status trma_node_team_barrier(struct trma_team *team) {
    /* It is also the last thing a member does with its team: it may leave, and end, before others are let go.
     */
    struct trma_waiter waiter = team->waiter;
    waiter.may_have_left = true;
    return trma_sync_barrier_pass(&team->barrier, &waiter, NULL, NULL);
}

enum trma_status trma_node_team_meet(struct trma_team *team) {
    return trma_sync_barrier_pass(&team->meeting, &team->meeting_waiter, NULL, NULL);
}

bool trma_node_team_is_alive(const void *team_object) {
    const struct trma_team *team = team_object;

    for (uint32_t i = 0; i < team->size; i++) {
        if (!team->peers[i]->is_self && !trma_node_peer_is_alive(team->peers[i])) {
            return false;
        }
    }
    return true;
}
