/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: made on the application's own memory (MPI_Win_create) or by MPI (MPI_Win_allocate), as --window
 * says. */
#ifndef APP_WINDOW_H
#define APP_WINDOW_H

#include "app_options.h"

#include <mpi.h>
#include <stddef.h>

struct app_window {
    MPI_Win win;
    void *base;   /* this rank's window memory */
    size_t bytes; /* of it that the application asked for */
    void *owned;  /* what app_window_free frees: base for APP_WINDOW_CREATE, else NULL */
};

/*
 * Makes a window with `bytes` bytes (0 is allowed) of zeroed, page-aligned memory on this rank, displacements
 * in units of `unit` bytes. The window is larger, by up to whole pages: on created windows a page that is
 * shared with other data cannot be mapped by other processes (TrueRMA), and on allocated ones MPICH 4.0.2
 * with 3 and more ranks puts beside the target's memory where a size is no multiple of 16 bytes. `info` may
 * be MPI_INFO_NULL. Collective over `comm`; aborts the job when there is no memory, or when the memory model
 * is not MPI_WIN_UNIFIED, which these applications rely on. On return no epoch is open, and every rank's
 * memory is zeroed.
 */
void app_window_make(struct app_window *window, enum app_flavour flavour, size_t bytes, int unit,
                     MPI_Info info, MPI_Comm comm);

/* Frees the window and its memory. Collective; no epoch may be open. */
void app_window_free(struct app_window *window);

#endif
