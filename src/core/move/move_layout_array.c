/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_layout.h"

/*
 * Array datatypes (MPI-4.1, 5.1.3 and 5.1.4), reduced to structs of vectors, one dimension after the other
 * from the one that runs fastest. Every step's result is resized to the whole array in the dimensions done,
 * so that the next one strides over it.
 */

/* What is taken of one dimension, in children: `count` blocks of `length` from `start` on, then `rest` from
 * `rest_start` on. */
struct part {
    size_t start;
    size_t count;
    size_t length;
    size_t stride; /* from one block's start to the next */
    size_t rest_start;
    size_t rest;
};

/* Replaces *layout by the given part of a dimension of `size` of it. Releases the old one, also on errors. */
static enum trma_status add_dimension(struct trma_layout **layout, size_t size, const struct part *part) {
    struct trma_layout *inner = *layout;
    struct trma_layout *blocks = NULL;
    struct trma_layout *both = NULL;
    ptrdiff_t start;
    ptrdiff_t stride;
    ptrdiff_t rest_start;
    ptrdiff_t extent;
    enum trma_status status = TRMA_ERR_ARGUMENT;
    *layout = NULL;
    if (!__builtin_mul_overflow(part->start, inner->extent, &start) &&
        !__builtin_mul_overflow(part->stride, inner->extent, &stride) &&
        !__builtin_mul_overflow(part->rest_start, inner->extent, &rest_start) &&
        !__builtin_mul_overflow(size, inner->extent, &extent)) {
        status = trma_move_layout_make_vector(part->count, part->length, stride, inner, &blocks);
    }
    if (status == TRMA_OK) {
        const struct trma_layout *children[] = {blocks, inner};
        status = trma_move_layout_make_struct(2, (const size_t[]){part->count > 0, part->rest},
                                              (const ptrdiff_t[]){start, rest_start}, children, &both);
    }
    if (status == TRMA_OK) {
        status = trma_move_layout_make_resized(both, 0, extent, layout);
    }
    trma_move_layout_release(both);
    trma_move_layout_release(blocks);
    trma_move_layout_release(inner);
    return status;
}

/* The child as a layout of its own, which add_dimension may release. */
static enum trma_status copy(const struct trma_layout *child, struct trma_layout **out) {
    return trma_move_layout_make_resized(child, child->lower_bound, child->extent, out);
}

enum trma_status trma_move_layout_make_subarray(size_t dimensions, const size_t *sizes,
                                                const size_t *subsizes, const size_t *starts, bool c_order,
                                                const struct trma_layout *child, struct trma_layout **out) {
    struct trma_layout *layout;
    if (dimensions == 0) {
        return TRMA_ERR_ARGUMENT;
    }
    enum trma_status status = copy(child, &layout);
    for (size_t i = 0; i < dimensions && status == TRMA_OK; i++) {
        const size_t d = c_order ? dimensions - 1 - i : i;
        if (starts[d] > sizes[d] || subsizes[d] > sizes[d] - starts[d]) {
            trma_move_layout_release(layout);
            return TRMA_ERR_ARGUMENT;
        }
        const struct part part = {.rest_start = starts[d], .rest = subsizes[d]};
        status = add_dimension(&layout, sizes[d], &part);
    }
    if (status == TRMA_OK) {
        *out = layout;
    }
    return status;
}

/* What the process at `coordinate` holds of a dimension. False when the dimension's values contradict each
 * other. */
static bool distribute(const struct trma_darray_dimension *dimension, size_t coordinate, struct part *part) {
    const size_t size = dimension->size;
    const size_t processes = dimension->processes;
    size_t block;
    size_t cycle;
    size_t first;
    switch (dimension->distribution) {
    case TRMA_DISTRIBUTION_NONE:
        if (processes != 1) {
            return false;
        }
        block = size;
        break;
    case TRMA_DISTRIBUTION_BLOCK:
        block = dimension->argument != 0 ? dimension->argument : size / processes + (size % processes != 0);
        if (__builtin_mul_overflow(block, processes, &cycle) || cycle < size) {
            return false;
        }
        break;
    case TRMA_DISTRIBUTION_CYCLIC:
        block = dimension->argument != 0 ? dimension->argument : 1;
        break;
    default:
        return false;
    }
    *part = (struct part){0};
    block = block < size ? block : size;
    if (__builtin_mul_overflow(block, processes, &cycle)) {
        return false;
    }
    first = coordinate * block;
    if (first >= size) {
        return true; /* nothing is left for this process */
    }
    const size_t left = size - first; /* from this process's first child on, in all processes */
    part->start = first;
    part->length = block;
    part->count = left / cycle;
    part->stride = cycle;
    const size_t tail = left % cycle;
    if (tail >= block) {
        part->count++;
    } else {
        part->rest_start = first + part->count * cycle;
        part->rest = tail;
    }
    return true;
}

enum trma_status trma_move_layout_make_darray(size_t rank, size_t n_dimensions,
                                              const struct trma_darray_dimension *dimensions, bool c_order,
                                              const struct trma_layout *child, struct trma_layout **out) {
    struct trma_layout *layout;
    size_t grid = 1;
    if (n_dimensions == 0) {
        return TRMA_ERR_ARGUMENT;
    }
    for (size_t i = 0; i < n_dimensions; i++) {
        if (dimensions[i].processes == 0 || __builtin_mul_overflow(grid, dimensions[i].processes, &grid)) {
            return TRMA_ERR_ARGUMENT;
        }
    }
    if (rank >= grid) {
        return TRMA_ERR_ARGUMENT;
    }
    enum trma_status status = copy(child, &layout);
    for (size_t i = 0; i < n_dimensions && status == TRMA_OK; i++) {
        const size_t d = c_order ? n_dimensions - 1 - i : i;
        size_t below = 1; /* processes in the dimensions behind d: the grid's last index runs fastest */
        for (size_t j = d + 1; j < n_dimensions; j++) {
            below *= dimensions[j].processes;
        }
        struct part part;
        if (!distribute(&dimensions[d], rank / below % dimensions[d].processes, &part)) {
            trma_move_layout_release(layout);
            return TRMA_ERR_ARGUMENT;
        }
        status = add_dimension(&layout, dimensions[d].size, &part);
    }
    if (status == TRMA_OK) {
        *out = layout;
    }
    return status;
}
