/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The physics: elastic waves in a uniform solid as a first-order system in velocity and stress, 4th order in
 * space and 2nd (leapfrog) in time (Levander 1988; the scheme of AWM-Olsen), a point explosion whose moment
 * rate is a Ricker wavelet, and the exact solution for that source in an endless solid.
 * SI units throughout. Outside the grid all fields stay zero: the rim reflects.
 */
#ifndef QUAKE_WAVE_H
#define QUAKE_WAVE_H

#include "grid.h"

struct medium {
    double h;       /* spacing of the grid, m */
    double dt;      /* time step, s */
    double density; /* kg/m^3 */
    double lambda;  /* Lame's parameters, Pa */
    double mu;
};

/* The speed of the P wave, m/s. */
double medium_p_speed(const struct medium *medium);

struct source {
    int at[AXES];     /* global grid point */
    double frequency; /* of the wavelet's peak in the spectrum, Hz */
    double delay;     /* when the wavelet peaks, s */
    double moment;    /* the wavelet's height, N m/s */
};

/* Adds one time step of the momentum equation to the velocities of the box's points. */
void wave_update_velocity(struct grid *grid, const struct medium *medium, const struct box *box);

/* Adds one time step of Hooke's law to the stresses of the box's points. */
void wave_update_stress(struct grid *grid, const struct medium *medium, const struct box *box);

/* Adds the explosion's share of the stress update from step * dt to (step + 1) * dt to the normal stresses,
 * on the block that holds the source. */
void wave_add_source(struct grid *grid, const struct medium *medium, const struct source *source, long step);

/* Radial velocity at `distance` (m) and `time` (s) in an endless solid. */
double wave_exact_velocity(const struct medium *medium, const struct source *source, double distance,
                           double time);

#endif
