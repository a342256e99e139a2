/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_HUGE_H
#define TRMA_MEM_HUGE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Huge pages for regions. MADV_COLLAPSE puts an extent of a memfd that holds a single page onto a huge page,
 * whatever the node's settings for shared memory are: so the content is copied once, straight into huge
 * pages, instead of into small ones that are gathered afterwards (0.1 ms instead of 1.5 ms for 2 MiB).
 * Everything here is best effort: where the kernel has no huge page to give, small ones serve.
 */

/*
 * Prepares huge pages in the file for those extents of [low, high) whose pages are all there (as `pagemap`, a
 * descriptor of /proc/self/pagemap, tells). `file_offset` belongs to `low`, and both are congruent modulo the
 * size of a huge page. The ragged ends count when they fill a quarter of a huge page: the owner has them in
 * small pages of its own mapping, but the peers map the file from end to end.
 */
void trma_mem_huge_prepare(int file, size_t file_offset, int pagemap, uintptr_t low, uintptr_t high);

/* Prepares huge pages for those aligned extents of [low, high), fresh private memory, that are to be filled
 * completely. */
void trma_mem_huge_prepare_private(uintptr_t low, uintptr_t high);

/*
 * Puts the whole huge pages inside [address, address + size), memory of this process's heaps, onto huge pages
 * now, and keeps their content. Untouched parts get pages by this, at a fifth of the price of touching them
 * later. Begins no page after `budget_ns`. Gives the bytes that lie on huge pages then; 0 where there are
 * none to be had.
 */
size_t trma_mem_huge_populate(void *address, size_t size, uint64_t budget_ns);

/*
 * The same for memory that the program has just asked for, when it is a small part of what the node has left.
 * Where the process does not own more shared memory by it than ever before, only as long as
 * trma_mem_huge_allowance lets it: a program that makes and frees big windows all the time would have them
 * zeroed each time (NWChem took twice as long). A block from half a MiB on gets the huge page that it lies
 * in: 1 MiB on small pages, put back and forth, takes up to twice as long.
 */
void trma_mem_huge_populate_new(void *block, size_t size);

/* Nanoseconds that may still be spent on new memory, this long after the first call and having spent so much:
 * 50 ms in all, and a thirty-second of the time since. */
uint64_t trma_mem_huge_allowance(uint64_t age_ns, uint64_t spent_ns);

#endif
