/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_MOVE_TYPES_H
#define TEST_MOVE_TYPES_H

/*
 * Random datatypes for the tests of the movers, each as a layout and as the plain list of its bytes that the
 * definitions in the MPI standard give, written down without any cleverness.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "move/move_layout.h"

struct type {
    struct trma_layout *layout;
    size_t n; /* bytes in type-map order */
    size_t capacity;
    ptrdiff_t *bytes;
    ptrdiff_t lower;
    ptrdiff_t upper;
};

/* A type's bytes are kept short, so that a test can look at every one of them. */
#define TYPE_BYTES_MAX 4096U
#define TYPE_DEPTH_MAX 5U

static inline uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline size_t random_below(uint64_t *state, size_t limit) {
    return (size_t)(random_next(state) >> 16) % limit;
}

static inline ptrdiff_t random_between(uint64_t *state, ptrdiff_t low, ptrdiff_t high) {
    return low + (ptrdiff_t)random_below(state, (size_t)(high - low) + 1);
}

static inline void type_drop(struct type *type) {
    trma_move_layout_release(type->layout);
    free(type->bytes);
    *type = (struct type){0};
}

/* The same type once more, with the same layout. */
static inline struct type type_share(const struct type *type) {
    struct type copy = *type;
    trma_move_layout_retain(copy.layout);
    if (copy.n > 0) {
        copy.capacity = copy.n;
        copy.bytes = malloc(copy.n * sizeof *copy.bytes);
        assert_non_null(copy.bytes);
        memcpy(copy.bytes, type->bytes, copy.n * sizeof *copy.bytes);
    }
    return copy;
}

static inline void type_append_byte(struct type *type, ptrdiff_t offset) {
    if (type->n == type->capacity) {
        type->capacity = type->capacity == 0 ? 64 : 2 * type->capacity;
        type->bytes = realloc(type->bytes, type->capacity * sizeof *type->bytes);
        assert_non_null(type->bytes);
    }
    type->bytes[type->n++] = offset;
}

/* One child at `offset`; `is_first` tells whether bounds were set before. Types without data and bounds leave
 * no trace. */
static inline void type_place(struct type *type, const struct type *child, ptrdiff_t offset, bool *is_first) {
    if (child->n == 0 && child->upper == child->lower) {
        return;
    }
    for (size_t i = 0; i < child->n; i++) {
        type_append_byte(type, child->bytes[i] + offset);
    }
    const ptrdiff_t lower = child->lower + offset;
    const ptrdiff_t upper = child->upper + offset;
    type->lower = *is_first || lower < type->lower ? lower : type->lower;
    type->upper = *is_first || upper > type->upper ? upper : type->upper;
    *is_first = false;
}

static inline struct type type_random_leaf(uint64_t *state) {
    struct type type = {0};
    if (random_below(state, 8) == 0) {
        const size_t size = random_below(state, 20);
        assert_int_equal(trma_move_layout_make_bytes(size, &type.layout), TRMA_OK);
        for (size_t i = 0; i < size; i++) {
            type_append_byte(&type, (ptrdiff_t)i);
        }
        type.upper = (ptrdiff_t)size;
        return type;
    }
    const enum trma_element element = (enum trma_element)random_below(state, TRMA_ELEMENT_COUNT);
    assert_int_equal(trma_move_layout_make_element(element, &type.layout), TRMA_OK);
    const size_t size = trma_acc_element_size(element);
    for (size_t i = 0; i < size; i++) {
        const size_t hole =
            element == TRMA_ELEMENT_PAIR_SHORT_INT && i >= sizeof(short) ? sizeof(int) - sizeof(short) : 0;
        type_append_byte(&type, (ptrdiff_t)(i + hole));
    }
    type.upper = (ptrdiff_t)trma_acc_element_extent(element);
    return type;
}

static inline struct type type_random_vector(uint64_t *state, const struct type *child) {
    struct type type = {0};
    const ptrdiff_t extent = child->upper - child->lower;
    const size_t count = random_below(state, 6);
    const size_t blocklength = random_below(state, 5);
    const ptrdiff_t stride =
        random_below(state, 2) ? random_between(state, -3, 6) * extent : random_between(state, -60, 120);
    assert_int_equal(trma_move_layout_make_vector(count, blocklength, stride, child->layout, &type.layout),
                     TRMA_OK);
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < blocklength; j++) {
            type_place(&type, child, (ptrdiff_t)i * stride + (ptrdiff_t)j * extent, &is_first);
        }
    }
    return type;
}

static inline struct type type_random_struct(uint64_t *state, const struct type *children, size_t n) {
    struct type type = {0};
    size_t blocklengths[4];
    ptrdiff_t displacements[4];
    const struct trma_layout *layouts[4];
    bool is_first = true;
    for (size_t i = 0; i < n; i++) {
        const ptrdiff_t extent = children[i].upper - children[i].lower;
        layouts[i] = children[i].layout;
        blocklengths[i] = random_below(state, 4);
        displacements[i] = i > 0 && random_below(state, 2)
                               ? type.upper
                               : random_between(state, -50, 150); /* often adjacent */
        for (size_t j = 0; j < blocklengths[i]; j++) {
            type_place(&type, &children[i], displacements[i] + (ptrdiff_t)j * extent, &is_first);
        }
    }
    assert_int_equal(trma_move_layout_make_struct(n, blocklengths, displacements, layouts, &type.layout),
                     TRMA_OK);
    return type;
}

