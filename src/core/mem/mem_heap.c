/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_heap.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem_buddy.h"
#include "mem_region.h"

#define CACHE_LINE 64U

/* A chunk is cut into at most this many units, so that its book-keeping stays below 2 MiB. */
#define UNITS_PER_CHUNK ((size_t)1 << 20)

/* A block of more than this part of a chunk gets a region of its own. */
#define SINGLE_PART 4

/* Each new chunk is twice the last one, up to this many times the first: few chunks, few descriptors. */
#define GROWTH_LIMIT 16

/* Freed bytes that may keep their pages, per chunk, and the smallest free stretch that is worth a system call
 * then. */
#define DIRTY_LIMIT ((size_t)4 << 20)
#define PUNCH_LEAST ((size_t)128 << 10)

/* Control words are reserved in steps: a page that cannot be had must show here, not as SIGBUS in a peer. */
#define RESERVE_STEP ((size_t)64 << 10)

#define CHUNK_LEAST ((size_t)64 << 10)

struct trma_chunk {
    struct trma_region *region;
    struct trma_buddy *buddy;
    struct trma_chunk *next;
    enum trma_heap heap;
    size_t reserved; /* pages below this offset are there */
    size_t dirty;    /* bytes freed since the free stretches were last given back */
};

/* Guarded by the region lock. */
static struct heap_state {
    struct trma_chunk *chunks;
    size_t first_size;
    size_t next_size; /* of the next chunk; 0: first_size */
} heaps[] = {
    [TRMA_HEAP_CONTROL] = {.first_size = (size_t)8 << 20},
    [TRMA_HEAP_DATA] = {.first_size = (size_t)64 << 20},
};

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* The child cuts nothing from inherited chunks. The region lock is held over the fork (mem_region.c). */
static void forget_chunks(void) {
    for (size_t heap = 0; heap < sizeof heaps / sizeof heaps[0]; heap++) {
        heaps[heap].chunks = NULL;
        heaps[heap].next_size = 0;
    }
}

static void install_fork_handler(void) {
    pthread_atfork(NULL, NULL, forget_chunks);
}

static size_t power_of_two_at_least(size_t value) {
    size_t power = 1;
    while (power < value && power << 1 != 0) {
        power <<= 1;
    }
    return power;
}

void trma_mem_heap_configure(size_t control_chunk, size_t data_chunk) {
    trma_mem_region_lock();
    if (control_chunk != 0) {
        heaps[TRMA_HEAP_CONTROL].first_size =
            power_of_two_at_least(control_chunk < CHUNK_LEAST ? CHUNK_LEAST : control_chunk);
    }
    if (data_chunk != 0) {
        heaps[TRMA_HEAP_DATA].first_size =
            power_of_two_at_least(data_chunk < CHUNK_LEAST ? CHUNK_LEAST : data_chunk);
    }
    trma_mem_region_unlock();
}

/* Makes a chunk and enters it into its heap. */
static enum trma_status chunk_create(enum trma_heap heap, size_t size, struct trma_chunk **out) {
    size_t unit = size / UNITS_PER_CHUNK < CACHE_LINE ? CACHE_LINE : size / UNITS_PER_CHUNK;
    struct trma_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL) {
        return TRMA_ERR_NO_MEMORY;
    }
    chunk->heap = heap;
    chunk->buddy = trma_mem_buddy_create(size, unit);
    enum trma_status status = TRMA_ERR_NO_MEMORY;
    if (chunk->buddy != NULL) {
        status = trma_mem_region_create(size, 1, TRMA_REGION_CHUNK, false, &chunk->region);
        if (status == TRMA_OK) {
            chunk->region->chunk = chunk;
            chunk->next = heaps[heap].chunks;
            heaps[heap].chunks = chunk;
            *out = chunk;
            return TRMA_OK;
        }
        trma_mem_buddy_destroy(chunk->buddy);
    }
    free(chunk);
    return status;
}

/* Makes the next chunk, or a smaller one that still holds `least` bytes when address space or memory is
 * short. */
static enum trma_status heap_grow(enum trma_heap heap, size_t least, struct trma_chunk **out) {
    struct heap_state *state = &heaps[heap];
    size_t size = state->next_size != 0 ? state->next_size : state->first_size;
    enum trma_status status;
    do {
        status = chunk_create(heap, size, out);
        if (status == TRMA_OK) {
            size_t limit = state->first_size * GROWTH_LIMIT;
            state->next_size = size * 2 <= limit ? size * 2 : limit;
            return TRMA_OK;
        }
        size /= 2;
    } while (status == TRMA_ERR_NO_MEMORY && size >= least && size >= CHUNK_LEAST);
    return status;
}

static void chunk_destroy(struct trma_chunk *chunk) {
    struct trma_chunk **link = &heaps[chunk->heap].chunks;
    while (*link != chunk) {
        link = &(*link)->next;
    }
    *link = chunk->next;
    trma_mem_region_destroy(chunk->region);
    trma_mem_buddy_destroy(chunk->buddy);
    free(chunk);
}

/* Pages must be there before anybody touches them: always for control words, for data where a touch may fail.
 */
static bool chunk_reserve(struct trma_chunk *chunk, size_t offset, size_t size) {
    const struct trma_backing *backing = &chunk->region->backing;
    if (chunk->heap == TRMA_HEAP_DATA) {
        /* Pages of data may have been given back since: no mark tells which, the kernel does. */
        return !backing->is_limited || trma_mem_backing_reserve(backing, offset, size);
    }
    size_t end = trma_mem_round_up(offset + size, RESERVE_STEP);
    if (end > chunk->region->size) {
        end = chunk->region->size;
    }
    if (end > chunk->reserved) {
        if (!trma_mem_backing_reserve(backing, chunk->reserved, end - chunk->reserved)) {
            return false;
        }
        chunk->reserved = end;
    }
    return true;
}

