/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lennard-Jones interactions of one pair of blocks of atoms, in reduced units (epsilon = sigma = mass = 1),
 * with the minimum-image convention in a cubic box and no cut-off. Plain arithmetic: no MPI, no state, safe
 * from any thread.
 *
 * The coordinates of a block of n atoms are 3n doubles: n values of x, then n of y, then n of z. Forces
 * likewise. Every coordinate lies within [0, box].
 */
#ifndef LJMD_LJ_H
#define LJMD_LJ_H

/* Adds the forces between all atoms of block i and all atoms of block j (another block) to fi and fj, and
 * returns their potential energy. */
double lj_between(const double *xi, int ni, const double *xj, int nj, double box, double *restrict fi,
                  double *restrict fj);

/* Adds the forces among the n atoms of one block to f and returns their potential energy; each pair counts
 * once. */
double lj_within(const double *x, int n, double box, double *restrict f);

/* The force on the atom at (x, y, z) by the nj atoms of a block, written to f[0..2], by the formula of the
 * textbook, without making use of action and reaction; the atom itself (distance zero) is left out. For
 * checks. */
void lj_reference(double x, double y, double z, const double *xj, int nj, double box, double f[3]);

#endif
