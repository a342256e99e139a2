/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_region.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mem_door.h"
#include "mem_heap.h"
#include "mem_tracker.h"

/* More open descriptors than this part of the limit are scarce: settled regions give theirs up. */
#define SCARCE_PART 4

static pthread_mutex_t region_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Guarded by region_lock. */
static struct trma_region **table;
static size_t table_length;
static size_t table_room;
static uint64_t last_serial;
static size_t open_descriptors;
static size_t owned_bytes;

static void before_fork(void) {
    pthread_mutex_lock(&region_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&region_lock);
}

static void after_fork_in_child(void) {
    for (size_t i = 0; i < table_length; i++) {
        struct trma_region *region = table[i];
        region->is_inherited = true;
        region->backing.is_named = false;
        if (region->backing.descriptor >= 0) {
            close(region->backing.descriptor);
            region->backing.descriptor = -1;
        }
    }
    open_descriptors = 0;
    owned_bytes = 0;
    trma_mem_backing_set_nonce(0);
    trma_mem_tracker_forget();
    trma_mem_door_serve_forget();
    pthread_mutex_unlock(&region_lock);
}

static void install_fork_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void trma_mem_region_lock(void) {
    pthread_once(&fork_once, install_fork_handlers);
    pthread_mutex_lock(&region_lock);
}

void trma_mem_region_unlock(void) {
    pthread_mutex_unlock(&region_lock);
}

/* Index of the first region that ends above the address. */
static size_t table_search(uintptr_t address) {
    size_t low = 0;
    size_t high = table_length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)table[middle]->base + table[middle]->size > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

struct trma_region *trma_mem_region_at_or_above(uintptr_t address) {
    size_t index = table_search(address);
    return index < table_length ? table[index] : NULL;
}

struct trma_region *trma_mem_region_at(uintptr_t address) {
    struct trma_region *region = trma_mem_region_at_or_above(address);
    return region != NULL && (uintptr_t)region->base <= address ? region : NULL;
}

struct trma_region *trma_mem_region_by_serial(uint64_t serial) {
    for (size_t i = 0; i < table_length; i++) {
        if (table[i]->serial == serial && !table[i]->is_inherited) {
            return table[i];
        }
    }
    return NULL;
}

struct trma_ticket trma_mem_region_ticket(const struct trma_region *region) {
    return (struct trma_ticket){.serial = region->serial,
                                .size = region->file_size,
                                .inode = region->backing.inode,
                                .descriptor = region->backing.descriptor,
                                .flags = region->kind == TRMA_REGION_CHUNK ? TRMA_TICKET_IS_CHUNK : 0};
}

struct trma_region *trma_mem_region_insert(const struct trma_region *region) {
    if (table_length == table_room) {
        size_t room = table_room == 0 ? 64 : table_room * 2;
        struct trma_region **larger = realloc(table, room * sizeof(struct trma_region *));
        if (larger == NULL) {
            return NULL;
        }
        table = larger;
        table_room = room;
    }
    struct trma_region *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *region;
    size_t index = table_search((uintptr_t)copy->base);
    memmove(&table[index + 1], &table[index], (table_length - index) * sizeof(struct trma_region *));
    table[index] = copy;
    table_length++;
    owned_bytes += copy->size;
    open_descriptors += copy->backing.descriptor >= 0;
    return copy;
}

static void close_descriptor(struct trma_region *region) {
    if (region->backing.descriptor >= 0) {
        open_descriptors--;
        trma_mem_backing_destroy(&region->backing, region->serial);
    }
}

void trma_mem_region_remove(struct trma_region *region) {
    close_descriptor(region);
    if (!region->is_inherited) {
        owned_bytes -= region->size;
    }
    size_t index = table_search((uintptr_t)region->base);
    table_length--;
    memmove(&table[index], &table[index + 1], (table_length - index) * sizeof(struct trma_region *));
    free(region);
}

void trma_mem_region_destroy(struct trma_region *region) {
    char *base = region->base;
    size_t size = region->size;
    if (!region->is_inherited) {
        if (region->backing.descriptor >= 0) {
            trma_mem_backing_punch(&region->backing, 0, size);
        } else {
            (void)madvise(base, size,
                          MADV_REMOVE); /* best effort: the last unmapping gives the pages back too */
        }
    }
    trma_mem_region_remove(region);
    munmap(base, size);
}

