/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem_adopt_edges.h"
#include "mem_adopt_guard.h"
#include "mem_adopt_maps.h"
#include "mem_adopt_pagemap.h"
#include "mem_adopt_pages.h"
#include "mem_adopt_threads.h"
#include "mem_heap.h"
#include "mem_region.h"

/* What an adopted region is besides a region. */
struct trma_adoption {
    size_t users; /* 0: it could not be given back yet */
    struct trma_memory_kind kind;
    bool has_strangers; /* see struct trma_page_range */
    struct trma_stash stash;
    void *snapshot; /* while a fork is under way: what the child will find in its place */
    struct trma_adoption *next;
    struct trma_region *region;
};

/* Held over a whole exchange. Taken before the region lock. */
static pthread_mutex_t adopt_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct trma_adoption *adoptions; /* guarded by adopt_lock */
static _Atomic(const struct trma_adopt_writers *) writers;

void trma_mem_adopt_keep_out(const struct trma_adopt_writers *which) {
    /* Release: with the pointer comes what it points to. */
    atomic_store_explicit(&writers, which, memory_order_release);
}

/* Under the lock, as let_writers: true when nobody else writes until then. */
static bool hold_writers(void) {
    const struct trma_adopt_writers *known = atomic_load_explicit(&writers, memory_order_acquire);

    return known == NULL || known->hold();
}

static void let_writers(void) {
    const struct trma_adopt_writers *known = atomic_load_explicit(&writers, memory_order_acquire);

    if (known != NULL) {
        known->let();
    }
}

static struct trma_exchange exchange_of(const struct trma_region *region, const struct trma_memory_kind *kind,
                                        struct trma_stash stash) {
    return (struct trma_exchange){.low = (uintptr_t)region->base,
                                  .high = (uintptr_t)region->base + region->size,
                                  .file = region->backing.descriptor,
                                  .file_offset = region->file_offset,
                                  .kind = *kind,
                                  .stash = stash};
}

/*
 * fork: the child finds what an ordinary private memory would hold. The copy is made before the fork, so that
 * nothing that the parent stores afterwards is in it, and nobody waits for anybody. vfork and posix_spawn do
 * not come here, and need not.
 */
static void before_fork(void) {
    pthread_mutex_lock(&adopt_lock);
    for (struct trma_adoption *adoption = adoptions; adoption != NULL; adoption = adoption->next) {
        struct trma_exchange exchange = exchange_of(adoption->region, &adoption->kind, adoption->stash);
        adoption->snapshot = trma_mem_pages_snapshot(&exchange);
    }
}

static void after_fork_in_parent(void) {
    for (struct trma_adoption *adoption = adoptions; adoption != NULL; adoption = adoption->next) {
        if (adoption->snapshot != NULL) {
            munmap(adoption->snapshot, adoption->region->size);
            adoption->snapshot = NULL;
        }
    }
    pthread_mutex_unlock(&adopt_lock);
}

/* Moves a part of the snapshot to where it belongs. Without one the child must not have the parent's pages
 * either. */
static void place_snapshot(void *context, uintptr_t low, uintptr_t high) {
    const struct trma_adoption *adoption = context;
    char *from = (char *)adoption->snapshot + (low - (uintptr_t)adoption->region->base);
    if (adoption->snapshot == NULL ||
        mremap(from, high - low, high - low, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)low) == MAP_FAILED) {
        munmap((void *)low, high - low);
    }
}

static void after_fork_in_child(void) {
    trma_mem_threads_forget();
    while (adoptions != NULL) {
        struct trma_adoption *adoption = adoptions;
        struct trma_region *region = adoption->region;
        adoptions = adoption->next;
        uintptr_t low = (uintptr_t)region->base;
        if (!trma_mem_maps_visit_file(low, low + region->size, region->backing.inode, place_snapshot,
                                      adoption)) {
            place_snapshot(adoption, low, low + region->size);
        }
        trma_mem_region_lock();
        trma_mem_region_remove(region);
        trma_mem_region_unlock();
        trma_mem_stash_drop(&adoption->stash);
        free(adoption);
    }
    pthread_mutex_unlock(&adopt_lock);
}

