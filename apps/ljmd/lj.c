/* SPDX-License-Identifier: BSD-3-Clause */
#include "lj.h"

#include <math.h>

/* Coordinates lie within [0, box], so one shift by the box length is enough; selects instead of round() so
 * that the loops below become vector code also without SSE4.1. */
static inline double minimum_image(double d, double box) {
    const double half = 0.5 * box;
    d = d > half ? d - box : d;
    return d < -half ? d + box : d;
}

/* Atom i of a block against atoms first..n-1 of a block at xj; adds to forces fj, and to fi[0..2]. */
static inline double atom_with_block(double x, double y, double z, const double *xj, int first, int n,
                                     double box, double fi[3], double *restrict fj) {
    const double *yj = xj + n, *zj = yj + n;
    double *fjx = fj, *fjy = fj + n, *fjz = fj + 2 * n;
    double fx = 0, fy = 0, fz = 0, energy = 0;
#pragma omp simd reduction(+ : fx, fy, fz, energy)
    for (int j = first; j < n; j++) {
        double dx = minimum_image(x - xj[j], box);
        double dy = minimum_image(y - yj[j], box);
        double dz = minimum_image(z - zj[j], box);
        double inv2 = 1.0 / (dx * dx + dy * dy + dz * dz);
        double inv6 = inv2 * inv2 * inv2;
        double scale = 24.0 * inv2 * inv6 * (2.0 * inv6 - 1.0);
        energy += inv6 * (inv6 - 1.0);
        fx += scale * dx;
        fy += scale * dy;
        fz += scale * dz;
        fjx[j] -= scale * dx;
        fjy[j] -= scale * dy;
        fjz[j] -= scale * dz;
    }
    fi[0] = fx;
    fi[1] = fy;
    fi[2] = fz;
    return 4.0 * energy;
}

double lj_between(const double *xi, int ni, const double *xj, int nj, double box, double *restrict fi,
                  double *restrict fj) {
    double energy = 0;
    for (int i = 0; i < ni; i++) {
        double f[3];
        energy += atom_with_block(xi[i], xi[ni + i], xi[2 * ni + i], xj, 0, nj, box, f, fj);
        for (int d = 0; d < 3; d++)
            fi[d * ni + i] += f[d];
    }
    return energy;
}

double lj_within(const double *x, int n, double box, double *restrict f) {
    double energy = 0;
    for (int i = 0; i < n; i++) {
        double fi[3];
        energy += atom_with_block(x[i], x[n + i], x[2 * n + i], x, i + 1, n, box, fi, f);
        for (int d = 0; d < 3; d++)
            f[d * n + i] += fi[d];
    }
    return energy;
}

void lj_reference(double x, double y, double z, const double *xj, int nj, double box, double f[3]) {
    const double at[3] = {x, y, z};
    f[0] = f[1] = f[2] = 0;
    for (int j = 0; j < nj; j++) {
        double delta[3], r2 = 0;
        for (int d = 0; d < 3; d++) {
            delta[d] = at[d] - xj[d * nj + j];
            delta[d] -= box * round(delta[d] / box);
            r2 += delta[d] * delta[d];
        }
        if (r2 == 0)
            continue;
        double r6 = r2 * r2 * r2;
        for (int d = 0; d < 3; d++)
            f[d] += (48.0 / (r6 * r6) - 24.0 / r6) / r2 * delta[d];
    }
}
