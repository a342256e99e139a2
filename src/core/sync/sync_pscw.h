/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_SYNC_PSCW_H
#define TRMA_SYNC_PSCW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Post/start/complete/wait over shared words (Lai, Sur, Panda 2010: post and completion words; Christgau,
 * Schnor 2016: match vectors). Per (origin, target) pair there are two sequences, each written by one side
 * alone:
 * - posted, in the origin's words, written by the target: how many exposure epochs it has opened for this
 *   origin;
 * - completed, in the target's words, written by the origin: how many access epochs it has closed towards
 *   this target.
 * Both only grow (wrapping), so nothing is reset and nothing races with the next epoch. A completion count
 * shared by all origins would need the origins to wait for each other's epochs: with a word per pair, an
 * origin that closes two epochs before another closes its first cannot be mistaken for both, and no atomic
 * read-modify-write is needed.
 */

/*
 * What one process announces to another: both words have the same writer and the same reader, and lie side by
 * side, so that a target that completes its turn as an origin and posts for the next epoch moves one cache
 * line.
 */
struct trma_pscw_words {
    atomic_uint posted;
    atomic_uint completed;
};

/* True when sequence `word` has reached `wanted`. Acquire: what the writer stored before is visible then. */
static inline bool trma_sync_pscw_reached(atomic_uint *word, uint32_t wanted) {
    return (int32_t)(atomic_load_explicit(word, memory_order_acquire) - wanted) >= 0;
}

/* Announces that the sequence has come to `value`. Release: everything stored before is visible to who sees
 * it. */
static inline void trma_sync_pscw_announce(atomic_uint *word, uint32_t value) {
    atomic_store_explicit(word, value, memory_order_release);
}

#endif
