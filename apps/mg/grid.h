/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grids of doubles with a halo of one point on each side.
 *
 * A grid of m[0] * m[1] * m[2] interior points has indices 0 .. m[d]+1 in each dimension d (0 = x, the
 * contiguous one, 1 = y, 2 = z); 0 and m[d]+1 are the halo. A grid is a view: it does not own its memory.
 */
#ifndef MG_GRID_H
#define MG_GRID_H

#include <stddef.h>

enum { X, Y, Z, DIMENSIONS };

struct grid {
    double *at;        /* the corner with all indices 0 */
    int m[DIMENSIONS]; /* interior points */
    size_t row, plane; /* distance in doubles of neighbours in y and in z */
};

/* Indices lo[d] .. hi[d], both included. */
struct box {
    int lo[DIMENSIONS], hi[DIMENSIONS];
};

/* A grid on new, zeroed memory; free(grid.at) frees it. Aborts the job when there is no memory. */
struct grid grid_new(const int m[DIMENSIONS]);

/* The part of `grid` whose interior begins behind `offset[d]` interior points and has m[d] of them. */
struct grid grid_part(struct grid grid, const int offset[DIMENSIONS], const int m[DIMENSIONS]);

/* The x-row of a grid with index (0, y, z). */
static inline double *grid_row(struct grid grid, int y, int z) {
    return grid.at + (size_t)y * grid.row + (size_t)z * grid.plane;
}

/* Sets all points to zero, halo included; the grid must not be a part of another. */
void grid_clear(struct grid grid);

/* All interior points. */
struct box grid_interior(struct grid grid);

/* The number of points of a box. */
size_t box_points(struct box box);

/* Copies the points of a box to or from consecutive doubles. */
void grid_pack(struct grid grid, struct box box, double *packed);
void grid_unpack(struct grid grid, struct box box, const double *packed);

/* Copies the points of `from` to those of `to`, a box of the same shape in the same grid, without overlap. */
void grid_copy(struct grid grid, struct box from, struct box to);

#endif
