/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_HOST_H
#define TRMA_FACE_HOST_H

#include <stdbool.h>

#include "face_mpi.h"
#include "host_table.h"
#include "trma_hidden.h"

/*
 * The host MPI: its functions, taken from its libmpi by handle. Neither RTLD_NEXT (NULL when libmpi was
 * loaded locally, as mpi4py does) nor the plain names (they lead back to us) would find them.
 */
extern TRMA_HIDDEN struct trma_host_table trma_host_functions;
extern TRMA_HIDDEN bool trma_host_is_known;

/* Finds the loaded libmpi and fills the table. Ends the program with one line when there is none, or one of
 * another ABI: no call could be served. */
void trma_host_resolve(void);

/* The host's functions. Thread-safe: resolving twice gives the same. */
static inline const struct trma_host_table *trma_host(void) {
    if (__builtin_expect(!trma_host_is_known, 0)) {
        trma_host_resolve();
    }
    return &trma_host_functions;
}

/* Says that the host does not have a call that was passed through; gives MPI_ERR_OTHER. */
int trma_host_lacks(const char *name);

/* A function that the table has not, in libmpi or in one of the host's other libraries (Fortran's); NULL when
 * no loaded library has it. Slow: for calls that are rare. Thread-safe. */
void *trma_host_symbol(const char *symbol);

/* Pokes the host's progress engine. Only while the host has a communicator. */
void trma_host_progress(void);

/* True between MPI_Init and MPI_Finalize: MPI_COMM_WORLD and MPI_COMM_SELF can be used (a program that has
 * only sessions never can). */
bool trma_host_has_world(void);

/* True when several threads may call MPI at a time. */
bool trma_host_is_threaded(void);

/* For attributes of communicators that a duplicate does not inherit. */
int trma_host_copy_nothing(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag);

/* A request of the host that is complete already, for R-operations that finish on return. */
int trma_host_completed_request(MPI_Request *request);

#endif
