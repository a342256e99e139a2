/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_HEAP_H
#define TRMA_MEM_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "../trma_status.h"
#include "mem_ticket.h"

/*
 * Shared heaps: memory of this process that peers can map. Small blocks are cut from chunks (one memfd each,
 * which a peer maps once and keeps), big ones get a region of their own. Book-keeping is private to the
 * owner, so that a peer that scribbles over its window cannot break the allocator. There are two heaps, so
 * that user data never neighbours our words.
 */
enum trma_heap {
    TRMA_HEAP_CONTROL, /* windows' and teams' shared words; blocks are zeroed */
    TRMA_HEAP_DATA     /* what a program asks for; content is undefined unless asked to be zeroed */
};

/*
 * Sets the size of the first chunk of each heap (rounded up to a power of two); 0 leaves it as it is (8 MiB
 * and 64 MiB). Chunks are sparse: they cost address space, not memory. Later chunks are larger. To be called
 * before the heaps are used.
 */
void trma_mem_heap_configure(size_t control_chunk, size_t data_chunk);

/*
 * Gives `size` bytes (0 gives a unique block too) aligned to `alignment` (power of two, at least 64 is
 * granted). Owned by the caller until trma_mem_heap_free. TRMA_ERR_NO_MEMORY when nothing is left,
 * TRMA_ERR_REFUSED when shared memory cannot be made here. Memory that is there when this returns TRMA_OK
 * stays there: blocks of the control heap have their pages already, and so have data blocks where touching a
 * page could raise SIGBUS (POSIX shared memory, strict overcommit). Elsewhere data pages come with the first
 * touch, as private memory's do. Thread-safe.
 */
enum trma_status trma_mem_heap_allocate(enum trma_heap heap, size_t size, size_t alignment, void **out);

/* Gives a block back; its pages go back to the system when they are worth it. false when `block` is not one
 * of ours (then nothing was done). */
bool trma_mem_heap_free(void *block);

/*
 * Says how peers reach [address, address + size) of this process: through a heap chunk, a region, an adopted
 * range, or not at all (share->ticket.serial == 0). Any memory may be asked for. Thread-safe.
 */
void trma_mem_share_describe(const void *address, size_t size, struct trma_share *share);

/*
 * To be called by the owner when every member of a collective has mapped what it needs: a big region's
 * descriptor may be closed then if descriptors are scarce (RLIMIT_NOFILE). Peers that come later use CMA.
 */
void trma_mem_share_settled(const struct trma_share *share);

/* Bytes of shared memory now mapped by this process as owner, and descriptors kept open for them (for
 * statistics and leak tests). */
void trma_mem_heap_usage(size_t *bytes, size_t *descriptors);

#endif
