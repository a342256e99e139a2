/* SPDX-License-Identifier: BSD-3-Clause */
#include "search.h"

#include "app_memory.h"
#include "search_kinds.h"

#include <stdlib.h>
#include <string.h>

static const struct search_kind *kind_of(enum app_comm comm) {
    switch (comm) {
    case APP_COMM_P2P:
        return &search_buckets_p2p;
    case APP_COMM_RMA:
        return &search_atomic;
    default:
        return &search_buckets_rma;
    }
}

struct search *search_create(const struct graph *graph, enum app_comm comm, enum app_flavour flavour,
                             struct app_timer *timer) {
    const size_t local = (size_t)graph->local;
    struct search *search = app_memory_allocate(1, sizeof *search);
    *search = (struct search){.graph = graph, .timer = timer, .kind = kind_of(comm)};
    search->tree.parent = app_memory_allocate(local, sizeof *search->tree.parent);
    search->tree.level = app_memory_allocate(local, sizeof *search->tree.level);
    search->frontier = app_memory_allocate(local, sizeof *search->frontier);
    search->next = app_memory_allocate(local, sizeof *search->next);
    search->kind->create(search, flavour);
    return search;
}

struct tree search_run(struct search *search, int64_t root) {
    const size_t local = (size_t)search->graph->local;
    const uint64_t place = place_of(search->graph, root);
    memset(search->tree.parent, 0xff, local * sizeof *search->tree.parent); /* -1 */
    memset(search->tree.level, 0xff, local * sizeof *search->tree.level);
    search->level = 0;
    search->next_count = 0;
    if (place_owner(place) == search->graph->rank)
        search_visit(search, place_local(place), root);
    search_advance(search);
    search->kind->run(search);
    return search->tree;
}

void search_destroy(struct search *search) {
    search->kind->destroy(search);
    free(search->tree.parent);
    free(search->tree.level);
    free(search->frontier);
    free(search->next);
    free(search);
}

void search_advance(struct search *search) {
    uint32_t *done = search->frontier;
    search->frontier = search->next;
    search->frontier_count = search->next_count;
    search->next = done;
    search->next_count = 0;
    search->level++;
}

int64_t search_sum(struct search *search, int64_t value) {
    int64_t sum;
    app_timer_start(search->timer, APP_PHASE_WAITING);
    MPI_Allreduce(&value, &sum, 1, MPI_INT64_T, MPI_SUM, search->graph->comm);
    app_timer_stop(search->timer, APP_PHASE_WAITING);
    return sum;
}
