/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_flatten.h"

#include <stdlib.h>

#include "face_host.h"
#include "face_type.h"

/*
 * What a datatype was made of. Types made by large-count calls give their counts and displacements in
 * `counts`, others in `integers` and `addresses`; next_count and next_address hide that.
 */
struct contents {
    int combiner;
    size_t n_integers;
    size_t n_addresses;
    size_t n_counts;
    size_t n_datatypes;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *datatypes;
    size_t at_integer;
    size_t at_address;
    size_t at_count;
};

static void contents_free(struct contents *contents) {
    free(contents->integers);
    free(contents->addresses);
    free(contents->counts);
    free(contents->datatypes);
}

static bool contents_allocate(struct contents *contents) {
    contents->integers = calloc(contents->n_integers + 1, sizeof(int));
    contents->addresses = calloc(contents->n_addresses + 1, sizeof(MPI_Aint));
    contents->counts = calloc(contents->n_counts + 1, sizeof(MPI_Count));
    contents->datatypes = calloc(contents->n_datatypes + 1, sizeof(MPI_Datatype));
    return contents->integers && contents->addresses && contents->counts && contents->datatypes;
}

static enum trma_status read_envelope(MPI_Datatype datatype, struct contents *contents) {
    const struct trma_host_table *host = trma_host();

    *contents = (struct contents){0};
#ifndef OPEN_MPI
    if (host->Type_get_envelope_c && host->Type_get_contents_c) {
        MPI_Count integers = 0;
        MPI_Count addresses = 0;
        MPI_Count counts = 0;
        MPI_Count datatypes = 0;
        if (host->Type_get_envelope_c(datatype, &integers, &addresses, &counts, &datatypes,
                                      &contents->combiner) != MPI_SUCCESS) {
            return TRMA_ERR_ARGUMENT;
        }
        contents->n_integers = (size_t)integers;
        contents->n_addresses = (size_t)addresses;
        contents->n_counts = (size_t)counts;
        contents->n_datatypes = (size_t)datatypes;
        return TRMA_OK;
    }
#endif
    int integers = 0;
    int addresses = 0;
    int datatypes = 0;
    if (host->Type_get_envelope(datatype, &integers, &addresses, &datatypes, &contents->combiner) !=
        MPI_SUCCESS) {
        return TRMA_ERR_ARGUMENT;
    }
    contents->n_integers = (size_t)integers;
    contents->n_addresses = (size_t)addresses;
    contents->n_datatypes = (size_t)datatypes;
    return TRMA_OK;
}

static enum trma_status read_contents(MPI_Datatype datatype, struct contents *contents) {
    const struct trma_host_table *host = trma_host();
    int code;

    if (!contents_allocate(contents)) {
        return TRMA_ERR_NO_MEMORY;
    }
#ifndef OPEN_MPI
    if (host->Type_get_envelope_c && host->Type_get_contents_c) {
        code = host->Type_get_contents_c(datatype, (MPI_Count)contents->n_integers,
                                         (MPI_Count)contents->n_addresses, (MPI_Count)contents->n_counts,
                                         (MPI_Count)contents->n_datatypes, contents->integers,
                                         contents->addresses, contents->counts, contents->datatypes);
        return code == MPI_SUCCESS ? TRMA_OK : TRMA_ERR_ARGUMENT;
    }
#endif
    code = host->Type_get_contents(datatype, (int)contents->n_integers, (int)contents->n_addresses,
                                   (int)contents->n_datatypes, contents->integers, contents->addresses,
                                   contents->datatypes);
    return code == MPI_SUCCESS ? TRMA_OK : TRMA_ERR_ARGUMENT;
}

static int next_integer(struct contents *contents) {
    return contents->at_integer < contents->n_integers ? contents->integers[contents->at_integer++] : 0;
}

/* A count, or a displacement in elements. */
static MPI_Count next_count(struct contents *contents) {
    if (contents->n_counts) {
        return contents->at_count < contents->n_counts ? contents->counts[contents->at_count++] : 0;
    }
    return next_integer(contents);
}

/* A displacement in bytes. */
static MPI_Count next_address(struct contents *contents) {
    if (contents->n_counts) {
        return next_count(contents);
    }
    return contents->at_address < contents->n_addresses ? contents->addresses[contents->at_address++] : 0;
}

/* indexed, hindexed, indexed_block, hindexed_block and struct: all are blocks at byte displacements. */
struct blocks {
    size_t n;
    size_t *lengths;
    ptrdiff_t *displacements;
    const struct trma_layout **children;
};

static bool blocks_allocate(struct blocks *blocks, size_t n) {
    blocks->n = n;
    blocks->lengths = calloc(n + 1, sizeof(size_t));
    blocks->displacements = calloc(n + 1, sizeof(ptrdiff_t));
    blocks->children = calloc(n + 1, sizeof(void *));
    return blocks->lengths && blocks->displacements && blocks->children;
}

