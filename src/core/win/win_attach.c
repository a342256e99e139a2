/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_attach.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../mem/mem_heap.h"
#include "../mem/mem_map.h"
#include "../mem/mem_xpmem.h"
#include "win_adopt.h"

enum { SMALLEST_TABLE = 64, TRIES_PER_LOOK = 1024 };

/* An entry of the published table. */
struct table {
    struct trma_share_words words;
};

struct trma_attachments {
    struct trma_attach_words *shared;
    struct table *table;
    struct trma_share *shares; /* the owner's own copy, by address */
    bool adopts;
    bool by_xpmem;
    size_t entries;
    size_t capacity;
};

struct trma_attached_range {
    struct trma_share share;
    void *mapped; /* base of its region here, NULL when it is not mapped */
};

struct trma_attachments *trma_win_attachments_create(struct trma_attach_words *words, bool adopts,
                                                     bool by_xpmem) {
    struct trma_attachments *attachments = calloc(1, sizeof *attachments);

    if (attachments) {
        attachments->shared = words;
        attachments->adopts = adopts;
        attachments->by_xpmem = by_xpmem;
    }
    return attachments;
}

void trma_win_attachments_destroy(struct trma_attachments *attachments) {
    if (attachments) {
        /* What was never detached. */
        for (size_t i = 0; i < attachments->entries; i++) {
            trma_win_adopt_release(attachments->shares[i].ticket.serial);
        }
        if (attachments->table) {
            trma_mem_heap_free(attachments->table);
        }
        free(attachments->shares);
        free(attachments);
    }
}

/* Makes room for one more entry; the old table is given back only after the new one is published. */
static enum trma_status reserve(struct trma_attachments *attachments, struct table **old) {
    size_t capacity = attachments->capacity ? 2 * attachments->capacity : SMALLEST_TABLE;
    void *table = NULL;

    *old = NULL;
    if (attachments->entries < attachments->capacity) {
        return TRMA_OK;
    }
    struct trma_share *shares = realloc(attachments->shares, capacity * sizeof *shares);
    if (!shares) {
        return TRMA_ERR_NO_MEMORY;
    }
    attachments->shares = shares;
    enum trma_status status =
        trma_mem_heap_allocate(TRMA_HEAP_CONTROL, capacity * sizeof(struct table), 64, &table);
    if (status) {
        return status;
    }
    *old = attachments->table;
    attachments->table = table;
    attachments->capacity = capacity;
    return TRMA_OK;
}

/* Publishes the entries from `first` on; those before it are in the table already. */
static void publish(struct trma_attachments *attachments, size_t first) {
    struct trma_attach_words *shared = attachments->shared;
    unsigned version = atomic_load_explicit(&shared->version, memory_order_relaxed);
    struct trma_share place;

    trma_mem_share_describe(attachments->table, attachments->capacity * sizeof(struct table), &place);
    atomic_store_explicit(&shared->version, version + 1, memory_order_relaxed);
    /* No store below may be seen before the odd version. */
    atomic_thread_fence(memory_order_release);
    for (size_t i = first; i < attachments->entries; i++) {
        trma_win_share_store(&attachments->table[i].words, &attachments->shares[i]);
    }
    trma_win_share_store(&shared->place, &place);
    atomic_store_explicit(&shared->entries, attachments->entries, memory_order_relaxed);
    /* Release: who sees the even version sees the table. */
    atomic_store_explicit(&shared->version, version + 2, memory_order_release);
}

