/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_BACKING_H
#define TRMA_MEM_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "../trma_status.h"

/*
 * The files behind regions: memory that has a descriptor. A memfd where the kernel allows it (its size is
 * limited by memory alone, it has no name and ends with its last user), else a POSIX shared memory object
 * that is unlinked before anything is stored in it. Only when no descriptor can be passed to a peer (see
 * mem_door_shm.c) does an object keep its name for a while.
 */

/* Huge pages of x86-64 and of aarch64 with 4 KiB pages. Regions of this size and more are aligned to it. */
#define TRMA_HUGE_PAGE ((size_t)2 << 20)

/* Puts memory onto them, for kernels that are newer than the headers. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* Bytes of a page of this system. */
size_t trma_mem_page_size(void);
/* value rounded up to a multiple of unit (a power of two); 0 when that overflows. */
size_t trma_mem_round_up(size_t value, size_t unit);

struct trma_backing {
    int descriptor;
    uint64_t inode;
    bool is_named;   /* visible in /dev/shm under its serial until trma_mem_backing_unname */
    bool is_limited; /* touching more of it than there is room for raises SIGBUS: reserve before use */
};

/*
 * Makes a file of `size` bytes (a multiple of the page size), all holes, close-on-exec. With `named` it is a
 * POSIX object that peers can open as trma_mem_backing_name says. TRMA_ERR_NO_MEMORY: descriptors or memory
 * are exhausted; TRMA_ERR_REFUSED: neither memfd nor POSIX shared memory may be used here. Thread-safe.
 */
enum trma_status trma_mem_backing_create(size_t size, uint64_t serial, bool named, struct trma_backing *out);
void trma_mem_backing_destroy(struct trma_backing *backing, uint64_t serial);
void trma_mem_backing_unname(struct trma_backing *backing, uint64_t serial);

/* Makes sure that touching [offset, offset + size) cannot fail any more; false when there is no memory for
 * it. */
bool trma_mem_backing_reserve(const struct trma_backing *backing, size_t offset, size_t size);
/* Gives the whole pages inside [offset, offset + size) back to the system; they read as zeros afterwards, in
 * every mapping. */
void trma_mem_backing_punch(const struct trma_backing *backing, size_t offset, size_t size);

/*
 * Maps the first `size` bytes of a descriptor, shared, readable and writable, aligned to `alignment` (a power
 * of two). An alignment above the page size is a wish when `is_wish`: short of address space, any place will
 * do. NULL with errno set.
 */
void *trma_mem_backing_map(int descriptor, size_t size, size_t alignment, bool is_wish);

/* The number in the names of this process's objects; set by node_peer before peers come to know of it, 0
 * until then. */
void trma_mem_backing_set_nonce(uint64_t nonce);
uint64_t trma_mem_backing_nonce(void);
/* The name for shm_open, "/truerma-<nonce>-<serial>", of a named object; `name` has room for
 * TRMA_BACKING_NAME bytes. */
#define TRMA_BACKING_NAME 64
void trma_mem_backing_name(uint64_t nonce, uint64_t serial, char *name);

/* For tests and for the knob TRUERMA_MEMFD: false makes every file a POSIX object. */
void trma_mem_backing_allow_memfd(bool allow);

#endif
