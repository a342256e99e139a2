/* SPDX-License-Identifier: BSD-3-Clause */
/* An epoch of aggregate by hand: the target tells all origins by one word, each copies CROWD_PIECES pieces
 * from memory of its own into its part of a shared mapping and counts itself in a second word, and the target
 * waits until all have. Nothing here is thread-safe. */
#ifndef TRUERMA_BENCH_LIMIT_CROWD_AGGREGATE_H
#define TRUERMA_BENCH_LIMIT_CROWD_AGGREGATE_H

#include "crowd.h"

enum { CROWD_PIECES = 16 /* of each origin, as in aggregate.c */ };

/* Makes the words and the mapping for pieces of `bytes`, zeroed; called by the process that all others come
 * from, once per cell: what was made before is unmapped. Ends the program when there is no memory. */
void crowd_aggregate_prepare(int origins, size_t bytes);

/* An origin's data for an order, which says what it is; before the order's first epoch. */
void crowd_aggregate_fill(const struct crowd *crowd, long order);

/* An origin's part of the next epoch. */
void crowd_aggregate_put(struct crowd *crowd);

/* The target's part of it. */
void crowd_aggregate_expose(struct crowd *crowd);

/* The target's, after all epochs of an order: how many words of all that came are wrong. */
long crowd_aggregate_wrong(const struct crowd *crowd, long order);

#endif
