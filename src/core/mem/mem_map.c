/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uthash.h>

#include "mem_backing.h"
#include "mem_door.h"
#include "mem_region.h"
#include "mem_xpmem.h"

/*
 * Heap chunks stay mapped after their last window here is freed, since the next window is likely to lie on
 * them too: at most so many. That costs address space only: an owner that gives a chunk up punches its pages
 * out of the file first.
 */
#define IDLE_LIMIT 64

/* Hashed as bytes: it must have no padding. */
struct mapping_key {
    uint64_t peer;
    uint64_t serial;
};

struct mapping {
    struct mapping_key key;
    void *base;
    size_t size;
    size_t users;
    bool is_chunk;
    bool is_xpmem;
    UT_hash_handle hh;
};

/* Taken after the peers' lock (node_peer.c), before the region lock. */
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Guarded by map_lock. uthash keeps the order of insertion: idle mappings are re-inserted, so the first idle
 * one is the oldest. */
static struct mapping *mappings;
static size_t idle_count;

static void before_fork(void) {
    pthread_mutex_lock(&map_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&map_lock);
}

/* The child keeps the mappings that the program may have pointers into, and makes its own table. */
static void after_fork_in_child(void) {
    mappings = NULL;
    idle_count = 0;
    pthread_mutex_unlock(&map_lock);
}

static void install_fork_handlers(void) {
    /* Prepare handlers run in the reverse order of registration, locks are taken in the order maps, regions,
     * and maps, XPMEM's device. */
    trma_mem_region_lock();
    trma_mem_region_unlock();
    (void)trma_mem_xpmem_try();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void lock_maps(void) {
    pthread_once(&fork_once, install_fork_handlers);
    pthread_mutex_lock(&map_lock);
}

static void unlock_maps(void) {
    pthread_mutex_unlock(&map_lock);
}

static struct mapping_key key_of(const struct trma_peer *peer, uint64_t serial) {
    return (struct mapping_key){.peer = (uint64_t)(uintptr_t)peer, .serial = serial};
}

static struct mapping *find_mapping(const struct trma_peer *peer, uint64_t serial) {
    struct mapping_key key = key_of(peer, serial);
    struct mapping *mapping;
    /* The key is hashed byte by byte, which the analyzer cannot follow. */
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    HASH_FIND(hh, mappings, &key, sizeof key, mapping);
    return mapping;
}

static void drop_mapping(struct mapping *mapping) {
    if (mapping->users == 0) {
        idle_count--;
    }
    /* The analyzer does not see that deleting the last item clears `mappings`. */
    HASH_DEL(mappings, mapping); // NOLINT(clang-analyzer-unix.Malloc)
    if (mapping->is_xpmem) {
        trma_mem_xpmem_detach(mapping->base);
    } else {
        munmap(mapping->base, mapping->size);
    }
    free(mapping);
}

/* Unmaps the oldest mappings that nobody uses until at most `keep` of them are left; false when there was
 * none to unmap. */
static bool drop_idle(size_t keep) {
    bool dropped = false;
    struct mapping *mapping;
    struct mapping *next;
    HASH_ITER(hh, mappings, mapping, next) {
        if (idle_count <= keep) {
            break;
        }
        if (mapping->users == 0) {
            drop_mapping(mapping);
            dropped = true;
        }
    }
    return dropped;
}

static enum trma_status map_once(struct trma_peer *peer, const struct trma_ticket *ticket, void **base) {
    int descriptor;
    if ((ticket->flags & TRMA_TICKET_IS_XPMEM) != 0) {
        return trma_mem_xpmem_attach(peer->xpmem_access, ticket->inode, ticket->size, base);
    }
    enum trma_status status = trma_mem_door_open(peer, ticket, &descriptor, NULL);
    if (status != TRMA_OK) {
        return status;
    }
    size_t alignment = ticket->size >= TRMA_HUGE_PAGE ? TRMA_HUGE_PAGE : 1;
    *base = trma_mem_backing_map(descriptor, ticket->size, alignment, true);
    close(descriptor);
    return *base != NULL ? TRMA_OK : TRMA_ERR_NO_MEMORY;
}

static enum trma_status map_region(struct trma_peer *peer, const struct trma_ticket *ticket,
                                   struct mapping **out) {
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (mapping == NULL) {
        return TRMA_ERR_NO_MEMORY;
    }
    enum trma_status status = map_once(peer, ticket, &mapping->base);
    if (status == TRMA_ERR_NO_MEMORY) {
        bool dropped = drop_idle(0);
        bool spared = trma_mem_region_spare_descriptor();
        if (dropped || spared) {
            status = map_once(peer, ticket, &mapping->base);
        }
    }
    if (status != TRMA_OK) {
        free(mapping);
        return status;
    }
    mapping->key = key_of(peer, ticket->serial);
    mapping->size = ticket->size;
    mapping->is_xpmem = (ticket->flags & TRMA_TICKET_IS_XPMEM) != 0;
    mapping->is_chunk = (ticket->flags & TRMA_TICKET_IS_CHUNK) != 0;
    idle_count++; /* until its first user is counted */
    HASH_ADD(hh, mappings, key, sizeof mapping->key, mapping);
    *out = mapping;
    return TRMA_OK;
}

static enum trma_status map_own(const struct trma_ticket *ticket, void **base) {
    trma_mem_region_lock();
    const struct trma_region *region = trma_mem_region_by_serial(ticket->serial);
    *base = region != NULL ? region->base - region->file_offset : NULL;
    trma_mem_region_unlock();
    return region != NULL ? TRMA_OK : TRMA_ERR_REFUSED;
}

enum trma_status trma_mem_map_acquire(struct trma_peer *peer, const struct trma_ticket *ticket, void **base) {
    if (ticket->serial == 0 || ticket->size == 0) {
        return TRMA_ERR_ARGUMENT;
    }
    if (peer->is_self) {
        return map_own(ticket, base);
    }
    lock_maps();
    struct mapping *mapping = find_mapping(peer, ticket->serial);
    enum trma_status status = TRMA_OK;
    if (mapping == NULL) {
        status = map_region(peer, ticket, &mapping);
    }
    if (status == TRMA_OK) {
        if (mapping->users++ == 0) {
            idle_count--;
        }
        *base = mapping->base;
    }
    unlock_maps();
    return status;
}

void trma_mem_map_release(struct trma_peer *peer, uint64_t serial) {
    if (peer->is_self) {
        return;
    }
    lock_maps();
    struct mapping *mapping = find_mapping(peer, serial);
    if (mapping != NULL && mapping->users > 0 && --mapping->users == 0) {
        idle_count++;
        if (!mapping->is_chunk) {
            drop_mapping(mapping);
        } else {
            HASH_DEL(mappings, mapping);
            HASH_ADD(hh, mappings, key, sizeof mapping->key, mapping);
            drop_idle(IDLE_LIMIT);
        }
    }
    unlock_maps();
}

void trma_mem_map_forget(const struct trma_peer *peer) {
    struct mapping *mapping;
    struct mapping *next;
    lock_maps();
    HASH_ITER(hh, mappings, mapping, next) {
        if (mapping->key.peer == (uint64_t)(uintptr_t)peer) {
            drop_mapping(mapping);
        }
    }
    unlock_maps();
}

size_t trma_mem_map_count(void) {
    lock_maps();
    size_t count = HASH_COUNT(mappings);
    unlock_maps();
    return count;
}
