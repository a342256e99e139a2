/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one-sided variants. A rank takes the next task off the counter, gets the coordinates of its two blocks,
 * and accumulates the forces on them; who is slower does fewer tasks. Coordinates of own blocks are read
 * where they are, but forces on own blocks are accumulated like any other: others add to them at the same
 * time.
 */
#include "forces.h"

#include "app_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One of the two blocks of a task. */
struct side {
    int block, owner, count;  /* count: doubles */
    MPI_Aint at;              /* in the owner's windows */
    const double *x;          /* coordinates: in the buffer, or in my window */
    double *x_buffer, *force; /* what was got, and what is to be accumulated */
    MPI_Request got, gave;
};

/* A task and what it works on. */
struct work {
    struct task task;
    struct side side[2]; /* the second is unused for a block with itself */
    int sides;
};

static void work_open(const struct forces *forces, struct work *work) {
    const size_t block = 3 * (size_t)forces->atoms->block;
    for (int k = 0; k < 2; k++) {
        work->side[k].x_buffer = app_memory_allocate(block, sizeof(double));
        work->side[k].force = app_memory_allocate(block, sizeof(double));
        work->side[k].got = work->side[k].gave = MPI_REQUEST_NULL;
    }
    work->sides = 0;
}

static void work_close(struct work *work) {
    for (int k = 0; k < 2; k++) {
        free(work->side[k].x_buffer);
        free(work->side[k].force);
    }
}

static void work_assign(const struct forces *forces, struct work *work, int64_t number) {
    const struct atoms *atoms = forces->atoms;
    work->task = task_at(atoms, (int)number);
    work->sides = work->task.i == work->task.j ? 1 : 2;
    for (int k = 0; k < work->sides; k++) {
        struct side *side = &work->side[k];
        side->block = k == 0 ? work->task.i : work->task.j;
        side->owner = atoms_owner(atoms, side->block);
        side->count = 3 * atoms_in_block(atoms, side->block);
        side->at = (MPI_Aint)atoms_offset(atoms, side->block);
        side->x = side->owner == atoms->rank ? forces->x + side->at : side->x_buffer;
    }
}

static double work_compute(const struct forces *forces, struct work *work) {
    for (int k = 0; k < work->sides; k++)
        memset(work->side[k].force, 0, (size_t)work->side[k].count * sizeof(double));
    return task_compute(forces->atoms, work->task, work->side[0].x, work->side[1].x, work->side[0].force,
                        work->side[1].force);
}

/* Asks for the number of a task; it is there once claim_finish has returned. */
static void claim_start(struct forces *forces, int64_t *number) {
    static const int64_t one = 1;
    app_timer_start(forces->timer, APP_PHASE_COMMUNICATION);
    MPI_Fetch_and_op(&one, number, MPI_INT64_T, 0, 0, MPI_SUM, forces->counter_win.win);
    app_timer_stop(forces->timer, APP_PHASE_COMMUNICATION);
}

static void claim_finish(struct forces *forces) {
    app_timer_start(forces->timer, APP_PHASE_WAITING);
    MPI_Win_flush_local(0, forces->counter_win.win);
    app_timer_stop(forces->timer, APP_PHASE_WAITING);
}

/* Completes all accumulates everywhere. */
static void finish_forces(struct forces *forces) {
    app_timer_start(forces->timer, APP_PHASE_WAITING);
    MPI_Win_flush_all(forces->f_win.win);
    app_timer_stop(forces->timer, APP_PHASE_WAITING);
}

static void get_coordinates(struct forces *forces, struct work *work) {
    app_timer_start(forces->timer, APP_PHASE_COMMUNICATION);
    for (int k = 0; k < work->sides; k++) {
        struct side *side = &work->side[k];
        if (side->x != side->x_buffer)
            continue;
        MPI_Get(side->x_buffer, side->count, MPI_DOUBLE, side->owner, side->at, side->count, MPI_DOUBLE,
                forces->x_win.win);
        app_timer_start(forces->timer, APP_PHASE_WAITING);
        MPI_Win_flush(side->owner, forces->x_win.win);
        app_timer_stop(forces->timer, APP_PHASE_WAITING);
    }
    app_timer_stop(forces->timer, APP_PHASE_COMMUNICATION);
}

