/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_HANDLE_H
#define TRMA_FACE_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trma_hidden.h"

/*
 * A table from the host's handles (window, datatype) to our objects, made for look-up: a direct-mapped cache
 * in front of a hash table under a mutex. An empty place of the cache holds an object whose key belongs to
 * another place, so that nothing that is looked for there can match. The cache is read without any lock, also
 * while other threads create and free. That is safe because objects are never given back to the system: a
 * freed one is kept for the next, its key cleared, so that a reader with a stale pointer reads a key that
 * does not match.
 *
 * In front of the cache is the object that was found last: most programs use one window at a time, and one
 * datatype. Measured (AMD EPYC, Zen 3, a loop of lock, put of 8 bytes, unlock): 12.4-12.7 ns with
 * it, 12.9-13.9 without. Threads that use different ones would take its line from each other: with them it
 * changes with every insertion only.
 */
struct trma_handle {
    _Atomic uintptr_t key;    /* the host's handle; 0: not in use (no MPI has a handle of value 0) */
    struct trma_handle *next; /* in its bucket, or among the free ones; under the mutex */
};

enum {
    TRMA_HANDLE_CACHE_BITS = 8,
    TRMA_HANDLE_BUCKET_BITS = 12,
    TRMA_HANDLE_CACHE = 1 << TRMA_HANDLE_CACHE_BITS,
    TRMA_HANDLE_BUCKETS = 1 << TRMA_HANDLE_BUCKET_BITS
};

struct trma_handle_table {
    _Atomic(struct trma_handle *) recent;                   /* the object found last; never NULL */
    _Atomic(struct trma_handle *) cache[TRMA_HANDLE_CACHE]; /* never NULL */
    struct trma_handle *buckets[TRMA_HANDLE_BUCKETS];
    struct trma_handle *unused;
    size_t object_size; /* of the object that starts with the struct trma_handle */
    pthread_mutex_t mutex;
};

#define TRMA_HANDLE_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* A number of so many bits. Fibonacci hashing: MPICH's handles differ in their low bits, Open MPI's are
 * addresses. */
static inline size_t trma_handle_hash(uintptr_t key, unsigned bits) {
    return (size_t)((uint64_t)key * TRMA_HANDLE_FACTOR >> (64 - bits));
}

/* What is in empty places: the key 0 belongs to the first place, the key 1 to that of TRMA_HANDLE_PLACE_1. */
extern TRMA_HIDDEN struct trma_handle trma_handle_none_0, trma_handle_none_1;

/* What is recent when no object is: its key is no 32-bit handle and no address. */
extern TRMA_HIDDEN struct trma_handle trma_handle_nothing;

/* Whether what is found is noted as recent: false at first. */
extern TRMA_HIDDEN atomic_bool trma_handle_notes_recent;

enum { TRMA_HANDLE_PLACE_1 = (int)(TRMA_HANDLE_FACTOR >> (64 - TRMA_HANDLE_CACHE_BITS)) };

/* The initial value of a table of objects of this type. */
#define TRMA_HANDLE_TABLE(type)                                                                              \
    {                                                                                                        \
        .cache = {[0 ... TRMA_HANDLE_PLACE_1 - 1] = &trma_handle_none_1,                                     \
                  [TRMA_HANDLE_PLACE_1] = &trma_handle_none_0,                                               \
                  [TRMA_HANDLE_PLACE_1 + 1 ... TRMA_HANDLE_CACHE - 1] = &trma_handle_none_1},                \
        .recent = &trma_handle_nothing, .object_size = sizeof(type), .mutex = PTHREAD_MUTEX_INITIALIZER      \
    }

struct trma_handle *trma_handle_find_slow(struct trma_handle_table *table, uintptr_t key);

/* Acquire: the object's content was stored before its key. */
static inline bool trma_handle_is(const struct trma_handle *object, uintptr_t key) {
    if (!object) {
        __builtin_unreachable(); /* the compiler would test what is returned for NULL */
    }
    return __builtin_expect(atomic_load_explicit(&object->key, memory_order_acquire) == key, 1);
}

/* The object of this handle if it is recent or in the cache, else NULL. Calls nothing: an entry point that
 * looks by it and leaves the rest to another function has nothing to save on the stack. */
static inline struct trma_handle *trma_handle_peek(struct trma_handle_table *table, uintptr_t key) {
    /* Acquire, both: the object's content was stored before it came here. */
    struct trma_handle *recent = atomic_load_explicit(&table->recent, memory_order_acquire);

    if (trma_handle_is(recent, key)) {
        return recent;
    }
    struct trma_handle *cached = atomic_load_explicit(
        &table->cache[trma_handle_hash(key, TRMA_HANDLE_CACHE_BITS)], memory_order_acquire);
    if (!trma_handle_is(cached, key)) {
        return NULL;
    }
    if (atomic_load_explicit(&trma_handle_notes_recent, memory_order_relaxed)) {
        atomic_store_explicit(&table->recent, cached, memory_order_release);
    }
    return cached;
}

/* The object of this handle, NULL when it has none. */
static inline struct trma_handle *trma_handle_find(struct trma_handle_table *table, uintptr_t key) {
    struct trma_handle *cached = trma_handle_peek(table, key);

    return __builtin_expect(cached != NULL, 1) ? cached : trma_handle_find_slow(table, key);
}

/* Says whether threads may look for handles at once, by which that is a little slower. */
void trma_handle_expect_threads(bool may_be);

/* A zeroed object that is not in the table yet (a freed one or a new one); NULL without memory. */
struct trma_handle *trma_handle_take(struct trma_handle_table *table);
/* Puts it into the table under this key; an object that still has the key (freed by the host, not yet by us)
 * leaves the table. */
void trma_handle_insert(struct trma_handle_table *table, struct trma_handle *object, uintptr_t key);
/* Takes it out of the table, if it is in, and keeps it for the next trma_handle_take. */
void trma_handle_give(struct trma_handle_table *table, struct trma_handle *object);
/* Calls visit for every object in the table, under the mutex: visit must not call back. */
void trma_handle_visit(struct trma_handle_table *table, void (*visit)(struct trma_handle *object));

#endif
