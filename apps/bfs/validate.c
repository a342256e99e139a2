/* SPDX-License-Identifier: BSD-3-Clause */
#include "validate.h"

#include "app_memory.h"

#include <stdlib.h>
#include <string.h>

/* Every rank has the whole tree: one rank's mistake cannot hide from the others. */
struct validator {
    const struct graph *graph;
    int64_t *parent; /* by vertex */
    int32_t *level;
    uint8_t *mark; /* notes of one rule at a time */
};

const char *rule_name(enum rule rule) {
    static const char *const names[RULES] = {"1 tree", "2 tree levels", "3 edge levels", "4 spanning",
                                             "5 tree edges"};
    return names[rule];
}

struct validator *validator_create(const struct graph *graph) {
    const size_t vertices = (size_t)graph->vertices;
    struct validator *validator = app_memory_allocate(1, sizeof *validator);
    *validator = (struct validator){.graph = graph,
                                    .parent = app_memory_allocate(vertices, sizeof *validator->parent),
                                    .level = app_memory_allocate(vertices, sizeof *validator->level),
                                    .mark = app_memory_allocate(vertices, sizeof *validator->mark)};
    return validator;
}

void validator_destroy(struct validator *validator) {
    free(validator->parent);
    free(validator->level);
    free(validator->mark);
    free(validator);
}

/* Brings all ranks' parts of the tree together, by vertex. */
static void gather(struct validator *validator, struct tree tree) {
    const struct graph *graph = validator->graph;
    int *count = app_memory_allocate(2 * (size_t)graph->ranks, sizeof(int));
    int *at = count + graph->ranks;
    for (int rank = 0, total = 0; rank < graph->ranks; rank++) {
        count[rank] = (int)graph_local_count(graph, rank);
        at[rank] = total;
        total += count[rank];
    }
    int64_t *parents = app_memory_allocate((size_t)graph->vertices, sizeof *parents);
    int32_t *levels = app_memory_allocate((size_t)graph->vertices, sizeof *levels);
    MPI_Allgatherv(tree.parent, (int)graph->local, MPI_INT64_T, parents, count, at, MPI_INT64_T, graph->comm);
    MPI_Allgatherv(tree.level, (int)graph->local, MPI_INT32_T, levels, count, at, MPI_INT32_T, graph->comm);
    for (int rank = 0; rank < graph->ranks; rank++)
        for (int64_t local = 0; local < count[rank]; local++) {
            const int64_t vertex = graph_vertex(graph, rank, local);
            validator->parent[vertex] = parents[at[rank] + local];
            validator->level[vertex] = levels[at[rank] + local];
        }
    free(parents);
    free(levels);
    free(count);
}

static bool in_tree(const struct validator *validator, int64_t vertex) {
    return validator->parent[vertex] != -1;
}

static bool is_vertex(const struct validator *validator, int64_t number) {
    return number >= 0 && number < validator->graph->vertices;
}

/* Rule 1: from every vertex of the tree the predecessors lead to the root. Returns how many do not. */
static int64_t count_astray(struct validator *validator, int64_t root) {
    enum { UNKNOWN, ON_THE_WAY, LEADS_TO_ROOT, ASTRAY };
    uint8_t *mark = validator->mark;
    const int64_t *parent = validator->parent;
    memset(mark, UNKNOWN, (size_t)validator->graph->vertices);
    mark[root] = parent[root] == root ? LEADS_TO_ROOT : ASTRAY;
    int64_t astray = mark[root] == ASTRAY;
    for (int64_t vertex = 0; vertex < validator->graph->vertices; vertex++) {
        if (!in_tree(validator, vertex))
            continue;
        int64_t up = vertex;
        while (is_vertex(validator, up) && mark[up] == UNKNOWN) {
            mark[up] = ON_THE_WAY;
            up = parent[up];
        }
        /* met a cycle, left the tree, or reached something known */
        const bool good = is_vertex(validator, up) && mark[up] == LEADS_TO_ROOT;
        for (int64_t v = vertex; is_vertex(validator, v) && mark[v] == ON_THE_WAY; v = parent[v]) {
            mark[v] = good ? LEADS_TO_ROOT : ASTRAY;
            astray += !good;
        }
    }
    return astray;
}

/* Rule 2. */
static int64_t count_wrong_levels(const struct validator *validator, int64_t root) {
    int64_t wrong = 0;
    for (int64_t vertex = 0; vertex < validator->graph->vertices; vertex++) {
        const int64_t parent = validator->parent[vertex];
        int32_t expected = -1;
        if (vertex == root)
            expected = 0;
        else if (is_vertex(validator, parent))
            expected = validator->level[parent] + 1;
        wrong += validator->level[vertex] != expected;
    }
    return wrong;
}

