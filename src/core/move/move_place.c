/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_place.h"

#include <stdatomic.h>

#include "../node/node_stream.h"
#include "move_hint.h"
#include "move_ways.h"

struct trma_move_place {
    atomic_uintptr_t to;
    atomic_uintptr_t from;
    atomic_size_t length; /* of the last run */
    atomic_bool is_timed;
    atomic_bool is_long;          /* the one under way, as far as is known, goes past the cache anyway */
    struct trma_move_ways ways;   /* through the cache, or else past it */
    struct trma_move_watch watch; /* of those that go past it because that took less */
    atomic_uint used;             /* the number of the last run that began here */
};

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

struct trma_move_place *trma_move_place_learn(uintptr_t to, uintptr_t from, bool is_timed) {
    struct trma_move_place *place = trma_move_place_find(to, from);

    if (!place) {
        place = oldest_of(group_of(to, from));
        atomic_store_explicit(&place->to, to, memory_order_relaxed);
        atomic_store_explicit(&place->from, from, memory_order_relaxed);
        atomic_store_explicit(&place->length, 0, memory_order_relaxed);
        atomic_store_explicit(&place->is_timed, false, memory_order_relaxed);
        atomic_store_explicit(&place->is_long, false, memory_order_relaxed);
        trma_move_ways_reset(&place->ways);
        trma_move_watch_reset(&place->watch);
        note_use(place);
    }
    if (is_timed) {
        atomic_store_explicit(&place->is_timed, true, memory_order_relaxed);
    }
    return place;
}

static size_t length_of(const struct trma_move_place *place) {
    return atomic_load_explicit(&place->length, memory_order_relaxed);
}

bool trma_move_place_is_lengthy(const struct trma_move_place *place) {
    return length_of(place) >= TRMA_MOVE_PLACE_LENGTHY;
}

bool trma_move_place_is_timed(const struct trma_move_place *place) {
    return atomic_load_explicit(&place->is_timed, memory_order_relaxed);
}

bool trma_move_place_begin(struct trma_move_place *place, size_t alone, size_t together) {
    const size_t length = length_of(place);
    const size_t beside = length >= TRMA_MOVE_PLACE_LEAST ? trma_node_stream_begin(length) : 0;
    const bool is_long = length >= alone || beside + length >= together;

    note_use(place);
    atomic_store_explicit(&place->is_long, is_long, memory_order_relaxed);
    return is_long || (trma_move_place_is_timed(place) && trma_move_ways_begin(&place->ways));
}

/* Neither way was chosen for what it takes. */
static bool is_long_one(const struct trma_move_place *place) {
    return atomic_load_explicit(&place->is_long, memory_order_relaxed);
}

enum trma_move_watch_look trma_move_place_watch(struct trma_move_place *place) {
    const bool was_chosen = !is_long_one(place) && trma_move_ways_has_chosen_other(&place->ways);

    return was_chosen ? trma_move_watch_take(&place->watch) : TRMA_MOVE_WATCH_NOTHING;
}

void trma_move_place_note_watched(struct trma_move_place *place, uint64_t ticks) {
    if (trma_move_watch_note(&place->watch, ticks)) {
        trma_move_ways_look_soon(&place->ways);
    }
}

uint64_t trma_move_place_usual_below(const struct trma_move_place *place) {
    return 4 * trma_move_ways_pace(&place->ways);
}

void trma_move_place_end(struct trma_move_place *place, size_t length, uint64_t ticks, size_t bytes) {
    atomic_store_explicit(&place->length, length, memory_order_relaxed);
    if (!is_long_one(place) && bytes >= TRMA_MOVE_PLACE_LEAST) {
        trma_move_ways_end(&place->ways, ticks, bytes);
    }
}