static void blocks_free(struct blocks *blocks) {
    free(blocks->lengths);
    free(blocks->displacements);
    free(blocks->children);
}

static enum trma_status make_blocks(struct contents *contents, struct trma_layout *const *children,
                                    struct trma_layout **out) {
    struct blocks blocks = {0};
    int combiner = contents->combiner;
    bool is_block = combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    bool in_bytes = combiner != MPI_COMBINER_INDEXED && combiner != MPI_COMBINER_INDEXED_BLOCK;
    enum trma_status status = TRMA_ERR_NO_MEMORY;

    if (blocks_allocate(&blocks, (size_t)next_count(contents))) {
        MPI_Count length = is_block ? next_count(contents) : 0;
        for (size_t i = 0; i < blocks.n; i++) {
            blocks.lengths[i] = (size_t)(is_block ? length : next_count(contents));
        }
        for (size_t i = 0; i < blocks.n; i++) {
            blocks.children[i] = children[combiner == MPI_COMBINER_STRUCT ? i : 0];
            blocks.displacements[i] = in_bytes ? (ptrdiff_t)next_address(contents)
                                               : (ptrdiff_t)next_count(contents) * children[0]->extent;
        }
        status = trma_move_layout_make_struct(blocks.n, blocks.lengths, blocks.displacements, blocks.children,
                                              out);
    }
    blocks_free(&blocks);
    return status;
}

enum { MAX_DIMENSIONS = 64 };

static enum trma_status make_subarray(struct contents *contents, const struct trma_layout *child,
                                      struct trma_layout **out) {
    size_t arrays[3][MAX_DIMENSIONS]; /* sizes, subsizes, starts */
    int dimensions = next_integer(contents);

    if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
        return TRMA_ERR_ARGUMENT;
    }
    for (int array = 0; array < 3; array++) {
        for (int i = 0; i < dimensions; i++) {
            arrays[array][i] = (size_t)next_count(contents);
        }
    }
    bool c_order = next_integer(contents) == MPI_ORDER_C;
    return trma_move_layout_make_subarray((size_t)dimensions, arrays[0], arrays[1], arrays[2], c_order, child,
                                          out);
}

static enum trma_distribution distribution_of(int distribution) {
    if (distribution == MPI_DISTRIBUTE_BLOCK) {
        return TRMA_DISTRIBUTION_BLOCK;
    }
    return distribution == MPI_DISTRIBUTE_CYCLIC ? TRMA_DISTRIBUTION_CYCLIC : TRMA_DISTRIBUTION_NONE;
}

static enum trma_status make_darray(struct contents *contents, const struct trma_layout *child,
                                    struct trma_layout **out) {
    struct trma_darray_dimension dimensions[MAX_DIMENSIONS];

    next_integer(contents); /* processes in all, the product of those per dimension */
    int rank = next_integer(contents);
    int n = next_integer(contents);
    if (n < 1 || n > MAX_DIMENSIONS) {
        return TRMA_ERR_ARGUMENT;
    }
    for (int i = 0; i < n; i++) {
        dimensions[i].size = (size_t)next_count(contents);
    }
    for (int i = 0; i < n; i++) {
        dimensions[i].distribution = distribution_of(next_integer(contents));
    }
    for (int i = 0; i < n; i++) {
        int argument = next_integer(contents);
        dimensions[i].argument = argument == MPI_DISTRIBUTE_DFLT_DARG ? 0 : (size_t)argument;
    }
    for (int i = 0; i < n; i++) {
        dimensions[i].processes = (size_t)next_integer(contents);
    }
    bool c_order = next_integer(contents) == MPI_ORDER_C;
    return trma_move_layout_make_darray((size_t)rank, (size_t)n, dimensions, c_order, child, out);
}

static enum trma_status make_vector(struct contents *contents, const struct trma_layout *child,
                                    struct trma_layout **out) {
    MPI_Count count = next_count(contents);
    MPI_Count blocklength = contents->combiner == MPI_COMBINER_CONTIGUOUS ? 1 : next_count(contents);
    MPI_Count stride = child->extent;

    if (contents->combiner == MPI_COMBINER_VECTOR) {
        stride = next_count(contents) * child->extent;
    } else if (contents->combiner == MPI_COMBINER_HVECTOR) {
        stride = next_address(contents);
    }
    return trma_move_layout_make_vector((size_t)count, (size_t)blocklength, (ptrdiff_t)stride, child, out);
}

static enum trma_status combine(struct contents *contents, struct trma_layout *const *children,
                                struct trma_layout **out) {
    if (!contents->n_datatypes) {
        return trma_move_layout_make_bytes(0, out); /* a struct of nothing */
    }
    if (!children[0]) {
        return TRMA_ERR_ARGUMENT;
    }
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return trma_move_layout_make_resized(children[0], children[0]->lower_bound, children[0]->extent, out);
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return make_vector(contents, children[0], out);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return make_blocks(contents, children, out);
    case MPI_COMBINER_SUBARRAY:
        return make_subarray(contents, children[0], out);
    case MPI_COMBINER_DARRAY:
        return make_darray(contents, children[0], out);
    default:
        return TRMA_ERR_ARGUMENT;
    }
}

