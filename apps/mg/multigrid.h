/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The multigrid solver for A u = v on a periodic cube of n^3 points, n = 2^levels.
 *
 * Level k has 2^k points per dimension. A level on which every rank has at least two points per dimension is
 * spread over the ranks; the few coarser ones are held by every rank as a whole, and computed by all: the
 * first of them is collected by MPI_Allgather, and nothing else is sent.
 */
#ifndef MG_MULTIGRID_H
#define MG_MULTIGRID_H

#include "grid.h"
#include "halo.h"
#include "stencil.h"

enum { LEVELS = 11 }; /* the most, plus one: levels count from 1 */

struct level {
    bool replicated;
    struct grid u, r; /* the correction (on the finest level the solution) and the residual */
};

struct multigrid {
    struct halo halo;
    struct app_timer *timer;
    struct weights laplacian, smoother;
    int levels;
    struct level level[LEVELS + 1];
    struct grid v;          /* the right-hand side, finest level */
    int offset[DIMENSIONS]; /* of this rank's points within the finest level */
    double *collected;      /* for the MPI_Allgather */
};

/* Whether `ranks` ranks can share the cube of 2^levels points per dimension: a power of two, two points per
 * rank. */
bool multigrid_possible(int levels, int ranks);

/* Collective. `smoother` are the weights of the class. All grids are zero. */
void multigrid_open(struct multigrid *mg, MPI_Comm comm, const struct app_options *options, int levels,
                    struct weights smoother, struct app_timer *timer);
void multigrid_close(struct multigrid *mg);

/* Sets the right-hand side to the benchmark's: -1 at ten points, +1 at ten others, and 0 elsewhere.
 * Collective. */
void multigrid_charge(struct multigrid *mg);

/* r = v - A u on the finest level. Collective. */
void multigrid_residual(struct multigrid *mg);

/* One V-cycle: improves u by what r, the residual, asks for. Collective. */
void multigrid_cycle(struct multigrid *mg);

/* The root mean square of r over all points of the finest level. Collective. */
double multigrid_norm(const struct multigrid *mg);

#endif
