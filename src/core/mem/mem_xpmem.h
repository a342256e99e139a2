/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_XPMEM_H
#define TRMA_MEM_XPMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "mem_ticket.h"

/*
 * XPMEM: where the kernel module is loaded, a process offers its whole address space, and peers of the same
 * user map any stretch of it: ordinary memory becomes reachable without a copy and without a word from its
 * owner. Spoken to through /dev/xpmem by its ioctl interface, found out at run time; nothing is linked.
 *
 * All functions are thread-safe. The child of a fork has no offer and no access until it asks for its own.
 */

/* false: as if there were no /dev/xpmem (a knob, a test). Before the first identity is made. */
void trma_mem_xpmem_allow(bool allow);

/* Opens the device to see whether it would serve: 0, or the errno of the refusal. Who calls the functions
 * below under a lock that is taken around fork calls this one before it installs its handlers for that. */
int trma_mem_xpmem_try(void);

/* Offers all memory of this process to processes of the same user. Gives the segment's id, the same at every
 * call; 0 when there is no XPMEM. */
int64_t trma_mem_xpmem_offer(void);

/* Access to a peer's segment, 0 when it is refused; and its end, after everything by it was detached. */
int64_t trma_mem_xpmem_access(int64_t segment);
void trma_mem_xpmem_end_access(int64_t access);

/*
 * Maps the pages [address, address + size) of the peer, whole ones, readable and writable; *base is where
 * `address` lies here. TRMA_ERR_REFUSED: the kernel will not. For as long as the owner keeps the pages: who
 * touches what the owner has unmapped gets SIGBUS, as with any file that was cut short.
 */
enum trma_status trma_mem_xpmem_attach(int64_t access, uint64_t address, uint64_t size, void **base);
void trma_mem_xpmem_detach(void *base);

/* Says in *share that peers reach [address, address + size) of this process by XPMEM, under a new serial. */
void trma_mem_xpmem_describe(const void *address, size_t size, struct trma_share *share);

#endif