/* Rules 3 and 4, on this rank's part of the edge list. Returns how many of its edges lie in the tree's
 * component. */
static int64_t check_edges(const struct validator *validator, int64_t *too_far, int64_t *half_in) {
    const struct graph *graph = validator->graph;
    int64_t inside = 0;
    *too_far = *half_in = 0;
    for (int64_t e = 0; e < graph->edge_count; e++) {
        const struct edge edge = graph->edges[e];
        const bool a_in = in_tree(validator, edge.a), b_in = in_tree(validator, edge.b);
        if (a_in && b_in) {
            const int32_t apart = validator->level[edge.a] - validator->level[edge.b];
            *too_far += apart < -1 || apart > 1;
            inside++;
        } else {
            *half_in += a_in || b_in;
        }
    }
    return inside;
}

/* Rule 5: each rank marks the tree's edges that its part of the list has. */
static int64_t count_invented_edges(struct validator *validator, int64_t root) {
    const struct graph *graph = validator->graph;
    uint8_t *mark = validator->mark;
    memset(mark, 0, (size_t)graph->vertices);
    for (int64_t e = 0; e < graph->edge_count; e++) {
        const struct edge edge = graph->edges[e];
        if (validator->parent[edge.a] == edge.b)
            mark[edge.a] = 1;
        if (validator->parent[edge.b] == edge.a)
            mark[edge.b] = 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, mark, (int)graph->vertices, MPI_UINT8_T, MPI_MAX, graph->comm);
    int64_t invented = 0;
    for (int64_t vertex = 0; vertex < graph->vertices; vertex++)
        invented += vertex != root && in_tree(validator, vertex) && !mark[vertex];
    return invented;
}

/* All rules on the gathered tree. Returns the edges in the component. */
static int64_t check(struct validator *validator, int64_t root, int64_t broken[RULES]) {
    int64_t sums[3];
    sums[0] = check_edges(validator, &sums[1], &sums[2]);
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INT64_T, MPI_SUM, validator->graph->comm);
    broken[RULE_TREE] = count_astray(validator, root);
    broken[RULE_TREE_LEVELS] = count_wrong_levels(validator, root);
    broken[RULE_EDGE_LEVELS] = sums[1];
    broken[RULE_SPANNING] = sums[2];
    broken[RULE_TREE_EDGES] = count_invented_edges(validator, root);
    return sums[0];
}

int64_t validate(struct validator *validator, int64_t root, struct tree tree, int64_t broken[RULES]) {
    gather(validator, tree);
    return check(validator, root, broken);
}

/* Whether the edge list joins the two, on whatever rank. */
static bool is_edge(const struct graph *graph, int64_t a, int64_t b) {
    int here = 0, anywhere;
    for (int64_t e = 0; e < graph->edge_count; e++)
        here |= (graph->edges[e].a == a && graph->edges[e].b == b) ||
                (graph->edges[e].a == b && graph->edges[e].b == a);
    MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, graph->comm);
    return anywhere;
}

/* A vertex of the deepest level: nothing hangs from it. */
static int64_t deepest_vertex(const struct validator *validator) {
    int64_t deepest = 0;
    for (int64_t vertex = 1; vertex < validator->graph->vertices; vertex++)
        if (validator->level[vertex] > validator->level[deepest])
            deepest = vertex;
    return deepest;
}

/* A vertex on the level above that `vertex` has no edge to; `vertex` itself when there is none. */
static int64_t stranger_above(const struct validator *validator, int64_t vertex) {
    for (int64_t other = 0; other < validator->graph->vertices; other++)
        if (validator->level[other] == validator->level[vertex] - 1 &&
            !is_edge(validator->graph, vertex, other))
            return other;
    return vertex;
}

static void break_rule(struct validator *validator, enum rule rule) {
    const int64_t leaf = deepest_vertex(validator);
    const int64_t above = validator->parent[leaf];
    switch (rule) {
    case RULE_TREE:
        validator->parent[above] = leaf;
        break; /* the two hang from each other */
    case RULE_TREE_LEVELS:
        validator->level[leaf]++;
        break;
    case RULE_EDGE_LEVELS:
        validator->level[leaf] += 2;
        break;
    case RULE_SPANNING:
        validator->parent[leaf] = validator->level[leaf] = -1;
        break;
    default:
        validator->parent[leaf] = stranger_above(validator, leaf);
        break;
    }
}

int validator_self_test(struct validator *validator, int64_t root, struct tree tree) {
    int unnoticed = 0;
    for (int rule = 0; rule < RULES; rule++) {
        int64_t broken[RULES];
        gather(validator, tree);
        break_rule(validator, (enum rule)rule);
        check(validator, root, broken);
        unnoticed += broken[rule] == 0;
    }
    return unnoticed;
}
