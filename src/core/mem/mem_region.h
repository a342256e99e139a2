/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_REGION_H
#define TRMA_MEM_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "mem_backing.h"
#include "mem_ticket.h"

/*
 * The regions that this process owns, in one table sorted by address: which of them holds this byte, which
 * has this serial. All functions want the region lock held by the caller, unless they say otherwise: what
 * they give is valid while it is held.
 *
 * fork: a child inherits the mappings (MAP_SHARED: its stores reach the parent and the peers), but it owns
 * none of them. In the child every region is marked inherited: nothing is cut from it, given back or
 * unlinked, its descriptors are closed.
 */

enum trma_region_kind {
    TRMA_REGION_CHUNK,  /* heap blocks are cut from it */
    TRMA_REGION_SINGLE, /* one big heap block */
    TRMA_REGION_ADOPTED /* the program's own pages (mem_adopt.h) */
};

struct trma_chunk;    /* private to mem_heap.c */
struct trma_adoption; /* private to mem_adopt.c */

struct trma_region {
    char *base;
    size_t size;
    size_t file_offset; /* where `base` lies in the file */
    size_t file_size;   /* of which nothing outside [file_offset, file_offset + size) is ever used */
    uint64_t serial;
    enum trma_region_kind kind;
    struct trma_backing backing;
    struct trma_chunk *chunk;       /* of TRMA_REGION_CHUNK */
    struct trma_adoption *adoption; /* of TRMA_REGION_ADOPTED */
    bool is_settled; /* every member of the window has mapped it: the descriptor may go when descriptors are
                        scarce */
    bool is_inherited;
};

/* The lock of all owner's tables. Taken after the peers' and the mappings' locks, never before them. */
void trma_mem_region_lock(void);
void trma_mem_region_unlock(void);

/*
 * Makes a region of `size` bytes (a multiple of the page size), mapped readable and writable at a multiple of
 * `alignment`; one of a huge page and more lies on huge page boundaries when there is address space for it.
 * With `reserve` all of its pages are allocated now.
 */
enum trma_status trma_mem_region_create(size_t size, size_t alignment, enum trma_region_kind kind,
                                        bool reserve, struct trma_region **out);

/* A file of `size` bytes with a new serial, in no table yet: for who maps it on its own and calls
 * trma_mem_region_insert. */
enum trma_status trma_mem_region_make_backing(size_t size, struct trma_backing *out, uint64_t *serial);

/* A serial for something that is no region. */
uint64_t trma_mem_region_next_serial(void);

/* Enters a copy of *region into the table; NULL when memory is exhausted. The region must not overlap another
 * one. */
struct trma_region *trma_mem_region_insert(const struct trma_region *region);

/* Takes the region out of the table, closes its file and frees *region; the mapping stays. */
void trma_mem_region_remove(struct trma_region *region);

/*
 * Gives the region's pages back, also those that an idle mapping of a peer would hold, unmaps and removes it.
 * An inherited one is only removed and unmapped.
 */
void trma_mem_region_destroy(struct trma_region *region);

/* The region that holds this address; else the first one above it, NULL when there is none. */
struct trma_region *trma_mem_region_at_or_above(uintptr_t address);
/* The region that holds this address, NULL when none does. */
struct trma_region *trma_mem_region_at(uintptr_t address);
/* The region with this serial, that is not inherited; NULL when there is none. */
struct trma_region *trma_mem_region_by_serial(uint64_t serial);

struct trma_ticket trma_mem_region_ticket(const struct trma_region *region);

/* True when so many descriptors are open that regions which can do without should not be made. */
bool trma_mem_region_descriptors_are_scarce(void);

/* What trma_mem_share_describe does, under the lock. */
void trma_mem_region_describe(const void *address, size_t size, struct trma_share *share);

/* Closes a descriptor of a settled region; false when there is none to spare. Takes the lock itself. */
bool trma_mem_region_spare_descriptor(void);

#endif
