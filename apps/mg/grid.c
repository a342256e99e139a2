/* SPDX-License-Identifier: BSD-3-Clause */
#include "grid.h"

#include "app_memory.h"

#include <string.h>

struct grid grid_new(const int m[DIMENSIONS]) {
    struct grid grid = {.m = {m[X], m[Y], m[Z]}};
    grid.row = (size_t)m[X] + 2;
    grid.plane = grid.row * ((size_t)m[Y] + 2);
    grid.at = app_memory_allocate(grid.plane * ((size_t)m[Z] + 2), sizeof(double));
    return grid;
}

struct grid grid_part(struct grid grid, const int offset[DIMENSIONS], const int m[DIMENSIONS]) {
    struct grid part = grid;
    part.at = grid_row(grid, offset[Y], offset[Z]) + offset[X];
    memcpy(part.m, m, sizeof part.m);
    return part;
}

void grid_clear(struct grid grid) {
    memset(grid.at, 0, grid.plane * ((size_t)grid.m[Z] + 2) * sizeof(double));
}

struct box grid_interior(struct grid grid) {
    return (struct box){.lo = {1, 1, 1}, .hi = {grid.m[X], grid.m[Y], grid.m[Z]}};
}

/* Points of one x-row of a box. */
static size_t row_points(struct box box) {
    return (size_t)(box.hi[X] - box.lo[X] + 1);
}

size_t box_points(struct box box) {
    return row_points(box) * (size_t)(box.hi[Y] - box.lo[Y] + 1) * (size_t)(box.hi[Z] - box.lo[Z] + 1);
}

/* A row of one point (a face across x) is an assignment; memcpy of a length unknown at compile time is a
 * call. */
static void copy_row(double *to, const double *from, size_t points) {
    if (points == 1)
        *to = *from;
    else
        memcpy(to, from, points * sizeof(double));
}

void grid_pack(struct grid grid, struct box box, double *packed) {
    size_t points = row_points(box);
    for (int z = box.lo[Z]; z <= box.hi[Z]; z++)
        for (int y = box.lo[Y]; y <= box.hi[Y]; y++, packed += points)
            copy_row(packed, grid_row(grid, y, z) + box.lo[X], points);
}

void grid_unpack(struct grid grid, struct box box, const double *packed) {
    size_t points = row_points(box);
    for (int z = box.lo[Z]; z <= box.hi[Z]; z++)
        for (int y = box.lo[Y]; y <= box.hi[Y]; y++, packed += points)
            copy_row(grid_row(grid, y, z) + box.lo[X], packed, points);
}

void grid_copy(struct grid grid, struct box from, struct box to) {
    for (int z = 0; z <= from.hi[Z] - from.lo[Z]; z++)
        for (int y = 0; y <= from.hi[Y] - from.lo[Y]; y++)
            copy_row(grid_row(grid, to.lo[Y] + y, to.lo[Z] + z) + to.lo[X],
                     grid_row(grid, from.lo[Y] + y, from.lo[Z] + z) + from.lo[X], row_points(from));
}
