/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_watch.h"

#include "move_hint.h"

static atomic_uint news;

void trma_move_watch_reset(struct trma_move_watch *watch) {
    trma_move_hint_set(&watch->left, TRMA_MOVE_WATCH_EVERY);
    trma_move_hint_set(&watch->is_ready, false);
    trma_move_hint_set(&watch->known, 0);
    trma_move_hint_set(&watch->quick, 0);
}

enum trma_move_watch_look trma_move_watch_take(struct trma_move_watch *watch) {
    const unsigned left = trma_move_hint_get(&watch->left);

    if (left > 0) {
        trma_move_hint_set(&watch->left, left - 1);
        return TRMA_MOVE_WATCH_NOTHING;
    }
    if (trma_move_hint_get(&watch->is_ready)) {
        return TRMA_MOVE_WATCH_TIME;
    }
    trma_move_hint_set(&watch->is_ready, true);
    return TRMA_MOVE_WATCH_PREPARE;
}

static void await_next(struct trma_move_watch *watch) {
    trma_move_hint_set(&watch->left, TRMA_MOVE_WATCH_EVERY);
    trma_move_hint_set(&watch->is_ready, false);
    trma_move_hint_set(&watch->quick, 0);
}

/* One that lost its processor must not make the next ones look quick. */
static uint64_t between(uint64_t known, uint64_t ticks) {
    const uint64_t most = 2 * known;

    return known == 0 ? ticks : (3 * known + (ticks < most ? ticks : most)) / 4;
}

bool trma_move_watch_note(struct trma_move_watch *watch, uint64_t ticks) {
    const uint64_t known = trma_move_hint_get(&watch->known);
    const unsigned quick = trma_move_hint_get(&watch->quick) + 1;

    if (TRMA_MOVE_WATCH_TIMES * ticks >= known) {
        const uint64_t now = between(known, ticks + 1);
        trma_move_hint_set(&watch->known, now < UINT32_MAX / 4 ? (unsigned)now : UINT32_MAX / 4);
        await_next(watch);
        return false;
    }
    if (quick < TRMA_MOVE_WATCH_SURE) {
        trma_move_hint_set(&watch->quick, quick); /* the next run is timed, too */
        return false;
    }
    /* What they take now is another matter. */
    trma_move_hint_set(&watch->known, 0);
    await_next(watch);
    atomic_fetch_add_explicit(&news, 1, memory_order_relaxed);
    return true;
}

unsigned trma_move_watch_news(void) {
    return trma_move_hint_get(&news);
}
