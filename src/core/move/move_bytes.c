/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_bytes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../node/node_cache.h"
#include "move_contest.h"
#include "move_pace.h"
#include "move_past.h"
#include "move_place.h"
#include "move_stream.h"

typedef void copier(void *to, const void *from, size_t size);

size_t trma_move_library_most = TRMA_MOVE_FIRST_CACHE;

/* Whether pieces of known runs go by string instructions, see move_bytes.h. */
static bool has_quick_strings;

static void copy_by_library(void *to, const void *from, size_t size) {
    memmove(to, from, size);
}

#if defined(__x86_64__)
typedef int64_t vector32 __attribute__((vector_size(32), aligned(1), may_alias));
typedef int64_t vector64 __attribute__((vector_size(64), aligned(1), may_alias));

/*
 * Four vectors at a time from the end, whose stores are aligned; the first four and the last one, which
 * overlap those, are read before anything is written and written at the end.
 */
#define DEFINE_BACKWARD_COPY(name, vector, instructions)                                                     \
    __attribute__((target(instructions))) static void name(void *to, const void *from, size_t size) {        \
        const size_t width = sizeof(vector);                                                                 \
        const char *source = from;                                                                           \
        char *target = to;                                                                                   \
        const vector first0 = *(const vector *)source;                                                       \
        const vector first1 = *(const vector *)(source + width);                                             \
        const vector first2 = *(const vector *)(source + 2 * width);                                         \
        const vector first3 = *(const vector *)(source + 3 * width);                                         \
        const vector last = *(const vector *)(source + size - width);                                        \
        size_t left = size - ((uintptr_t)target + size) % width;                                             \
        while (left > 4 * width) {                                                                           \
            const vector block3 = *(const vector *)(source + left - width);                                  \
            const vector block2 = *(const vector *)(source + left - 2 * width);                              \
            const vector block1 = *(const vector *)(source + left - 3 * width);                              \
            const vector block0 = *(const vector *)(source + left - 4 * width);                              \
            *(vector *)(target + left - width) = block3;                                                     \
            *(vector *)(target + left - 2 * width) = block2;                                                 \
            *(vector *)(target + left - 3 * width) = block1;                                                 \
            *(vector *)(target + left - 4 * width) = block0;                                                 \
            left -= 4 * width;                                                                               \
        }                                                                                                    \
        *(vector *)target = first0;                                                                          \
        *(vector *)(target + width) = first1;                                                                \
        *(vector *)(target + 2 * width) = first2;                                                            \
        *(vector *)(target + 3 * width) = first3;                                                            \
        *(vector *)(target + size - width) = last;                                                           \
    }

DEFINE_BACKWARD_COPY(copy_by_64, vector64, "avx512f")
DEFINE_BACKWARD_COPY(copy_by_32, vector32, "avx2")

/* The same from the beginning. */
__attribute__((target("avx2"))) static void copy_onward_by_32(void *to, const void *from, size_t size) {
    const size_t width = sizeof(vector32);
    const char *source = from;
    char *target = to;
    const vector32 first = *(const vector32 *)source;
    const vector32 last0 = *(const vector32 *)(source + size - 4 * width);
    const vector32 last1 = *(const vector32 *)(source + size - 3 * width);
    const vector32 last2 = *(const vector32 *)(source + size - 2 * width);
    const vector32 last3 = *(const vector32 *)(source + size - width);
    for (size_t at = -(uintptr_t)target % width; at + 4 * width < size; at += 4 * width) {
        const vector32 block0 = *(const vector32 *)(source + at);
        const vector32 block1 = *(const vector32 *)(source + at + width);
        const vector32 block2 = *(const vector32 *)(source + at + 2 * width);
        const vector32 block3 = *(const vector32 *)(source + at + 3 * width);
        *(vector32 *)(target + at) = block0;
        *(vector32 *)(target + at + width) = block1;
        *(vector32 *)(target + at + 2 * width) = block2;
        *(vector32 *)(target + at + 3 * width) = block3;
    }
    *(vector32 *)target = first;
    *(vector32 *)(target + size - 4 * width) = last0;
    *(vector32 *)(target + size - 3 * width) = last1;
    *(vector32 *)(target + size - 2 * width) = last2;
    *(vector32 *)(target + size - width) = last3;
}

static void copy_by_string(void *to, const void *from, size_t size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/* Those whose string instructions are the slower ones, see move_bytes.h. Before main, so that nobody else
 * runs. */
__attribute__((constructor)) static void choose_library_most(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_is("amdfam19h") && __builtin_cpu_supports("avx2")) {
        trma_move_library_most = TRMA_MOVE_MIDDLE_MORE_THAN;
        has_quick_strings = __builtin_cpu_supports("avx512f"); /* Zen 4; Zen 3 has none of these */
    }
}

/* Onward, or from the last byte to the first: each time from the end that the last copy has left in the
 * caches, whatever their sizes. */
static void copy_there_and_back(void *to, const void *from, size_t size) {
    (trma_move_turn_begins_at_end(from, size) ? copy_by_32 : copy_onward_by_32)(to, from, size);
}

