/* SPDX-License-Identifier: BSD-3-Clause */
/* What the variants hold, and when they synchronise. */
#include "forces.h"

#include "app_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void open_two_sided(struct forces *forces, size_t own) {
    forces->x = app_memory_allocate(own, sizeof(double));
    forces->f = app_memory_allocate(own, sizeof(double));
    forces->all_x = app_memory_allocate(3 * (size_t)forces->atoms->natoms, sizeof(double));
    forces->all_f = app_memory_allocate(3 * (size_t)forces->atoms->natoms, sizeof(double));
}

static void open_one_sided(struct forces *forces, size_t own, enum app_flavour flavour) {
    /* Forces and counter see sums only, so that an MPI may use the simplest atomic update it has. */
    MPI_Info sums;
    MPI_Info_create(&sums);
    MPI_Info_set(sums, "accumulate_ops", "same_op");
    const size_t counters = forces->atoms->rank == 0 ? 1 : 0;
    app_window_make(&forces->x_win, flavour, own * sizeof(double), sizeof(double), MPI_INFO_NULL,
                    forces->comm);
    app_window_make(&forces->f_win, flavour, own * sizeof(double), sizeof(double), sums, forces->comm);
    app_window_make(&forces->counter_win, flavour, counters * sizeof(int64_t), sizeof(int64_t), sums,
                    forces->comm);
    MPI_Info_free(&sums);
    forces->x = forces->x_win.base;
    forces->f = forces->f_win.base;
    MPI_Win_lock_all(0, forces->x_win.win);
    MPI_Win_lock_all(0, forces->f_win.win);
    MPI_Win_lock_all(0, forces->counter_win.win);
}

void forces_open(struct forces *forces, const struct atoms *atoms, MPI_Comm comm, enum app_comm kind,
                 enum app_flavour flavour, struct app_timer *timer) {
    *forces = (struct forces){.atoms = atoms, .comm = comm, .kind = kind, .timer = timer};
    const int nranks = atoms->nranks;
    const size_t own = 3 * (size_t)atoms->nown;
    forces->counts = app_memory_allocate(2 * (size_t)nranks, sizeof(int));
    forces->places = forces->counts + nranks;
    int mine = (int)own;
    MPI_Allgather(&mine, 1, MPI_INT, forces->counts, 1, MPI_INT, comm);
    for (int r = 1; r < nranks; r++)
        forces->places[r] = forces->places[r - 1] + forces->counts[r - 1];
    if (kind == APP_COMM_P2P)
        open_two_sided(forces, own);
    else
        open_one_sided(forces, own, flavour);
}

void forces_close(struct forces *forces) {
    if (forces->kind == APP_COMM_P2P) {
        free(forces->all_f);
        free(forces->all_x);
        free(forces->f);
        free(forces->x);
    } else {
        MPI_Win_unlock_all(forces->counter_win.win);
        MPI_Win_unlock_all(forces->f_win.win);
        MPI_Win_unlock_all(forces->x_win.win);
        app_window_free(&forces->counter_win);
        app_window_free(&forces->f_win);
        app_window_free(&forces->x_win);
    }
    free(forces->counts);
}

double *forces_all_coordinates(const struct forces *forces) {
    double *all = app_memory_allocate(3 * (size_t)forces->atoms->natoms, sizeof(double));
    MPI_Allgatherv(forces->x, 3 * forces->atoms->nown, MPI_DOUBLE, all, forces->counts, forces->places,
                   MPI_DOUBLE, forces->comm);
    return all;
}

double forces_two_sided(struct forces *forces) {
    const struct atoms *atoms = forces->atoms;
    double *all_x = forces->all_x, *all_f = forces->all_f;
    app_timer_start(forces->timer, APP_PHASE_WAITING);
    MPI_Allgatherv(forces->x, 3 * atoms->nown, MPI_DOUBLE, all_x, forces->counts, forces->places, MPI_DOUBLE,
                   forces->comm);
    app_timer_stop(forces->timer, APP_PHASE_WAITING);

    memset(all_f, 0, 3 * (size_t)atoms->natoms * sizeof(double));
    double energy = 0;
    const size_t stride = 3 * (size_t)atoms->block;
    for (int t = atoms->rank; t < tasks_count(atoms); t += atoms->nranks) {
        struct task task = task_at(atoms, t);
        const size_t i = (size_t)task.i * stride, j = (size_t)task.j * stride;
        energy += task_compute(atoms, task, all_x + i, all_x + j, all_f + i, all_f + j);
    }

    app_timer_start(forces->timer, APP_PHASE_WAITING);
    MPI_Reduce_scatter(all_f, forces->f, forces->counts, MPI_DOUBLE, MPI_SUM, forces->comm);
    app_timer_stop(forces->timer, APP_PHASE_WAITING);
    return energy;
}

/* All that this rank stored in its windows is there for the others to get and to add to, and the other way
 * round. */
static void synchronise(struct forces *forces) {
    app_timer_start(forces->timer, APP_PHASE_WAITING);
    MPI_Win_sync(forces->x_win.win);
    MPI_Win_sync(forces->f_win.win);
    MPI_Win_sync(forces->counter_win.win);
    MPI_Barrier(forces->comm);
    MPI_Win_sync(forces->x_win.win);
    MPI_Win_sync(forces->f_win.win);
    MPI_Win_sync(forces->counter_win.win);
    app_timer_stop(forces->timer, APP_PHASE_WAITING);
}

double forces_compute(struct forces *forces) {
    if (forces->kind == APP_COMM_P2P)
        return forces_two_sided(forces);
    memset(forces->f, 0, 3 * (size_t)forces->atoms->nown * sizeof(double));
    if (forces->atoms->rank == 0)
        *(int64_t *)forces->counter_win.base = 0;
    synchronise(forces);
    double energy = forces->kind == APP_COMM_RMA ? forces_rma(forces) : forces_rma_nb(forces);
    synchronise(forces);
    return energy;
}
