/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_joint.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "../node/node_help.h"
#include "../node/node_wait.h"
#include "move_bytes.h"
#include "move_contest.h"
#include "move_hint.h"
#include "move_joint_run.h"
#include "move_stream.h"
#include "move_watch.h"
#include "move_ways.h"

/* What is known of copies of one direction and size. A copy has driven all else out of the first cache: so in
 * one line. */
struct class {
    /* Unless they are large: copies until the next one is timed, and whether all are, by both ways. */
    _Alignas(64) atomic_uint left;
    atomic_bool is_tried;
    /* If they are short: how many of the timed ones were slow last, at most IN_A_ROW; and what the fastest
     * one took alone, ticks for 64 KiB; 0: not known. */
    atomic_uint slow;
    atomic_uint least;
    struct trma_move_ways ways; /* alone, or else jointly */
    atomic_uint news;           /* (move_watch.h) as of the last copy */
};

static uint64_t ticks(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return trma_node_clock_ns();
#endif
}

static void copy_alone(const struct trma_move_joint *copy) {
    if (copy->is_put) {
        trma_move_copy_bytes(copy->mapped, copy->local, copy->size);
    } else {
        trma_move_fetch_bytes(copy->local, copy->mapped, copy->size);
    }
}

static void copy_block(const struct trma_move_joint *copy, const struct trma_joint_block *block) {
    char *mapped = copy->mapped + block->offset;
    char *local = copy->local + block->offset;

    trma_move_copy_part(copy->is_put ? mapped : local, copy->is_put ? local : mapped, block->size);
}

/* False: the target was not asked, and nothing was done. Else all is, and the target has done *blocks. */
static bool copy_jointly(const struct trma_move_joint *copy, uint64_t *blocks) {
    struct trma_joint_ask ask = {.words = copy->words, .peer = copy->peer};
    struct trma_joint_block block;

    if (!trma_node_joint_begin(&ask, copy->own, (uintptr_t)copy->local, copy->place, copy->size,
                               copy->is_put)) {
        return false;
    }
    trma_move_stream_pass(copy->is_put ? copy->mapped : copy->local,
                          copy->is_put ? copy->local : copy->mapped, copy->size);
    while (trma_node_joint_next(&ask, &block)) {
        copy_block(copy, &block);
    }
    *blocks = trma_node_joint_end(&ask, copy->own, &block);
    if (block.size > 0) {
        copy_block(copy, &block);
    }
    return true;
}

/* Sizes from a power of two to the next are alike, whatever the target. */
static struct class *class_of(size_t size, bool is_put) {
    enum { CLASSES = 9 };
    static struct class classes[2][CLASSES];
    size_t index = 0;

    for (size_t least = TRMA_JOINT_LEAST; index < CLASSES - 1 && size >= 2 * least; least *= 2) {
        index++;
    }
    return &classes[is_put][index];
}

/* Of those that are not large: whether the next ones are tried by both ways, or else alone, and the next but
 * so many timed. */
static void set_tried(struct class *class, bool is_tried) {
    /* Relaxed: as all hints (move_hint.h). */
    atomic_store_explicit(&class->is_tried, is_tried, memory_order_relaxed);
    trma_move_hint_set(&class->left, TRMA_MOVE_JOINT_EVERY - 1);
}

/* Gives whether so many in a row have been slow now that both ways are to be tried. */
static bool note_slow(struct class *class, bool is_slow) {
    const unsigned before = trma_move_hint_get(&class->slow);
    const unsigned slow = is_slow ? before + (before < TRMA_MOVE_JOINT_IN_A_ROW) : 0;

    trma_move_hint_set(&class->slow, slow);
    return slow == TRMA_MOVE_JOINT_IN_A_ROW;
}

/* A short one alone took so long. */
static void note_alone(struct class *class, uint64_t taken, size_t size) {
    const uint64_t pace = taken * (64 << 10) / size + 1;
    const uint64_t least = trma_move_hint_get(&class->least);

    if (pace < UINT32_MAX && (least == 0 || pace < least)) {
        trma_move_hint_set(&class->least, (unsigned)pace);
    }
    const bool is_slow = note_slow(class, pace >= TRMA_MOVE_JOINT_SLOW * least);
    set_tried(class, is_slow || !trma_move_ways_is_sure_of_usual(&class->ways));
}

/* Where lines are sooner to be had than they were, the other way may have come to be the faster one. */
static void heed_news(struct class *class) {
    const unsigned news = trma_move_watch_news();

    if (trma_move_hint_get(&class->news) != news) {
        trma_move_hint_set(&class->news, news);
        trma_move_ways_look_soon(&class->ways);
    }
}

/* A put that was made jointly is one of those after which one alone is timed, to see whether its lines are
 * contested. */
static void count_put(const struct trma_move_joint *copy) {
    if (copy->is_put && copy->size < TRMA_MOVE_CONTEST_LESS_THAN) {
        (void)trma_move_contest_pass((uintptr_t)copy->mapped);
    }
}

