/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_MAP_H
#define TRMA_MEM_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "../node/node_peer.h"
#include "../trma_status.h"
#include "mem_ticket.h"

/*
 * The peer's side of a region: mapping it here. Mappings are cached per (peer, serial) and counted, so that
 * thousands of windows on one heap chunk cost one mapping.
 */

/*
 * Maps the region of `ticket`, owned by `peer`, readable and writable; *base is where its offset 0 lies here.
 * Every success needs a trma_mem_map_release. For the process itself (peer->is_self) the owner's own mapping
 * is given. TRMA_ERR_REFUSED: no door is open (doors are tried in the order /proc/<pid>/fd, SCM_RIGHTS, POSIX
 * shm; private memory by XPMEM alone); TRMA_ERR_NO_MEMORY: address space or descriptors are exhausted.
 * Thread-safe.
 */
enum trma_status trma_mem_map_acquire(struct trma_peer *peer, const struct trma_ticket *ticket, void **base);
void trma_mem_map_release(struct trma_peer *peer, uint64_t serial);

/* Unmaps all that is mapped of this peer, used or not: the peer object is about to be freed. */
void trma_mem_map_forget(const struct trma_peer *peer);

/* Regions of peers that are mapped here, those that are only kept for the next window included (for
 * statistics and leak tests). */
size_t trma_mem_map_count(void);

#endif
