/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_pagemap.h"

#include <unistd.h>

#include "mem_backing.h"

/* Bits of an entry (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGE_IS_PRESENT   (1ULL << 63)
#define PAGE_IS_SWAPPED   (1ULL << 62)
#define PAGE_IS_EXCLUSIVE (1ULL << 56)

static enum trma_page_state state_of(uint64_t entry) {
    if ((entry & (PAGE_IS_PRESENT | PAGE_IS_SWAPPED)) == 0) {
        return TRMA_PAGE_UNTOUCHED;
    }
    return (entry & PAGE_IS_PRESENT) != 0 && (entry & PAGE_IS_EXCLUSIVE) == 0 ? TRMA_PAGE_MAYBE_ZERO
                                                                              : TRMA_PAGE_TOUCHED;
}

bool trma_mem_pagemap_read(int pagemap, uintptr_t address, size_t n, enum trma_page_state *states) {
    uint64_t entries[TRMA_PAGEMAP_BATCH];
    ssize_t size = (ssize_t)(n * sizeof entries[0]);
    off_t offset = (off_t)(address / trma_mem_page_size() * sizeof entries[0]);
    if (n > TRMA_PAGEMAP_BATCH || pread(pagemap, entries, (size_t)size, offset) != size) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        states[i] = state_of(entries[i]);
    }
    return true;
}

/* The states of the first pages of [low, high), as many as go at a time; 0 when the kernel does not tell. */
static size_t read_first(int pagemap, uintptr_t low, uintptr_t high, enum trma_page_state *states) {
    size_t page = trma_mem_page_size();
    size_t n = (high - low) / page < TRMA_PAGEMAP_BATCH ? (high - low) / page : TRMA_PAGEMAP_BATCH;
    return trma_mem_pagemap_read(pagemap, low, n, states) ? n : 0;
}

bool trma_mem_pagemap_count(int pagemap, uintptr_t low, uintptr_t high, size_t most, size_t *pages) {
    enum trma_page_state states[TRMA_PAGEMAP_BATCH];
    *pages = 0;
    while (low < high && *pages <= most) {
        size_t n = read_first(pagemap, low, high, states);
        if (n == 0) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            *pages += states[i] != TRMA_PAGE_UNTOUCHED;
        }
        low += n * trma_mem_page_size();
    }
    return true;
}

bool trma_mem_pagemap_is_full(int pagemap, uintptr_t low, uintptr_t high) {
    enum trma_page_state states[TRMA_PAGEMAP_BATCH];
    while (low < high) {
        size_t n = read_first(pagemap, low, high, states);
        if (n == 0) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            if (states[i] == TRMA_PAGE_UNTOUCHED) {
                return false;
            }
        }
        low += n * trma_mem_page_size();
    }
    return true;
}
