/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the time goes: total, communication, and waiting (which is a part of communication).
 *
 * Communication is the time within calls that move data or synchronise. Waiting is the part of it within
 * calls that synchronise, and so may have to wait until another rank does something: MPI_Wait, MPI_Win_start,
 * MPI_Win_complete, MPI_Win_wait, MPI_Win_fence, MPI_Win_flush, collectives, a poll for a notification. Not
 * thread-safe.
 */
#ifndef APP_TIMER_H
#define APP_TIMER_H

#include <mpi.h>

enum app_phase { APP_PHASE_TOTAL, APP_PHASE_COMMUNICATION, APP_PHASE_WAITING, APP_PHASES };

/* All zero is a reset timer: struct app_timer timer = {0}. */
struct app_timer {
    double elapsed[APP_PHASES]; /* seconds */
    double started[APP_PHASES]; /* MPI_Wtime of the outermost start that runs */
    int depth[APP_PHASES];      /* starts without their stop: a phase may be entered again within itself */
};

/* Seconds over the ranks of a communicator. */
struct app_timing {
    double average[APP_PHASES];
    double maximum[APP_PHASES];
};

/* Sets all phases to zero; none may be running. */
void app_timer_reset(struct app_timer *timer);

/* Starts and stops a phase of this rank; nested starts of the same phase count once, and waiting is
 * communication too. A timer of NULL is ignored. */
void app_timer_start(struct app_timer *timer, enum app_phase phase);
void app_timer_stop(struct app_timer *timer, enum app_phase phase);

/* Collects the timers of all ranks. Collective; the result is valid on every rank. */
struct app_timing app_timer_collect(const struct app_timer *timer, MPI_Comm comm);

/* "total", "communication", "waiting" */
const char *app_phase_name(enum app_phase phase);

#endif
