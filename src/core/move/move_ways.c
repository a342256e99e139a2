/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_ways.h"

#include "move_hint.h"

enum way { USUAL, OTHER };

/* After SETTLED times, what is in the cache is there because of this way; after CONFIRMED, that it takes less
 * is not by chance. */
enum { SETTLED = 2, CONFIRMED = 4 };

void trma_move_ways_reset(struct trma_move_ways *ways) {
    trma_move_hint_set(&ways->pace[USUAL], 0);
    trma_move_hint_set(&ways->pace[OTHER], 0);
    trma_move_hint_set(&ways->way, USUAL);
    trma_move_hint_set(&ways->chosen, USUAL);
    trma_move_hint_set(&ways->looked, 0);
    trma_move_hint_set(&ways->left, TRMA_MOVE_WAYS_WAIT_FIRST);
    trma_move_hint_set(&ways->most_left, 0);
    trma_move_hint_set(&ways->same, 0);
    trma_move_hint_set(&ways->price, 0);
    trma_move_hint_set(&ways->lost, 0);
    trma_move_hint_set(&ways->slow_least, 0);
}

/* By their paces; that of the other way is 0 where it is not known. */
static enum way faster(uint64_t usual, uint64_t other) {
    return other != 0 && other * 8 < usual * TRMA_MOVE_WAYS_EIGHTHS ? OTHER : USUAL;
}

static enum way other_than(enum way way) {
    return way == OTHER ? USUAL : OTHER;
}

/* Times until the next look at the other way, by what the last one has cost. A pace is 0 only if another
 * thread begins anew just now. */
static unsigned patience(const struct trma_move_ways *ways, enum way best) {
    const uint64_t own = trma_move_hint_get(&ways->pace[best]);
    const uint64_t times = TRMA_MOVE_WAYS_WAIT_LEAST + (uint64_t)trma_move_hint_get(&ways->price) *
                                                           TRMA_MOVE_WAYS_WAIT_MORE / (own != 0 ? own : 1);

    return times < TRMA_MOVE_WAYS_WAIT_MOST ? (unsigned)times : TRMA_MOVE_WAYS_WAIT_MOST;
}

/* Whether a time of the chosen way was slow: slower than what is known of the other one, or by a quarter than
 * the slowest pace by which a look has found it to be the faster one. */
static bool is_slow(const struct trma_move_ways *ways, uint64_t now) {
    const enum way chosen = trma_move_hint_get(&ways->chosen);
    const uint64_t usual = chosen == USUAL ? now : trma_move_hint_get(&ways->pace[USUAL]);
    const uint64_t other = chosen == OTHER ? now : trma_move_hint_get(&ways->pace[OTHER]);
    const uint64_t looked = trma_move_hint_get(&ways->looked);

    return faster(usual, other) != chosen || (looked != 0 && now * 4 > looked * 5);
}

/* Slow times, one after the other, have cost twice what a look may: it may change the way in vain. */
static bool has_slowed(const struct trma_move_ways *ways) {
    const uint64_t own = trma_move_hint_get(&ways->looked);
    const uint64_t price = trma_move_hint_get(&ways->price);

    return trma_move_hint_get(&ways->lost) > 2 * (price > 2 * own ? price : 2 * own);
}

/* A look has found that way to be the faster one. */
static void note_found(struct trma_move_ways *ways, enum way best) {
    const unsigned pace = trma_move_hint_get(&ways->pace[best]);

    if (best != (enum way)trma_move_hint_get(&ways->chosen) || pace > trma_move_hint_get(&ways->looked)) {
        trma_move_hint_set(&ways->looked, pace);
    }
    trma_move_hint_set(&ways->chosen, best);
}

/* The next look is the later, the more of them have found the same. */
static void await_look(struct trma_move_ways *ways) {
    const unsigned times = patience(ways, trma_move_hint_get(&ways->chosen));
    const unsigned known = trma_move_hint_get(&ways->most_left);
    const unsigned most = known != 0 ? known : TRMA_MOVE_WAYS_WAIT_FIRST;

    trma_move_hint_set(&ways->left, times < most ? times : most);
    if (most < TRMA_MOVE_WAYS_WAIT_MOST) {
        trma_move_hint_set(&ways->most_left, most * TRMA_MOVE_WAYS_WAIT_GROWTH);
    }
}

/* Of a time after one that was a look. */
static enum way choose_in_look(struct trma_move_ways *ways, enum way way) {
    const enum way best =
        faster(trma_move_hint_get(&ways->pace[USUAL]), trma_move_hint_get(&ways->pace[OTHER]));

    if (best != way) {
        note_found(ways, best);
    } else if (trma_move_hint_get(&ways->same) >= CONFIRMED) {
        trma_move_hint_set(&ways->most_left, 0);
        note_found(ways, best);
        await_look(ways);
        /* Of the times until the next look those that have confirmed it are over. */
        trma_move_hint_set(&ways->left, TRMA_MOVE_WAYS_WAIT_FIRST - (CONFIRMED - SETTLED));
    }
    return best;
}

static enum way choose(struct trma_move_ways *ways, enum way way) {
    const unsigned same = trma_move_hint_get(&ways->same);

