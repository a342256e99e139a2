/* SPDX-License-Identifier: BSD-3-Clause */
/* What the three kinds of search share among themselves. */
#ifndef BFS_SEARCH_KINDS_H
#define BFS_SEARCH_KINDS_H

#include "search.h"

/* One kind of search. */
struct search_kind {
    /* Collective. Sets search->state. */
    void (*create)(struct search *search, enum app_flavour flavour);
    /* Collective. Runs all levels from the frontier that holds the root. */
    void (*run)(struct search *search);
    void (*destroy)(struct search *search);
};

struct search {
    const struct graph *graph;
    struct app_timer *timer;
    const struct search_kind *kind;
    void *state; /* the kind's own */
    struct tree tree;
    int32_t level;      /* of the vertices that are found now */
    uint32_t *frontier; /* local vertices found in the level before */
    uint32_t *next;     /* those found in this level */
    int64_t frontier_count, next_count;
};

extern const struct search_kind search_atomic;      /* rma */
extern const struct search_kind search_buckets_p2p; /* p2p */
extern const struct search_kind search_buckets_rma; /* rma-nb */

/* Adds a local vertex, found at the present level, to the next frontier. */
static inline void search_add(struct search *search, int64_t local) {
    search->tree.level[local] = search->level;
    search->next[search->next_count++] = (uint32_t)local;
}

/* Follows an edge to a local vertex: it joins the tree unless it is there already. */
static inline void search_visit(struct search *search, int64_t local, int64_t parent) {
    if (search->tree.level[local] >= 0)
        return;
    search->tree.parent[local] = parent;
    search_add(search, local);
}

/* Makes the next frontier the present one, and goes on to the next level. */
void search_advance(struct search *search);

/* The sum over all ranks, for the decision whether there is another level; nobody leaves before all have
 * come. */
int64_t search_sum(struct search *search, int64_t value);

#endif
