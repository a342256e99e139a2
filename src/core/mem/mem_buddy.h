/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_BUDDY_H
#define TRMA_MEM_BUDDY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A buddy allocator over offsets: it hands out [offset, offset + power of two) of a space that it never
 * touches. Its book-keeping, one byte per node of a binary tree, is private memory of its own that costs
 * pages only where it was used. Blocks are aligned to their own size; the lowest offset that fits is taken.
 * Knowlton 1965 for the buddies; the byte per node holds the largest free block beneath it, so that
 * allocating is one walk down. Not thread-safe.
 */
struct trma_buddy;

/* `size` and `unit` (the smallest block) are powers of two, size >= unit. NULL when memory is exhausted. */
struct trma_buddy *trma_mem_buddy_create(size_t size, size_t unit);
void trma_mem_buddy_destroy(struct trma_buddy *buddy);

/* Offset of a free block of at least `size` bytes, SIZE_MAX when none fits. */
size_t trma_mem_buddy_allocate(struct trma_buddy *buddy, size_t size);

/* Frees the block at `offset` and gives its size; 0, and nothing done, when no block starts there. */
size_t trma_mem_buddy_free(struct trma_buddy *buddy, size_t offset);

bool trma_mem_buddy_is_empty(const struct trma_buddy *buddy);

/* Calls `visit` for every free stretch of at least `least` bytes (a power of two) that is one free block of
 * the tree. */
void trma_mem_buddy_visit_free(const struct trma_buddy *buddy, size_t least,
                               void (*visit)(void *context, size_t offset, size_t size), void *context);

#endif
