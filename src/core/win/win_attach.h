/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_ATTACH_H
#define TRMA_WIN_ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../mem/mem_ticket.h"
#include "../move/move_path.h"
#include "../trma_status.h"
#include "win_share.h"

/*
 * Dynamic windows: what a member has attached. The owner publishes a table in its control heap; origins keep
 * a private copy and look at one version word per operation. There is no limit on attachments. The table is
 * replaced as a whole and guarded by its version (a sequence lock): an origin that copied while the owner
 * replaced it copies again.
 */

/* In the owner's shared words. */
struct trma_attach_words {
    _Alignas(64) atomic_uint version; /* even: stable; odd: being replaced */
    _Atomic uint64_t entries;         /* in the table */
    struct trma_share_words place;    /* where the table lies */
};

/* The owner's side: opaque, one per window and process. */
struct trma_attachments;

/* The origin's copy of one target's table. Zero-initialised is empty. */
struct trma_attached {
    unsigned version;
    size_t entries;
    struct trma_attached_range *ranges; /* by address */
    uint64_t table_serial; /* of the region that holds the table: mapped while we know the table */
};

/* With `adopts` attached private memory becomes mapped where that is possible; with `by_xpmem` origins attach
 * it as it is. */
struct trma_attachments *trma_win_attachments_create(struct trma_attach_words *words, bool adopts,
                                                     bool by_xpmem);
void trma_win_attachments_destroy(struct trma_attachments *attachments);

/*
 * Adds or removes [address, address + size); size 0 is allowed and does nothing. Attaching memory that
 * overlaps an attached range, and detaching what is not attached by exactly this address, gives
 * TRMA_ERR_RANGE. Not thread-safe per object.
 */
enum trma_status trma_win_attachments_add(struct trma_attachments *attachments, uintptr_t address,
                                          size_t size);
enum trma_status trma_win_attachments_remove(struct trma_attachments *attachments, uintptr_t address);

/*
 * Finds how [address, address + size) of the target is reached; the range may go over several attached ones
 * that touch. TRMA_ERR_RANGE when a byte of it is not attached. `words` are the target's, mapped here. Not
 * thread-safe per object.
 */
enum trma_status trma_win_attached_find(struct trma_attached *attached, struct trma_attach_words *words,
                                        struct trma_peer *peer, uintptr_t address, size_t size,
                                        struct trma_path *path);

/* Gives the copy and its mappings back. */
void trma_win_attached_clear(struct trma_attached *attached, struct trma_peer *peer);

#endif