static struct trma_move_stream take_stream(const void *to, const void *from, size_t size) {
    return trma_move_stream_take(to, from, size, trma_node_cache_bytes());
}

static uint64_t ticks(void) {
    return __rdtsc();
}
#else
static void copy_by_string(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
}

static void copy_onward_by_32(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
}

static void copy_there_and_back(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
}

static struct trma_move_stream take_stream(const void *to, const void *from, size_t size) {
    return trma_move_stream_take(to, from, size, 0);
}

static uint64_t ticks(void) {
    return 0;
}
#endif

static copier *choose_vectors(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return copy_by_64;
    }
    if (__builtin_cpu_supports("avx2")) {
        return copy_by_32;
    }
#endif
    return copy_by_library;
}

static copier *choose_for_large(void) {
#if defined(__x86_64__)
    const unsigned fast_strings = 1U << 9; /* "enhanced REP MOVSB", in ebx */
    unsigned eax;
    unsigned ebx;
    unsigned ecx;
    unsigned edx;
    if (__builtin_cpu_is("amd") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
        (ebx & fast_strings) != 0) {
        return copy_by_string;
    }
#endif
    return copy_by_library;
}

/* Chooses at the first call. Relaxed: every thread that finds NULL computes the same address. */
static copier *chosen_by(copier *(*choose)(void), _Atomic(copier *) *chosen) {
    copier *copy = atomic_load_explicit(chosen, memory_order_relaxed);

    if (!copy) {
        copy = choose();
        atomic_store_explicit(chosen, copy, memory_order_relaxed);
    }
    return copy;
}

/* Data that goes where the last did finds its place in the first cache. Threads that mislead one another lose
 * time, not data. */
static bool goes_where_the_last_did(const void *to) {
    static atomic_uintptr_t last;
    bool is_same = atomic_load_explicit(&last, memory_order_relaxed) == (uintptr_t)to;

    if (!is_same) {
        atomic_store_explicit(&last, (uintptr_t)to, memory_order_relaxed);
    }
    return is_same;
}

void trma_move_copy_middle(void *to, const void *from, size_t size) {
    static _Atomic(copier *) chosen;

    if (trma_move_overlap(to, from, size)) {
        memmove(to, from, size);
    } else if (goes_where_the_last_did(to)) {
        chosen_by(choose_vectors, &chosen)(to, from, size);
    } else if (trma_move_goes_there_and_back()) {
        copy_onward_by_32(to, from, size);
    } else { /* the sides lie in a cache further out */
        memcpy(to, from, size);
    }
}

/* Two sides that do not overlap, see move_turn.h. */
static void copy_in_turn(copier *copy, copier *copy_last, char *to, const char *from, size_t size) {
    const struct trma_move_turn turn = trma_move_turn_take(from, size, TRMA_MOVE_TURN_OF_ONE);

    if (turn.high < size) {
        copy(to + turn.high, from + turn.high, size - turn.high);
        copy(to + turn.low, from + turn.low, turn.high - turn.low);
    }
    copy_last(to, from, turn.low);
}

static copier *choose_for(size_t size) {
    static _Atomic(copier *) chosen;

    const bool is_large = size >= TRMA_MOVE_LARGE_LEAST && size < TRMA_MOVE_LARGE_LESS_THAN;

    return is_large ? chosen_by(choose_for_large, &chosen) : copy_by_library;
}

/* Of this process's own memory, past the caches, within some ten microseconds (move_pace.h). */
static uint64_t measure_past(void) {
    enum { BYTES = 32 << 10, TRIES = 5 };
    static unsigned char scratch[2][BYTES];
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) { /* the first one makes the pages */
        const uint64_t begin = ticks();
        trma_move_past_copy(scratch[0], scratch[1], BYTES);
        const uint64_t taken = ticks() - begin;
        least = taken < least ? taken : least;
    }
    return least * ((64 << 10) / BYTES);
}

/* `copy_last` copies what comes last. */
static void copy_one_way(bool is_past, void *to, const void *from, size_t size, copier *copy_last) {
    if (is_past) {
        trma_move_past_copy(to, from, size);
    } else if (size <= TRMA_MOVE_MIDDLE_MOST) {
        trma_move_copy_middle(to, from, size);
    } else if (size > TRMA_MOVE_LONG_MOST) {
        memcpy(to, from, size);
    } else if (trma_move_goes_there_and_back()) {
        copy_there_and_back(to, from, size);
    } else {
        copy_in_turn(choose_for(size), copy_last, to, from, size);
    }
}

/* One that runs know nothing of: as its lines are contested (move_contest.h). */
static void put_contested(void *to, const void *from, size_t size) {
    struct trma_move_contest *contest = trma_move_contest_find((uintptr_t)to);
    const struct trma_move_contest_way way = trma_move_contest_take(contest, (uintptr_t)to, size);
    const uint64_t begin = way.is_timed ? ticks() : 0;

    copy_one_way(way.is_past, to, from, way.bytes, choose_for(way.bytes));
    if (way.is_timed) {
        const uint64_t taken = ticks() - begin;
        if (trma_move_contest_is_close(&way, taken, trma_move_pace_past(measure_past))) {
            trma_move_pace_doubt(measure_past);
        }
        trma_move_contest_note(contest, &way, taken, trma_move_pace_past(measure_past));
    }
    if (way.bytes < size) {
        trma_move_past_copy((char *)to + way.bytes, (const char *)from + way.bytes, size - way.bytes);
    }
}

