/* SPDX-License-Identifier: BSD-3-Clause */
#include "graph.h"

#include "app_memory.h"

#include <stdbool.h>
#include <stdlib.h>

void graph_generate(struct graph *graph, MPI_Comm comm, int scale, int edge_factor, uint64_t seed) {
    *graph = (struct graph){.comm = comm, .scale = scale, .seed = seed};
    MPI_Comm_rank(comm, &graph->rank);
    MPI_Comm_size(comm, &graph->ranks);
    graph->vertices = INT64_C(1) << scale;
    graph->edge_total = edge_factor * graph->vertices;
    graph->local = graph_local_count(graph, graph->rank);

    const int64_t first = graph->edge_total * graph->rank / graph->ranks;
    graph->edge_count = graph->edge_total * (graph->rank + 1) / graph->ranks - first;
    graph->edges = app_memory_allocate((size_t)graph->edge_count, sizeof *graph->edges);
    for (int64_t e = 0; e < graph->edge_count; e++)
        graph->edges[e] = kronecker_edge(seed, scale, (uint64_t)(first + e));
}

void graph_destroy(struct graph *graph) {
    free(graph->edges);
    free(graph->row);
    free(graph->neighbour);
}

/* One direction of an edge on its way to the owner of `from`: the local number of `from` above, the vertex
 * `to` below. Both fit: vertices number less than 2^31. */
static uint64_t half_edge(const struct graph *graph, int64_t from, int64_t to) {
    return (uint64_t)(from / graph->ranks) << 32 | (uint64_t)to;
}

/* Sends both directions of each edge to their owners. Returns what arrived here, `*count` of them. */
static uint64_t *exchange_half_edges(const struct graph *graph, int64_t *count) {
    const int ranks = graph->ranks;
    int *send_count = app_memory_allocate(4 * (size_t)ranks, sizeof(int));
    int *receive_count = send_count + ranks, *send_at = receive_count + ranks, *receive_at = send_at + ranks;
    for (int64_t e = 0; e < graph->edge_count; e++) {
        const struct edge edge = graph->edges[e];
        if (edge.a == edge.b)
            continue;
        send_count[edge.a % ranks]++;
        send_count[edge.b % ranks]++;
    }
    MPI_Alltoall(send_count, 1, MPI_INT, receive_count, 1, MPI_INT, graph->comm);
    int send_total = 0, receive_total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        send_at[rank] = send_total;
        receive_at[rank] = receive_total;
        send_total += send_count[rank];
        receive_total += receive_count[rank];
    }

    uint64_t *outgoing = app_memory_allocate((size_t)send_total, sizeof *outgoing);
    uint64_t *incoming = app_memory_allocate((size_t)receive_total, sizeof *incoming);
    for (int64_t e = 0; e < graph->edge_count; e++) {
        const struct edge edge = graph->edges[e];
        if (edge.a == edge.b)
            continue;
        outgoing[send_at[edge.a % ranks]++] = half_edge(graph, edge.a, edge.b);
        outgoing[send_at[edge.b % ranks]++] = half_edge(graph, edge.b, edge.a);
    }
    for (int rank = 0; rank < ranks; rank++)
        send_at[rank] -= send_count[rank]; /* filling has moved it to its part's end */
    MPI_Alltoallv(outgoing, send_count, send_at, MPI_UINT64_T, incoming, receive_count, receive_at,
                  MPI_UINT64_T, graph->comm);
    free(outgoing);
    free(send_count);
    *count = receive_total;
    return incoming;
}

static int compare_words(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void graph_build(struct graph *graph) {
    int64_t count, kept = 0;
    uint64_t *half_edges = exchange_half_edges(graph, &count);
    /* Sorted, the edges of a vertex lie side by side, and so do repeated ones. */
    qsort(half_edges, (size_t)count, sizeof *half_edges, compare_words);
    graph->row = app_memory_allocate((size_t)graph->local + 1, sizeof *graph->row);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && half_edges[i] == half_edges[i - 1])
            continue;
        graph->row[(half_edges[i] >> 32) + 1]++;
        kept++;
    }
    for (int64_t v = 0; v < graph->local; v++)
        graph->row[v + 1] += graph->row[v];
    graph->neighbour = app_memory_allocate((size_t)kept, sizeof *graph->neighbour);
    for (int64_t i = 0, at = 0; i < count; i++) {
        if (i > 0 && half_edges[i] == half_edges[i - 1])
            continue;
        graph->neighbour[at++] = place_of(graph, (int64_t)(half_edges[i] & UINT32_MAX));
    }
    free(half_edges);
}

/* Whether the vertex has a neighbour; asked of its owner, answered on all ranks. */
static bool is_connected(const struct graph *graph, int64_t vertex) {
    int degree_known_here = 0, connected;
    const uint64_t place = place_of(graph, vertex);
    if (place_owner(place) == graph->rank) {
        const int64_t local = place_local(place);
        degree_known_here = graph->row[local + 1] > graph->row[local];
    }
    MPI_Allreduce(&degree_known_here, &connected, 1, MPI_INT, MPI_MAX, graph->comm);
    return connected;
}

static bool contains(const int64_t *list, int count, int64_t value) {
    for (int i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

int graph_sample_roots(const struct graph *graph, int count, int64_t *roots) {
    const uint64_t stream = UINT64_MAX - 1; /* neither an edge's nor the scrambler's */
    int found = 0;
    for (int draw = 0; draw < count; draw++) {
        /* a drawn vertex that is unfit passes the turn to the next one that is fit */
        const uint64_t drawn = random_draw(graph->seed, stream, (uint64_t)draw);
        int64_t vertex = (int64_t)(drawn % (uint64_t)graph->vertices);
        int64_t tried = 0;
        while (tried < graph->vertices && (contains(roots, found, vertex) || !is_connected(graph, vertex))) {
            vertex = (vertex + 1) % graph->vertices;
            tried++;
        }
        if (tried == graph->vertices)
            break;
        roots[found++] = vertex;
    }
    return found;
}
