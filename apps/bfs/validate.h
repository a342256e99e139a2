/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph500's validation of a search's result (specification, section "Validation"). */
#ifndef BFS_VALIDATE_H
#define BFS_VALIDATE_H

#include "graph.h"
#include "search.h"

#include <stdbool.h>

/* The specification's five rules. */
enum rule {
    RULE_TREE,        /* the predecessors make a tree: one root, no cycle */
    RULE_TREE_LEVELS, /* a vertex is one level below its predecessor */
    RULE_EDGE_LEVELS, /* an edge of the list joins vertices on levels at most one apart, if both are in the
                         tree */
    RULE_SPANNING, /* an edge of the list has both ends in the tree, or none: it spans the root's component */
    RULE_TREE_EDGES, /* a vertex and its predecessor are joined by an edge of the list */
    RULES
};

struct validator;

/* Memory for the checks: some numbers for each vertex of the whole graph, on every rank. */
struct validator *validator_create(const struct graph *graph);
void validator_destroy(struct validator *validator);

/*
 * Checks a tree from `root` by all rules. Collective; the results are the same on every rank.
 * Counts in broken[rule] the vertices or edges that break it, and returns how many edges of the list,
 * repeated ones and self-loops included, lie in the tree's component: what TEPS are counted by.
 */
int64_t validate(struct validator *validator, int64_t root, struct tree tree, int64_t broken[RULES]);

/*
 * Breaks a right tree from `root` in five ways, each against one rule, and validates it. Collective. Returns
 * how many of the five were not noticed; the tree itself stays as it is. The tree must have two levels below
 * the root.
 */
int validator_self_test(struct validator *validator, int64_t root, struct tree tree);

/* A short name for reports. */
const char *rule_name(enum rule rule);

#endif
