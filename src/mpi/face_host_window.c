/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_host_window.h"

#include <link.h>
#include <pthread.h>
#include <string.h>

#include "face_abi.h"
#include "face_host.h"

/* Windows hold communicators of the host, which are few. */
enum { KEPT_LIMIT = 16 };

/*
 * One thread at a time makes and frees the host's windows: Open MPI 5.0 corrupts its heap when two do, on
 * whatever communicators. Recursive, because freeing runs the user's attribute callbacks. Nobody waits for
 * another process while holding it.
 */
static pthread_mutex_t host_windows = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Guarded by it. */
static MPI_Win kept[KEPT_LIMIT];
static int kept_count;
static bool is_finalized;
static bool knows_errhandler;
static MPI_Errhandler first_errhandler; /* of a new window */

static int find_fortran(struct dl_phdr_info *library, size_t size, void *is_here) {
    (void)size;
    *(bool *)is_here = strstr(library->dlpi_name, "libmpi_mpifh") != NULL;
    return *(bool *)is_here;
}

/* Open MPI's Fortran sets attributes by a door of its own, where nobody sees it. */
static bool has_fortran(void) {
    bool is_here = false;

    dl_iterate_phdr(find_fortran, &is_here);
    return is_here;
}

/* Makes the window as it was when it was new. */
static bool renew(MPI_Win win) {
    return knows_errhandler && trma_host()->Win_set_errhandler(win, first_errhandler) == MPI_SUCCESS &&
           trma_host()->Win_set_name(win, "") == MPI_SUCCESS;
}

/*
 * On MPI_COMM_SELF: the window is never used for an operation, so the host need not synchronise or share
 * memory for it (which would stay behind when the program is killed). Programs that only have sessions do not
 * have that communicator.
 */
int trma_host_window_make(struct trma_host_window *host, MPI_Info info, MPI_Comm comm) {
    int code = MPI_SUCCESS;

    host->may_be_reused = false;
    if (!trma_host_has_world()) {
        return trma_abi_make_window(info, comm, &host->win);
    }
    pthread_mutex_lock(&host_windows);
    if (kept_count > 0) {
        host->win = kept[--kept_count];
    } else {
        code = trma_abi_make_window(info, MPI_COMM_SELF, &host->win);
        if (code == MPI_SUCCESS && TRMA_ABI_KEEPS_HOST_WINDOWS && !knows_errhandler) {
            knows_errhandler = trma_host()->Win_get_errhandler(host->win, &first_errhandler) == MPI_SUCCESS;
        }
    }
    pthread_mutex_unlock(&host_windows);
    host->may_be_reused = code == MPI_SUCCESS && TRMA_ABI_KEEPS_HOST_WINDOWS;
    return code;
}

int trma_host_window_free(struct trma_host_window *host) {
    int code = MPI_SUCCESS;

    if (!trma_host_has_world()) {
        return trma_host()->Win_free(&host->win);
    }
    pthread_mutex_lock(&host_windows);
    if (host->may_be_reused && kept_count < KEPT_LIMIT && !is_finalized && !has_fortran() &&
        renew(host->win)) {
        kept[kept_count++] = host->win;
        host->win = MPI_WIN_NULL;
    } else {
        code = trma_host()->Win_free(&host->win);
    }
    pthread_mutex_unlock(&host_windows);
    return code;
}

void trma_host_windows_drop(void) {
    pthread_mutex_lock(&host_windows);
    is_finalized = true;
    while (kept_count > 0) {
        trma_host()->Win_free(&kept[--kept_count]);
    }
    pthread_mutex_unlock(&host_windows);
}