static inline struct type type_random_resized(uint64_t *state, const struct type *child) {
    struct type type = {0};
    const ptrdiff_t lower = random_between(state, -40, 40);
    const ptrdiff_t extent = random_below(state, 3) ? random_between(state, -80, 160) : (ptrdiff_t)child->n;
    bool is_first = true;
    assert_int_equal(trma_move_layout_make_resized(child->layout, lower, extent, &type.layout), TRMA_OK);
    type_place(&type, child, 0, &is_first);
    type.lower = lower;
    type.upper = lower + extent;
    return type;
}

/* An array of up to 3 dimensions of which the cells for which `is_mine` are taken, in memory order. */
struct array {
    size_t dimensions;
    size_t sizes[3];
    size_t subsizes[3];
    size_t starts[3];
    struct trma_darray_dimension distributed[3];
    size_t coordinates[3];
    bool c_order;
};

static inline bool array_holds(const struct array *array, const size_t *index, bool is_darray) {
    for (size_t d = 0; d < array->dimensions; d++) {
        if (!is_darray) {
            if (index[d] < array->starts[d] || index[d] >= array->starts[d] + array->subsizes[d]) {
                return false;
            }
            continue;
        }
        const struct trma_darray_dimension *dimension = &array->distributed[d];
        size_t block = dimension->argument;
        if (dimension->distribution == TRMA_DISTRIBUTION_NONE) {
            continue;
        }
        if (dimension->distribution == TRMA_DISTRIBUTION_BLOCK && block == 0) {
            block = (dimension->size + dimension->processes - 1) / dimension->processes;
        }
        block = block == 0 ? 1 : block;
        if (index[d] / block % dimension->processes != array->coordinates[d]) {
            return false;
        }
    }
    return true;
}

static inline void type_place_array(struct type *type, const struct array *array, const struct type *child,
                                    bool is_darray) {
    const ptrdiff_t extent = child->upper - child->lower;
    size_t cells = 1;
    bool is_first = true;
    for (size_t d = 0; d < array->dimensions; d++) {
        cells *= array->sizes[d];
    }
    for (size_t cell = 0; cell < cells; cell++) {
        size_t index[3];
        size_t rest = cell;
        for (size_t i = 0; i < array->dimensions; i++) {
            const size_t d = array->c_order ? array->dimensions - 1 - i : i;
            index[d] = rest % array->sizes[d];
            rest /= array->sizes[d];
        }
        if (array_holds(array, index, is_darray)) {
            type_place(type, child, (ptrdiff_t)cell * extent, &is_first);
        }
    }
    type->lower = 0;
    type->upper = (ptrdiff_t)cells * extent;
}

static inline struct type type_random_subarray(uint64_t *state, const struct type *child) {
    struct type type = {0};
    struct array array = {.dimensions = 1 + random_below(state, 3), .c_order = random_below(state, 2)};
    for (size_t d = 0; d < array.dimensions; d++) {
        array.sizes[d] = 1 + random_below(state, 5);
        array.starts[d] = random_below(state, array.sizes[d]);
        array.subsizes[d] = 1 + random_below(state, array.sizes[d] - array.starts[d]);
    }
    assert_int_equal(trma_move_layout_make_subarray(array.dimensions, array.sizes, array.subsizes,
                                                    array.starts, array.c_order, child->layout, &type.layout),
                     TRMA_OK);
    type_place_array(&type, &array, child, false);
    return type;
}

static inline struct type type_random_darray(uint64_t *state, const struct type *child) {
    struct type type = {0};
    struct array array = {.dimensions = 1 + random_below(state, 3), .c_order = random_below(state, 2)};
    size_t rank = 0;
    for (size_t d = 0; d < array.dimensions; d++) {
        struct trma_darray_dimension *dimension = &array.distributed[d];
        array.sizes[d] = 1 + random_below(state, 7);
        dimension->size = array.sizes[d];
        dimension->distribution = (enum trma_distribution)random_below(state, 3);
        dimension->processes =
            dimension->distribution == TRMA_DISTRIBUTION_NONE ? 1 : 1 + random_below(state, 4);
        if (dimension->distribution == TRMA_DISTRIBUTION_CYCLIC) {
            dimension->argument = random_below(state, 4);
        } else if (dimension->distribution == TRMA_DISTRIBUTION_BLOCK && random_below(state, 2)) {
            dimension->argument =
                (dimension->size + dimension->processes - 1) / dimension->processes + random_below(state, 3);
        }
        array.coordinates[d] = random_below(state, dimension->processes);
        rank = rank * dimension->processes + array.coordinates[d];
    }
    assert_int_equal(trma_move_layout_make_darray(rank, array.dimensions, array.distributed, array.c_order,
                                                  child->layout, &type.layout),
                     TRMA_OK);
    type_place_array(&type, &array, child, true);
    return type;
}

/* A random tree. The caller drops it; children are released at once, as a program frees the types that it
 * built from. */
static inline struct type type_random(uint64_t *state, unsigned depth) {
    struct type children[4];
    struct type type;
    if (depth == 0 || random_below(state, 6) == 0) {
        return type_random_leaf(state);
    }
    const size_t kind = random_below(state, 6);
    const size_t n = kind < 2 ? 1 + random_below(state, 4) : 1;
    for (size_t i = 0; i < n; i++) {
        children[i] = type_random(state, depth - 1);
    }
    switch (kind) {
    case 0:
    case 1:
        type = type_random_struct(state, children, n);
        break;
    case 2:
        type = type_random_resized(state, children);
        break;
    case 3:
        type = type_random_subarray(state, children);
        break;
    case 4:
        type = type_random_darray(state, children);
        break;
    default:
        type = type_random_vector(state, children);
        break;
    }
    for (size_t i = 0; i < n; i++) {
        type_drop(&children[i]);
    }
    if (type.n > TYPE_BYTES_MAX) {
        type_drop(&type);
        return type_random_leaf(state);
    }
    return type;
}

#endif
