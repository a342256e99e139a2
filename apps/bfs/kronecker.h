/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edges of Graph500's benchmark graph: a Kronecker (R-MAT) graph with initiator probabilities A = 0.57,
 * B = C = 0.19, D = 0.05, and scrambled vertex labels (Graph500 specification, section "Generating the Edge
 * List"). Every edge is a pure function of seed and edge number, so each rank makes its own part and the
 * graph does not depend on the number of ranks.
 */
#ifndef BFS_KRONECKER_H
#define BFS_KRONECKER_H

#include <stdint.h>

struct edge {
    int64_t a, b;
};

/* Edge `number` of the graph with 2^scale vertices. */
struct edge kronecker_edge(uint64_t seed, int scale, uint64_t number);

/* Draw `counter` of stream `stream`, uniform over 64 bits; any two differ in all their bits' chances. */
uint64_t random_draw(uint64_t seed, uint64_t stream, uint64_t counter);

#endif
