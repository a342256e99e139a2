/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_TICKET_H
#define TRMA_MEM_TICKET_H

#include <stdint.h>

/* Flags of a ticket. */
#define TRMA_TICKET_IS_CHUNK                                                                                 \
    1U /* a heap chunk, which serves many windows: worth keeping mapped between two of them */
#define TRMA_TICKET_IS_XPMEM 2U /* private memory that peers attach by XPMEM; no file */

/*
 * A ticket names one region of one process, so that a peer can map it. Plain data, travels by value (in a
 * collective of the host MPI or through shared control words). serial is unique in the life of the owner and
 * never 0; serial 0 means "no region".
 */
struct trma_ticket {
    uint64_t serial;
    uint64_t size;  /* bytes, a multiple of the page size */
    uint64_t inode; /* of the memfd: a mapper checks that it opened the right file, descriptors are reused;
                       with XPMEM the owner's address of offset 0 */
    int32_t descriptor; /* number in the owner's table, -1 once the owner has closed it (then nobody new can
                           map) */
    uint32_t flags;     /* TRMA_TICKET_* */
};

/*
 * Where bytes [address, address + size) of the owner lie for a peer: in the region of `ticket`, from `offset`
 * on. With ticket.serial 0 the memory is private to the owner and only reachable by CMA. A range that lies in
 * a region only partly (the ragged edges of an adopted window) gives that part in [mapped_low, mapped_high),
 * owner's addresses; offset belongs to mapped_low.
 */
struct trma_share {
    uint64_t address;
    uint64_t size;
    uint64_t mapped_low;
    uint64_t mapped_high; /* == mapped_low when nothing is mapped */
    uint64_t offset;
    struct trma_ticket ticket;
};

#endif
