/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_H
#define TRMA_MEM_ADOPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "mem_ticket.h"

/*
 * Adoption: private pages of this live process become a region, in place. The pages of a range are copied
 * into a memfd, which is then mapped over them, so that peers can map the memory of an ordinary malloc. Pages
 * that were never touched stay untouched (they are holes of the file). Giving back is the reverse: the same
 * bytes on ordinary private anonymous pages.
 *
 * The pages at the range's ragged edges hold other data of the process as well. They are adopted when nobody
 * but the calling thread can be using that data (mem_adopt_edges.h), and left alone else.
 *
 * Not a byte may be lost meanwhile. Signals are blocked; when the process has other threads that may write,
 * userfaultfd holds their writes (and the kernel's, on behalf of their system calls) back for the moment of
 * the exchange, and where that is not allowed adoption is refused. Other processes that write into the range
 * by CMA just then (peers with windows on the same memory) are kept out by who knows them
 * (trma_mem_adopt_keep_out). What nobody sees, and the caller must rule out: the host MPI of another process
 * completing a receive that is pending there.
 *
 * Sources of the idea: page remapping for zero-copy IPC (XPMEM, "PiP"), live-migration's use of userfaultfd.
 */

/*
 * How other processes are kept from writing into this one's memory: hold before pages are exchanged, either
 * way, and let afterwards, not while it is found out whether they can be, which takes longer. hold answers
 * false when it is in vain, and let is not called then: no page is exchanged. Called by one thread at a time.
 * Not copied; NULL, as at first: there are none. Thread-safe.
 */
struct trma_adopt_writers {
    bool (*hold)(void);
    void (*let)(void);
};
void trma_mem_adopt_keep_out(const struct trma_adopt_writers *writers);

/*
 * Adopts the pages of [address, address + size), or counts one more use of what is adopted already, and
 * says in *share how peers reach the range (as trma_mem_share_describe does). A range that is covered in
 * parts by several regions gets the largest part. On TRMA_OK the caller owes a trma_mem_adopt_release of
 * share->ticket.serial. TRMA_ERR_REFUSED: the memory stays as it was, and *reason is a static text that says
 * why, in a user's words; TRMA_ERR_NO_MEMORY likewise, when there is no room for the copy. Thread-safe. Takes
 * about 1 s for each GiB that has been touched, next to nothing for what has not.
 */
enum trma_status trma_mem_adopt_range(void *address, size_t size, struct trma_share *share,
                                      const char **reason);

/*
 * Says how peers reach the range, and counts one more use when most of it is adopted already: true then, and
 * the caller owes a trma_mem_adopt_release of share->ticket.serial. Adopts nothing itself. Thread-safe.
 */
bool trma_mem_adopt_join(void *address, size_t size, struct trma_share *share);

/*
 * Drops one use; after the last one the memory is private and anonymous again, with the same content. The
 * peers have unmapped it, or at least write no more. Where that cannot be done now (threads have come that
 * cannot be held back) the memory stays a region, and later calls try again. A serial that is not an adopted
 * region's is ignored.
 * Parts of the range that the program has unmapped in the meantime are left alone. Thread-safe.
 */
void trma_mem_adopt_release(uint64_t serial);

/*
 * The threads that come to exist between these two calls (the start of the library beneath lies between them)
 * never write into the program's memory on their own: adoption need not stop them.
 */
void trma_mem_adopt_trust_begin(void);
void trma_mem_adopt_trust_end(void);

/*
 * Bytes of [address, address + size) that adoption would have to copy: those on pages that were touched.
 * Counting stops above `most`; SIZE_MAX when the kernel does not tell. Thread-safe.
 */
size_t trma_mem_adopt_touched(const void *address, size_t size, size_t most);

/* Regions that are adopted now, and bytes they span (for statistics). */
void trma_mem_adopt_usage(size_t *regions, size_t *bytes);

#endif
