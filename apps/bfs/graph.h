/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The graph over all ranks: vertex v lives on rank v mod P as local vertex v div P (1-D, cyclic). A rank
 * holds the adjacency of its vertices (self-loops and repeated edges dropped) and its part of the edge list,
 * which validation and TEPS need as it was generated.
 */
#ifndef BFS_GRAPH_H
#define BFS_GRAPH_H

#include "kronecker.h"

#include <mpi.h>
#include <stdint.h>

struct graph {
    MPI_Comm comm; /* borrowed */
    int rank, ranks;
    int scale;
    uint64_t seed;
    int64_t vertices;   /* of the whole graph */
    int64_t edge_total; /* of the whole edge list */
    int64_t local;      /* vertices of this rank */
    struct edge *edges; /* this rank's part of the edge list */
    int64_t edge_count;
    int64_t *row;        /* row[i] .. row[i + 1]: the neighbours of local vertex i */
    uint64_t *neighbour; /* each as place_of() tells it */
};

/* The most edges that a graph can have: each travels twice to be built, and MPI counts in ints. */
enum { GRAPH_EDGES_MAX = INT32_MAX / 2 };

/* Generates this rank's part of the edge list; of at most GRAPH_EDGES_MAX edges in all. */
void graph_generate(struct graph *graph, MPI_Comm comm, int scale, int edge_factor, uint64_t seed);

/* Graph500's kernel 1, from the edge list to the adjacency. Collective. */
void graph_build(struct graph *graph);

void graph_destroy(struct graph *graph);

/* A vertex as owner and local number in one word, so that a search need not divide. */
static inline uint64_t place_of(const struct graph *graph, int64_t vertex) {
    return (uint64_t)(vertex % graph->ranks) << 32 | (uint64_t)(vertex / graph->ranks);
}

static inline int place_owner(uint64_t place) {
    return (int)(place >> 32);
}

static inline int64_t place_local(uint64_t place) {
    return (int64_t)(place & UINT32_MAX);
}

/* The vertex with that local number on that rank. */
static inline int64_t graph_vertex(const struct graph *graph, int rank, int64_t local) {
    return local * graph->ranks + rank;
}

/* How many vertices a rank holds. */
static inline int64_t graph_local_count(const struct graph *graph, int rank) {
    return (graph->vertices - rank + graph->ranks - 1) / graph->ranks;
}

/* Graph500's search keys: `count` different vertices with at least one neighbour, drawn with the graph's
 * seed, the same on every rank count. Collective. Returns how many there are: fewer in a tiny graph. */
int graph_sample_roots(const struct graph *graph, int count, int64_t *roots);

#endif
