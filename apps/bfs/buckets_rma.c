/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rma-nb: chunks go by MPI_Put while the scan goes on; one flush per level.
 *
 * Each origin has a region of its own in each target's window, as long as its bucket for that target, so no
 * two origins ever agree about space, and within a search nothing is overwritten that its owner may still
 * have to read. How far a region is filled stands in a word per origin, which the origin puts along with its
 * last chunk of the level. There are two words, for even and odd levels: an origin may be one level ahead of
 * the target's reading, but not two, as the sum over all ranks stands between any two levels.
 */
#include "app_check.h"
#include "app_memory.h"
#include "app_window.h"
#include "search_buckets.h"

#include <stdlib.h>
#include <string.h>

/* The window, in words of 8 bytes: how far the regions are filled after even levels, and after odd ones, in
 * the order of origins; then the regions, each a number of whole cache lines. */
struct rma {
    struct buckets buckets;
    struct app_window window;
    MPI_Aint *target_region; /* my region's displacement in each target's window */
    MPI_Aint *region;        /* each origin's region's displacement in my window */
    int64_t *visited;        /* how far I have read each origin's region */
    int64_t put_before;      /* candidates put in the levels before, to all targets */
};

static MPI_Aint fill_word(const struct graph *graph, int32_t level, int origin) {
    return (MPI_Aint)(level % 2) * graph->ranks + origin;
}

static MPI_Aint whole_lines(MPI_Aint words) {
    const MPI_Aint line = 8;
    return (words + line - 1) / line * line;
}

static void create(struct search *search, enum app_flavour flavour) {
    const struct graph *graph = search->graph;
    const size_t ranks = (size_t)graph->ranks;
    struct rma *rma = app_memory_allocate(1, sizeof *rma);
    search->state = rma;
    buckets_create(&rma->buckets, search);
    rma->target_region = app_memory_allocate(ranks, sizeof *rma->target_region);
    rma->region = app_memory_allocate(ranks, sizeof *rma->region);
    rma->visited = app_memory_allocate(ranks, sizeof *rma->visited);

    MPI_Aint words = whole_lines(2 * (MPI_Aint)ranks);
    for (size_t origin = 0; origin < ranks; origin++) {
        rma->region[origin] = words;
        words += whole_lines((MPI_Aint)rma->buckets.incoming_capacity[origin]);
    }
    MPI_Alltoall(rma->region, 1, MPI_AINT, rma->target_region, 1, MPI_AINT, graph->comm);
    app_window_make(&rma->window, flavour, (size_t)words * sizeof(candidate), sizeof(candidate),
                    MPI_INFO_NULL, graph->comm);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, rma->window.win);
}

static void destroy(struct search *search) {
    struct rma *rma = search->state;
    MPI_Win_unlock_all(rma->window.win);
    app_window_free(&rma->window);
    buckets_destroy(&rma->buckets);
    free(rma->target_region);
    free(rma->region);
    free(rma->visited);
    free(rma);
}

static void put_chunk(struct buckets *buckets, int rank, int64_t count) {
    struct rma *rma = (struct rma *)buckets; /* its first member */
    struct bucket *bucket = &buckets->to[rank];
    if (count > 0)
        MPI_Put(bucket->candidates + bucket->sent, (int)count, MPI_UINT64_T, rank,
                rma->target_region[rank] + (MPI_Aint)bucket->sent, (int)count, MPI_UINT64_T, rma->window.win);
}

/* Tells every target how far its region is filled, and completes all puts of this level there. */
static void complete_puts(struct rma *rma) {
    struct search *search = rma->buckets.search;
    const struct graph *graph = search->graph;
    app_timer_start(search->timer, APP_PHASE_COMMUNICATION);
    for (int rank = 0; rank < graph->ranks; rank++)
        if (rank != graph->rank)
            MPI_Put(&rma->buckets.to[rank].filled, 1, MPI_INT64_T, rank,
                    fill_word(graph, search->level, graph->rank), 1, MPI_INT64_T, rma->window.win);
    MPI_Win_flush_all(rma->window.win);
    app_timer_stop(search->timer, APP_PHASE_COMMUNICATION);
}

static bool finish_level(struct buckets *buckets) {
    struct rma *rma = (struct rma *)buckets;
    struct search *search = buckets->search;
    const struct graph *graph = search->graph;
    complete_puts(rma);
    /* A level is the last when nothing entered any frontier; as candidates are not visited yet, count them
     * too. So one empty level ends the search, and there is one sum per level instead of two. */
    int64_t put = 0;
    for (int rank = 0; rank < graph->ranks; rank++)
        put += buckets->to[rank].filled;
    const int64_t found = search->next_count + put - rma->put_before;
    rma->put_before = put;
    if (search_sum(search, found) == 0)
        return false;
    MPI_Win_sync(rma->window.win);
    const candidate *base = rma->window.base;
    for (int origin = 0; origin < graph->ranks; origin++) {
        if (origin == graph->rank)
            continue;
        const int64_t filled = (int64_t)base[fill_word(graph, search->level, origin)];
        const int64_t visited = rma->visited[origin];
        if (filled < visited || filled > buckets->incoming_capacity[origin])
            app_abort("bfs: what arrived is not what was sent: rank %d filled %lld of %lld words", origin,
                      (long long)filled, (long long)buckets->incoming_capacity[origin]);
        buckets_visit(search, base + rma->region[origin] + visited, filled - visited);
        rma->visited[origin] = filled;
    }
    return true;
}

static void run(struct search *search) {
    static const struct transport transport = {.send = put_chunk, .finish_level = finish_level};
    struct rma *rma = search->state;
    memset(rma->visited, 0, (size_t)search->graph->ranks * sizeof *rma->visited);
    rma->put_before = 0;
    buckets_run(&rma->buckets, &transport);
}

const struct search_kind search_buckets_rma = {.create = create, .run = run, .destroy = destroy};
