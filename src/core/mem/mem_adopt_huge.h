/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_HUGE_H
#define TRMA_MEM_ADOPT_HUGE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Huge pages for regions. MADV_COLLAPSE puts even a hole of a memfd onto a huge page of zeros, whatever the
 * node's settings for shared memory are: so the content is copied once, straight into huge pages, instead of
 * into small ones that are gathered afterwards. Everything here is best effort: where the kernel has no huge
 * page to give, small ones serve.
 */

/*
 * Prepares huge pages in the file for those aligned extents of [low, high) whose pages are all there (as
 * `pagemap`, a descriptor of /proc/self/pagemap, tells). `file_offset` belongs to `low`.
 */
void trma_mem_huge_prepare(int file, size_t file_offset, int pagemap, uintptr_t low, uintptr_t high);

/* Gathers the whole huge pages inside [low, high), which is all there, onto huge pages. */
void trma_mem_huge_collapse(uintptr_t low, uintptr_t high);

#endif