/* Index of the first entry that ends behind `address`. */
static size_t find_entry(const struct trma_attachments *attachments, uintptr_t address) {
    size_t low = 0;
    size_t high = attachments->entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (attachments->shares[middle].address + attachments->shares[middle].size > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

enum trma_status trma_win_attachments_add(struct trma_attachments *attachments, uintptr_t address,
                                          size_t size) {
    struct table *old;
    size_t at = find_entry(attachments, address);

    if (!size) {
        return TRMA_OK;
    }
    if (address + size < address ||
        (at < attachments->entries && attachments->shares[at].address < address + size)) {
        return TRMA_ERR_RANGE;
    }
    size_t capacity = attachments->capacity;
    enum trma_status status = reserve(attachments, &old);
    if (status) {
        return status;
    }
    memmove(&attachments->shares[at + 1], &attachments->shares[at],
            (attachments->entries - at) * sizeof *attachments->shares);
    /* What is adopted, here or for another window, stays so until it is detached: a serial that is not
     * adopted memory's is nothing to release. */
    uint64_t serial;
    const char *reason;
    trma_win_adopt_begin((void *)address, size, attachments->adopts ? TRMA_ADOPT_AT_ONCE : TRMA_ADOPT_NOT,
                         &attachments->shares[at], &serial, &reason);
    if (attachments->by_xpmem && !attachments->shares[at].ticket.serial) {
        trma_mem_xpmem_describe((void *)address, size, &attachments->shares[at]);
    }
    attachments->shares[at].address = address;
    attachments->shares[at].size = size;
    attachments->entries++;
    publish(attachments, attachments->capacity == capacity ? at : 0);
    if (old) {
        trma_mem_heap_free(old);
    }
    return TRMA_OK;
}

enum trma_status trma_win_attachments_remove(struct trma_attachments *attachments, uintptr_t address) {
    size_t at = find_entry(attachments, address);

    if (at == attachments->entries || attachments->shares[at].address != address) {
        return TRMA_ERR_RANGE;
    }
    uint64_t serial = attachments->shares[at].ticket.serial;
    attachments->entries--;
    memmove(&attachments->shares[at], &attachments->shares[at + 1],
            (attachments->entries - at) * sizeof *attachments->shares);
    publish(attachments, at);
    /* Origins may still have it mapped, but they no longer reach it. */
    trma_win_adopt_release(serial);
    return TRMA_OK;
}

void trma_win_attached_clear(struct trma_attached *attached, struct trma_peer *peer) {
    for (size_t i = 0; i < attached->entries; i++) {
        if (attached->ranges[i].mapped) {
            trma_mem_map_release(peer, attached->ranges[i].share.ticket.serial);
        }
    }
    if (attached->table_serial) {
        trma_mem_map_release(peer, attached->table_serial);
    }
    free(attached->ranges);
    attached->ranges = NULL;
    attached->entries = 0;
    attached->version = 0;
    attached->table_serial = 0;
}

/* Copies the table; false when the owner changed it meanwhile (then *attached is empty and the caller tries
 * again). */
static bool try_copy(struct trma_attached *attached, struct trma_attach_words *words, struct trma_peer *peer,
                     enum trma_status *status) {
    struct trma_share place;
    void *base = NULL;
    /* Acquire: pairs with the release of the even version. */
    unsigned version = atomic_load_explicit(&words->version, memory_order_acquire);
    size_t entries = atomic_load_explicit(&words->entries, memory_order_relaxed);

    trma_win_share_load(&words->place, &place);
    /* The loads above must not move behind the second look at the version. */
    atomic_thread_fence(memory_order_acquire);
    if (version % 2 || atomic_load_explicit(&words->version, memory_order_relaxed) != version) {
        return false;
    }
    attached->version = version;
    if (!entries) {
        return true;
    }
    *status = trma_mem_map_acquire(peer, &place.ticket, &base);
    if (*status) {
        /* The table may have been replaced, and its region be gone: that is no error. */
        return atomic_load_explicit(&words->version, memory_order_relaxed) == version;
    }
    attached->table_serial = place.ticket.serial;
    attached->ranges = calloc(entries, sizeof *attached->ranges);
    if (!attached->ranges) {
        *status = TRMA_ERR_NO_MEMORY;
        return true;
    }
    struct table *table = (struct table *)((char *)base + place.offset);
    for (size_t i = 0; i < entries; i++) {
        trma_win_share_load(&table[i].words, &attached->ranges[i].share);
    }
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&words->version, memory_order_relaxed) != version) {
        return false;
    }
    attached->entries = entries;
    for (size_t i = 0; i < entries; i++) {
        struct trma_attached_range *range = &attached->ranges[i];
        if (range->share.ticket.serial && trma_mem_map_acquire(peer, &range->share.ticket, &range->mapped)) {
            range->mapped = NULL; /* reached by CMA instead */
        }
    }
    return true;
}

static enum trma_status refresh(struct trma_attached *attached, struct trma_attach_words *words,
                                struct trma_peer *peer) {
    for (unsigned tries = 1;; tries++) {
        enum trma_status status = TRMA_OK;
        trma_win_attached_clear(attached, peer);
        if (try_copy(attached, words, peer, &status)) {
            if (status) {
                trma_win_attached_clear(attached, peer);
            }
            return status;
        }
        /* The owner may have been put off its core in the middle, or have ended there. */
        if (tries % TRIES_PER_LOOK == 0 && !trma_node_peer_is_alive(peer)) {
            return TRMA_ERR_PEER_DEAD;
        }
        sched_yield();
    }
}

enum trma_status trma_win_attached_find(struct trma_attached *attached, struct trma_attach_words *words,
                                        struct trma_peer *peer, uintptr_t address, size_t size,
                                        struct trma_path *path) {
    if (atomic_load_explicit(&words->version, memory_order_acquire) != attached->version) {
        enum trma_status status = refresh(attached, words, peer);
        if (status) {
            return status;
        }
    }

    size_t low = 0;
    size_t high = attached->entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (attached->ranges[middle].share.address + attached->ranges[middle].share.size > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == attached->entries || attached->ranges[low].share.address > address) {
        return TRMA_ERR_RANGE;
    }

    const struct trma_attached_range *first = &attached->ranges[low];
    uintptr_t end = first->share.address + first->share.size;
    while (end - address < size && low + 1 < attached->entries &&
           attached->ranges[low + 1].share.address == end) {
        low++;
        end += attached->ranges[low].share.size;
    }
    if (end - address < size) {
        return TRMA_ERR_RANGE;
    }
    *path = (struct trma_path){.peer = peer};
    if (first->mapped) {
        path->mapped_low = first->share.mapped_low;
        path->mapped_high = first->share.mapped_high;
        path->local = (char *)first->mapped + first->share.offset;
    }
    return TRMA_OK;
}