static void give_forces(struct forces *forces, struct work *work) {
    app_timer_start(forces->timer, APP_PHASE_COMMUNICATION);
    for (int k = 0; k < work->sides; k++) {
        struct side *side = &work->side[k];
        MPI_Accumulate(side->force, side->count, MPI_DOUBLE, side->owner, side->at, side->count, MPI_DOUBLE,
                       MPI_SUM, forces->f_win.win);
        app_timer_start(forces->timer, APP_PHASE_WAITING);
        MPI_Win_flush(side->owner, forces->f_win.win);
        app_timer_stop(forces->timer, APP_PHASE_WAITING);
    }
    app_timer_stop(forces->timer, APP_PHASE_COMMUNICATION);
}

/* Each thing is finished before the next begins. */
double forces_rma(struct forces *forces) {
    const int ntasks = tasks_count(forces->atoms);
    struct work work;
    work_open(forces, &work);
    double energy = 0;
    for (;;) {
        int64_t number;
        claim_start(forces, &number);
        claim_finish(forces);
        if (number >= ntasks)
            break;
        work_assign(forces, &work, number);
        get_coordinates(forces, &work);
        energy += work_compute(forces, &work);
        give_forces(forces, &work);
    }
    work_close(&work);
    return energy;
}

static void get_coordinates_start(struct forces *forces, struct work *work) {
    app_timer_start(forces->timer, APP_PHASE_COMMUNICATION);
    for (int k = 0; k < work->sides; k++) {
        struct side *side = &work->side[k];
        if (side->x == side->x_buffer)
            MPI_Rget(side->x_buffer, side->count, MPI_DOUBLE, side->owner, side->at, side->count, MPI_DOUBLE,
                     forces->x_win.win, &side->got);
    }
    app_timer_stop(forces->timer, APP_PHASE_COMMUNICATION);
}

static void give_forces_start(struct forces *forces, struct work *work) {
    app_timer_start(forces->timer, APP_PHASE_COMMUNICATION);
    for (int k = 0; k < work->sides; k++) {
        struct side *side = &work->side[k];
        MPI_Raccumulate(side->force, side->count, MPI_DOUBLE, side->owner, side->at, side->count, MPI_DOUBLE,
                        MPI_SUM, forces->f_win.win, &side->gave);
    }
    app_timer_stop(forces->timer, APP_PHASE_COMMUNICATION);
}

/* Waits until the coordinates are here and the forces of the task that used the same buffers before have
 * left. */
static void work_wait(struct forces *forces, struct work *work) {
    app_timer_start(forces->timer, APP_PHASE_WAITING);
    for (int k = 0; k < 2; k++) {
        MPI_Wait(&work->side[k].got, MPI_STATUS_IGNORE);
        MPI_Wait(&work->side[k].gave, MPI_STATUS_IGNORE);
    }
    app_timer_stop(forces->timer, APP_PHASE_WAITING);
}

/* With *number asked for before: gives the task to `work`, starts to get its coordinates, and asks for the
 * next number. False: no task is left, and nothing is under way. */
static bool work_start(struct forces *forces, struct work *work, int64_t *number) {
    claim_finish(forces);
    if (*number >= tasks_count(forces->atoms))
        return false;
    work_assign(forces, work, *number);
    get_coordinates_start(forces, work);
    claim_start(forces, number);
    return true;
}

/* While a task is worked out, the coordinates of the next one are on their way, the number of the one after
 * that has been asked for, and the forces of the one before are leaving. */
double forces_rma_nb(struct forces *forces) {
    struct work work[2];
    work_open(forces, &work[0]);
    work_open(forces, &work[1]);
    double energy = 0;
    int64_t number;
    claim_start(forces, &number);
    bool more = work_start(forces, &work[0], &number);
    for (int turn = 0; more; turn = !turn) {
        more = work_start(forces, &work[!turn], &number);
        work_wait(forces, &work[turn]);
        energy += work_compute(forces, &work[turn]);
        give_forces_start(forces, &work[turn]);
    }
    work_wait(forces, &work[0]);
    work_wait(forces, &work[1]);
    finish_forces(forces);
    work_close(&work[1]);
    work_close(&work[0]);
    return energy;
}
