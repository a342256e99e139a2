/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's block of the staggered grid: nine fields of doubles, each with a halo of two layers.
 *
 * Positions (Virieux 1986; Levander 1988): normal stresses on the grid point (i, j, k), each velocity half a
 * cell away along its own axis, each shear stress half a cell away along both of its axes.
 * Axis 0 (x) is the slowest in memory, axis 2 (z) the fastest, so MPI_Dims_create's first and largest
 * dimension cuts the grid into slabs that lie contiguous in memory.
 */
#ifndef QUAKE_GRID_H
#define QUAKE_GRID_H

#include <stddef.h>

enum { HALO = 2, AXES = 3 };

/* The velocities come first, then the stresses. */
enum field { VX, VY, VZ, SXX, SYY, SZZ, SXY, SXZ, SYZ, FIELDS };

/* A box of points: lo inclusive, hi exclusive, in the block's own indices (0 is its first inner point). */
struct box {
    int lo[AXES];
    int hi[AXES];
};

struct grid {
    int n[AXES];            /* inner points of this block */
    int global[AXES];       /* points of the whole grid */
    int first[AXES];        /* this block's first point within the whole grid */
    ptrdiff_t step[AXES];   /* distance in doubles between neighbours along each axis */
    double *field[FIELDS];  /* each points at inner point (0, 0, 0); the halo has negative indices */
    double *memory;         /* what the nine fields lie in; owned by the grid */
    int neighbour[AXES][2]; /* rank below and above along each axis, MPI_PROC_NULL at the rim */
};

/* Allocates the fields of a block of n points, all zero, and sets the steps; `global`, `first` and
 * `neighbour` describe a block that is the whole grid. Aborts the job when memory is short. */
void grid_create(struct grid *grid, const int n[AXES]);

void grid_destroy(struct grid *grid);

/* Distance in doubles from inner point (0, 0, 0). */
static inline ptrdiff_t grid_at(const struct grid *grid, int i, int j, int k) {
    return i * grid->step[0] + j * grid->step[1] + k * grid->step[2];
}

/* All inner points of the block. */
struct box grid_whole(const struct grid *grid);

/* Cuts the block into its inner part, whose update needs and feeds no halo, and up to six slabs along the
 * faces that have a neighbour. Slabs and inner part are disjoint and together the whole block. Returns the
 * number of slabs. */
int grid_split(const struct grid *grid, struct box slab[2 * AXES], struct box *inner);

/* The two layers of inner points that the neighbour at that side (0 below, 1 above) needs. */
struct box grid_send_box(const struct grid *grid, int axis, int side);

/* The two halo layers that the neighbour at that side fills. */
struct box grid_halo_box(const struct grid *grid, int axis, int side);

size_t box_points(const struct box *box);

/* Copies one field's values within the box to or from `packed`, box_points() doubles in memory order. */
void box_pack(const struct grid *grid, enum field field, const struct box *box, double *packed);
void box_unpack(struct grid *grid, enum field field, const struct box *box, const double *packed);

#endif
