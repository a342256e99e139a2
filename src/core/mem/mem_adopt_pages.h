/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_PAGES_H
#define TRMA_MEM_ADOPT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "mem_adopt_maps.h"
#include "mem_adopt_stash.h"

/*
 * The exchange of pages: from private memory to a file mapped in its place, and back. Done piece by piece, so
 * that neither twice the memory is needed nor a held thread waits for long.
 */
struct trma_exchange {
    uintptr_t low; /* page boundaries */
    uintptr_t high;
    int file;
    size_t file_offset; /* of `low`; congruent to it modulo the size of a huge page */
    struct trma_memory_kind kind;
    bool has_threads;        /* others may write: they are held back meanwhile */
    struct trma_stash stash; /* kept from to_file for to_private, then to be dropped by the caller */
};

/* TRMA_OK: the file lies where the pages were. Else all is as it was, and *reason (static text) says why. */
enum trma_status trma_mem_pages_to_file(struct trma_exchange *exchange, const char **reason);

/* The reverse, for the part [low, high) of the exchange; false when there is no memory: the rest stays on the
 * file. */
bool trma_mem_pages_to_private(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high);

/*
 * A private copy of the exchange's content somewhere else, for the child of a fork; of the pages that exist.
 * Without memory for it, a private mapping of the file, which shows later stores of others until it is
 * written to. NULL when even that fails.
 */
void *trma_mem_pages_snapshot(const struct trma_exchange *exchange);

#endif