/* Closes the descriptor of one settled region; under the lock. */
static bool spare_descriptor(void) {
    for (size_t i = 0; i < table_length; i++) {
        if (table[i]->is_settled && table[i]->backing.descriptor >= 0) {
            close_descriptor(table[i]);
            return true;
        }
    }
    return false;
}

bool trma_mem_region_spare_descriptor(void) {
    trma_mem_region_lock();
    bool spared = spare_descriptor();
    trma_mem_region_unlock();
    return spared;
}

uint64_t trma_mem_region_next_serial(void) {
    return ++last_serial;
}

enum trma_status trma_mem_region_make_backing(size_t size, struct trma_backing *out, uint64_t *serial) {
    *serial = trma_mem_region_next_serial();
    bool named = trma_mem_door_needs_names();
    enum trma_status status = trma_mem_backing_create(size, *serial, named, out);
    if (status == TRMA_ERR_NO_MEMORY && spare_descriptor()) {
        status = trma_mem_backing_create(size, *serial, named, out);
    }
    return status;
}

enum trma_status trma_mem_region_create(size_t size, size_t alignment, enum trma_region_kind kind,
                                        bool reserve, struct trma_region **out) {
    struct trma_region region = {.size = size, .file_size = size, .kind = kind};
    enum trma_status status = trma_mem_region_make_backing(size, &region.backing, &region.serial);
    if (status != TRMA_OK) {
        return status;
    }
    bool is_wish = alignment <= trma_mem_page_size();
    if (is_wish && size >= TRMA_HUGE_PAGE) {
        alignment = TRMA_HUGE_PAGE;
    }
    if (!reserve || trma_mem_backing_reserve(&region.backing, 0, size)) {
        region.base = trma_mem_backing_map(region.backing.descriptor, size, alignment, is_wish);
        if (region.base != NULL) {
            *out = trma_mem_region_insert(&region);
            if (*out != NULL) {
                return TRMA_OK;
            }
            munmap(region.base, size);
        }
    }
    trma_mem_backing_destroy(&region.backing, region.serial);
    return TRMA_ERR_NO_MEMORY;
}

void trma_mem_region_describe(const void *address, size_t size, struct trma_share *share) {
    uintptr_t low = (uintptr_t)address;
    uintptr_t high = size > UINTPTR_MAX - low ? UINTPTR_MAX : low + size;
    *share = (struct trma_share){.address = low, .size = size};
    for (const struct trma_region *region = trma_mem_region_at_or_above(low);
         region != NULL && (uintptr_t)region->base < high;
         region = trma_mem_region_at_or_above((uintptr_t)region->base + region->size)) {
        uintptr_t base = (uintptr_t)region->base;
        uintptr_t mapped_low = low > base ? low : base;
        uintptr_t mapped_high = high < base + region->size ? high : base + region->size;
        /* A share has room for one part: the largest is the one worth having. */
        if (!region->is_inherited && mapped_high - mapped_low > share->mapped_high - share->mapped_low) {
            share->mapped_low = mapped_low;
            share->mapped_high = mapped_high;
            share->offset = mapped_low - base + region->file_offset;
            share->ticket = trma_mem_region_ticket(region);
        }
    }
}

void trma_mem_share_describe(const void *address, size_t size, struct trma_share *share) {
    trma_mem_region_lock();
    trma_mem_region_describe(address, size, share);
    trma_mem_region_unlock();
}

bool trma_mem_region_descriptors_are_scarce(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && open_descriptors > limit.rlim_cur / SCARCE_PART;
}

void trma_mem_share_settled(const struct trma_share *share) {
    if (share->ticket.serial == 0 || (share->ticket.flags & TRMA_TICKET_IS_CHUNK) != 0) {
        return;
    }
    trma_mem_region_lock();
    struct trma_region *region = trma_mem_region_by_serial(share->ticket.serial);
    if (region != NULL) {
        trma_mem_backing_unname(&region->backing, region->serial);
    }
    /* An adopted region needs its file once more, when the memory is given back. */
    if (region != NULL && region->kind == TRMA_REGION_SINGLE) {
        region->is_settled = true;
        if (trma_mem_region_descriptors_are_scarce()) {
            close_descriptor(region);
        }
    }
    trma_mem_region_unlock();
}

void trma_mem_heap_usage(size_t *bytes, size_t *descriptors) {
    trma_mem_region_lock();
    *bytes = owned_bytes;
    *descriptors = open_descriptors;
    trma_mem_region_unlock();
}
