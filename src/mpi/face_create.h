/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_CREATE_H
#define TRMA_FACE_CREATE_H

#include "face_window.h"

/* What the user asked for, the same for all window constructors. */
struct trma_making {
    int flavor;
    MPI_Comm comm;
    MPI_Info info;
    MPI_Aint size;
    MPI_Aint disp_unit;
    void *base; /* the user's memory (MPI_WIN_FLAVOR_CREATE); given back for the flavours that allocate */
};

/*
 * Makes a window of ours with the host's handle in *win, collectively. *ours is false, with MPI_SUCCESS, when
 * all members agree that the host must make it instead: nothing is left behind then. An error has been raised
 * on the communicator, by every member, also by those whose arguments were right: nobody is left waiting.
 */
int trma_face_create(struct trma_making *making, MPI_Win *win, bool *ours);

/* Frees a window of ours, collectively, with the host's. */
int trma_face_free(struct trma_win *window, MPI_Win *win);

#endif
