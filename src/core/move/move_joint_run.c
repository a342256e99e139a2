/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_joint_run.h"

#include <stdalign.h>
#include <stdatomic.h>

#include "move_hint.h"
#include "move_joint.h"
#include "move_place.h"
#include "move_stream.h"
#include "move_ways.h"

/* The run under way, of copies of one direction and size, and what is known of such runs. */
struct class {
    alignas(64) atomic_uint number; /* of the run */
    atomic_uint is_joint;
    atomic_uint is_timed;
    atomic_uint bytes; /* what was noted of it */
    _Atomic uint64_t ticks;
    atomic_uint left;           /* runs until the next one is timed */
    struct trma_move_ways ways; /* alone, or else jointly */
};

/* Sizes from a power of two to the next are alike. */
static struct class *class_of(size_t size, bool is_put) {
    static struct class classes[2][2];

    return &classes[is_put][size >= TRMA_MOVE_JOINT_SHORT / 2];
}

bool trma_move_joint_run_is_one(const void *to, const void *from, size_t size) {
    return size < TRMA_MOVE_JOINT_SHORT && trma_move_stream_is_part(to, from);
}

static bool is_under_way(const struct class *class) {
    return trma_move_hint_get(&class->number) == trma_move_stream_number();
}

bool trma_move_joint_run_is_alone(size_t size, bool is_put) {
    const struct class *class = class_of(size, is_put);

    return is_under_way(class) && !trma_move_hint_get(&class->is_timed);
}

static void end_run(struct class *class) {
    enum { ENOUGH = TRMA_MOVE_PLACE_LENGTHY / 4 }; /* bytes whose time counts */
    const unsigned bytes = trma_move_hint_get(&class->bytes);

    if (trma_move_hint_get(&class->is_timed) && bytes >= ENOUGH) {
        trma_move_ways_end(&class->ways, atomic_load_explicit(&class->ticks, memory_order_relaxed), bytes);
    }
}

static void begin_run(struct class *class) {
    const unsigned left = trma_move_hint_get(&class->left);
    const bool is_timed = left == 0 || !trma_move_ways_is_sure_of_usual(&class->ways) ||
                          trma_move_ways_is_looking(&class->ways);

    trma_move_hint_set(&class->number, trma_move_stream_number());
    trma_move_hint_set(&class->is_timed, is_timed);
    trma_move_hint_set(&class->is_joint, is_timed && trma_move_ways_begin(&class->ways));
    trma_move_hint_set(&class->left, is_timed ? TRMA_MOVE_JOINT_RUN_EVERY - 1 : left - 1);
    trma_move_hint_set(&class->bytes, 0);
    atomic_store_explicit(&class->ticks, 0, memory_order_relaxed);
}

struct trma_move_joint_run trma_move_joint_run_take(size_t size, bool is_put) {
    struct class *class = class_of(size, is_put);

    if (!is_under_way(class)) {
        end_run(class);
        begin_run(class);
    }
    return (struct trma_move_joint_run){.is_joint = trma_move_hint_get(&class->is_joint),
                                        .is_timed = trma_move_hint_get(&class->is_timed)};
}

void trma_move_joint_run_note(size_t size, bool is_put, uint64_t ticks) {
    struct class *class = class_of(size, is_put);

    trma_move_hint_set(&class->bytes, trma_move_hint_get(&class->bytes) + (unsigned)size);
    atomic_store_explicit(&class->ticks, atomic_load_explicit(&class->ticks, memory_order_relaxed) + ticks,
                          memory_order_relaxed);
}
