/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_huge.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../node/node_wait.h"
#include "mem_adopt_pagemap.h"
#include "mem_backing.h"
#include "mem_heap.h"
#include "mem_raw.h"
#include "mem_region.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/* After so many refusals in a row there is no huge page to be had; each costs the kernel a search. */
#define MOST_REFUSALS 2

static uintptr_t first_extent(uintptr_t low) {
    return (low + TRMA_HUGE_PAGE - 1) & ~((uintptr_t)TRMA_HUGE_PAGE - 1);
}

/* The kernel wants to find something to collapse: a page of zeros, since all of the extent is written later.
 */
static bool make_huge(int file, off_t offset, void *view) {
    return pwrite(file, "", 1, offset) == 1 && madvise(view, TRMA_HUGE_PAGE, MADV_COLLAPSE) == 0;
}

/* Is at least a quarter of the extent at `at` inside [low, high), and are all those pages there? */
static bool deserves_huge(int pagemap, uintptr_t at, uintptr_t low, uintptr_t high) {
    uintptr_t begin = at > low ? at : low;
    uintptr_t end = at + TRMA_HUGE_PAGE < high ? at + TRMA_HUGE_PAGE : high;
    return end - begin >= TRMA_HUGE_PAGE / 4 && trma_mem_pagemap_is_full(pagemap, begin, end);
}

void trma_mem_huge_prepare(int file, size_t file_offset, int pagemap, uintptr_t low, uintptr_t high) {
    if (high - low < TRMA_HUGE_PAGE) {
        return;
    }
    uintptr_t first = low & ~((uintptr_t)TRMA_HUGE_PAGE - 1);
    size_t size = first_extent(high) - first;
    off_t offset = (off_t)(file_offset - (low - first));
    /* Somewhere else, since the place itself still holds the private pages. */
    size_t room = size + TRMA_HUGE_PAGE;
    void *reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        return;
    }
    void *view = (void *)first_extent((uintptr_t)reserved);
    int refusals = 0;
    if (mmap(view, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset) != MAP_FAILED) {
        for (size_t at = 0; at < size && refusals < MOST_REFUSALS; at += TRMA_HUGE_PAGE) {
            if (deserves_huge(pagemap, first + at, low, high)) {
                refusals = make_huge(file, offset + (off_t)at, (char *)view + at) ? 0 : refusals + 1;
            }
        }
    }
    munmap(reserved, room);
}

void trma_mem_huge_prepare_private(uintptr_t low, uintptr_t high) {
    int refusals = 0;
    for (uintptr_t at = first_extent(low); at + TRMA_HUGE_PAGE <= high && refusals < MOST_REFUSALS;
         at += TRMA_HUGE_PAGE) {
        /* Something to collapse, as above; by the kernel: to AddressSanitizer the page is not ours to write.
         */
        (void)trma_mem_raw_madvise((void *)at, trma_mem_page_size(), MADV_POPULATE_WRITE);
        refusals = trma_mem_raw_madvise((void *)at, TRMA_HUGE_PAGE, MADV_COLLAPSE) == 0 ? 0 : refusals + 1;
    }
}

size_t trma_mem_huge_populate(void *address, size_t size, uint64_t budget_ns) {
    uintptr_t low = first_extent((uintptr_t)address);
    uintptr_t high = (uintptr_t)address + size;
    uint64_t begin = trma_node_clock_ns();
    size_t done = 0;
    int refusals = 0;
    for (uintptr_t at = low;
         at + TRMA_HUGE_PAGE <= high && refusals < MOST_REFUSALS && trma_node_clock_ns() - begin < budget_ns;
         at += TRMA_HUGE_PAGE) {
        bool is_done = madvise((void *)at, trma_mem_page_size(), MADV_POPULATE_READ) == 0 &&
                       madvise((void *)at, TRMA_HUGE_PAGE, MADV_COLLAPSE) == 0;
        refusals = is_done ? 0 : refusals + 1;
        done += is_done ? TRMA_HUGE_PAGE : 0;
    }
    return done;
}

uint64_t trma_mem_huge_allowance(uint64_t age_ns, uint64_t spent_ns) {
    const uint64_t credit_ns = 50000000;
    enum { SHARE = 32 };
    uint64_t allowed_ns = credit_ns + age_ns / SHARE;
    return allowed_ns > spent_ns ? allowed_ns - spent_ns : 0;
}

/*
 * A block that is smaller than a huge page, but not much, gets the one around it, if that belongs to its heap
 * as a whole: its neighbours there will have the use of the rest.
 */
static bool widen(uintptr_t *address, size_t *size) {
    const uintptr_t extent = *address & ~((uintptr_t)TRMA_HUGE_PAGE - 1);
    bool is_ours = false;
    if (*size < TRMA_HUGE_PAGE / 4) {
        return false;
    }
    trma_mem_region_lock();
    const struct trma_region *region = trma_mem_region_at(*address);
    if (region != NULL) {
        const uintptr_t base = (uintptr_t)region->base;
        is_ours = extent >= base && extent + TRMA_HUGE_PAGE <= base + region->size;
    }
    trma_mem_region_unlock();
    *address = extent;
    *size = TRMA_HUGE_PAGE;
    return is_ours;
}

/* Whether this process owns more shared memory than it ever did before. */
static bool is_new_ground(void) {
    static _Atomic size_t most;
    size_t now;
    size_t descriptors;
    size_t before = atomic_load(&most);
    trma_mem_heap_usage(&now, &descriptors);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
    return now > before;
}

void trma_mem_huge_populate_new(void *block, size_t size) {
    enum { PART = 16 };
    uintptr_t address = (uintptr_t)block;
    static _Atomic uint64_t first_ns; /* the first call */
    static _Atomic uint64_t spent_ns;
    long pages = sysconf(_SC_AVPHYS_PAGES);
    if ((size < TRMA_HUGE_PAGE && !widen(&address, &size)) || pages <= 0 ||
        size > (size_t)pages / PART * trma_mem_page_size()) {
        return;
    }
    if (is_new_ground()) {
        (void)trma_mem_huge_populate((void *)address, size, UINT64_MAX);
        return;
    }
    uint64_t now = trma_node_clock_ns();
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong(&first_ns, &none, now);
    (void)trma_mem_huge_populate(
        (void *)address, size, trma_mem_huge_allowance(now - atomic_load(&first_ns), atomic_load(&spent_ns)));
    atomic_fetch_add(&spent_ns, trma_node_clock_ns() - now);
}
