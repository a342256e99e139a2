/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_handle.h"

#include <stdlib.h>
#include <string.h>

struct trma_handle trma_handle_none_0;
struct trma_handle trma_handle_none_1 = {.key = 1};
struct trma_handle trma_handle_nothing = {.key = (uintptr_t)1 << 63 | 1};

atomic_bool trma_handle_notes_recent;

static struct trma_handle **bucket_of(struct trma_handle_table *table, uintptr_t key) {
    return &table->buckets[trma_handle_hash(key, TRMA_HANDLE_BUCKET_BITS)];
}

static _Atomic(struct trma_handle *) *slot_of(struct trma_handle_table *table, uintptr_t key) {
    return &table->cache[trma_handle_hash(key, TRMA_HANDLE_CACHE_BITS)];
}

static struct trma_handle *find_locked(struct trma_handle_table *table, uintptr_t key) {
    for (struct trma_handle *object = *bucket_of(table, key); object; object = object->next) {
        if (atomic_load_explicit(&object->key, memory_order_relaxed) == key) {
            return object;
        }
    }
    return NULL;
}

static void clear_slot(_Atomic(struct trma_handle *) *slot, struct trma_handle_table *table) {
    atomic_store_explicit(
        slot, slot == &table->cache[TRMA_HANDLE_PLACE_1] ? &trma_handle_none_0 : &trma_handle_none_1,
        memory_order_relaxed);
}

/* Takes the object out of its bucket and of the cache, and clears its key. Left in the cache it would be what
 * is found for a handle of value 0, which a program may pass by mistake. */
static void unlink_locked(struct trma_handle_table *table, struct trma_handle *object) {
    uintptr_t key = atomic_load_explicit(&object->key, memory_order_relaxed);

    if (key && atomic_load_explicit(slot_of(table, key), memory_order_relaxed) == object) {
        clear_slot(slot_of(table, key), table);
    }
    if (atomic_load_explicit(&table->recent, memory_order_relaxed) == object) {
        atomic_store_explicit(&table->recent, &trma_handle_nothing, memory_order_relaxed);
    }
    for (struct trma_handle **link = bucket_of(table, key); key && *link; link = &(*link)->next) {
        if (*link == object) {
            *link = object->next;
            break;
        }
    }
    atomic_store_explicit(&object->key, 0, memory_order_release);
}

struct trma_handle *trma_handle_find_slow(struct trma_handle_table *table, uintptr_t key) {
    pthread_mutex_lock(&table->mutex);
    struct trma_handle *object = find_locked(table, key);
    if (object) {
        atomic_store_explicit(slot_of(table, key), object, memory_order_release);
    }
    pthread_mutex_unlock(&table->mutex);
    return object;
}

void trma_handle_expect_threads(bool may_be) {
    atomic_store_explicit(&trma_handle_notes_recent, !may_be, memory_order_relaxed);
}

struct trma_handle *trma_handle_take(struct trma_handle_table *table) {
    pthread_mutex_lock(&table->mutex);
    struct trma_handle *object = table->unused;
    if (object) {
        table->unused = object->next;
    }
    pthread_mutex_unlock(&table->mutex);
    if (!object) {
        /* What the short ways read comes first in each object: one cache line. */
        const size_t line = 64;
        const size_t size = (table->object_size + line - 1) / line * line;
        object = aligned_alloc(line, size);
        return object ? memset(object, 0, size) : NULL;
    }
    /* The key is 0 already, and a stale reader may be looking at it: everything behind it is cleared. */
    memset((char *)object + sizeof *object, 0, table->object_size - sizeof *object);
    return object;
}

void trma_handle_insert(struct trma_handle_table *table, struct trma_handle *object, uintptr_t key) {
    pthread_mutex_lock(&table->mutex);
    struct trma_handle *old = find_locked(table, key);
    if (old) {
        unlink_locked(table, old);
    }
    object->next = *bucket_of(table, key);
    *bucket_of(table, key) = object;
    /* Release: who finds the key finds the content. */
    atomic_store_explicit(&object->key, key, memory_order_release);
    atomic_store_explicit(slot_of(table, key), object, memory_order_release);
    atomic_store_explicit(&table->recent, object, memory_order_release);
    pthread_mutex_unlock(&table->mutex);
}

void trma_handle_give(struct trma_handle_table *table, struct trma_handle *object) {
    pthread_mutex_lock(&table->mutex);
    unlink_locked(table, object);
    object->next = table->unused;
    table->unused = object;
    pthread_mutex_unlock(&table->mutex);
}

void trma_handle_visit(struct trma_handle_table *table, void (*visit)(struct trma_handle *object)) {
    pthread_mutex_lock(&table->mutex);
    for (size_t i = 0; i < TRMA_HANDLE_BUCKETS; i++) {
        for (struct trma_handle *object = table->buckets[i]; object; object = object->next) {
            visit(object);
        }
    }
    pthread_mutex_unlock(&table->mutex);
}
