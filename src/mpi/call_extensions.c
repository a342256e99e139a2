/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of include/truerma.h. */
#include "face_mpi.h"

#include "../../include/truerma.h"
#include "face_window.h"

#define TRMA_EXPORT __attribute__((visibility("default")))

TRMA_EXPORT int TRMA_Get_version(int *major, int *minor, int *patch) {
    *major = TRMA_VERSION_MAJOR;
    *minor = TRMA_VERSION_MINOR;
    *patch = TRMA_VERSION_PATCH;
    return MPI_SUCCESS;
}

TRMA_EXPORT int TRMA_Win_get_path(MPI_Win win, int rank, const char **path, const char **reason) {
    struct trma_win *window = trma_win_find(win);
    const char *name = "host";
    const char *why = "the window is the host MPI's";

    if (window) {
        if (rank < 0 || (uint32_t)rank >= window->size) {
            return trma_win_raise(window, MPI_ERR_RANK);
        }
        const char *known = window->core->targets[rank].path_reason;
        name = trma_win_target_path_name(window->core, (uint32_t)rank);
        why = known ? known : "";
    }
    if (path) {
        *path = name;
    }
    if (reason) {
        *reason = why;
    }
    return MPI_SUCCESS;
}
