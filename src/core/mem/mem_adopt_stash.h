/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_STASH_H
#define TRMA_MEM_ADOPT_STASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where an exchange keeps the mapping (not the pages) that a file takes the place of. The kernel joins a
 * mapping to its neighbours only when it stems from the same one; so a piece of the heap that is given back
 * from anywhere else would leave the heap in three, for good. The stash is address space: its pages go as
 * soon as they have been copied. Not thread-safe: under the lock of the exchange.
 */
struct trma_stash {
    char *base; /* stands for `low`; NULL: there is none */
    uintptr_t low;
    size_t size;
};

/*
 * Takes the mapping of [low, high) away to the stash. What is left in its place is empty: the caller has it
 * guarded, and maps something over it at once. False: there is no stash (the range is several mappings, the
 * kernel is older than 5.7, address space is short), and nothing has changed.
 */
bool trma_mem_stash_take(struct trma_stash *stash, uintptr_t low, uintptr_t high);

/* Frees the pages in the stash. */
void trma_mem_stash_empty(const struct trma_stash *stash);

/* Where the byte at `address` is in the stash: to be filled before it is returned. */
char *trma_mem_stash_at(const struct trma_stash *stash, uintptr_t address);

/* Moves [low, high), pages and all, back to its place, over what is mapped there; false: nothing has changed.
 */
bool trma_mem_stash_return(const struct trma_stash *stash, uintptr_t low, uintptr_t high);

/* Ends the stash; what has not been returned is gone. */
void trma_mem_stash_drop(struct trma_stash *stash);

#endif
