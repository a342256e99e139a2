/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_place.h"

#include <stdatomic.h>

#include "move_hint.h"

enum way { THROUGH, PAST, WAYS };

struct trma_move_place {
    atomic_uintptr_t to;
    atomic_uintptr_t from;
    atomic_bool is_long;    /* the last run was */
    atomic_uint pace[WAYS]; /* ticks for 64 KiB; 0: not known */
    atomic_uint way;        /* of the run under way, or of the last one */
    atomic_uint chosen;     /* the way that took less the last time */
    atomic_uint looked;     /* its pace when it was chosen, or seen to be the faster one again */
    atomic_uint left;       /* runs until the other one is tried */
    atomic_uint most_left;  /* what it may be at most after the next look */
    atomic_uint used;       /* the number of the last run that began here */
    atomic_uint same;       /* runs before, at most SETTLED, that took the same way as the one under way */
};

/* After so many of them, what is in the cache is there because of this way. */
enum { SETTLED = 2 };

/* Grows with every run that begins; wraps around. */
static atomic_uint runs;

static void note_use(struct trma_move_place *place) {
    trma_move_hint_set(&place->used, trma_move_hint_get(&runs));
    trma_move_hint_set(&runs, trma_move_hint_get(&runs) + 1);
}

/* The TRMA_MOVE_PLACE_TOGETHER places, of which one may be this pair's. */
static struct trma_move_place *group_of(uintptr_t to, uintptr_t from) {
    enum { GROUPS = TRMA_MOVE_PLACE_COUNT / TRMA_MOVE_PLACE_TOGETHER };
    static struct trma_move_place places[GROUPS][TRMA_MOVE_PLACE_TOGETHER];

    return places[trma_move_hint_slot((uint64_t)to + 3 * (uint64_t)from, GROUPS)];
}

static bool is_of(const struct trma_move_place *place, uintptr_t to, uintptr_t from) {
    return atomic_load_explicit(&place->to, memory_order_relaxed) == to &&
           atomic_load_explicit(&place->from, memory_order_relaxed) == from;
}

struct trma_move_place *trma_move_place_find(uintptr_t to, uintptr_t from) {
    struct trma_move_place *group = group_of(to, from);

    for (int i = 0; i < TRMA_MOVE_PLACE_TOGETHER; i++) {
        if (is_of(&group[i], to, from)) {
            return &group[i];
        }
    }
    return NULL;
}

/* The one of its group that was not used for longest. */
static struct trma_move_place *oldest_of(struct trma_move_place *group) {
    const unsigned now = trma_move_hint_get(&runs);
    struct trma_move_place *oldest = group;

    for (int i = 1; i < TRMA_MOVE_PLACE_TOGETHER; i++) {
        if (now - trma_move_hint_get(&group[i].used) > now - trma_move_hint_get(&oldest->used)) {
            oldest = &group[i];
        }
    }
    return oldest;
}

struct trma_move_place *trma_move_place_learn(uintptr_t to, uintptr_t from) {
    struct trma_move_place *place = trma_move_place_find(to, from);

    if (!place) {
        place = oldest_of(group_of(to, from));
        atomic_store_explicit(&place->to, to, memory_order_relaxed);
        atomic_store_explicit(&place->from, from, memory_order_relaxed);
        atomic_store_explicit(&place->is_long, false, memory_order_relaxed);
        trma_move_hint_set(&place->pace[THROUGH], 0);
        trma_move_hint_set(&place->pace[PAST], 0);
        trma_move_hint_set(&place->way, THROUGH);
        trma_move_hint_set(&place->chosen, THROUGH);
        trma_move_hint_set(&place->looked, 0);
        trma_move_hint_set(&place->left, 0);
        trma_move_hint_set(&place->most_left, TRMA_MOVE_PLACE_WAIT_FIRST);
        trma_move_hint_set(&place->same, 0);
        note_use(place);
    }
    return place;
}

static enum way faster(const struct trma_move_place *place) {
    const uint64_t through = trma_move_hint_get(&place->pace[THROUGH]);
    const uint64_t past = trma_move_hint_get(&place->pace[PAST]);

    return past != 0 && past * 8 < through * TRMA_MOVE_PLACE_EIGHTHS ? PAST : THROUGH;
}

static enum way other_than(enum way way) {
    return way == PAST ? THROUGH : PAST;
}

