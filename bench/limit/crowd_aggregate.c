/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowd_aggregate.h"

#include "fork.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct words {
    _Alignas(CROWD_LINE) _Atomic uint64_t posted;    /* epochs */
    _Alignas(CROWD_LINE) _Atomic uint64_t completed; /* origins' parts of epochs */
};

static struct {
    struct words *words;
    char *window;
    char *buffer;  /* an origin's; each process writes into a copy of its own */
    size_t bytes;  /* of a piece */
    size_t mapped; /* of the window */
} given;

static size_t part_bytes(void) {
    return CROWD_PIECES * given.bytes;
}

static char *part_of(int origin) {
    return given.window + (size_t)(origin - 1) * part_bytes();
}

static uint64_t seed_of(long order, int origin) {
    return (uint64_t)order * 4096 + (uint64_t)origin;
}

void crowd_aggregate_prepare(int origins, size_t bytes) {
    if (given.window != NULL) {
        munmap(given.window, given.mapped);
        munmap(given.words, sizeof *given.words);
        free(given.buffer);
    }
    given.bytes = bytes;
    given.mapped = (size_t)origins * part_bytes();
    given.window = limit_memory_share(given.mapped);
    memset(given.window, 0, given.mapped); /* no first touch is measured */
    given.words = limit_memory_share(sizeof *given.words);
    given.buffer = bench_memory(part_bytes());
}

void crowd_aggregate_fill(const struct crowd *crowd, long order) {
    bench_fill(given.buffer, part_bytes(), seed_of(order, crowd->place));
}

long crowd_aggregate_wrong(const struct crowd *crowd, long order) {
    long wrong = 0;
    for (int origin = 1; origin <= crowd->others; origin++)
        wrong += bench_wrong(part_of(origin), part_bytes(), seed_of(order, origin), 0);
    return wrong;
}

void crowd_aggregate_put(struct crowd *crowd) {
    char *part = part_of(crowd->place);
    crowd_await(crowd, &given.words->posted, ++crowd->step);
    for (size_t i = 0; i < CROWD_PIECES; i++)
        memcpy(part + i * given.bytes, given.buffer + i * given.bytes, given.bytes);
    atomic_fetch_add_explicit(&given.words->completed, 1, memory_order_release);
}

void crowd_aggregate_expose(struct crowd *crowd) {
    atomic_store_explicit(&given.words->posted, ++crowd->step, memory_order_release);
    crowd_await(crowd, &given.words->completed, crowd->step * (uint64_t)crowd->others);
}
