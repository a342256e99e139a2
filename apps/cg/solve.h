/* SPDX-License-Identifier: BSD-3-Clause */
/* The conjugate gradient method, as often as the benchmark wants it, and the power method around it. */
#ifndef CG_SOLVE_H
#define CG_SOLVE_H

#include "spread.h"

/* Vectors of this rank's segment. */
struct solver {
    struct spread *spread;
    int length;
    double *x, *z, *p, *q, *r;
};

void solver_open(struct solver *solver, struct spread *spread);
void solver_close(struct solver *solver);

/* x = 1 in every element. */
void solver_reset(struct solver *solver);

/*
 * One step of the inverse power method: z = A^-1 x, nearly, then x = z / |z|. Returns 1 / (x . z) with the
 * old x. Puts |x - A z| into *residual. Collective.
 */
double solver_step(struct solver *solver, double *residual);

#endif