    if (same < SETTLED || trma_move_hint_get(&ways->pace[way]) == 0) {
        return way; /* not measured yet */
    }
    if (way != (enum way)trma_move_hint_get(&ways->chosen)) {
        return choose_in_look(ways, way);
    }
    if (same == SETTLED && trma_move_hint_get(&ways->pace[other_than(way)]) != 0) {
        await_look(ways); /* has come back from a look: what that has cost is known */
    }
    const unsigned left = trma_move_hint_get(&ways->left);
    if (left > 0 && !has_slowed(ways)) {
        trma_move_hint_set(&ways->left, left - 1);
        return way;
    }
    trma_move_hint_set(&ways->price, 0);
    trma_move_hint_set(&ways->lost, 0);
    return other_than(way);
}

bool trma_move_ways_begin(struct trma_move_ways *ways) {
    const enum way last = trma_move_hint_get(&ways->way);
    const enum way way = choose(ways, last);
    const unsigned same = trma_move_hint_get(&ways->same);

    trma_move_hint_set(&ways->same, way != last ? 0 : same < CONFIRMED ? same + 1 : CONFIRMED);
    trma_move_hint_set(&ways->way, way);
    return way == OTHER;
}

void trma_move_ways_look_soon(struct trma_move_ways *ways) {
    trma_move_hint_set(&ways->left, 0);
}

bool trma_move_ways_has_chosen_other(const struct trma_move_ways *ways) {
    return trma_move_hint_get(&ways->chosen) == OTHER;
}

uint64_t trma_move_ways_pace(const struct trma_move_ways *ways) {
    return trma_move_hint_get(&ways->pace[trma_move_hint_get(&ways->way)]);
}

bool trma_move_ways_is_looking(const struct trma_move_ways *ways) {
    return trma_move_hint_get(&ways->way) != trma_move_hint_get(&ways->chosen);
}

bool trma_move_ways_is_sure_of_usual(const struct trma_move_ways *ways) {
    return trma_move_hint_get(&ways->chosen) == USUAL &&
           trma_move_hint_get(&ways->most_left) >= TRMA_MOVE_WAYS_WAIT_MOST;
}

/* One that was cold by chance, or lost its processor, must not change the way; but of the way that is only
 * looked at there are few, none is faster by chance, and at the very begin many are cold. */
static uint64_t weight_of(const struct trma_move_ways *ways, enum way way, bool is_faster) {
    if (way != (enum way)trma_move_hint_get(&ways->chosen)) {
        return is_faster ? 1 : 2;
    }
    if (is_faster) {
        return trma_move_hint_get(&ways->pace[other_than(way)]) != 0 ? 8 : 2;
    }
    return 16;
}

/* The pace of a way by what is known of it and what it took now. */
static uint64_t pace_of(const struct trma_move_ways *ways, enum way way, uint64_t now) {
    const uint64_t known = trma_move_hint_get(&ways->pace[way]);
    const uint64_t weight = weight_of(ways, way, now < known);

    return known == 0 ? now : ((now < 2 * known ? now : 2 * known) + (weight - 1) * known) / weight;
}

/* Adds what a time took longer, in ticks for 64 KiB: at most so many times its `own`, it may have lost its
 * processor. */
static void add_longer(atomic_uint *sum, uint64_t now, uint64_t own, uint64_t most) {
    const uint64_t longer = now > own ? now - own : 0;
    const uint64_t all = trma_move_hint_get(sum) + (longer < most * own ? longer : most * own);

    trma_move_hint_set(sum, all < UINT32_MAX ? (unsigned)all : UINT32_MAX);
}

/* Slow times of the chosen way, one after the other, tell how it has become: as the quickest of them. */
static void note_slow(struct trma_move_ways *ways, uint64_t now) {
    const bool goes_on = trma_move_hint_get(&ways->lost) != 0;
    const uint64_t least = goes_on ? trma_move_hint_get(&ways->slow_least) : UINT32_MAX;

    trma_move_hint_set(&ways->slow_least, (unsigned)(now < least ? now : least));
    if (is_slow(ways, now)) {
        add_longer(&ways->lost, now, trma_move_hint_get(&ways->looked), 1);
    } else {
        trma_move_hint_set(&ways->lost, 0);
    }
}

void trma_move_ways_end(struct trma_move_ways *ways, uint64_t ticks, size_t bytes) {
    const enum way way = trma_move_hint_get(&ways->way);
    const bool is_chosen = way == (enum way)trma_move_hint_get(&ways->chosen);
    const bool has_settled = trma_move_hint_get(&ways->same) >= SETTLED;
    const uint64_t now = ticks * (64 << 10) / bytes + 1;

    if (!has_settled || !is_chosen) {
        add_longer(&ways->price, now, trma_move_hint_get(&ways->pace[trma_move_hint_get(&ways->chosen)]), 3);
    } else {
        note_slow(ways, now);
    }
    if (!has_settled) {
        return;
    }
    uint64_t pace = pace_of(ways, way, now);
    if (is_chosen && has_slowed(ways) && pace < trma_move_hint_get(&ways->slow_least)) {
        pace = trma_move_hint_get(&ways->slow_least);
    }
    trma_move_hint_set(&ways->pace[way], pace < UINT32_MAX / 4 ? (unsigned)pace : UINT32_MAX / 4);
}
