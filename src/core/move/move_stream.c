/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_stream.h"

#include <stdalign.h>
#include <stdatomic.h>

#include "move_place.h"

/* Where the two sides of a copy lie, or would lie next. */
struct sides {
    atomic_uintptr_t to;
    atomic_uintptr_t from;
};

/* The run under way. A long piece leaves nothing of it in the first cache, and often not in the second: what
 * the next one needs is one line, two where it is timed. */
static struct {
    alignas(64) struct sides next;
    atomic_size_t length;
    atomic_size_t plain_below; /* shorter than so many bytes it is neither timed nor past the cache */
    struct sides begin;
    _Atomic(struct trma_move_place *) place; /* NULL: none is kept of where it began */
    atomic_bool is_known;                    /* a place is, and timed */
    atomic_bool is_lengthy;                  /* the last one that began there was */
    atomic_bool is_past;                     /* from its begin on */
    /* What was noted so far, and of it what did not take much longer than runs that begin there usually do.
     */
    struct {
        _Atomic uint64_t ticks;
        atomic_size_t bytes;
    } all, usual;
    _Atomic uint64_t usual_below; /* ticks for 64 KiB; 0: not known */
    atomic_uint number;
} run;

/* Relaxed, all: no more than hints. */
static bool are_at(const struct sides *sides, uintptr_t to, uintptr_t from) {
    return atomic_load_explicit(&sides->to, memory_order_relaxed) == to &&
           atomic_load_explicit(&sides->from, memory_order_relaxed) == from;
}

static void put_at(struct sides *sides, uintptr_t to, uintptr_t from) {
    atomic_store_explicit(&sides->to, to, memory_order_relaxed);
    atomic_store_explicit(&sides->from, from, memory_order_relaxed);
}

/* How many copies of that size a timed one stands for. */
static unsigned stands_for(size_t size) {
    return size < TRMA_MOVE_STREAM_SHORT ? TRMA_MOVE_STREAM_EVERY : 1;
}

/* The run has come to be so long, and goes on there. */
static void go_on_at(uintptr_t to, uintptr_t from, size_t length) {
    put_at(&run.next, to, from);
    atomic_store_explicit(&run.length, length, memory_order_relaxed);
}

static void end_run(size_t length, size_t least) {
    struct trma_move_place *place = atomic_load_explicit(&run.place, memory_order_relaxed);
    const bool is_long = length >= least; /* went past the cache, from there on at the latest */
    const bool is_short = length < TRMA_MOVE_PLACE_LEAST;

    if (is_long || length >= TRMA_MOVE_PLACE_LENGTHY) {
        /* Its time counts, or it is long for so small a cache. */
        const bool is_timed = is_long || !is_short;

        place = trma_move_place_learn(atomic_load_explicit(&run.begin.to, memory_order_relaxed),
                                      atomic_load_explicit(&run.begin.from, memory_order_relaxed), is_timed);
    }
    if (place) {
        const size_t all = atomic_load_explicit(&run.all.bytes, memory_order_relaxed);
        const size_t usual = atomic_load_explicit(&run.usual.bytes, memory_order_relaxed);
        /* Where others use the core too, a piece now and then waits for its turn. */
        const bool is_usual = usual > all / 2;
        const uint64_t ticks =
            atomic_load_explicit(is_usual ? &run.usual.ticks : &run.all.ticks, memory_order_relaxed);

        trma_move_place_end(place, length, ticks, is_long || is_short ? 0 : is_usual ? usual : all);
    }
}

