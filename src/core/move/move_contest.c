/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_contest.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "move_hint.h"

/* What the puts do. */
enum stage {
    THROUGH, /* through the caches */
    AGAIN,   /* as before, until there is one to the place where one was contested */
    TRIAL,   /* past them, after a first one, which has moved the lines away */
    PAST     /* past them, but for looks */
};

struct trma_move_contest {
    atomic_uintptr_t part; /* which one; 0: none yet */
    atomic_uint stage;
    atomic_uint left;  /* puts until something is to be done; of PAST, bytes */
    atomic_uint slow;  /* puts to one place that were contested, one after the other */
    atomic_uint vain;  /* puts of this trial that took too long */
    atomic_uint pace;  /* the fastest of these: ticks for 64 KiB */
    atomic_uint quick; /* looks that found nothing contested, one after the other */
    /* Where the next put is waited for: where one was contested, or its beginning has gone through the caches
     * (0: nowhere yet). */
    atomic_uintptr_t place;
};

static void go_through(struct trma_move_contest *contest, unsigned left) {
    trma_move_hint_set(&contest->stage, THROUGH);
    trma_move_hint_set(&contest->slow, 0);
    trma_move_hint_set(&contest->left, left);
}

static void go_past(struct trma_move_contest *contest, size_t size) {
    trma_move_hint_set(&contest->stage, PAST);
    trma_move_hint_set(&contest->quick, 0);
    trma_move_hint_set(&contest->left, trma_move_contest_between_looks(size));
    atomic_store_explicit(&contest->place, 0, memory_order_relaxed);
}

struct trma_move_contest *trma_move_contest_find(uintptr_t to) {
    static struct trma_move_contest parts[TRMA_MOVE_CONTEST_PARTS];
    const uintptr_t part = to / TRMA_MOVE_CONTEST_PART;
    struct trma_move_contest *contest = &parts[trma_move_hint_slot(part, TRMA_MOVE_CONTEST_PARTS)];

    if (atomic_load_explicit(&contest->part, memory_order_relaxed) != part) {
        atomic_store_explicit(&contest->part, part, memory_order_relaxed);
        go_through(contest, TRMA_MOVE_CONTEST_EVERY - 1);
    }
    return contest;
}

bool trma_move_contest_pass(uintptr_t to) {
    struct trma_move_contest *contest = trma_move_contest_find(to);
    const unsigned left = trma_move_hint_get(&contest->left);

    if (left == 0 || trma_move_hint_get(&contest->stage) != THROUGH) {
        return false;
    }
    trma_move_hint_set(&contest->left, left - 1);
    return true;
}

/* What went past the caches lies in memory, and would be slow to write through them whoever reads it. So the
 * beginning of a put goes through them, and that of the next one to the same place is the look. */
static struct trma_move_contest_way take_past(struct trma_move_contest *contest, uintptr_t to, size_t size) {
    const unsigned left = trma_move_hint_get(&contest->left);
    const uintptr_t place = atomic_load_explicit(&contest->place, memory_order_relaxed);
    const bool is_due = left <= size;
    const bool is_look = place != 0 && (to == place || is_due); /* due: it has not come again */

    if (!is_look && !is_due) {
        trma_move_hint_set(&contest->left, left - (unsigned)size);
        return (struct trma_move_contest_way){
            .is_past = true, .is_timed = false, .bytes = size, .size = size};
    }
    if (!is_look) {
        atomic_store_explicit(&contest->place, to, memory_order_relaxed);
        trma_move_hint_set(&contest->left, trma_move_contest_between_looks(size));
    }
    return (struct trma_move_contest_way){
        .is_past = false, .is_timed = is_look, .bytes = trma_move_contest_look_bytes(size), .size = size};
}

