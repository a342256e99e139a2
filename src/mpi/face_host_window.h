/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_HOST_WINDOW_H
#define TRMA_FACE_HOST_WINDOW_H

#include <stdbool.h>

#include "face_mpi.h"

/*
 * The host's windows behind ours. They lend their handles and carry names, error handlers and the user's
 * attributes; the host never serves an operation on one.
 *
 * Where they are dear (face_abi.h), a few that are freed are kept for the next ones. Open MPI 5.0 asks each
 * of its components whether it wants a window, and the one for UCX initialises that library anew each time on
 * machines where it then finds nothing to use: a millisecond.
 */
struct trma_host_window {
    MPI_Win win;        /* MPI_WIN_NULL: none */
    bool may_be_reused; /* until the user gives it attributes: they cannot be found and deleted */
};

/* Makes one that is as new, or takes one that was kept. MPI's error class; thread-safe, not collective unless
 * the program has sessions only: then it is made on `comm`. */
int trma_host_window_make(struct trma_host_window *host, MPI_Info info, MPI_Comm comm);

/* Frees it, or keeps it for another; runs the callbacks of the user's attributes. What they return when that
 * is an error: then the window still exists. Thread-safe. */
int trma_host_window_free(struct trma_host_window *host);

/* Frees those that were kept; none is kept any more. For MPI_Finalize. */
void trma_host_windows_drop(void);

#endif
