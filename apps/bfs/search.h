/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Level-synchronous breadth-first search from one root, in three ways (--comm):
 *
 * p2p (search_buckets.c, buckets_p2p.c): the edges that leave the frontier are gathered in a bucket for each
 * owner of far ends, and go there by MPI_Isend, a chunk at a time.
 *
 * rma (search_atomic.c): each such edge is one MPI_Accumulate on the far end's predecessor, and one
 * MPI_Win_flush; the owner does nothing.
 *
 * rma-nb (search_buckets.c, buckets_rma.c): buckets again, but each chunk is an MPI_Put into a part of the
 * owner's window that belongs to this origin alone; the scan goes on meanwhile, and there is one flush per
 * level.
 */
#ifndef BFS_SEARCH_H
#define BFS_SEARCH_H

#include "app_options.h"
#include "app_timer.h"
#include "graph.h"

#include <stdint.h>

/* What a search finds about this rank's vertices. A vertex that it does not reach has -1 for both. */
struct tree {
    int64_t *parent; /* the predecessor; the root's is itself */
    int32_t *level;  /* edges from the root */
};

struct search;

/* Makes all that searches of this graph need. Collective. The graph and the timer must stay. */
struct search *search_create(const struct graph *graph, enum app_comm comm, enum app_flavour flavour,
                             struct app_timer *timer);

/* Searches from the root. Collective. The tree belongs to the search and stays until the next run. */
struct tree search_run(struct search *search, int64_t root);

/* Collective. */
void search_destroy(struct search *search);

#endif
