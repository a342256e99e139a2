/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p: chunks go by MPI_Isend, and are received and visited while the scan goes on.
 *
 * In each level every rank sends every other some full chunks and then one that is not full, perhaps empty,
 * which says that there are no more.
 */
#include "app_memory.h"
#include "search_buckets.h"

#include <stdlib.h>

struct p2p {
    struct buckets buckets;
    candidate *incoming;   /* a chunk for each rank */
    MPI_Request *receives; /* one for each rank, MPI_REQUEST_NULL after its last chunk of the level */
    int *arrived;          /* what MPI_Testsome and MPI_Waitsome tell */
    MPI_Status *statuses;
    int senders; /* ranks whose last chunk of this level has not come */
    MPI_Request *sends;
    int send_count;
};

static void receive_from(struct p2p *p2p, int rank) {
    MPI_Irecv(p2p->incoming + (size_t)rank * CHUNK, CHUNK, MPI_UINT64_T, rank, 0,
              p2p->buckets.search->graph->comm, &p2p->receives[rank]);
}

static void receive_from_all(struct p2p *p2p) {
    const struct graph *graph = p2p->buckets.search->graph;
    for (int rank = 0; rank < graph->ranks; rank++)
        if (rank != graph->rank)
            receive_from(p2p, rank);
    p2p->senders = graph->ranks - 1;
    p2p->send_count = 0;
}

static void create(struct search *search, enum app_flavour flavour) {
    (void)flavour; /* there is no window */
    struct p2p *p2p = app_memory_allocate(1, sizeof *p2p);
    search->state = p2p;
    buckets_create(&p2p->buckets, search);
    const size_t ranks = (size_t)search->graph->ranks;
    size_t sends = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        sends += (size_t)p2p->buckets.to[rank].capacity / CHUNK + 1;
    p2p->incoming = app_memory_allocate(ranks * CHUNK, sizeof *p2p->incoming);
    p2p->receives = app_memory_allocate(ranks, sizeof(MPI_Request));
    p2p->arrived = app_memory_allocate(ranks, sizeof *p2p->arrived);
    p2p->statuses = app_memory_allocate(ranks, sizeof *p2p->statuses);
    p2p->sends = app_memory_allocate(sends, sizeof(MPI_Request));
    p2p->receives[search->graph->rank] = MPI_REQUEST_NULL;
}

static void destroy(struct search *search) {
    struct p2p *p2p = search->state;
    buckets_destroy(&p2p->buckets);
    free(p2p->incoming);
    free(p2p->receives);
    free(p2p->arrived);
    free(p2p->statuses);
    free(p2p->sends);
    free(p2p);
}

/* Visits the chunks that MPI_Testsome or MPI_Waitsome found. */
static void take(struct p2p *p2p, int count) {
    for (int i = 0; i < count; i++) {
        const int rank = p2p->arrived[i];
        int length;
        MPI_Get_count(&p2p->statuses[i], MPI_UINT64_T, &length);
        buckets_visit(p2p->buckets.search, p2p->incoming + (size_t)rank * CHUNK, length);
        if (length == CHUNK)
            receive_from(p2p, rank);
        else
            p2p->senders--;
    }
}

static void send_chunk(struct buckets *buckets, int rank, int64_t count) {
    struct p2p *p2p = (struct p2p *)buckets; /* its first member */
    const struct bucket *bucket = &buckets->to[rank];
    MPI_Isend(bucket->candidates + bucket->sent, (int)count, MPI_UINT64_T, rank, 0,
              buckets->search->graph->comm, &p2p->sends[p2p->send_count++]);
    int arrived;
    MPI_Testsome(buckets->search->graph->ranks, p2p->receives, &arrived, p2p->arrived, p2p->statuses);
    if (arrived != MPI_UNDEFINED)
        take(p2p, arrived);
}

static bool finish_level(struct buckets *buckets) {
    struct p2p *p2p = (struct p2p *)buckets;
    struct search *search = buckets->search;
    while (p2p->senders > 0) {
        int arrived;
        app_timer_start(search->timer, APP_PHASE_WAITING);
        MPI_Waitsome(search->graph->ranks, p2p->receives, &arrived, p2p->arrived, p2p->statuses);
        app_timer_stop(search->timer, APP_PHASE_WAITING);
        take(p2p, arrived);
    }
    app_timer_start(search->timer, APP_PHASE_COMMUNICATION);
    MPI_Waitall(p2p->send_count, p2p->sends, MPI_STATUSES_IGNORE);
    app_timer_stop(search->timer, APP_PHASE_COMMUNICATION);
    if (search_sum(search, search->next_count) == 0)
        return false;
    receive_from_all(p2p);
    return true;
}

static void run(struct search *search) {
    static const struct transport transport = {.send = send_chunk, .finish_level = finish_level};
    struct p2p *p2p = search->state;
    receive_from_all(p2p);
    buckets_run(&p2p->buckets, &transport);
}

const struct search_kind search_buckets_p2p = {.create = create, .run = run, .destroy = destroy};
