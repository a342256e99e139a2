/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_turn.h"

#include <sched.h>

void trma_node_turn_tell(struct trma_turns *turns) {
    atomic_uint *core = &turns->words[turns->me]->core;
    const int now = sched_getcpu();
    const unsigned told = now < 0 ? 0 : (unsigned)now + 1;

    /* Mostly it is the same one. seq_cst, before the look at who attends: who ceases to attend looks at this
     * word after it has said so. */
    if (atomic_load_explicit(core, memory_order_relaxed) != told) {
        atomic_store_explicit(core, told, memory_order_seq_cst);
    }
}

static unsigned core_of(const struct trma_turns *turns) {
    return atomic_load_explicit(&turns->words[turns->me]->core, memory_order_relaxed);
}

bool trma_node_turn_is_beside(const struct trma_turns *turns, uint32_t member) {
    /* Relaxed: it may be on its way to another one anyway. */
    return atomic_load_explicit(&turns->words[member]->core, memory_order_relaxed) == core_of(turns);
}

static void find_neighbours(struct trma_turns *turns) {
    const unsigned core = core_of(turns);

    turns->n = 0;
    for (uint32_t i = 1; core && i < turns->size && turns->n < TRMA_TURN_MOST; i++) {
        const uint32_t after = turns->me + i < turns->size ? turns->me + i : turns->me + i - turns->size;
        if (atomic_load_explicit(&turns->words[after]->core, memory_order_seq_cst) == core) {
            turns->neighbours[turns->n++] =
                (struct trma_turn_neighbour){turns->bells[after], turns->words[after]};
        }
    }
}

/* Whether it looks after those on the caller's core. It has not gone to another one since the caller looked
 * who is there. */
static bool is_keeper(const struct trma_turns *turns, const struct trma_turn_neighbour *other) {
    return atomic_load_explicit(&other->words->attends, memory_order_seq_cst) &&
           !trma_node_doorbell_is_asleep(other->bell) &&
           atomic_load_explicit(&other->words->core, memory_order_seq_cst) == core_of(turns);
}

/* Ends the keeping of one; true when it wakes, since it has been rung for, or `anyway`. */
static bool end_keeping(struct trma_doorbell *bell, bool anyway) {
    const unsigned asleep = atomic_load_explicit(&bell->asleep, memory_order_seq_cst);
    unsigned kept = TRMA_LYING_KEPT;

    /* seq_cst: see trma_node_doorbell_ring. Only one of those on the core wakes it. */
    if (!atomic_compare_exchange_strong_explicit(&bell->lying, &kept, TRMA_LYING_FREE, memory_order_seq_cst,
                                                 memory_order_seq_cst) ||
        !(anyway || trma_node_doorbell_is_called(bell))) {
        return false;
    }
    trma_node_doorbell_wake(bell, asleep);
    return true;
}

static bool let_go(struct trma_doorbell *bell) {
    return end_keeping(bell, false);
}

/* Keeps one that lies. */
static void keep(const struct trma_turns *turns, const struct trma_turn_neighbour *neighbour) {
    unsigned free = TRMA_LYING_FREE;

    if (atomic_compare_exchange_strong_explicit(&neighbour->bell->lying, &free, TRMA_LYING_KEPT,
                                                memory_order_seq_cst, memory_order_seq_cst) &&
        atomic_load_explicit(&neighbour->words->core, memory_order_seq_cst) != core_of(turns)) {
        (void)let_go(neighbour->bell); /* it has gone to another core, and lies there */
    }
}

void trma_node_turn_begin(struct trma_turns *turns) {
    atomic_uint *attends = &turns->words[turns->me]->attends;

    turns->depth++;
    /* Relaxed: the caller's own. */
    if (atomic_load_explicit(attends, memory_order_relaxed)) {
        return;
    }
    trma_node_turn_tell(turns);
    find_neighbours(turns);
    /* seq_cst, before the look at who lies: who lies down looks at this word after it has said so. */
    atomic_store_explicit(attends, 1, memory_order_seq_cst);
    for (uint32_t i = 0; i < turns->n; i++) {
        keep(turns, &turns->neighbours[i]);
    }
}

static void let_all_go(const struct trma_turns *turns) {
    for (uint32_t i = 0; i < turns->n; i++) {
        (void)let_go(turns->neighbours[i].bell);
    }
}

/* Lets all go whom no other one keeps. */
static void hand_on(struct trma_turns *turns) {
    find_neighbours(turns); /* some may have come since, and count on the caller */
    for (uint32_t i = 0; i < turns->n; i++) {
        if (is_keeper(turns, &turns->neighbours[i])) {
            return;
        }
    }
    let_all_go(turns);
}

void trma_node_turn_pause(struct trma_turns *turns) {
    /* seq_cst, before the look at who is kept: as above. */
    atomic_store_explicit(&turns->words[turns->me]->attends, 0, memory_order_seq_cst);
    hand_on(turns);
}

void trma_node_turn_end(struct trma_turns *turns) {
    if (--turns->depth == 0) {
        trma_node_turn_pause(turns);
    }
}