/* The first bytes of a run that goes past the caches, now and then through them (move_watch.h). Gives how
 * many of them were copied. */
static size_t put_watched(struct trma_move_place *place, void *to, const void *from, size_t size) {
    const size_t bytes = TRMA_MOVE_WATCH_BYTES;
    const enum trma_move_watch_look look =
        size > bytes ? trma_move_place_watch(place) : TRMA_MOVE_WATCH_NOTHING;

    if (look == TRMA_MOVE_WATCH_NOTHING) {
        return 0;
    }
    const uint64_t begin = ticks();
    copy_one_way(false, to, from, bytes, choose_for(bytes));
    if (look == TRMA_MOVE_WATCH_TIME) {
        trma_move_place_note_watched(place, ticks() - begin);
    }
    return bytes;
}

static void copy_onward(void *to, const void *from, size_t size) {
    trma_move_turn_went_on();
    copy_onward_by_32(to, from, size);
}

/* Whether a piece of a known run goes by string instructions. */
static bool is_by_string(const void *to, const void *from, size_t size) {
    const uintptr_t behind = ((uintptr_t)to - (uintptr_t)from) % 4096;

    return has_quick_strings && size >= TRMA_MOVE_STRING_LEAST && size < TRMA_MOVE_STRING_LESS_THAN &&
           (behind == 0 || behind >= TRMA_MOVE_STRING_BEHIND_LEAST);
}

/* A piece that goes on with a known run. */
static void copy_known(void *to, const void *from, size_t size) {
    if (is_by_string(to, from, size)) {
        trma_move_turn_went_on();
        copy_by_string(to, from, size);
    } else {
        copy_onward(to, from, size);
    }
}

/* Through the caches, or as its run goes (move_stream.h). */
static void copy_long(void *to, const void *from, size_t size, copier *copy_last, bool is_put) {
    if (trma_move_overlap(to, from, size)) {
        memmove(to, from, size);
        return;
    }
    const struct trma_move_stream stream = take_stream(to, from, size);
    if (is_put && !stream.is_past && !stream.is_known && size < TRMA_MOVE_CONTEST_LESS_THAN) {
        put_contested(to, from, size);
        return;
    }
    const size_t done = is_put && stream.begins ? put_watched(stream.begins, to, from, size) : 0;
    const uint64_t begin = stream.is_timed ? ticks() : 0;
    if (stream.is_known && !stream.is_past && is_by_string(to, from, size)) {
        copy_known(to, from, size);
    } else {
        copy_one_way(stream.is_past, (char *)to + done, (const char *)from + done, size - done, copy_last);
    }
    if (stream.is_timed) {
        trma_move_stream_note(ticks() - begin, size - done);
    }
}

/* Whether it goes on with a run, and is as plain as most are; such copies go onward, as their runs do. */
static bool goes_on(const void *to, const void *from, size_t size) {
    return trma_move_goes_there_and_back() && size < TRMA_MOVE_CONTEST_LESS_THAN &&
           !trma_move_overlap(to, from, size) && trma_move_stream_goes_on(to, from, size);
}

void trma_move_copy_long(void *to, const void *from, size_t size) {
    if (size > TRMA_MOVE_MIDDLE_MOST) {
        if (!goes_on(to, from, size)) {
            copy_long(to, from, size, choose_for(size), true);
        } else if (trma_move_stream_is_known()) {
            copy_known(to, from, size);
        } else if (trma_move_contest_pass((uintptr_t)to)) {
            copy_onward(to, from, size);
        } else {
            put_contested(to, from, size);
        }
    } else if (size < TRMA_MOVE_CONTEST_LEAST || trma_move_contest_pass((uintptr_t)to) ||
               trma_move_overlap(to, from, size)) {
        trma_move_copy_middle(to, from, size);
    } else {
        put_contested(to, from, size);
    }
}

/* Its last bytes by vectors. */
static void copy_ended_by_vectors(void *to, const void *from, size_t size) {
    static _Atomic(copier *) chosen;
    const size_t end = 256; /* the least that the vectors take */
    const size_t begin = size - end;

    choose_for(begin)(to, from, begin);
    chosen_by(choose_vectors, &chosen)((char *)to + begin, (const char *)from + begin, end);
}

void trma_move_fetch_long(void *to, const void *from, size_t size) {
    if (goes_on(to, from, size)) {
        (trma_move_stream_is_known() ? copy_known : copy_onward)(to, from, size);
    } else {
        copy_long(to, from, size, copy_ended_by_vectors, false);
    }
}

void trma_move_copy_part(void *to, const void *from, size_t size) {
    if (trma_move_goes_there_and_back() && size > TRMA_MOVE_MIDDLE_MOST) {
        copy_onward_by_32(to, from, size);
    } else {
        memcpy(to, from, size);
    }
}
