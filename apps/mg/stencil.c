/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over neighbours in y and z are made once for a whole x-row, and used for three points of it each.
 */
#include "stencil.h"

/* An x-row is at most this long: 512 points and the halo, and room for the next class. */
enum { ROW = 2048 };

_Static_assert(ROW >= 1024 + 2, "rows hold the largest grid");

/* near[x]: the four neighbours across a face in y or z; far[x]: the four across an edge along x. For x = 0 ..
 * count-1. */
static void sum_neighbours(struct grid grid, int y, int z, int count, double *restrict near,
                           double *restrict far) {
    const double *south = grid_row(grid, y - 1, z), *north = grid_row(grid, y + 1, z);
    const double *below = grid_row(grid, y, z - 1), *above = grid_row(grid, y, z + 1);
    const double *south_below = grid_row(grid, y - 1, z - 1), *south_above = grid_row(grid, y - 1, z + 1);
    const double *north_below = grid_row(grid, y + 1, z - 1), *north_above = grid_row(grid, y + 1, z + 1);
    for (int x = 0; x < count; x++) {
        near[x] = south[x] + north[x] + below[x] + above[x];
        far[x] = south_below[x] + north_below[x] + south_above[x] + north_above[x];
    }
}

void stencil_residual(struct grid r, struct grid v, struct grid u, struct weights a, int first, int last) {
    double near[ROW], far[ROW];
    int m = u.m[X];
    for (int z = first; z <= last; z++) {
        for (int y = 1; y <= u.m[Y]; y++) {
            const double *at = grid_row(u, y, z), *right = grid_row(v, y, z);
            double *out = grid_row(r, y, z);
            sum_neighbours(u, y, z, m + 2, near, far);
            /* a.face is zero: that sum is left out */
#pragma omp simd
            for (int x = 1; x <= m; x++)
                out[x] = right[x] - a.centre * at[x] - a.edge * (far[x] + near[x - 1] + near[x + 1]) -
                         a.corner * (far[x - 1] + far[x + 1]);
        }
    }
}

void stencil_smooth(struct grid u, struct grid r, struct weights c, int first, int last) {
    double near[ROW], far[ROW];
    int m = u.m[X];
    for (int z = first; z <= last; z++) {
        for (int y = 1; y <= u.m[Y]; y++) {
            const double *at = grid_row(r, y, z);
            double *out = grid_row(u, y, z);
            sum_neighbours(r, y, z, m + 2, near, far);
#pragma omp simd
            for (int x = 1; x <= m; x++)
                out[x] += c.centre * at[x] + c.face * (at[x - 1] + at[x + 1] + near[x]) +
                          c.edge * (far[x] + near[x - 1] + near[x + 1]);
        }
    }
}

void stencil_restrict(struct grid coarse, struct grid fine, int first, int last) {
    double near[ROW], far[ROW];
    const int points = 2 * coarse.m[X] + 2; /* of a fine row */
    for (int z = first; z <= last; z++) {
        for (int y = 1; y <= coarse.m[Y]; y++) {
            const double *at = grid_row(fine, 2 * y, 2 * z);
            double *out = grid_row(coarse, y, z);
            sum_neighbours(fine, 2 * y, 2 * z, points, near, far);
            for (int x = 2; x + 1 < points; x += 2)
                out[x / 2] = 0.5 * at[x] + 0.25 * (at[x - 1] + at[x + 1] + near[x]) +
                             0.125 * (near[x - 1] + near[x + 1] + far[x]) +
                             0.0625 * (far[x - 1] + far[x + 1]);
        }
    }
}

/* Adds to a fine row the weighted coarse row: its points, and between two of them their mean. */
static void spread_row(double *restrict fine, const double *restrict coarse, double weight, int m) {
    for (int x = 0; x <= m; x++) {
        fine[2 * x] += weight * coarse[x];
        fine[2 * x + 1] += 0.5 * weight * (coarse[x] + coarse[x + 1]);
    }
}

void stencil_prolong(struct grid fine, struct grid coarse) {
    double y_pair[ROW], z_pair[ROW], four[ROW];
    int m = coarse.m[X];
    for (int z = 0; z <= coarse.m[Z]; z++) {
        for (int y = 0; y <= coarse.m[Y]; y++) {
            const double *here = grid_row(coarse, y, z), *north = grid_row(coarse, y + 1, z);
            const double *above = grid_row(coarse, y, z + 1), *north_above = grid_row(coarse, y + 1, z + 1);
            for (int x = 0; x <= m + 1; x++) {
                y_pair[x] = here[x] + north[x];
                z_pair[x] = here[x] + above[x];
                four[x] = y_pair[x] + above[x] + north_above[x];
            }
            spread_row(grid_row(fine, 2 * y, 2 * z), here, 1.0, m);
            spread_row(grid_row(fine, 2 * y + 1, 2 * z), y_pair, 0.5, m);
            spread_row(grid_row(fine, 2 * y, 2 * z + 1), z_pair, 0.5, m);
            spread_row(grid_row(fine, 2 * y + 1, 2 * z + 1), four, 0.25, m);
        }
    }
}