bool trma_node_turn_wake_next(const struct trma_turns *turns) {
    for (uint32_t i = 0; i < turns->n; i++) {
        struct trma_doorbell *bell = turns->neighbours[i].bell;
        /* Acquire: `seen` and `wanted` are those of this sleep. */
        if (atomic_load_explicit(&bell->lying, memory_order_acquire) == TRMA_LYING_KEPT &&
            trma_node_doorbell_is_called(bell) && let_go(bell)) {
            return true;
        }
    }
    return false;
}

bool trma_node_turn_hand_to(const struct trma_turns *turns, uint32_t member) {
    /* One who has gone to another core since is woken there: that costs time, not correctness. */
    return trma_node_turn_is_beside(turns, member) && end_keeping(turns->bells[member], true);
}

unsigned trma_node_turn_patience(struct trma_turns *turns) {
    return turns->vain < TRMA_TURN_VAIN || ++turns->waits % TRMA_TURN_TRIAL == 0 ? TRMA_TURN_YIELDS : 1;
}

void trma_node_turn_learn(struct trma_turns *turns, unsigned yields, bool is_over) {
    /* Of a core's members each has had a turn by then, or two: what takes longer was not due to the yields.
     */
    const unsigned enough = 2 * (turns->n + 1);

    if (!is_over) {
        turns->vain += yields == TRMA_TURN_YIELDS;
    } else if (yields <= enough && yields > (turns->vain < TRMA_TURN_VAIN ? 0 : 1)) {
        turns->vain = 0; /* of the waits that yield once only the one that tries more can tell */
    }
}

enum company { ALONE, BUSY, ATTENDED };

/* What the neighbours that do not sleep do. */
static enum company look_around(const struct trma_turns *turns) {
    enum company company = ALONE;

    for (uint32_t i = 0; i < turns->n; i++) {
        const struct trma_turn_neighbour *other = &turns->neighbours[i];
        if (is_keeper(turns, other)) {
            return ATTENDED;
        }
        if (!trma_node_doorbell_is_asleep(other->bell)) {
            company = BUSY;
        }
    }
    return company;
}

bool trma_node_turn_is_alone(const struct trma_turns *turns) {
    return look_around(turns) == ALONE;
}

/* Sleeps, having announced itself, until woken or for so long; true when somebody has rung, or woken it. */
static bool lie(struct trma_turns *turns, struct trma_doorbell *bell, unsigned rings, uint32_t wanted,
                uint64_t timeout_ns) {
    atomic_store_explicit(&bell->seen, rings, memory_order_relaxed);
    atomic_store_explicit(&bell->wanted, wanted, memory_order_relaxed);
    /* Release: the two before it. seq_cst, before the look at who attends: see trma_node_turn_begin. */
    atomic_store_explicit(&bell->lying, TRMA_LYING_KEPT, memory_order_seq_cst);
    if (look_around(turns) != ATTENDED) {
        /* The others that the caller kept have nobody any more, either. */
        (void)let_go(bell);
        let_all_go(turns);
    }
    const bool is_woken = trma_node_doorbell_lie_down(bell, rings, timeout_ns);
    /* seq_cst, before the owner announces that it sleeps otherwise: who rings then must not see it kept. */
    atomic_store_explicit(&bell->lying, TRMA_LYING_NOT, memory_order_seq_cst);
    return is_woken || atomic_load_explicit(&bell->rings, memory_order_relaxed) != rings;
}

enum trma_turn_sleep trma_node_turn_sleep(struct trma_turns *turns, uint32_t (*missing)(void *argument),
                                          void *argument, uint64_t timeout_ns) {
    struct trma_doorbell *bell = turns->bells[turns->me];
    enum trma_turn_sleep sleep = TRMA_TURN_RUNG;

    find_neighbours(turns); /* as they come and go */
    if (look_around(turns) == ALONE) {
        return TRMA_TURN_STAYED; /* nobody is to ring for it */
    }
    /* Before `missing` is looked at, as in trma_node_doorbell_sleep. */
    const unsigned rings = atomic_load_explicit(&bell->rings, memory_order_acquire);
    /* seq_cst: of two that lie down on one core at the same time one sees that the other one does, and stays.
     */
    trma_node_doorbell_set_asleep(bell, true);
    atomic_fetch_add_explicit(&bell->sleepers, 1, memory_order_seq_cst);
    /* With who rings: it sees a sleeper, or its word is seen here. */
    atomic_thread_fence(memory_order_seq_cst);
    find_neighbours(turns); /* again: who came meanwhile may count on the caller */
    const uint32_t wanted = missing(argument);
    if (wanted && look_around(turns) == ALONE) {
        sleep = TRMA_TURN_STAYED;
    } else if (wanted) {
        sleep = lie(turns, bell, rings, wanted, timeout_ns) ? TRMA_TURN_RUNG : TRMA_TURN_QUIET;
    }
    atomic_fetch_sub_explicit(&bell->sleepers, 1, memory_order_relaxed);
    trma_node_doorbell_set_asleep(bell, false);
    return sleep;
}