/* What a copy that was made jointly counts: of a short put less, since what the target has copied lies in its
 * cache, if it reads. */
static uint64_t price_jointly(const struct trma_move_joint *copy, uint64_t taken) {
    return copy->is_put && copy->size < TRMA_MOVE_JOINT_SHORT ? taken * TRMA_MOVE_JOINT_EIGHTHS / 8 : taken;
}

/* By the way that takes less. */
static uint64_t copy_some(const struct trma_move_joint *copy) {
    struct class *class = class_of(copy->size, copy->is_put);
    heed_news(class);
    const bool is_joint = trma_move_ways_begin(&class->ways);
    const uint64_t begin = ticks();
    uint64_t blocks = 0;
    const bool was_asked = is_joint && copy_jointly(copy, &blocks);

    if (!was_asked) {
        copy_alone(copy);
    }
    const uint64_t taken = ticks() - begin;
    if (was_asked) {
        count_put(copy);
    }
    if (is_joint == (blocks > 0)) {
        trma_move_ways_end(&class->ways, is_joint ? price_jointly(copy, taken) : taken, copy->size);
    }
    if (is_joint && !was_asked) {
        set_tried(class, false); /* who is not there now is not asked all the time */
    } else if (!is_joint && copy->size < TRMA_MOVE_JOINT_SHORT) {
        note_alone(class, taken, copy->size);
    } else if (copy->size < TRMA_MOVE_JOINT_LARGE) {
        set_tried(class, is_joint || !trma_move_ways_is_sure_of_usual(&class->ways));
    }
    return blocks;
}

static bool is_of_run(const void *mapped, const void *local, size_t size, bool is_put) {
    return trma_move_joint_run_is_one(is_put ? mapped : local, is_put ? local : mapped, size);
}

bool trma_move_joint_is_alone(const void *mapped, const void *local, size_t size, bool is_put) {
    if (size >= TRMA_MOVE_JOINT_LARGE) {
        return false;
    }
    if (is_of_run(mapped, local, size, is_put)) {
        return trma_move_joint_run_is_alone(size, is_put);
    }
    struct class *class = class_of(size, is_put);
    const unsigned left = trma_move_hint_get(&class->left);
    if (left == 0 || atomic_load_explicit(&class->is_tried, memory_order_relaxed)) {
        return false;
    }
    trma_move_hint_set(&class->left, left - 1);
    return true;
}

static uint64_t copy_timed(const struct trma_move_joint *copy) {
    const uint64_t begin = ticks();

    copy_alone(copy);
    note_alone(class_of(copy->size, copy->is_put), ticks() - begin, copy->size);
    return 0;
}

/* Whether it is a short one that is to be timed alone. */
static bool is_watched(const struct trma_move_joint *copy) {
    return copy->size < TRMA_MOVE_JOINT_SHORT &&
           !atomic_load_explicit(&class_of(copy->size, copy->is_put)->is_tried, memory_order_relaxed);
}

/* As its run goes. */
static uint64_t copy_of_run(const struct trma_move_joint *copy) {
    const struct trma_move_joint_run run = trma_move_joint_run_take(copy->size, copy->is_put);
    const uint64_t begin = run.is_timed ? ticks() : 0;
    uint64_t blocks = 0;
    const bool was_asked = run.is_joint && copy_jointly(copy, &blocks);

    if (!was_asked) {
        copy_alone(copy);
    }
    if (run.is_timed) {
        trma_move_joint_run_note(copy->size, copy->is_put, ticks() - begin);
    }
    if (was_asked) {
        count_put(copy);
    }
    return blocks;
}

/* Of so many bytes the part that is copied next: so that the last one, too, is worth asking for. */
static size_t part_of(size_t left) {
    if (left <= TRMA_JOINT_MOST) {
        return left;
    }
    return left < TRMA_JOINT_MOST + TRMA_JOINT_LEAST ? left - TRMA_JOINT_LEAST : TRMA_JOINT_MOST;
}

uint64_t trma_move_joint(const struct trma_move_joint *copy) {
    struct trma_move_joint part = *copy;
    uint64_t blocks = 0;

    const bool is_run = is_of_run(copy->mapped, copy->local, copy->size, copy->is_put);
    if (!trma_node_joint_may_come(copy->own, copy->words) || (is_run && copy->own->is_crowded) ||
        trma_move_overlap(copy->mapped, copy->local, copy->size)) {
        copy_alone(copy);
        return 0;
    }
    if (is_run) {
        return copy_of_run(copy);
    }
    if (is_watched(copy)) {
        return copy_timed(copy);
    }
    for (size_t left = copy->size; left > 0; left -= part.size) {
        part.mapped = copy->mapped + (copy->size - left);
        part.place = copy->place + (copy->size - left);
        part.local = copy->local + (copy->size - left);
        part.size = part_of(left);
        blocks += copy_some(&part);
    }
    return blocks;
}
