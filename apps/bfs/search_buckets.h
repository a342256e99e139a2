/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part that p2p and rma-nb have in common: a rank visits the far ends that it owns itself, and gathers
 * the others in a bucket per owner, from which a transport takes them in chunks.
 *
 * A search looks at each edge once from each end. So how much a bucket can ever hold is known when the graph
 * is: nothing grows, and within a search no part of a bucket is used twice.
 */
#ifndef BFS_SEARCH_BUCKETS_H
#define BFS_SEARCH_BUCKETS_H

#include "search_kinds.h"

#include <stdbool.h>

/* Candidates that travel together: 8 KiB. */
enum { CHUNK = 1024 };

/* A candidate: local number of the vertex to visit at its owner (upper half), and its predecessor (lower
 * half). */
typedef uint64_t candidate;

struct bucket {
    candidate *candidates;
    int64_t capacity;
    int64_t filled; /* since the search began */
    int64_t sent;   /* of these, handed to the transport */
};

struct buckets {
    struct search *search;
    struct bucket *to;          /* one for each rank; this rank's own stays empty */
    candidate *memory;          /* all buckets' candidates */
    int64_t *incoming_capacity; /* of each rank's bucket for this rank */
};

struct transport {
    /* Starts to move `count` candidates (at most CHUNK) of the bucket for `rank`, from `sent` on. */
    void (*send)(struct buckets *buckets, int rank, int64_t count);
    /* All of this level has been sent: receives what the others sent and visits it. Collective. Returns
     * whether any rank may have something in its next frontier. */
    bool (*finish_level)(struct buckets *buckets);
};

/* Makes the buckets of a search. Collective. */
void buckets_create(struct buckets *buckets, struct search *search);

void buckets_destroy(struct buckets *buckets);

/* Runs all levels. Collective. */
void buckets_run(struct buckets *buckets, const struct transport *transport);

/* Visits the vertices of candidates that arrived; aborts the job when they cannot be what was sent. */
void buckets_visit(struct search *search, const candidate *candidates, int64_t count);

#endif
