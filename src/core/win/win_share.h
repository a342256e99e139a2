/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_WIN_SHARE_H
#define TRMA_WIN_SHARE_H

#include <stdatomic.h>
#include <stdint.h>

#include "../mem/mem_ticket.h"

/*
 * A struct trma_share in shared words, written by its owner and read by peers under a sequence lock: as
 * 64-bit words with relaxed order, so that a reader that comes in between reads garbage, which the version
 * tells, but never races.
 */
enum { TRMA_SHARE_WORDS = sizeof(struct trma_share) / sizeof(uint64_t) };

struct trma_share_words {
    _Atomic uint64_t word[TRMA_SHARE_WORDS];
};

void trma_win_share_store(struct trma_share_words *words, const struct trma_share *share);
void trma_win_share_load(struct trma_share_words *words, struct trma_share *share);

#endif
