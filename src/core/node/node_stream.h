/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_STREAM_H
#define TRMA_NODE_STREAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the processes of this node stream: runs of copies (move_stream.h) of some MiB. Whether the last cache
 * has room for one depends on who else streams at the same time, and that nobody can find out alone: by its
 * own times each takes the way that is the faster one for it while the others go theirs. So each tells when
 * it begins a run and how long the like of it was the last time, in a word of its own that all can read.
 *
 * Source of the idea: none that we know of; the words are hints, as all of move_stream.h.
 */
enum {
    TRMA_STREAM_MOST = 64, /* other processes that are looked at */
    /* Who began a run at most so long ago may be under way with it, or with the next one; and at most twice
     * as long ago as the caller did. */
    TRMA_STREAM_RECENT_US = 50000
};

/* One process's, all zero: it has streamed nothing. Packed: microseconds of the machine's monotonic clock,
 * KiB and cache, so that nobody sees parts of two runs. */
struct trma_stream_word {
    _Atomic uint64_t told;
};

/* The calling process's own word from now on, owned by the caller; NULL: it has none, and tells nothing. */
void trma_node_stream_own(struct trma_stream_word *word);

/* Another one's word is to be looked at, or no longer: then it is not touched any more when this returns. As
 * many leave as have joined. What is more than TRMA_STREAM_MOST is left out. Thread-safe. */
void trma_node_stream_join(struct trma_stream_word *word);
void trma_node_stream_leave(struct trma_stream_word *word);

/*
 * The caller begins a run of about so many bytes: tells it, and gives how many bytes others stream beside it,
 * those who last did so on a core with the same last cache. Thread-safe; does not wait: 0 while another
 * thread is about to join or leave.
 */
size_t trma_node_stream_begin(size_t bytes);

/* The same at a given time, on a core with that last cache (node_cache.h). */
size_t trma_node_stream_begin_at(size_t bytes, uint64_t now_us, unsigned cache);

#endif
