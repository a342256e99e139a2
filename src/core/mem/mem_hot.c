/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_hot.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../node/node_wait.h"
#include "mem_adopt_pagemap.h"
#include "mem_backing.h"
#include "mem_huge.h"
#include "mem_region.h"

/* Bytes are counted in units, which fit into a word for all that is waited for. */
enum { UNIT = 4096 };

/* What is known of one. Relaxed, all: threads that mislead one another lose time, not data. */
struct extent {
    atomic_uint number; /* its address in extents */
    atomic_uint left;   /* units until it is moved, or looked at again */
};

static atomic_bool is_forbidden;

void trma_mem_hot_allow(bool allow) {
    atomic_store_explicit(&is_forbidden, !allow, memory_order_relaxed);
}

static unsigned get(const atomic_uint *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(atomic_uint *word, unsigned value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* Shared memory of ours has its huge pages already, or cannot have any. */
static bool is_of_region(uintptr_t extent) {
    trma_mem_region_lock();
    const struct trma_region *region = trma_mem_region_at_or_above(extent);
    const bool is_ours = region && (uintptr_t)region->base < extent + TRMA_HUGE_PAGE;
    trma_mem_region_unlock();
    return is_ours;
}

/* All of its pages are there, and nobody else's too: else the process would own more afterwards. */
static bool is_owned(uintptr_t extent) {
    const size_t pages = TRMA_HUGE_PAGE / trma_mem_page_size();
    enum trma_page_state states[TRMA_PAGEMAP_BATCH];
    size_t owned = 0;
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    if (pagemap < 0) {
        return false;
    }
    if (trma_mem_pagemap_read(pagemap, extent, pages, states)) {
        while (owned < pages && states[owned] == TRMA_PAGE_TOUCHED) {
            owned++;
        }
    }
    close(pagemap);
    return owned == pages;
}

static void move(uintptr_t extent) {
    static _Atomic uint64_t first_ns; /* the first call */
    static _Atomic uint64_t spent_ns;
    const uint64_t now = trma_node_clock_ns();
    uint64_t none = 0;

    (void)atomic_compare_exchange_strong(&first_ns, &none, now);
    if (trma_mem_huge_allowance(now - atomic_load(&first_ns), atomic_load(&spent_ns)) > 0 &&
        !is_of_region(extent) && is_owned(extent)) {
        (void)madvise((void *)extent, TRMA_HUGE_PAGE, MADV_COLLAPSE);
    }
    atomic_fetch_add(&spent_ns, trma_node_clock_ns() - now);
}

/* True when the extent is to be moved now. */
static bool note(uintptr_t address, unsigned units) {
    static struct extent extents[TRMA_HOT_EXTENTS];
    const unsigned number = (unsigned)(address / TRMA_HUGE_PAGE);
    struct extent *extent = &extents[number % TRMA_HOT_EXTENTS];
    const bool is_known = get(&extent->number) == number;
    const unsigned left = is_known ? get(&extent->left) : TRMA_HOT_ENOUGH / UNIT;

    if (!is_known) {
        set(&extent->number, number);
    }
    if (left > units) {
        set(&extent->left, left - units);
        return false;
    }
    set(&extent->left, TRMA_HOT_ENOUGH / UNIT * TRMA_HOT_AGAIN);
    return true;
}

void trma_mem_hot_note(const void *memory, size_t size) {
    const uintptr_t low = (uintptr_t)memory;
    const uintptr_t high = low + size;

    if (atomic_load_explicit(&is_forbidden, memory_order_relaxed)) {
        return;
    }
    for (uintptr_t at = low & ~((uintptr_t)TRMA_HUGE_PAGE - 1); at < high; at += TRMA_HUGE_PAGE) {
        const uintptr_t begin = at > low ? at : low;
        const uintptr_t end = at + TRMA_HUGE_PAGE < high ? at + TRMA_HUGE_PAGE : high;
        if (note(at, (unsigned)((end - begin) / UNIT))) {
            move(at);
        }
    }
}
