/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one Fortran call that does not come by an MPI_ or PMPI_ function of C: MPI_WIN_GET_ATTR. MPICH's
 * bindings ask a function between their two libraries, Open MPI's look into the window itself. Whatever is
 * not a predefined attribute of a window of ours goes on to the host's.
 */
#include <stddef.h>

#include "face_host.h"
#include "face_window.h"
#include "handlers.h"

#define TRMA_EXPORT __attribute__((visibility("default")))

/* The value of a predefined attribute as Fortran gets it: an address-sized integer, not a pointer to one.
 * False when `keyval`, as C knows it, is another attribute. */
static bool find_predefined(struct trma_win *window, int keyval, MPI_Aint *value) {
    void *attribute = NULL;
    int found = 0;

    if (keyval != MPI_WIN_BASE && keyval != MPI_WIN_SIZE && keyval != MPI_WIN_DISP_UNIT &&
        keyval != MPI_WIN_CREATE_FLAVOR && keyval != MPI_WIN_MODEL) {
        return false;
    }
    trma_call_Win_get_attr(window, keyval, &attribute, &found);
    if (keyval == MPI_WIN_BASE) {
        *value = (MPI_Aint)attribute;
    } else {
        *value = keyval == MPI_WIN_SIZE ? *(MPI_Aint *)attribute : *(int *)attribute;
    }
    return true;
}

#ifdef OPEN_MPI

typedef void trma_fortran_get_attr(MPI_Fint *win, MPI_Fint *win_keyval, MPI_Aint *attribute_val,
                                   MPI_Fint *flag, MPI_Fint *ierror);
typedef MPI_Win trma_win_f2c(MPI_Fint win);

/* Declared here: only their names are Fortran's. */
trma_fortran_get_attr ompi_win_get_attr_f;

TRMA_EXPORT void ompi_win_get_attr_f(MPI_Fint *win, MPI_Fint *win_keyval, MPI_Aint *attribute_val,
                                     MPI_Fint *flag, MPI_Fint *ierror) {
    trma_win_f2c *f2c = (trma_win_f2c *)trma_host_symbol("PMPI_Win_f2c");
    struct trma_win *window = f2c ? trma_win_find(f2c(*win)) : NULL;

    if (window && find_predefined(window, *win_keyval, attribute_val)) {
        *flag = 1; /* .TRUE. of every compiler that Open MPI is built with today */
        *ierror = MPI_SUCCESS;
        return;
    }
    trma_fortran_get_attr *host = (trma_fortran_get_attr *)trma_host_symbol("pmpi_win_get_attr_");
    if (host) {
        host(win, win_keyval, attribute_val, flag, ierror);
    } else {
        *ierror = trma_host_lacks("MPI_WIN_GET_ATTR");
    }
}

/* The spellings that compilers give to the name; Open MPI has all of them. */
#define TRMA_SPELLING(name)                                                                                  \
    TRMA_EXPORT trma_fortran_get_attr name __attribute__((alias("ompi_win_get_attr_f")));
TRMA_SPELLING(mpi_win_get_attr)
TRMA_SPELLING(mpi_win_get_attr_)
TRMA_SPELLING(mpi_win_get_attr__)
TRMA_SPELLING(MPI_WIN_GET_ATTR)
TRMA_SPELLING(pmpi_win_get_attr)
TRMA_SPELLING(pmpi_win_get_attr_)
TRMA_SPELLING(pmpi_win_get_attr__)
TRMA_SPELLING(PMPI_WIN_GET_ATTR)

#else

/* How the caller wants the value. */
enum trma_attribute_form { AS_POINTER = 0 /* as C does; all others: as an address-sized integer */ };
typedef int trma_mpich_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag, int form);

trma_mpich_get_attr MPII_Win_get_attr;

TRMA_EXPORT int MPII_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag, int form) {
    struct trma_win *window = trma_win_find(win);
    /* Fortran's predefined keyvals are one above C's, which are odd. */
    int keyval = win_keyval % 2 ? win_keyval : win_keyval - 1;

    if (window && form != AS_POINTER && find_predefined(window, keyval, attribute_val)) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    trma_mpich_get_attr *host = (trma_mpich_get_attr *)trma_host_symbol("MPII_Win_get_attr");
    return host ? host(win, win_keyval, attribute_val, flag, form) : trma_host_lacks("MPII_Win_get_attr");
}

#endif
