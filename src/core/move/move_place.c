/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_place.h"

#include <stdatomic.h>

enum way { THROUGH, PAST, WAYS };

struct trma_move_place {
    atomic_uintptr_t to;
    atomic_uintptr_t from;
    atomic_bool is_long;    /* the last run was */
    atomic_uint pace[WAYS]; /* ticks for 64 KiB; 0: not known */
    atomic_uint way;        /* of the run under way, or of the last one */
    atomic_uint chosen;     /* the way that took less the last time */
    atomic_uint left;       /* runs until the other one is tried */
    atomic_uint wait;       /* what `left` began with */
    atomic_uint same;       /* runs before, at most SETTLED, that took the same way as the one under way */
};

/* After so many of them, what is in the cache is there because of this way. */
enum { SETTLED = 2 };

/* Relaxed, all here: no more than hints. */
static unsigned get(const atomic_uint *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(atomic_uint *word, unsigned value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static struct trma_move_place *slot_of(uintptr_t to, uintptr_t from) {
    static struct trma_move_place places[TRMA_MOVE_PLACE_COUNT];
    /* Fibonacci hashing (Knuth 6.4): the upper bits of the product depend on all of the address. */
    const uint64_t mixed = ((uint64_t)to + 3 * (uint64_t)from) * UINT64_C(0x9E3779B97F4A7C15);

    return &places[(mixed >> 32) % TRMA_MOVE_PLACE_COUNT];
}

static bool is_of(const struct trma_move_place *place, uintptr_t to, uintptr_t from) {
    return atomic_load_explicit(&place->to, memory_order_relaxed) == to &&
           atomic_load_explicit(&place->from, memory_order_relaxed) == from;
}

struct trma_move_place *trma_move_place_find(uintptr_t to, uintptr_t from) {
    struct trma_move_place *place = slot_of(to, from);

    return is_of(place, to, from) ? place : NULL;
}

struct trma_move_place *trma_move_place_learn(uintptr_t to, uintptr_t from) {
    struct trma_move_place *place = slot_of(to, from);

    if (!is_of(place, to, from)) {
        atomic_store_explicit(&place->to, to, memory_order_relaxed);
        atomic_store_explicit(&place->from, from, memory_order_relaxed);
        atomic_store_explicit(&place->is_long, false, memory_order_relaxed);
        set(&place->pace[THROUGH], 0);
        set(&place->pace[PAST], 0);
        set(&place->way, THROUGH);
        set(&place->chosen, THROUGH);
        set(&place->left, 0);
        set(&place->wait, TRMA_MOVE_PLACE_WAIT_LEAST);
        set(&place->same, 0);
    }
    return place;
}

static enum way faster(const struct trma_move_place *place) {
    const uint64_t through = get(&place->pace[THROUGH]);
    const uint64_t past = get(&place->pace[PAST]);

    return past != 0 && past * 8 < through * TRMA_MOVE_PLACE_EIGHTHS ? PAST : THROUGH;
}

static enum way choose(struct trma_move_place *place, enum way way) {
    const enum way best = faster(place);

    if (get(&place->same) < SETTLED || get(&place->pace[way]) == 0) {
        return way; /* not measured yet */
    }
    if (best != (enum way)get(&place->chosen)) {
        set(&place->chosen, best);
        set(&place->wait, TRMA_MOVE_PLACE_WAIT_LEAST);
        set(&place->left, TRMA_MOVE_PLACE_WAIT_LEAST);
    }
    if (way != best) {
        return best;
    }
    const unsigned left = get(&place->left);
    const unsigned wait = get(&place->wait);
    if (left > 0) {
        set(&place->left, left - 1);
        return way;
    }
    set(&place->left, wait);
    set(&place->wait, wait * 2 < TRMA_MOVE_PLACE_WAIT_MOST ? wait * 2 : TRMA_MOVE_PLACE_WAIT_MOST);
    return way == PAST ? THROUGH : PAST;
}

static bool is_long_one(const struct trma_move_place *place) {
    return atomic_load_explicit(&place->is_long, memory_order_relaxed);
}

bool trma_move_place_begin(struct trma_move_place *place) {
    if (is_long_one(place)) {
        return true;
    }
    const enum way last = get(&place->way);
    const enum way way = choose(place, last);

    const unsigned same = get(&place->same);

    set(&place->same, way != last ? 0 : same < SETTLED ? same + 1 : SETTLED);
    set(&place->way, way);
    return way == PAST;
}

void trma_move_place_end(struct trma_move_place *place, bool is_long, uint64_t ticks, size_t bytes) {
    const unsigned way = get(&place->way);
    const uint64_t known = get(&place->pace[way]);
    /* A run that was cold by chance, or lost its processor, must not change the way; but of the one that is
     * only looked at there are few runs. */
    const uint64_t weight = way == get(&place->chosen) ? 8 : 2;
    const bool was_chosen = !is_long && !is_long_one(place);

    atomic_store_explicit(&place->is_long, is_long, memory_order_relaxed);
    if (!was_chosen || bytes < TRMA_MOVE_PLACE_LEAST || get(&place->same) < SETTLED) {
        return;
    }
    uint64_t now = ticks * (64 << 10) / bytes + 1;
    if (known != 0) {
        now = ((now < 2 * known ? now : 2 * known) + (weight - 1) * known) / weight;
    }
    set(&place->pace[way], now < UINT32_MAX / 4 ? (unsigned)now : UINT32_MAX / 4);
}
