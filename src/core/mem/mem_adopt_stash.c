/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_stash.h"

#include "mem_backing.h"
#include "mem_raw.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* The mapping at the old place stays, empty: whoever guards it goes on doing so, and the address space of the
 * stash stays ours. */
static bool move(uintptr_t from, uintptr_t to, size_t size) {
    return trma_mem_raw_remap((void *)from, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                              (void *)to) != MAP_FAILED;
}

/* Address space at the same place within a huge page, so that huge pages survive the way back. */
static char *reserve(uintptr_t low, size_t size) {
    size_t room = size + TRMA_HUGE_PAGE;
    char *reserved =
        trma_mem_raw_mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        return NULL;
    }
    size_t lead = (low - (uintptr_t)reserved) & (TRMA_HUGE_PAGE - 1);
    if (lead > 0) {
        trma_mem_raw_munmap(reserved, lead);
    }
    if (lead < TRMA_HUGE_PAGE) {
        trma_mem_raw_munmap(reserved + lead + size, TRMA_HUGE_PAGE - lead);
    }
    return reserved + lead;
}

bool trma_mem_stash_take(struct trma_stash *stash, uintptr_t low, uintptr_t high) {
    *stash = (struct trma_stash){.base = reserve(low, high - low), .low = low, .size = high - low};
    if (stash->base != NULL && !move(low, (uintptr_t)stash->base, stash->size)) {
        trma_mem_stash_drop(stash);
    }
    return stash->base != NULL;
}

void trma_mem_stash_empty(const struct trma_stash *stash) {
    if (stash->base != NULL) {
        trma_mem_raw_madvise(stash->base, stash->size, MADV_DONTNEED);
    }
}

char *trma_mem_stash_at(const struct trma_stash *stash, uintptr_t address) {
    return stash->base + (address - stash->low);
}

bool trma_mem_stash_return(const struct trma_stash *stash, uintptr_t low, uintptr_t high) {
    return move((uintptr_t)trma_mem_stash_at(stash, low), low, high - low);
}

void trma_mem_stash_drop(struct trma_stash *stash) {
    if (stash->base != NULL) {
        trma_mem_raw_munmap(stash->base, stash->size);
        stash->base = NULL;
    }
}
