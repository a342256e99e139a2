/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_buddy.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/*
 * Node 1 is the root; the children of n are 2n and 2n + 1. The order of a block is the logarithm of its size
 * in units. missing[n] = (order of n) - (order of the largest free block beneath n), or order + 1 when
 * nothing is free there. Zero is thus "all free", which is what fresh pages hold: the tree needs no
 * initialisation.
 */
struct trma_buddy {
    unsigned char *missing;
    size_t size;
    size_t unit;
    unsigned root_order;
};

static unsigned order_of(size_t units) {
    return (unsigned)(sizeof units * 8 - 1) - (unsigned)__builtin_clzl(units);
}

static size_t tree_bytes(const struct trma_buddy *buddy) {
    return (size_t)2 << buddy->root_order;
}

struct trma_buddy *trma_mem_buddy_create(size_t size, size_t unit) {
    struct trma_buddy *buddy = malloc(sizeof *buddy);
    if (buddy == NULL) {
        return NULL;
    }
    *buddy = (struct trma_buddy){.size = size, .unit = unit, .root_order = order_of(size / unit)};
    void *tree = mmap(NULL, tree_bytes(buddy), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tree == MAP_FAILED) {
        free(buddy);
        return NULL;
    }
    buddy->missing = tree;
    return buddy;
}

void trma_mem_buddy_destroy(struct trma_buddy *buddy) {
    munmap(buddy->missing, tree_bytes(buddy));
    free(buddy);
}

/* One more than the order of the largest free block beneath a node of this order; 0 when there is none. */
static unsigned largest(const struct trma_buddy *buddy, size_t node, unsigned order) {
    return order + 1 - buddy->missing[node];
}

/* Brings the ancestors of a node whose state has changed up to date. */
static void update_ancestors(struct trma_buddy *buddy, size_t node, unsigned order) {
    while (node > 1) {
        node /= 2;
        order++;
        unsigned left = largest(buddy, 2 * node, order - 1);
        unsigned right = largest(buddy, 2 * node + 1, order - 1);
        unsigned best = left > right ? left : right;
        if (left == order && right == order) {
            best = order + 1; /* both halves are all free: they are one block */
        }
        buddy->missing[node] = (unsigned char)(order + 1 - best);
    }
}

size_t trma_mem_buddy_allocate(struct trma_buddy *buddy, size_t size) {
    if (size > buddy->size) {
        return SIZE_MAX;
    }
    size_t units = size <= buddy->unit ? 1 : (size + buddy->unit - 1) / buddy->unit;
    unsigned wanted = units == 1 ? 0 : order_of(units - 1) + 1;
    if (largest(buddy, 1, buddy->root_order) < wanted + 1) {
        return SIZE_MAX;
    }
    size_t node = 1;
    unsigned order = buddy->root_order;
    while (order > wanted) {
        order--;
        node *= 2;
        if (largest(buddy, node, order) < wanted + 1) {
            node++;
        }
    }
    size_t offset = ((node << order) - ((size_t)1 << buddy->root_order)) * buddy->unit;
    buddy->missing[node] = (unsigned char)(order + 1);
    update_ancestors(buddy, node, order);
    return offset;
}

size_t trma_mem_buddy_free(struct trma_buddy *buddy, size_t offset) {
    if (offset >= buddy->size || offset % buddy->unit != 0) {
        return 0;
    }
    size_t node = ((size_t)1 << buddy->root_order) + offset / buddy->unit;
    unsigned order = 0;
    /* Beneath an allocated node all is marked free, so the lowest node without free space is the block
     * itself. */
    while (largest(buddy, node, order) != 0) {
        if (node == 1 || node % 2 != 0) {
            return 0; /* a right child does not start where its parent does */
        }
        node /= 2;
        order++;
    }
    buddy->missing[node] = 0;
    update_ancestors(buddy, node, order);
    return buddy->unit << order;
}

bool trma_mem_buddy_is_empty(const struct trma_buddy *buddy) {
    return buddy->missing[1] == 0;
}

static void visit_node(const struct trma_buddy *buddy, size_t node, unsigned order, unsigned least,
                       void (*visit)(void *context, size_t offset, size_t size), void *context) {
    unsigned free_order = largest(buddy, node, order);
    if (free_order == order + 1) {
        visit(context, ((node << order) - ((size_t)1 << buddy->root_order)) * buddy->unit,
              buddy->unit << order);
    } else if (free_order >= least + 1) {
        visit_node(buddy, 2 * node, order - 1, least, visit, context);
        visit_node(buddy, 2 * node + 1, order - 1, least, visit, context);
    }
}

void trma_mem_buddy_visit_free(const struct trma_buddy *buddy, size_t least,
                               void (*visit)(void *context, size_t offset, size_t size), void *context) {
    unsigned least_order = least <= buddy->unit ? 0 : order_of(least / buddy->unit);
    visit_node(buddy, 1, buddy->root_order, least_order, visit, context);
}
