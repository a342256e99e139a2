/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The four operators of the multigrid method on planes of a grid: 27-point stencils whose weights depend only
 * on the kind of the neighbour (the point itself, across a face, across an edge, across a corner). (Bailey et
 * al., The NAS Parallel Benchmarks, RNR-94-007, section 3.2.) All planes are z = first .. last.
 */
#ifndef MG_STENCIL_H
#define MG_STENCIL_H

#include "grid.h"

/* Weights: centre, face, edge, corner. */
struct weights {
    double centre, face, edge, corner;
};

/* r = v - A u. The grids have the same shape; r and v may be the same. */
void stencil_residual(struct grid r, struct grid v, struct grid u, struct weights a, int first, int last);

/* u = u + C r, the smoother; C has no corner weight. */
void stencil_smooth(struct grid u, struct grid r, struct weights c, int first, int last);

/* coarse = P fine: the point j of the coarse grid is the point 2j of the fine one. Planes of the coarse grid.
 */
void stencil_restrict(struct grid coarse, struct grid fine, int first, int last);

/* fine = fine + Q coarse, trilinear; fills the fine grid's halo too, from the coarse grid's. All planes. */
void stencil_prolong(struct grid fine, struct grid coarse);

#endif
