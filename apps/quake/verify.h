/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the waves are right: against the same run on one rank, and against the exact solution. */
#ifndef QUAKE_VERIFY_H
#define QUAKE_VERIFY_H

#include "app_report.h"
#include "simulation.h"

#include <mpi.h>

/*
 * Repeats the run on rank 0 alone and compares all nine fields, point by point, with the blocks of all ranks.
 * Adds the checks "fields" (largest difference relative to the field's largest value, at most 1e-12) to the
 * report. Collective over `cart`. Rank 0 needs the memory of the whole grid.
 */
void verify_against_serial(struct app_report *report, const struct simulation *simulation, MPI_Comm cart);

/*
 * Compares what the receivers recorded with the exact solution. Adds for each receiver the checks "arrival"
 * (when the two traces fit best, off by at most one sample) and "waveform" (root mean square difference, at
 * most 10 % of the exact trace's). Collective over `cart`.
 */
void verify_arrival(struct app_report *report, const struct simulation *simulation, MPI_Comm cart);

#endif
