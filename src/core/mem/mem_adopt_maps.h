/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_MAPS_H
#define TRMA_MEM_ADOPT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What kind of memory is this? Read from /proc/self/smaps, by system calls only: nothing here allocates, so
 * that it can be asked while the memory in question is held. Thread-safe.
 */

/* The properties of ordinary private memory that must be restored when it is given back. */
struct trma_memory_kind {
    bool is_file_backed; /* static data of a program or library: pages that were never touched have content
                            too */
    bool wants_huge;     /* MADV_HUGEPAGE */
    bool refuses_huge;   /* MADV_NOHUGEPAGE */
    bool is_unreserved;  /* MAP_NORESERVE */
    bool is_undumped;    /* MADV_DONTDUMP */
    bool is_mergeable;   /* MADV_MERGEABLE */
};

/*
 * NULL when [low, high) is memory that can be adopted, and *kind its properties; else why not (static text, a
 * user's words). Costs a walk over the page tables of the mappings below `high`.
 */
const char *trma_mem_maps_judge(uintptr_t low, uintptr_t high, struct trma_memory_kind *kind);

/* True when a page of [low, high) belongs to the data segment of the program or of a library. */
bool trma_mem_maps_is_static_data(uintptr_t low, uintptr_t high);

/* Calls `visit` for each part of [low, high) that is a shared mapping of the file with this inode. False:
 * /proc does not tell. */
bool trma_mem_maps_visit_file(uintptr_t low, uintptr_t high, uint64_t inode,
                              void (*visit)(void *context, uintptr_t low, uintptr_t high), void *context);

#endif
