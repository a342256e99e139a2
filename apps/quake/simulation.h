/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run over all ranks (or, for reference, on one alone): the experiment, the time loop with its halo
 * exchange, and what the receivers recorded.
 */
#ifndef QUAKE_SIMULATION_H
#define QUAKE_SIMULATION_H

#include "app_exchange.h"
#include "app_options.h"
#include "app_timer.h"
#include "grid.h"
#include "wave.h"

#include <mpi.h>
#include <stdbool.h>

enum { RECEIVERS = AXES }; /* one on each axis through the source, recording the velocity along that axis */

/* What is simulated; the same on every rank. */
struct experiment {
    int global[AXES]; /* grid points */
    struct medium medium;
    struct source source;
    int reach;           /* cells from the source's point to the receivers' points */
    double distance;     /* m, from the source to where the receivers' velocities live, half a cell further */
    long steps_recorded; /* until the first wave has passed the receivers, and nothing reflected is there yet
                          */
    long steps;
};

/* An explosion in the middle of a grid of `ranks_along` blocks of n points along each axis. */
struct experiment experiment_plan(int n, const int ranks_along[AXES]);

struct simulation {
    const struct experiment *experiment;
    const struct app_options *options; /* for progress; NULL: silent */
    struct grid grid;
    bool exchanging;  /* false for a run on one rank alone */
    bool overlapping; /* update the inner part while the halos travel */
    struct app_exchange exchange;
    double *trace[RECEIVERS]; /* steps_recorded velocities each; zero where another rank has the receiver */
};

/* Sets the initial state, all zero, on the block of this rank of `cart` (a communicator with an
 * AXES-dimensional Cartesian topology). Collective. */
void simulation_create(struct simulation *simulation, const struct experiment *experiment,
                       const struct app_options *options, MPI_Comm cart, struct app_timer *timer);

/* The same on this rank alone, holding the whole grid. */
void simulation_create_serial(struct simulation *simulation, const struct experiment *experiment);

/* Runs all time steps. Collective, unless the simulation is a serial one. */
void simulation_run(struct simulation *simulation);

void simulation_destroy(struct simulation *simulation);

#endif
