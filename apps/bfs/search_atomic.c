/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rma: every edge that leaves the frontier is an atomic update of the far end's predecessor, wherever that
 * lies, and is finished before the next edge is looked at.
 *
 * The window has one word for each local vertex, 0 before it is found, then its predecessor below and above
 * that a number that is larger the earlier the level is. So an MPI_Accumulate with MPI_MAX keeps the earliest
 * level, and within a level the largest predecessor: which tree is found depends neither on timing nor on the
 * number of ranks. Within a level the words are changed by accumulates alone, the owner's included; the owner
 * reads them between the barrier that ends the level and the sum that opens the next.
 */
#include "app_memory.h"
#include "app_window.h"
#include "search_kinds.h"

#include <stdlib.h>
#include <string.h>

/* Above any level: there are less than 2^31 vertices. */
static const int64_t last_level = INT32_MAX;

static int64_t word_of(int32_t level, int64_t parent) {
    return (last_level - level) << 32 | parent;
}

static void create(struct search *search, enum app_flavour flavour) {
    struct app_window *window = app_memory_allocate(1, sizeof *window);
    const size_t bytes = (size_t)search->graph->local * sizeof(int64_t);
    app_window_make(window, flavour, bytes, sizeof(int64_t), MPI_INFO_NULL, search->graph->comm);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
    search->state = window;
}

static void destroy(struct search *search) {
    struct app_window *window = search->state;
    MPI_Win_unlock_all(window->win);
    app_window_free(window);
    free(window);
}

/* Offers this rank's frontier as predecessors to all its neighbours. */
static void expand(const struct search *search, MPI_Win win) {
    const struct graph *graph = search->graph;
    for (int64_t f = 0; f < search->frontier_count; f++) {
        const int64_t local = search->frontier[f];
        const int64_t word = word_of(search->level, graph_vertex(graph, graph->rank, local));
        for (int64_t e = graph->row[local]; e < graph->row[local + 1]; e++) {
            const int owner = place_owner(graph->neighbour[e]);
            MPI_Accumulate(&word, 1, MPI_INT64_T, owner, place_local(graph->neighbour[e]), 1, MPI_INT64_T,
                           MPI_MAX, win);
            MPI_Win_flush(owner, win);
        }
    }
}

/* Ends a phase in which some ranks write into windows and others do not: what this rank wrote is visible to
 * all after it, and what others wrote is visible to this one. */
static void barrier(struct search *search, MPI_Win win) {
    app_timer_start(search->timer, APP_PHASE_WAITING);
    MPI_Win_sync(win);
    MPI_Barrier(search->graph->comm);
    MPI_Win_sync(win);
    app_timer_stop(search->timer, APP_PHASE_WAITING);
}

static void run(struct search *search) {
    const struct app_window *window = search->state;
    int64_t *words = window->base;
    memset(words, 0, window->bytes);
    for (int64_t f = 0; f < search->frontier_count; f++) /* the root, at its owner */
        words[search->frontier[f]] = word_of(0, search->tree.parent[search->frontier[f]]);
    barrier(search, window->win);
    for (;;) {
        /* Reading the clock around each operation would cost as much as a fast one: the whole scan counts. */
        app_timer_start(search->timer, APP_PHASE_COMMUNICATION);
        expand(search, window->win);
        app_timer_stop(search->timer, APP_PHASE_COMMUNICATION);
        barrier(search, window->win);
        for (int64_t local = 0; local < search->graph->local; local++)
            if (words[local] != 0)
                search_visit(search, local, words[local] & UINT32_MAX);
        if (search_sum(search, search->next_count) == 0)
            return;
        search_advance(search);
    }
}

const struct search_kind search_atomic = {.create = create, .run = run, .destroy = destroy};