struct trma_move_contest_way trma_move_contest_take(struct trma_move_contest *contest, uintptr_t to,
                                                    size_t size) {
    const unsigned stage = trma_move_hint_get(&contest->stage);
    const unsigned left = trma_move_hint_get(&contest->left);

    if (stage == PAST) {
        return take_past(contest, to, size);
    }
    const bool is_back = stage == AGAIN && to == atomic_load_explicit(&contest->place, memory_order_relaxed);
    const bool is_timed = left == 0 || is_back;
    if (!is_timed) {
        trma_move_hint_set(&contest->left, left - 1);
    } else {
        atomic_store_explicit(&contest->place, to, memory_order_relaxed);
    }
    return (struct trma_move_contest_way){
        .is_past = stage == TRIAL, .is_timed = is_timed, .bytes = size, .size = size};
}

/* One put that lost its processor must not change the way, nor must one time that the owner reads: what is
 * contested once may be so at every place. */
static void note_through(struct trma_move_contest *contest, unsigned pace, bool is_contested) {
    const unsigned slow = trma_move_hint_get(&contest->slow);

    if (!is_contested) {
        go_through(contest, TRMA_MOVE_CONTEST_EVERY - 1);
        return;
    }
    if (slow == 0 || pace < trma_move_hint_get(&contest->pace)) {
        trma_move_hint_set(&contest->pace, pace);
    }
    trma_move_hint_set(&contest->slow, slow + 1);
    if (slow + 1 == TRMA_MOVE_CONTEST_SURE) {
        trma_move_hint_set(&contest->vain, 0);
        trma_move_hint_set(&contest->stage, TRIAL);
        trma_move_hint_set(&contest->left, 1);
    } else {
        trma_move_hint_set(&contest->stage, AGAIN);
        trma_move_hint_set(&contest->left, TRMA_MOVE_CONTEST_OTHERS);
    }
}

static void note_trial(struct trma_move_contest *contest, unsigned pace, size_t size) {
    const unsigned vain = trma_move_hint_get(&contest->vain) + 1;

    if (pace <= trma_move_hint_get(&contest->pace) / 2) {
        go_past(contest, size);
    } else if (vain == TRMA_MOVE_CONTEST_VAIN) {
        go_through(contest, TRMA_MOVE_CONTEST_WAIT_IN_VAIN);
    } else {
        trma_move_hint_set(&contest->vain, vain);
    }
}

/* After one that is quick the next put there is one, too. */
static void note_look(struct trma_move_contest *contest, bool is_contested, size_t size) {
    const unsigned quick = trma_move_hint_get(&contest->quick) + 1;

    if (is_contested) {
        go_past(contest, size);
    } else if (quick == TRMA_MOVE_CONTEST_QUICK_LOOKS) {
        go_through(contest, TRMA_MOVE_CONTEST_EVERY - 1);
    } else {
        trma_move_hint_set(&contest->quick, quick);
    }
}

static unsigned pace_of(const struct trma_move_contest_way *way, uint64_t ticks) {
    const uint64_t pace = ticks * (64 << 10) / way->bytes;

    return pace < UINT32_MAX / 4 ? (unsigned)pace : UINT32_MAX / 4;
}

bool trma_move_contest_is_close(const struct trma_move_contest_way *way, uint64_t ticks, uint64_t past) {
    const uint64_t pace = pace_of(way, ticks);
    const uint64_t contested = trma_move_contest_times(way->size) * past;

    return !way->is_past && pace < contested && 2 * pace >= contested;
}

void trma_move_contest_note(struct trma_move_contest *contest, const struct trma_move_contest_way *way,
                            uint64_t ticks, uint64_t past) {
    const unsigned pace = pace_of(way, ticks);
    const bool is_contested = past != 0 && pace >= trma_move_contest_times(way->size) * past;

    switch (trma_move_hint_get(&contest->stage)) {
    case THROUGH:
    case AGAIN:
        note_through(contest, pace, is_contested);
        break;
    case TRIAL:
        note_trial(contest, pace, way->size);
        break;
    default:
        note_look(contest, is_contested, way->size);
        break;
    }
}