static void install_fork_handlers(void) {
    /* The region lock's handlers come first, so that they run last before a fork: its lock is the inner one.
     */
    trma_mem_region_lock();
    trma_mem_region_unlock();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/*
 * As early as can be: in a child the handlers run in the order of their installation, and nobody's handler
 * should write to a page (another's data may lie on a window's edge) before it is the child's own.
 */
__attribute__((constructor)) static void install_early(void) {
    pthread_once(&fork_once, install_fork_handlers);
}

static void lock_adoptions(void) {
    pthread_once(&fork_once, install_fork_handlers);
    pthread_mutex_lock(&adopt_lock);
}

struct stretch {
    uintptr_t low;
    uintptr_t high;
    struct trma_region *region; /* that it lies in; NULL: a gap between regions */
};

static void keep_larger(struct stretch *best, uintptr_t low, uintptr_t high, struct trma_region *region) {
    if (high > low && high - low > best->high - best->low) {
        *best = (struct stretch){.low = low, .high = high, .region = region};
    }
}

/* The largest part of [low, high) that is one region or no region at all. Under the region lock. */
static struct stretch largest_stretch(uintptr_t low, uintptr_t high) {
    struct stretch best = {.low = low, .high = low};
    uintptr_t at = low;
    while (at < high) {
        struct trma_region *region = trma_mem_region_at_or_above(at);
        if (region == NULL || (uintptr_t)region->base >= high) {
            keep_larger(&best, at, high, NULL);
            break;
        }
        uintptr_t base = (uintptr_t)region->base;
        uintptr_t end = base + region->size;
        keep_larger(&best, at, base, NULL);
        keep_larger(&best, base > at ? base : at, end < high ? end : high, region);
        at = end;
    }
    return best;
}

/* Enters what has been exchanged into the tables; false when memory is exhausted. */
static bool enter_region(const struct trma_region *region, const struct trma_exchange *exchange,
                         bool has_strangers) {
    struct trma_adoption *adoption = malloc(sizeof *adoption);
    if (adoption == NULL) {
        return false;
    }
    *adoption = (struct trma_adoption){.users = 1,
                                       .kind = exchange->kind,
                                       .has_strangers = has_strangers,
                                       .stash = exchange->stash,
                                       .next = adoptions};
    trma_mem_region_lock();
    adoption->region = trma_mem_region_insert(region);
    if (adoption->region != NULL) {
        adoption->region->adoption = adoption;
    }
    trma_mem_region_unlock();
    if (adoption->region == NULL) {
        free(adoption);
        return false;
    }
    adoptions = adoption;
    return true;
}

/* Are there threads that must be held back? */
static bool has_writers(bool has_strangers) {
    return trma_mem_threads_may_write() || (has_strangers && trma_mem_threads_exist());
}

static const char *judge(uintptr_t low, uintptr_t high, bool has_strangers, struct trma_memory_kind *kind,
                         bool *has_threads) {
    trma_mem_region_lock();
    bool is_scarce = trma_mem_region_descriptors_are_scarce();
    trma_mem_region_unlock();
    if (is_scarce) {
        return "file descriptors are scarce (ulimit -n)";
    }
    const char *reason = trma_mem_maps_judge(low, high, kind);
    if (reason != NULL) {
        return reason;
    }
    *has_threads = has_writers(has_strangers);
    if (*has_threads && kind->is_file_backed) {
        return "it is static data, and other threads are running";
    }
    return NULL;
}

/* The exchange itself: everything that has to be found out about the pages is known. */
static enum trma_status exchange_pages(struct trma_exchange *exchange, const struct trma_region *region,
                                       bool has_strangers, const char **reason) {
    if (!hold_writers()) {
        *reason = "a peer that ended was writing into this process";
        return TRMA_ERR_REFUSED;
    }
    enum trma_status status = trma_mem_pages_to_file(exchange, reason);
    if (status == TRMA_OK && !enter_region(region, exchange, has_strangers)) {
        (void)trma_mem_pages_to_private(exchange, exchange->low, exchange->high);
        trma_mem_stash_drop(&exchange->stash);
        *reason = "memory is exhausted";
        status = TRMA_ERR_NO_MEMORY;
    }
    let_writers();
    return status;
}

static enum trma_status adopt_gap(uintptr_t low, uintptr_t high, bool has_strangers, const char **reason) {
    struct trma_memory_kind kind;
    bool has_threads;
    *reason = judge(low, high, has_strangers, &kind, &has_threads);
    if (*reason != NULL) {
        return TRMA_ERR_REFUSED;
    }
    struct trma_region region = {.base = (char *)low, .size = high - low, .kind = TRMA_REGION_ADOPTED};
    region.file_size = region.size;
    if (region.size >= TRMA_HUGE_PAGE) {
        /* Whole huge pages, for the peers' mappings of the ragged ends. */
        region.file_offset = low & (TRMA_HUGE_PAGE - 1);
        region.file_size = trma_mem_round_up(region.file_offset + region.size, TRMA_HUGE_PAGE);
    }
    trma_mem_region_lock();
    enum trma_status status = trma_mem_region_make_backing(region.file_size, &region.backing, &region.serial);
    trma_mem_region_unlock();
    if (status != TRMA_OK) {
        *reason = "no shared memory can be made";
        return status;
    }
    if (region.backing.is_limited) {
        *reason = "shared memory is limited here, and pages that were never touched could fail later";
        status = TRMA_ERR_REFUSED;
    } else {
        struct trma_exchange exchange = exchange_of(&region, &kind, (struct trma_stash){.base = NULL});
        exchange.has_threads = has_threads;
        status = exchange_pages(&exchange, &region, has_strangers, reason);
    }
    if (status != TRMA_OK) {
        trma_mem_backing_destroy(&region.backing, region.serial);
    }
    return status;
}

struct return_work {
    const struct trma_exchange *exchange;
    bool is_done;
};

static void return_part(void *context, uintptr_t low, uintptr_t high) {
    struct return_work *work = context;
    work->is_done = trma_mem_pages_to_private(work->exchange, low, high) && work->is_done;
}

/* Only what is still mapped there: the program may have freed the memory under the window. False: nothing was
 * done, it must be tried again. */
static bool give_back(struct trma_adoption *adoption) {
    const struct trma_region *region = adoption->region;
    struct trma_exchange exchange = exchange_of(region, &adoption->kind, adoption->stash);
    exchange.has_threads = has_writers(adoption->has_strangers);
    struct return_work work = {.exchange = &exchange, .is_done = true};
    if (!trma_mem_guard_is_possible(exchange.has_threads) || !hold_writers()) {
        return false;
    }
    /* What there is no memory for stays shared: worse for the allocator, but not a byte is lost. */
    const bool is_done =
        trma_mem_maps_visit_file(exchange.low, exchange.high, region->backing.inode, return_part, &work);
    let_writers();
    return is_done;
}

static void add_size(void *context, uintptr_t low, uintptr_t high) {
    *(size_t *)context += high - low;
}

/* False when the program has unmapped a part of it: other memory may come to lie there. */
static bool is_intact(const struct trma_region *region) {
    uintptr_t low = (uintptr_t)region->base;
    size_t mapped = 0;
    return !trma_mem_maps_visit_file(low, low + region->size, region->backing.inode, add_size, &mapped) ||
           mapped == region->size;
}

/* Gives back what nobody uses any more, also what could not be given back before. Under the lock. */
static void give_back_leftovers(void) {
    struct trma_adoption **link = &adoptions;
    while (*link != NULL) {
        struct trma_adoption *adoption = *link;
        if (adoption->users == 0 && (give_back(adoption) || !is_intact(adoption->region))) {
            *link = adoption->next;
            trma_mem_region_lock();
            trma_mem_region_remove(adoption->region);
            trma_mem_region_unlock();
            trma_mem_stash_drop(&adoption->stash);
            free(adoption);
        } else {
            link = &adoption->next;
        }
    }
}

/* What can be had of these pages: adopts them, or joins who has. */
static enum trma_status adopt_pages(struct trma_page_range pages, const char **reason) {
    if (pages.high == pages.low) {
        *reason = "it holds no whole page, and the data around it may be in use by other threads";
        return TRMA_ERR_REFUSED;
    }
    trma_mem_region_lock();
    struct stretch best = largest_stretch(pages.low, pages.high);
    trma_mem_region_unlock();
    if (best.region == NULL) {
        return adopt_gap(best.low, best.high, pages.has_strangers, reason);
    }
    if (best.region->kind == TRMA_REGION_ADOPTED) {
        best.region->adoption->users++;
    }
    return TRMA_OK;
}

enum trma_status trma_mem_adopt_range(void *address, size_t size, struct trma_share *share,
                                      const char **reason) {
    struct trma_page_range inner = trma_mem_edges_inner((uintptr_t)address, size);
    *reason = NULL;
    lock_adoptions();
    give_back_leftovers();
    struct trma_page_range chosen = trma_mem_edges_choose((uintptr_t)address, size);
    enum trma_status status = adopt_pages(chosen, reason);
    if (status == TRMA_ERR_REFUSED && inner.high > inner.low &&
        (inner.low != chosen.low || inner.high != chosen.high)) {
        /* The edges may be memory of another kind. */
        *reason = NULL;
        status = adopt_pages(inner, reason);
    }
    trma_mem_share_describe(address, size, share);
    pthread_mutex_unlock(&adopt_lock);
    return status;
}

bool trma_mem_adopt_join(void *address, size_t size, struct trma_share *share) {
    bool is_adopted = false;

    lock_adoptions();
    give_back_leftovers();
    trma_mem_share_describe(address, size, share);
    for (struct trma_adoption *adoption = adoptions; adoption != NULL; adoption = adoption->next) {
        if (share->ticket.serial != 0 && adoption->region->serial == share->ticket.serial) {
            adoption->users++;
            is_adopted = true;
        }
    }
    pthread_mutex_unlock(&adopt_lock);
    return is_adopted;
}

void trma_mem_adopt_release(uint64_t serial) {
    lock_adoptions();
    for (struct trma_adoption *adoption = adoptions; adoption != NULL; adoption = adoption->next) {
        if (adoption->region->serial == serial && adoption->users > 0) {
            adoption->users--;
        }
    }
    give_back_leftovers();
    pthread_mutex_unlock(&adopt_lock);
}

size_t trma_mem_adopt_touched(const void *address, size_t size, size_t most) {
    uintptr_t page = trma_mem_page_size();
    uintptr_t low = (uintptr_t)address / page * page;
    uintptr_t high = ((uintptr_t)address + size + page - 1) / page * page;
    size_t pages = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool is_told = pagemap >= 0 && trma_mem_pagemap_count(pagemap, low, high, most / page, &pages);
    if (pagemap >= 0) {
        close(pagemap);
    }
    return is_told ? pages * page : SIZE_MAX;
}

void trma_mem_adopt_usage(size_t *regions, size_t *bytes) {
    *regions = 0;
    *bytes = 0;
    lock_adoptions();
    for (const struct trma_adoption *adoption = adoptions; adoption != NULL; adoption = adoption->next) {
        (*regions)++;
        *bytes += adoption->region->size;
    }
    pthread_mutex_unlock(&adopt_lock);
}
