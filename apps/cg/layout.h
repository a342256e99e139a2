/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks share a matrix of n rows and columns: `rows` * `columns` ranks, where `columns` is `rows` or
 * twice as much.
 *
 * The indices 0 .. n-1 are cut into `columns` segments. The rank at (row, column) holds the matrix block
 * whose columns are segment `column`, and whose rows are segment `row`, or the two segments 2*row and 2*row +
 * 1 when there are twice as many columns as rows. Vectors are cut into segments too: each rank holds segment
 * `column`, so the ranks of a grid column hold the same.
 */
#ifndef CG_LAYOUT_H
#define CG_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>

/* Indices first .. end-1. */
struct range {
    int first, end;
};

struct layout {
    int n;
    int rows, columns;                      /* of ranks */
    int row, column;                        /* this rank's place */
    bool halved;                            /* twice as many columns as rows */
    struct range block_rows, block_columns; /* of this rank's matrix block */
};

/* Whether `ranks` can share it: a power of two, and not absurdly many. */
bool layout_possible(int ranks);

struct layout layout_make(MPI_Comm comm, int n);

/* The indices of a segment. */
struct range layout_segment(const struct layout *layout, int segment);

/* The rank at a place. */
int layout_rank(const struct layout *layout, int row, int column);

static inline int range_length(struct range range) {
    return range.end - range.first;
}

/* Part `part` of `parts` nearly equal ones. */
struct range range_part(struct range range, int part, int parts);

#endif
