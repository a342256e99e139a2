/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_TEAM_H
#define TRMA_FACE_TEAM_H

#include "face_handle.h"
#include "face_mpi.h"
#include "node/node_team.h"
#include "trma_hidden.h"

/*
 * The team behind a communicator, made with the host's collectives at the first window on it and kept as an
 * attribute. Counted: the communicator holds one reference, every window another.
 */
struct trma_face_team {
    struct trma_team *core; /* NULL: no team can be made, windows on this communicator are the host's */
    const char *refusal;    /* why, in a user's words */
    unsigned references;    /* under the lock of face_team.c */
    struct trma_comm
        *comm; /* where it is found by its communicator, as long as that exists; NULL without a core */
};

/*
 * Collective over the communicator at its first call. Never NULL unless memory is exhausted or the
 * communicator is not one for windows (the host will say so); the reference is borrowed from the
 * communicator.
 */
struct trma_face_team *trma_face_team_of(MPI_Comm comm);

/* A communicator that has a team which could be made. */
struct trma_comm {
    struct trma_handle handle;
    struct trma_team *team;
};

extern TRMA_HIDDEN struct trma_handle_table trma_comms;

/* The team of a communicator that had one made, NULL when it has none: the same answer in all its members,
 * since windows are made collectively. Any handle may be asked for. Thread-safe. */
static inline struct trma_team *trma_face_team_find(MPI_Comm comm) {
    const struct trma_comm *found = (const struct trma_comm *)trma_handle_find(&trma_comms, (uintptr_t)comm);

    return found ? found->team : NULL;
}

void trma_face_team_retain(struct trma_face_team *team);
void trma_face_team_release(struct trma_face_team *team);

#endif