/* Types that MPI_Type_get_contents gives but that must not be freed: predefined ones, also those by
 * MPI_Type_create_f90_*. */
static bool is_predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static enum trma_element f90_element(int combiner, int size) {
    static const enum trma_element reals[] = {TRMA_ELEMENT_FLOAT32, TRMA_ELEMENT_FLOAT64,
                                              TRMA_ELEMENT_FLOAT128};
    static const enum trma_element complexes[] = {TRMA_ELEMENT_COMPLEX32, TRMA_ELEMENT_COMPLEX64,
                                                  TRMA_ELEMENT_COMPLEX128};
    static const enum trma_element integers[] = {TRMA_ELEMENT_INT8, TRMA_ELEMENT_INT16, TRMA_ELEMENT_INT32,
                                                 TRMA_ELEMENT_INT64, TRMA_ELEMENT_INT128};
    int log = __builtin_ctz((unsigned)size | 1U << 30);

    if (combiner == MPI_COMBINER_F90_INTEGER) {
        return log < 5 ? integers[log] : TRMA_ELEMENT_MIXED;
    }
    if (combiner == MPI_COMBINER_F90_REAL) {
        return log >= 2 && log < 5 ? reals[log - 2] : TRMA_ELEMENT_MIXED;
    }
    return log >= 3 && log < 6 ? complexes[log - 3] : TRMA_ELEMENT_MIXED;
}

/* A predefined type that is not in the table of trma_type: bytes without arithmetic, but for Fortran's
 * parametrised ones. */
static enum trma_status make_predefined(MPI_Datatype datatype, int combiner, struct trma_layout **out) {
    int size = 0;

    if (trma_host()->Type_size(datatype, &size) != MPI_SUCCESS || size < 0) {
        return TRMA_ERR_ARGUMENT;
    }
    enum trma_element element =
        combiner == MPI_COMBINER_NAMED ? TRMA_ELEMENT_MIXED : f90_element(combiner, size);
    return element == TRMA_ELEMENT_MIXED ? trma_move_layout_make_bytes((size_t)size, out)
                                         : trma_move_layout_make_element(element, out);
}

static enum trma_status flatten_child(MPI_Datatype child, struct trma_layout **out) {
    struct trma_handle *known = trma_handle_find(&trma_types, (uintptr_t)child);

    if (known) {
        *out = ((struct trma_type *)known)->layout;
        trma_move_layout_retain(*out);
        return TRMA_OK;
    }
    return trma_flatten_datatype(child, out);
}

static void free_child(MPI_Datatype child) {
    struct contents contents;

    if (read_envelope(child, &contents) == TRMA_OK && !is_predefined(contents.combiner)) {
        trma_host()->Type_free(&child);
    }
}

/* The host's bounds are the right ones: they know about padding and about lower bounds set by the user. */
static enum trma_status adopt_bounds(MPI_Datatype datatype, struct trma_layout **layout) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    struct trma_layout *resized = NULL;

    if (trma_host()->Type_get_extent(datatype, &lower, &extent) != MPI_SUCCESS) {
        return TRMA_ERR_ARGUMENT;
    }
    if ((*layout)->lower_bound == lower && (*layout)->extent == extent) {
        return TRMA_OK;
    }
    enum trma_status status = trma_move_layout_make_resized(*layout, lower, extent, &resized);
    if (!status) {
        trma_move_layout_release(*layout);
        *layout = resized;
    }
    return status;
}

enum trma_status trma_flatten_datatype(MPI_Datatype datatype, struct trma_layout **out) {
    struct contents contents;
    struct trma_layout *layout = NULL;
    enum trma_status status = read_envelope(datatype, &contents);

    *out = NULL;
    if (status) {
        return status;
    }
    if (is_predefined(contents.combiner)) {
        return make_predefined(datatype, contents.combiner, out);
    }
    status = read_contents(datatype, &contents);
    struct trma_layout **children = calloc(contents.n_datatypes + 1, sizeof *children);
    if (!status && !children) {
        status = TRMA_ERR_NO_MEMORY;
    }
    if (!status) {
        for (size_t i = 0; i < contents.n_datatypes; i++) {
            enum trma_status child = status ? status : flatten_child(contents.datatypes[i], &children[i]);
            status = child;
            free_child(contents.datatypes[i]);
        }
        status = status ? status : combine(&contents, children, &layout);
        status = status ? status : adopt_bounds(datatype, &layout);
    }
    for (size_t i = 0; children && i < contents.n_datatypes; i++) {
        trma_move_layout_release(children[i]);
    }
    free(children);
    contents_free(&contents);
    if (status) {
        trma_move_layout_release(layout);
        return status;
    }
    *out = layout;
    return TRMA_OK;
}
