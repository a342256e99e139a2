/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_PAGEMAP_H
#define TRMA_MEM_ADOPT_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which pages of this process are there? Told by /proc/self/pagemap, whose descriptor the caller has opened,
 * without touching them. Only system calls: may be asked while other threads are held back.
 */

enum trma_page_state {
    TRMA_PAGE_UNTOUCHED,
    TRMA_PAGE_MAYBE_ZERO, /* shared: by a fork, or the kernel's page of zeros, which a read of untouched
                             memory leaves */
    TRMA_PAGE_TOUCHED
};

/* How many pages are told at a time at most. */
#define TRMA_PAGEMAP_BATCH 512

/* States of the `n` (at most a batch) pages from `address` on; false when the kernel does not tell. */
bool trma_mem_pagemap_read(int pagemap, uintptr_t address, size_t n, enum trma_page_state *states);

/*
 * How many pages of [low, high) are there; counting stops above `most`. False when the kernel does not tell.
 * Some 10 ns a page, less where none was ever touched.
 */
bool trma_mem_pagemap_count(int pagemap, uintptr_t low, uintptr_t high, size_t most, size_t *pages);

/* True when every page of [low, high) is there. */
bool trma_mem_pagemap_is_full(int pagemap, uintptr_t low, uintptr_t high);

#endif
