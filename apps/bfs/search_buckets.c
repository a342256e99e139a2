/* SPDX-License-Identifier: BSD-3-Clause */
#include "search_buckets.h"

#include "app_check.h"
#include "app_memory.h"

#include <stdlib.h>

void buckets_create(struct buckets *buckets, struct search *search) {
    const struct graph *graph = search->graph;
    const size_t ranks = (size_t)graph->ranks;
    *buckets = (struct buckets){.search = search, .to = app_memory_allocate(ranks, sizeof *buckets->to)};

    int64_t *capacity = app_memory_allocate(ranks, sizeof *capacity);
    int64_t total = 0;
    for (int64_t e = 0; e < graph->row[graph->local]; e++)
        capacity[place_owner(graph->neighbour[e])]++;
    capacity[graph->rank] = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        total += capacity[rank];
    buckets->memory = app_memory_allocate((size_t)total, sizeof *buckets->memory);
    candidate *free_memory = buckets->memory;
    for (size_t rank = 0; rank < ranks; rank++) {
        buckets->to[rank] = (struct bucket){.candidates = free_memory, .capacity = capacity[rank]};
        free_memory += capacity[rank];
    }
    buckets->incoming_capacity = app_memory_allocate(ranks, sizeof *buckets->incoming_capacity);
    MPI_Alltoall(capacity, 1, MPI_INT64_T, buckets->incoming_capacity, 1, MPI_INT64_T, graph->comm);
    free(capacity);
}

void buckets_destroy(struct buckets *buckets) {
    free(buckets->incoming_capacity);
    free(buckets->memory);
    free(buckets->to);
}

static void send_filled(struct buckets *buckets, const struct transport *transport, int rank) {
    struct bucket *bucket = &buckets->to[rank];
    app_timer_start(buckets->search->timer, APP_PHASE_COMMUNICATION);
    transport->send(buckets, rank, bucket->filled - bucket->sent);
    app_timer_stop(buckets->search->timer, APP_PHASE_COMMUNICATION);
    bucket->sent = bucket->filled;
}

static void expand(struct buckets *buckets, const struct transport *transport) {
    struct search *search = buckets->search;
    const struct graph *graph = search->graph;
    for (int64_t f = 0; f < search->frontier_count; f++) {
        const int64_t local = search->frontier[f];
        const int64_t parent = graph_vertex(graph, graph->rank, local);
        for (int64_t e = graph->row[local]; e < graph->row[local + 1]; e++) {
            const int owner = place_owner(graph->neighbour[e]);
            const int64_t there = place_local(graph->neighbour[e]);
            if (owner == graph->rank) {
                search_visit(search, there, parent);
                continue;
            }
            struct bucket *bucket = &buckets->to[owner];
            bucket->candidates[bucket->filled++] = (candidate)there << 32 | (candidate)parent;
            if (bucket->filled - bucket->sent == CHUNK)
                send_filled(buckets, transport, owner);
        }
    }
    for (int rank = 0; rank < graph->ranks; rank++)
        if (rank != graph->rank)
            send_filled(buckets, transport, rank); /* the rest, less than a chunk, and perhaps nothing */
}

void buckets_run(struct buckets *buckets, const struct transport *transport) {
    for (int rank = 0; rank < buckets->search->graph->ranks; rank++)
        buckets->to[rank].filled = buckets->to[rank].sent = 0;
    for (;;) {
        expand(buckets, transport);
        if (!transport->finish_level(buckets))
            return;
        search_advance(buckets->search);
    }
}

void buckets_visit(struct search *search, const candidate *candidates, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const int64_t local = (int64_t)(candidates[i] >> 32);
        if (local >= search->graph->local)
            app_abort("bfs: what arrived is not what was sent: local vertex %lld of %lld", (long long)local,
                      (long long)search->graph->local);
        search_visit(search, local, (int64_t)(candidates[i] & UINT32_MAX));
    }
}
