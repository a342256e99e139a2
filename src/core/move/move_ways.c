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
    trma_move_hint_set(&ways->left, 0);
    trma_move_hint_set(&ways->most_left, 0);
    trma_move_hint_set(&ways->same, 0);
}

static enum way faster(const struct trma_move_ways *ways) {
    const uint64_t usual = trma_move_hint_get(&ways->pace[USUAL]);
    const uint64_t other = trma_move_hint_get(&ways->pace[OTHER]);

    return other != 0 && other * 8 < usual * TRMA_MOVE_WAYS_EIGHTHS ? OTHER : USUAL;
}

static enum way other_than(enum way way) {
    return way == OTHER ? USUAL : OTHER;
}

/* Times until the next look at the other way. A pace is 0 only if another thread begins anew just now. */
static unsigned patience(const struct trma_move_ways *ways, enum way best) {
    const uint64_t own = trma_move_hint_get(&ways->pace[best]);
    const uint64_t other = trma_move_hint_get(&ways->pace[other_than(best)]);
    const uint64_t longer = other > own ? other - own : 0;
    const uint64_t times =
        TRMA_MOVE_WAYS_WAIT_LEAST + longer * TRMA_MOVE_WAYS_WAIT_MORE / (own != 0 ? own : 1);

    return times < TRMA_MOVE_WAYS_WAIT_MOST ? (unsigned)times : TRMA_MOVE_WAYS_WAIT_MOST;
}

/* By a quarter, from the slowest that a look has found to be the faster way. */
static bool has_slowed(const struct trma_move_ways *ways, enum way way) {
    return (uint64_t)trma_move_hint_get(&ways->pace[way]) * 4 >
           (uint64_t)trma_move_hint_get(&ways->looked) * 5;
}

/* The next look is the later, the more of them have found the same. */
static void await_look(struct trma_move_ways *ways, enum way best) {
    const unsigned times = patience(ways, best);
    const unsigned known = trma_move_hint_get(&ways->most_left);
    const unsigned most = known != 0 ? known : TRMA_MOVE_WAYS_WAIT_FIRST;
    const unsigned pace = trma_move_hint_get(&ways->pace[best]);

    if (best != (enum way)trma_move_hint_get(&ways->chosen) || pace > trma_move_hint_get(&ways->looked)) {
        trma_move_hint_set(&ways->looked, pace);
    }
    trma_move_hint_set(&ways->chosen, best);
    trma_move_hint_set(&ways->left, times < most ? times : most);
    if (most < TRMA_MOVE_WAYS_WAIT_MOST) {
        trma_move_hint_set(&ways->most_left, most * TRMA_MOVE_WAYS_WAIT_GROWTH);
    }
}

static enum way choose(struct trma_move_ways *ways, enum way way) {
    const enum way best = faster(ways);

    if (trma_move_hint_get(&ways->same) < SETTLED || trma_move_hint_get(&ways->pace[way]) == 0) {
        return way; /* not measured yet */
    }
    if (best != (enum way)trma_move_hint_get(&ways->chosen)) {
        if (best == way && trma_move_hint_get(&ways->same) >= CONFIRMED) {
            trma_move_hint_set(&ways->most_left, 0);
            await_look(ways, best);
            /* Of the times until the next look those that have confirmed it are over. */
            trma_move_hint_set(&ways->left, TRMA_MOVE_WAYS_WAIT_FIRST - (CONFIRMED - SETTLED));
        }
        return best;
    }
    if (best != way) {
        await_look(ways, best);
        return best;
    }
    const unsigned left = trma_move_hint_get(&ways->left);
    if (left > 0 && !has_slowed(ways, way)) {
        trma_move_hint_set(&ways->left, left - 1);
        return way;
    }
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

bool trma_move_ways_is_sure_of_usual(const struct trma_move_ways *ways) {
    return trma_move_hint_get(&ways->chosen) == USUAL &&
           trma_move_hint_get(&ways->most_left) >= TRMA_MOVE_WAYS_WAIT_MOST;
}

/* One that was cold by chance, or lost its processor, must not change the way; but of the one that is only
 * looked at there are few, and none is faster by chance. */
static uint64_t weight_of(bool is_chosen, bool is_faster) {
    if (is_chosen) {
        return 8;
    }
    return is_faster ? 1 : 2;
}

void trma_move_ways_end(struct trma_move_ways *ways, uint64_t ticks, size_t bytes) {
    const unsigned way = trma_move_hint_get(&ways->way);
    const uint64_t known = trma_move_hint_get(&ways->pace[way]);

    if (trma_move_hint_get(&ways->same) < SETTLED) {
        return;
    }
    uint64_t now = ticks * (64 << 10) / bytes + 1;
    if (known != 0) {
        const uint64_t weight = weight_of(way == trma_move_hint_get(&ways->chosen), now < known);
        now = ((now < 2 * known ? now : 2 * known) + (weight - 1) * known) / weight;
    }
    trma_move_hint_set(&ways->pace[way], now < UINT32_MAX / 4 ? (unsigned)now : UINT32_MAX / 4);
}
