/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_LAYOUT_H
#define TRMA_MOVE_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../acc/acc_element.h"
#include "../trma_status.h"
#include "move_runs.h"

/*
 * Layouts: where the bytes of one element of a datatype lie, as runs of blocks. A layout is immutable once
 * made and counted, so that operations that are remembered (a put before its post) outlive the type they were
 * made for. Runs are in type-map order: the n-th byte of the origin pairs with the n-th of the target. Bytes
 * of equal address may occur twice (overlapping types).
 */
struct trma_layout {
    size_t size; /* data bytes of one element, holes left out */
    ptrdiff_t
        lower_bound; /* as MPI defines them; the extent may be negative, zero, or smaller than the data */
    ptrdiff_t extent;
    ptrdiff_t true_low; /* first and past-last byte touched by one element; both 0 when size is 0 */
    ptrdiff_t true_high;
    bool is_dense; /* n elements are one stretch of n * size bytes at true_low (nothing to carry counts as
                      dense) */
    bool is_kept;  /* for ever: see trma_move_layout_keep */
    enum trma_element element; /* the predefined type of all its elements, TRMA_ELEMENT_MIXED when they differ
                                  or have none */
    size_t n_runs;             /* entries, those inside of loops included */
    unsigned depth;            /* loops nested in each other */
    const struct trma_run *runs; /* the layout's own */
    atomic_uint references;
};

/*
 * Each maker gives a new layout with one reference in *out, which the caller releases; children are only
 * read. TRMA_ERR_ARGUMENT: the bytes of one element, or its bounds, do not fit the address space;
 * TRMA_ERR_NO_MEMORY. On an error *out is untouched. Thread-safe. Cost: linear in the number of blocks named
 * and of the children's entries, not in the bytes.
 */

/* One predefined element: size, extent and pieces as C lays it out (a pair such as double-int has a hole at
 * its end). */
enum trma_status trma_move_layout_make_element(enum trma_element element, struct trma_layout **out);

/* `size` bytes without arithmetic (packed data, ...); 0 is allowed. Its element is TRMA_ELEMENT_MIXED. */
enum trma_status trma_move_layout_make_bytes(size_t size, struct trma_layout **out);

/* `count` blocks of `blocklength` children, `stride` bytes apart (contiguous, vector, hvector). */
enum trma_status trma_move_layout_make_vector(size_t count, size_t blocklength, ptrdiff_t stride,
                                              const struct trma_layout *child, struct trma_layout **out);

/*
 * n blocks: blocklengths[i] children[i] at byte displacements[i] (indexed, hindexed, indexed_block, struct).
 * The bounds are the lowest and highest of the blocks' own; what MPI leaves to the implementation or ties to
 * history (padding at the end of a struct, single members that were resized) is not guessed: ask the
 * host MPI for the extent and resize.
 */
enum trma_status trma_move_layout_make_struct(size_t n, const size_t *blocklengths,
                                              const ptrdiff_t *displacements,
                                              const struct trma_layout *const *children,
                                              struct trma_layout **out);

enum trma_status trma_move_layout_make_resized(const struct trma_layout *child, ptrdiff_t lower_bound,
                                               ptrdiff_t extent, struct trma_layout **out);

/*
 * A part of an array of children: sizes, subsizes and starts in children. `c_order`: the last index runs
 * fastest. TRMA_ERR_ARGUMENT also when a part leaves its array or there are no dimensions.
 */
enum trma_status trma_move_layout_make_subarray(size_t dimensions, const size_t *sizes,
                                                const size_t *subsizes, const size_t *starts, bool c_order,
                                                const struct trma_layout *child, struct trma_layout **out);

enum trma_distribution { TRMA_DISTRIBUTION_NONE, TRMA_DISTRIBUTION_BLOCK, TRMA_DISTRIBUTION_CYCLIC };

/* One dimension of a distributed array. */
struct trma_darray_dimension {
    size_t size;      /* of the whole array, in children */
    size_t processes; /* in this dimension of the process grid */
    enum trma_distribution distribution;
    size_t argument; /* block length; 0: the default argument */
};

/* What `rank` holds of a distributed array; the process grid is in row-major order whatever `c_order` says
 * (MPI-4.1, 5.1.4). */
enum trma_status trma_move_layout_make_darray(size_t rank, size_t n_dimensions,
                                              const struct trma_darray_dimension *dimensions, bool c_order,
                                              const struct trma_layout *child, struct trma_layout **out);

/* Thread-safe; the last release frees the layout. NULL is allowed in release. */
void trma_move_layout_retain(struct trma_layout *layout);
void trma_move_layout_release(struct trma_layout *layout);

/* The layout is never freed, and its references are counted no more: what is used all the time need not pay
 * for that. To be called while nobody else knows the layout. */
void trma_move_layout_keep(struct trma_layout *layout);

/*
 * First and past-last byte that `count` elements touch, relative to the buffer's address. Both 0 when they
 * touch none. What does not fit saturates at the ends of ptrdiff_t, so that a range check refuses it.
 * Thread-safe.
 */
void trma_move_layout_span(const struct trma_layout *layout, size_t count, ptrdiff_t *low, ptrdiff_t *high);

#endif
