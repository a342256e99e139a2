/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_WINDOW_H
#define TRMA_FACE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "face_handle.h"
#include "face_hints.h"
#include "face_host_window.h"
#include "face_mpi.h"
#include "face_team.h"
#include "trma_hidden.h"
#include "win/win_window.h"

/* The ranks of the last group given to start or post: programs use the same few groups over and over. */
struct trma_group_cache {
    uintptr_t group;     /* 0: nothing cached */
    unsigned generation; /* of MPI_Group_free calls: a freed handle may come back as another group */
    uint32_t n;
    uint32_t capacity;
    uint32_t *ranks; /* room for `capacity`, then the numbers below it; freed with the window */
};

/* A window of ours. */
struct trma_win {
    struct trma_handle handle;
    struct trma_window *core;
    uint32_t size;                /* ranks */
    struct trma_host_window host; /* behind the same handle */
    MPI_Group group;              /* of the communicator */
    struct trma_face_team *team;
    /* What the attributes point to. */
    void *base;
    MPI_Aint bytes;
    int disp_unit;
    int flavor;
    int model;
    void *memory; /* allocated by us, freed with the window; NULL when it is the user's or another member's */
    uint64_t shared_serial; /* of the first member's region, mapped for a shared window; 0 when none */
    uint64_t serial;        /* counts windows of this process, for people */
    struct trma_group_cache start_group;
    struct trma_group_cache post_group;
    struct trma_hints hints;
};

extern TRMA_HIDDEN struct trma_handle_table trma_windows;

/* The window behind a handle, NULL when it is the host's. A few nanoseconds; thread-safe. */
static inline struct trma_win *trma_win_find(MPI_Win win) {
    return (struct trma_win *)trma_handle_find(&trma_windows, (uintptr_t)win);
}

/* The same where the cache of handles has it; else NULL, which says nothing. */
static inline struct trma_win *trma_win_peek(MPI_Win win) {
    return (struct trma_win *)trma_handle_peek(&trma_windows, (uintptr_t)win);
}

/* Raises an MPI error class through the window's error handler, and gives what that leaves to return. */
int trma_win_raise(struct trma_win *window, int error_class);

/* The error class of a status, raised through the window's error handler; conclude: MPI_SUCCESS for TRMA_OK.
 */
int trma_win_fail(struct trma_win *window, enum trma_status status);

static inline int trma_win_conclude(struct trma_win *window, enum trma_status status) {
    return __builtin_expect(status == TRMA_OK, 1) ? MPI_SUCCESS : trma_win_fail(window, status);
}

/* As above without raising. */
int trma_win_error_class(enum trma_status status);

#endif
