/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a periodic grid that is spread over the ranks: three steps, one per dimension, x first. The
 * faces of a step include the halo points that the steps before have brought, so edges and corners need no
 * messages of their own.
 *
 * With --comm=rma-nb the next dimension is in flight before this one has arrived: the part of a face that
 * does not depend on an earlier step (its core) is put as soon as it is computed, and only the rim follows
 * when the earlier step is done. The planes that neighbours in z wait for are computed first. (After
 * Tipparaju et al., HiPC 2003; the two sets of buffers that they use are those of app_exchange.h.)
 */
#ifndef MG_HALO_H
#define MG_HALO_H

#include "grid.h"

#include "app_exchange.h"
#include "app_options.h"
#include "app_timer.h"

#include <mpi.h>
#include <stdbool.h>

/* How the ranks share the cube, and their exchanges: one per dimension that is shared. */
struct halo {
    MPI_Comm comm;
    int ranks[DIMENSIONS];                    /* ranks along each dimension, powers of two */
    int place[DIMENSIONS];                    /* this rank's place along each */
    bool overlap;                             /* --comm=rma-nb */
    struct app_exchange exchange[DIMENSIONS]; /* of dimensions with ranks[d] > 1 */
};

/* Computes the interior points of the planes first <= z <= last of a grid. */
typedef void halo_compute(const void *work, int first, int last);

/*
 * Splits the ranks (a power of two) among the dimensions, z first, and makes exchanges for faces of grids of
 * up to n points per dimension over all ranks. Collective.
 */
void halo_open(struct halo *halo, MPI_Comm comm, const struct app_options *options, int n,
               struct app_timer *timer);
void halo_close(struct halo *halo);

/* The place of rank `rank`. */
void halo_place(const struct halo *halo, int rank, int place[DIMENSIONS]);

/*
 * Has the interior of `grid` computed by calls of `compute` (every plane once, in an order that suits), and
 * fills its halo from the neighbours. Collective.
 */
void halo_update(struct halo *halo, struct grid grid, halo_compute *compute, const void *work);

/* The halo of a grid of which this rank holds all of the cube: copies, no communication. */
void halo_wrap(struct grid grid);

#endif