static enum trma_status chunk_allocate(struct trma_chunk *chunk, size_t size, void **out) {
    size_t offset = trma_mem_buddy_allocate(chunk->buddy, size);
    if (offset == SIZE_MAX) {
        return TRMA_ERR_RANGE;
    }
    if (!chunk_reserve(chunk, offset, size)) {
        trma_mem_buddy_free(chunk->buddy, offset);
        return TRMA_ERR_NO_MEMORY;
    }
    *out = chunk->region->base + offset;
    return TRMA_OK;
}

/* A block from some chunk of the heap. */
static enum trma_status heap_cut(enum trma_heap heap, size_t size, void **out) {
    for (struct trma_chunk *chunk = heaps[heap].chunks; chunk != NULL; chunk = chunk->next) {
        enum trma_status status = chunk_allocate(chunk, size, out);
        if (status != TRMA_ERR_RANGE) {
            return status;
        }
    }
    struct trma_chunk *chunk = NULL;
    enum trma_status status = heap_grow(heap, size, &chunk);
    return status == TRMA_OK ? chunk_allocate(chunk, size, out) : status;
}

static enum trma_status heap_allocate_single(enum trma_heap heap, size_t size, size_t alignment, void **out) {
    size_t unit = size >= TRMA_HUGE_PAGE ? TRMA_HUGE_PAGE : trma_mem_page_size();
    size_t rounded = trma_mem_round_up(size, unit);
    struct trma_region *region;
    enum trma_status status =
        rounded == 0 ? TRMA_ERR_NO_MEMORY
                     : trma_mem_region_create(rounded, alignment, TRMA_REGION_SINGLE, false, &region);
    if (status != TRMA_OK) {
        return status;
    }
    bool must_reserve = heap == TRMA_HEAP_CONTROL || region->backing.is_limited;
    if (must_reserve && !trma_mem_backing_reserve(&region->backing, 0, size)) {
        trma_mem_region_destroy(region);
        return TRMA_ERR_NO_MEMORY;
    }
    *out = region->base;
    return TRMA_OK;
}

enum trma_status trma_mem_heap_allocate(enum trma_heap heap, size_t size, size_t alignment, void **out) {
    if ((alignment & (alignment - 1)) != 0) {
        return TRMA_ERR_ARGUMENT;
    }
    if (alignment < CACHE_LINE) {
        alignment = CACHE_LINE;
    }
    trma_mem_region_lock();
    pthread_once(&fork_once, install_fork_handler);
    /* A buddy block is aligned to its own size, as far as its chunk is: a chunk is sure of page alignment
     * only. */
    size_t length = size > alignment ? size : alignment;
    bool fits_chunk = length <= heaps[heap].first_size / SINGLE_PART && alignment <= trma_mem_page_size();
    enum trma_status status = TRMA_ERR_NO_MEMORY;
    if (fits_chunk) {
        status = heap_cut(heap, length, out);
    }
    bool is_single = status == TRMA_ERR_NO_MEMORY;
    if (is_single) {
        status = heap_allocate_single(heap, size == 0 ? 1 : size, alignment, out);
    }
    trma_mem_region_unlock();
    if (status == TRMA_OK && heap == TRMA_HEAP_CONTROL && !is_single) {
        memset(*out, 0, size);
    }
    return status;
}

static void give_back_stretch(void *context, size_t offset, size_t size) {
    const struct trma_chunk *chunk = context;
    trma_mem_backing_punch(&chunk->region->backing, offset, size);
}

/* One empty chunk is kept, so that a heap that breathes around a chunk's size does not make and destroy one
 * each time. */
static bool has_other_empty_chunk(const struct trma_chunk *chunk) {
    for (const struct trma_chunk *other = heaps[chunk->heap].chunks; other != NULL; other = other->next) {
        if (other != chunk && trma_mem_buddy_is_empty(other->buddy)) {
            return true;
        }
    }
    return false;
}

static bool chunk_free(struct trma_chunk *chunk, size_t offset) {
    size_t size = trma_mem_buddy_free(chunk->buddy, offset);
    if (size == 0) {
        return false;
    }
    if (trma_mem_buddy_is_empty(chunk->buddy) && has_other_empty_chunk(chunk)) {
        chunk_destroy(chunk);
        return true;
    }
    chunk->dirty += size;
    /* Control words keep their pages: they are few, and reserved for good. */
    if (chunk->heap == TRMA_HEAP_DATA && chunk->dirty >= DIRTY_LIMIT) {
        trma_mem_buddy_visit_free(chunk->buddy, PUNCH_LEAST, give_back_stretch, chunk);
        chunk->dirty = 0;
    }
    return true;
}

bool trma_mem_heap_free(void *block) {
    bool is_ours = false;
    trma_mem_region_lock();
    struct trma_region *region = trma_mem_region_at((uintptr_t)block);
    if (region != NULL && region->kind != TRMA_REGION_ADOPTED) {
        if (region->is_inherited) {
            is_ours = true; /* the parent's: the child only forgets it */
        } else if (region->kind == TRMA_REGION_CHUNK) {
            is_ours = chunk_free(region->chunk, (size_t)((char *)block - region->base));
        } else if (block == region->base) {
            trma_mem_region_destroy(region);
            is_ours = true;
        }
    }
    trma_mem_region_unlock();
    return is_ours;
}
