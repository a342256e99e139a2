/* SPDX-License-Identifier: BSD-3-Clause */
#include "wave.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* Weights of the 4th-order difference on a staggered grid, half a cell and one and a half cells away. */
static const double near_weight = 9.0 / 8.0;
static const double far_weight = -1.0 / 24.0;

/* Difference across the half cell above p, along the axis with that step. */
static inline double above(const double *p, ptrdiff_t step) {
    return near_weight * (p[step] - p[0]) + far_weight * (p[2 * step] - p[-step]);
}

/* Difference across the half cell below p. */
static inline double below(const double *p, ptrdiff_t step) {
    return near_weight * (p[0] - p[-step]) + far_weight * (p[step] - p[-2 * step]);
}

double medium_p_speed(const struct medium *medium) {
    return sqrt((medium->lambda + 2 * medium->mu) / medium->density);
}

void wave_update_velocity(struct grid *grid, const struct medium *medium, const struct box *box) {
    const double factor = medium->dt / (medium->density * medium->h);
    const ptrdiff_t sx = grid->step[0], sy = grid->step[1];
    for (int i = box->lo[0]; i < box->hi[0]; i++)
        for (int j = box->lo[1]; j < box->hi[1]; j++) {
            const ptrdiff_t row = grid_at(grid, i, j, 0);
            double *restrict vx = grid->field[VX] + row;
            double *restrict vy = grid->field[VY] + row;
            double *restrict vz = grid->field[VZ] + row;
            const double *restrict xx = grid->field[SXX] + row;
            const double *restrict yy = grid->field[SYY] + row;
            const double *restrict zz = grid->field[SZZ] + row;
            const double *restrict xy = grid->field[SXY] + row;
            const double *restrict xz = grid->field[SXZ] + row;
            const double *restrict yz = grid->field[SYZ] + row;
            for (int k = box->lo[2]; k < box->hi[2]; k++) {
                vx[k] += factor * (above(xx + k, sx) + below(xy + k, sy) + below(xz + k, 1));
                vy[k] += factor * (below(xy + k, sx) + above(yy + k, sy) + below(yz + k, 1));
                vz[k] += factor * (below(xz + k, sx) + below(yz + k, sy) + above(zz + k, 1));
            }
        }
}

void wave_update_stress(struct grid *grid, const struct medium *medium, const struct box *box) {
    const double lambda = medium->lambda * medium->dt / medium->h;
    const double mu = medium->mu * medium->dt / medium->h;
    const ptrdiff_t sx = grid->step[0], sy = grid->step[1];
    for (int i = box->lo[0]; i < box->hi[0]; i++)
        for (int j = box->lo[1]; j < box->hi[1]; j++) {
            const ptrdiff_t row = grid_at(grid, i, j, 0);
            const double *restrict vx = grid->field[VX] + row;
            const double *restrict vy = grid->field[VY] + row;
            const double *restrict vz = grid->field[VZ] + row;
            double *restrict xx = grid->field[SXX] + row;
            double *restrict yy = grid->field[SYY] + row;
            double *restrict zz = grid->field[SZZ] + row;
            double *restrict xy = grid->field[SXY] + row;
            double *restrict xz = grid->field[SXZ] + row;
            double *restrict yz = grid->field[SYZ] + row;
            for (int k = box->lo[2]; k < box->hi[2]; k++) {
                const double exx = below(vx + k, sx);
                const double eyy = below(vy + k, sy);
                const double ezz = below(vz + k, 1);
                const double volume = lambda * (exx + eyy + ezz);
                xx[k] += volume + 2 * mu * exx;
                yy[k] += volume + 2 * mu * eyy;
                zz[k] += volume + 2 * mu * ezz;
                xy[k] += mu * (above(vx + k, sy) + above(vy + k, sx));
                xz[k] += mu * (above(vx + k, 1) + above(vz + k, sx));
                yz[k] += mu * (above(vy + k, 1) + above(vz + k, sy));
            }
        }
}

/* Ricker's wavelet (the second derivative of a Gaussian, turned over) with peak 1 at t = 0. */
static double ricker(double frequency, double t) {
    const double a = pi * frequency * t;
    return (1 - 2 * a * a) * exp(-a * a);
}

static double ricker_rate(double frequency, double t) {
    const double w = pi * frequency, a = w * t;
    return -2 * w * a * (3 - 2 * a * a) * exp(-a * a);
}

void wave_add_source(struct grid *grid, const struct medium *medium, const struct source *source, long step) {
    int at[AXES];
    for (int axis = 0; axis < AXES; axis++) {
        at[axis] = source->at[axis] - grid->first[axis];
        if (at[axis] < 0 || at[axis] >= grid->n[axis])
            return;
    }
    const ptrdiff_t p = grid_at(grid, at[0], at[1], at[2]);
    const double middle = ((double)step + 0.5) * medium->dt;
    const double cell = medium->h * medium->h * medium->h;
    const double stress =
        source->moment * ricker(source->frequency, middle - source->delay) * medium->dt / cell;
    grid->field[SXX][p] -= stress;
    grid->field[SYY][p] -= stress;
    grid->field[SZZ][p] -= stress;
}

/* With moment rate R the displacement is the gradient of -M(t - r/a) / (4 pi rho a^2 r), M' = R (Aki &
 * Richards, Quantitative Seismology, section 4.3, for an isotropic moment tensor). */
double wave_exact_velocity(const struct medium *medium, const struct source *source, double distance,
                           double time) {
    const double speed = medium_p_speed(medium);
    const double t = time - distance / speed - source->delay;
    const double near = ricker(source->frequency, t) / (distance * distance);
    const double far = ricker_rate(source->frequency, t) / (speed * distance);
    return source->moment / (4 * pi * medium->density * speed * speed) * (near + far);
}