/* Runs until the next look at the other way. A pace is 0 only if another thread begins anew just now. */
static unsigned patience(const struct trma_move_place *place, enum way best) {
    const uint64_t own = trma_move_hint_get(&place->pace[best]);
    const uint64_t other = trma_move_hint_get(&place->pace[other_than(best)]);
    const uint64_t longer = other > own ? other - own : 0;
    const uint64_t runs =
        TRMA_MOVE_PLACE_WAIT_LEAST + longer * TRMA_MOVE_PLACE_WAIT_MORE / (own != 0 ? own : 1);

    return runs < TRMA_MOVE_PLACE_WAIT_MOST ? (unsigned)runs : TRMA_MOVE_PLACE_WAIT_MOST;
}

/* By a quarter since the last look. */
static bool has_slowed(const struct trma_move_place *place, enum way way) {
    return (uint64_t)trma_move_hint_get(&place->pace[way]) * 4 >
           (uint64_t)trma_move_hint_get(&place->looked) * 5;
}

/* The next look is the later, the more of them have found the same. */
static void await_look(struct trma_move_place *place, enum way best) {
    const unsigned runs = patience(place, best);
    const unsigned most = trma_move_hint_get(&place->most_left);

    trma_move_hint_set(&place->chosen, best);
    trma_move_hint_set(&place->looked, trma_move_hint_get(&place->pace[best]));
    trma_move_hint_set(&place->left, runs < most ? runs : most);
    if (most < TRMA_MOVE_PLACE_WAIT_MOST) {
        trma_move_hint_set(&place->most_left, most * TRMA_MOVE_PLACE_WAIT_GROWTH);
    }
}

static enum way choose(struct trma_move_place *place, enum way way) {
    const enum way best = faster(place);

    if (trma_move_hint_get(&place->same) < SETTLED || trma_move_hint_get(&place->pace[way]) == 0) {
        return way; /* not measured yet */
    }
    if (best != (enum way)trma_move_hint_get(&place->chosen)) {
        trma_move_hint_set(&place->most_left, TRMA_MOVE_PLACE_WAIT_FIRST);
        await_look(place, best);
        return best;
    }
    if (best != way) {
        await_look(place, best);
        return best;
    }
    const unsigned left = trma_move_hint_get(&place->left);
    if (left > 0 && !has_slowed(place, way)) {
        trma_move_hint_set(&place->left, left - 1);
        return way;
    }
    return other_than(way);
}

static bool is_long_one(const struct trma_move_place *place) {
    return atomic_load_explicit(&place->is_long, memory_order_relaxed);
}

bool trma_move_place_begin(struct trma_move_place *place) {
    note_use(place);
    if (is_long_one(place)) {
        return true;
    }
    const enum way last = trma_move_hint_get(&place->way);
    const enum way way = choose(place, last);

    const unsigned same = trma_move_hint_get(&place->same);

    trma_move_hint_set(&place->same, way != last ? 0 : same < SETTLED ? same + 1 : SETTLED);
    trma_move_hint_set(&place->way, way);
    return way == PAST;
}

uint64_t trma_move_place_usual_below(const struct trma_move_place *place) {
    return 4 * (uint64_t)trma_move_hint_get(&place->pace[trma_move_hint_get(&place->way)]);
}

/* A run that was cold by chance, or lost its processor, must not change the way; but of the one that is only
 * looked at there are few runs, and none is faster by chance. */
static uint64_t weight_of(bool is_chosen, bool is_faster) {
    if (is_chosen) {
        return 8;
    }
    return is_faster ? 1 : 2;
}

void trma_move_place_end(struct trma_move_place *place, bool is_long, uint64_t ticks, size_t bytes) {
    const unsigned way = trma_move_hint_get(&place->way);
    const uint64_t known = trma_move_hint_get(&place->pace[way]);
    const bool was_chosen = !is_long && !is_long_one(place);

    atomic_store_explicit(&place->is_long, is_long, memory_order_relaxed);
    if (!was_chosen || bytes < TRMA_MOVE_PLACE_LEAST || trma_move_hint_get(&place->same) < SETTLED) {
        return;
    }
    uint64_t now = ticks * (64 << 10) / bytes + 1;
    if (known != 0) {
        const uint64_t weight = weight_of(way == trma_move_hint_get(&place->chosen), now < known);
        now = ((now < 2 * known ? now : 2 * known) + (weight - 1) * known) / weight;
    }
    trma_move_hint_set(&place->pace[way], now < UINT32_MAX / 4 ? (unsigned)now : UINT32_MAX / 4);
}
