/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Force decomposition: the work of a step is one task per pair of blocks (i, j), i = j included, and a task
 * gives forces to both blocks. The variants differ in how coordinates come to the tasks and forces come home;
 * their numbers are the same up to the order of summation.
 */
#ifndef LJMD_FORCES_H
#define LJMD_FORCES_H

#include <mpi.h>

#include "app_options.h"
#include "app_timer.h"
#include "app_window.h"
#include "atoms.h"

struct task {
    int i, j; /* blocks */
};

/* How many tasks a step has, and the task of number t, 0 <= t < tasks_count(). */
int tasks_count(const struct atoms *atoms);
struct task task_at(const struct atoms *atoms, int t);

/* Works out a task: xi and xj are the coordinates of its blocks; the forces on them are added to fi and fj
 * (xj and fj are not looked at where i = j). Returns the potential energy. */
double task_compute(const struct atoms *atoms, struct task task, const double *xi, const double *xj,
                    double *fi, double *fj);

struct forces {
    const struct atoms *atoms;
    MPI_Comm comm;
    enum app_comm kind;
    struct app_timer *timer;
    double *x; /* own coordinates, 3 * nown, to be set before forces_compute */
    double *f; /* forces on own atoms, 3 * nown, as forces_compute leaves them */

    /* Two-sided: all atoms in the order of the blocks, and how many doubles of it each rank has, and where.
     */
    double *all_x, *all_f;
    int *counts, *places;

    /* One-sided: windows in a passive epoch at all targets. Displacements of x and f are in doubles; the
     * counter, the number of the next task, is an int64_t on rank 0. */
    struct app_window x_win, f_win, counter_win;
};

/* Both collective over comm. The atoms must stay until forces_close. */
void forces_open(struct forces *forces, const struct atoms *atoms, MPI_Comm comm, enum app_comm kind,
                 enum app_flavour flavour, struct app_timer *timer);
void forces_close(struct forces *forces);

/* Fills f from everybody's x. Returns what this rank worked out of the potential energy. Collective; x must
 * not change meanwhile. */
double forces_compute(struct forces *forces);

/* The parts of forces_compute: two-sided, and one-sided between the two synchronisations. */
double forces_two_sided(struct forces *forces);
double forces_rma(struct forces *forces);
double forces_rma_nb(struct forces *forces);

/* Brings the coordinates of all atoms, in the order of the blocks, to every rank. Collective. To be freed. */
double *forces_all_coordinates(const struct forces *forces);

#endif