static void begin_run(uintptr_t to, uintptr_t from, size_t least) {
    struct trma_move_place *place = trma_move_place_find(to, from);
    const bool is_known = place && trma_move_place_is_timed(place);

    put_at(&run.begin, to, from);
    atomic_store_explicit(&run.number, atomic_load_explicit(&run.number, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&run.place, place, memory_order_relaxed);
    atomic_store_explicit(&run.is_known, is_known, memory_order_relaxed);
    atomic_store_explicit(&run.is_lengthy, place && trma_move_place_is_lengthy(place), memory_order_relaxed);
    atomic_store_explicit(&run.plain_below, is_known ? 0 : least, memory_order_relaxed);
    atomic_store_explicit(&run.is_past,
                          place && trma_move_place_begin(place, least, TRMA_MOVE_STREAM_TOGETHER * least),
                          memory_order_relaxed);
    atomic_store_explicit(&run.usual_below, place ? trma_move_place_usual_below(place) : 0,
                          memory_order_relaxed);
    atomic_store_explicit(&run.all.ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&run.all.bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&run.usual.ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&run.usual.bytes, 0, memory_order_relaxed);
}

bool trma_move_stream_is_known(void) {
    return atomic_load_explicit(&run.is_known, memory_order_relaxed);
}

struct trma_move_stream trma_move_stream_take(const void *to, const void *from, size_t size, size_t cache) {
    const uintptr_t to_begin = (uintptr_t)to;
    const uintptr_t from_begin = (uintptr_t)from;
    const size_t least = cache / 8 * TRMA_MOVE_STREAM_EIGHTHS;

    if (cache == 0) {
        return (struct trma_move_stream){.is_past = false, .is_timed = false};
    }
    size_t length = atomic_load_explicit(&run.length, memory_order_relaxed);
    struct trma_move_place *begins = NULL;
    if (are_at(&run.next, to_begin, from_begin)) {
        length += size;
    } else {
        end_run(length, least);
        begin_run(to_begin, from_begin, least);
        length = size;
        begins = atomic_load_explicit(&run.is_past, memory_order_relaxed)
                     ? atomic_load_explicit(&run.place, memory_order_relaxed)
                     : NULL;
    }
    go_on_at(to_begin + size, from_begin + size, length);
    const bool is_past = length >= least || atomic_load_explicit(&run.is_past, memory_order_relaxed);
    const bool is_known = trma_move_stream_is_known();
    const bool is_timed = is_known && length >= atomic_load_explicit(&run.plain_below, memory_order_relaxed);
    if (is_timed && !is_past) {
        const size_t next = length + stands_for(size) * size;
        atomic_store_explicit(&run.plain_below, next < least ? next : least, memory_order_relaxed);
    }
    return (struct trma_move_stream){
        .is_past = is_past,
        .is_known = is_known,
        .is_timed = is_timed,
        .begins = begins,
    };
}

bool trma_move_stream_goes_on(const void *to, const void *from, size_t size) {
    const uintptr_t to_begin = (uintptr_t)to;
    const uintptr_t from_begin = (uintptr_t)from;
    const size_t length = atomic_load_explicit(&run.length, memory_order_relaxed) + size;

    if (!are_at(&run.next, to_begin, from_begin) ||
        length >= atomic_load_explicit(&run.plain_below, memory_order_relaxed)) {
        return false;
    }
    go_on_at(to_begin + size, from_begin + size, length);
    return true;
}

bool trma_move_stream_is_part(const void *to, const void *from) {
    return atomic_load_explicit(&run.is_lengthy, memory_order_relaxed) &&
           are_at(&run.next, (uintptr_t)to, (uintptr_t)from);
}

unsigned trma_move_stream_number(void) {
    return atomic_load_explicit(&run.number, memory_order_relaxed);
}

void trma_move_stream_pass(const void *to, const void *from, size_t size) {
    if (are_at(&run.next, (uintptr_t)to, (uintptr_t)from)) {
        go_on_at((uintptr_t)to + size, (uintptr_t)from + size,
                 atomic_load_explicit(&run.length, memory_order_relaxed) + size);
    }
}

static void add(_Atomic uint64_t *ticks, atomic_size_t *bytes, uint64_t more_ticks, size_t more_bytes) {
    atomic_store_explicit(ticks, atomic_load_explicit(ticks, memory_order_relaxed) + more_ticks,
                          memory_order_relaxed);
    atomic_store_explicit(bytes, atomic_load_explicit(bytes, memory_order_relaxed) + more_bytes,
                          memory_order_relaxed);
}

void trma_move_stream_note(uint64_t ticks, size_t size) {
    const uint64_t usual_below = atomic_load_explicit(&run.usual_below, memory_order_relaxed);
    const unsigned each = stands_for(size);

    add(&run.all.ticks, &run.all.bytes, each * ticks, each * size);
    if (usual_below == 0 || ticks * (64 << 10) / size < usual_below) {
        add(&run.usual.ticks, &run.usual.bytes, each * ticks, each * size);
    }
}
