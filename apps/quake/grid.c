/* SPDX-License-Identifier: BSD-3-Clause */
#include "grid.h"

#include "app_memory.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

void grid_create(struct grid *grid, const int n[AXES]) {
    size_t points = 1;
    for (int axis = AXES - 1; axis >= 0; axis--) {
        grid->n[axis] = n[axis];
        grid->global[axis] = n[axis];
        grid->first[axis] = 0;
        grid->neighbour[axis][0] = grid->neighbour[axis][1] = MPI_PROC_NULL;
        grid->step[axis] = (ptrdiff_t)points;
        points *= (size_t)n[axis] + 2 * HALO;
    }
    grid->memory = app_memory_allocate(points * FIELDS, sizeof(double));
    ptrdiff_t origin = grid_at(grid, HALO, HALO, HALO);
    for (int f = 0; f < FIELDS; f++)
        grid->field[f] = grid->memory + (size_t)f * points + origin;
}

void grid_destroy(struct grid *grid) {
    free(grid->memory);
    grid->memory = NULL;
}

struct box grid_whole(const struct grid *grid) {
    return (struct box){.lo = {0, 0, 0}, .hi = {grid->n[0], grid->n[1], grid->n[2]}};
}

int grid_split(const struct grid *grid, struct box slab[2 * AXES], struct box *inner) {
    int slabs = 0;
    struct box rest = grid_whole(grid);
    for (int axis = 0; axis < AXES; axis++)
        for (int side = 0; side < 2; side++) {
            if (grid->neighbour[axis][side] == MPI_PROC_NULL)
                continue;
            struct box cut = rest;
            if (side == 0)
                cut.hi[axis] = rest.lo[axis] = HALO;
            else
                cut.lo[axis] = rest.hi[axis] = grid->n[axis] - HALO;
            slab[slabs++] = cut;
        }
    *inner = rest;
    return slabs;
}

struct box grid_send_box(const struct grid *grid, int axis, int side) {
    struct box box = grid_whole(grid);
    if (side == 0)
        box.hi[axis] = HALO;
    else
        box.lo[axis] = grid->n[axis] - HALO;
    return box;
}

struct box grid_halo_box(const struct grid *grid, int axis, int side) {
    struct box box = grid_whole(grid);
    box.lo[axis] = side == 0 ? -HALO : grid->n[axis];
    box.hi[axis] = box.lo[axis] + HALO;
    return box;
}

size_t box_points(const struct box *box) {
    size_t points = 1;
    for (int axis = 0; axis < AXES; axis++)
        points *= (size_t)(box->hi[axis] - box->lo[axis]);
    return points;
}

void box_pack(const struct grid *grid, enum field field, const struct box *box, double *packed) {
    const size_t row = (size_t)(box->hi[2] - box->lo[2]);
    for (int i = box->lo[0]; i < box->hi[0]; i++)
        for (int j = box->lo[1]; j < box->hi[1]; j++, packed += row)
            memcpy(packed, grid->field[field] + grid_at(grid, i, j, box->lo[2]), row * sizeof(double));
}

void box_unpack(struct grid *grid, enum field field, const struct box *box, const double *packed) {
    const size_t row = (size_t)(box->hi[2] - box->lo[2]);
    for (int i = box->lo[0]; i < box->hi[0]; i++)
        for (int j = box->lo[1]; j < box->hi[1]; j++, packed += row)
            memcpy(grid->field[field] + grid_at(grid, i, j, box->lo[2]), packed, row * sizeof(double));
}
