/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_TEAM_H
#define TRMA_FACE_TEAM_H

#include "face_mpi.h"
#include "node/node_team.h"

/*
 * The team behind a communicator, made with the host's collectives at the first window on it and kept as an
 * attribute. Counted: the communicator holds one reference, every window another.
 */
struct trma_face_team {
    struct trma_team *core; /* NULL: no team can be made, windows on this communicator are the host's */
    const char *refusal;    /* why, in a user's words */
    unsigned references;    /* under the lock of face_team.c */
};

/*
 * Collective over the communicator at its first call. Never NULL unless memory is exhausted or the
 * communicator is not one for windows (the host will say so); the reference is borrowed from the
 * communicator.
 */
struct trma_face_team *trma_face_team_of(MPI_Comm comm);

void trma_face_team_retain(struct trma_face_team *team);
void trma_face_team_release(struct trma_face_team *team);

#endif
