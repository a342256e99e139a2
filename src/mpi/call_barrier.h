/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_BARRIER_H
#define TRMA_CALL_BARRIER_H

#include <stdbool.h>

#include "face_mpi.h"

/* MPI_Barrier where the communicator has a team: false, and nothing is done, where it has none. Errors go to
 * the communicator's error handler. Thread-safe. */
bool trma_team_Barrier(MPI_Comm comm, int *code);

#endif
