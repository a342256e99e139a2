/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_ABI_H
#define TRMA_FACE_ABI_H

#include <stddef.h>

#include "face_host.h"

/*
 * The little that differs between the ABIs beyond the header's own definitions: predefined datatypes that
 * only newer versions (or only one family) name, and how to ask for a predefined type's size without raising
 * an error when a version does not have it; and which of its windows a host makes at least cost.
 *
 * trma_abi_make_window: the host's window behind the same handle as ours. It carries attributes, names and
 * error handlers, and has no memory, since the host never serves an operation on it. Open MPI cannot make
 * created or dynamic ones in a program of a single process, and its windows on shared memory are the
 * cheapest; in MPICH the dynamic ones are.
 *
 * TRMA_ABI_KEEPS_HOST_WINDOWS: they are worth keeping for the next ones (face_host_window.h).
 *
 * TRMA_ABI_HOST_YIELDS: the host's waits give their core away by themselves where ranks outnumber cores, as
 * Open MPI's do.
 */
#if defined MPI_ABI

#define TRMA_ABI_INTEGER16 MPI_INTEGER16
#define TRMA_ABI_REAL2     MPI_REAL2
#define TRMA_ABI_LOGICAL1  MPI_LOGICAL1
#define TRMA_ABI_LOGICAL2  MPI_LOGICAL2
#define TRMA_ABI_LOGICAL4  MPI_LOGICAL4
#define TRMA_ABI_LOGICAL8  MPI_LOGICAL8

#elif defined OPEN_MPI

#define TRMA_ABI_INTEGER16 OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_integer16)
#define TRMA_ABI_REAL2     OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_real2)
#define TRMA_ABI_LOGICAL1  OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_logical1)
#define TRMA_ABI_LOGICAL2  OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_logical2)
#define TRMA_ABI_LOGICAL4  OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_logical4)
#define TRMA_ABI_LOGICAL8  OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_logical8)

#else

/* Handles of the MPICH ABI that MPICH 4.0's header does not name; the second byte of a basic handle is its
 * size. */
#define TRMA_ABI_INTEGER16 ((MPI_Datatype)0x4c001032)
#define TRMA_ABI_REAL2     ((MPI_Datatype)0x4c000226)
#define TRMA_ABI_LOGICAL1  ((MPI_Datatype)0x4c000147)
#define TRMA_ABI_LOGICAL2  ((MPI_Datatype)0x4c000248)
#define TRMA_ABI_LOGICAL4  ((MPI_Datatype)0x4c000449)
#define TRMA_ABI_LOGICAL8  ((MPI_Datatype)0x4c00084a)

#endif

#if defined MPI_ABI || defined OPEN_MPI

/* Bytes of a predefined type, 0 when this host has none by this name. */
static inline size_t trma_abi_predefined_size(MPI_Datatype datatype) {
    int size = 0;

    if (!datatype || datatype == MPI_DATATYPE_NULL ||
        trma_host()->Type_size(datatype, &size) != MPI_SUCCESS || size < 0) {
        return 0;
    }
    return (size_t)size;
}

#else

static inline size_t trma_abi_predefined_size(MPI_Datatype datatype) {
    enum { KIND = 0x4c00, PAIR = 0x8c0000 };
    unsigned bits = (unsigned)datatype;

    if (bits >> 8 == PAIR) {
        return 1; /* its size is in no handle, only whether it exists matters */
    }
    return datatype == MPI_DATATYPE_NULL || bits >> 16 != KIND ? 0 : bits >> 8 & 0xff;
}

#endif

#ifdef OPEN_MPI

#define TRMA_ABI_HOST_YIELDS        true
#define TRMA_ABI_KEEPS_HOST_WINDOWS true

static inline int trma_abi_make_window(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    void *nothing = NULL;

    return trma_host()->Win_allocate_shared(0, 1, info, comm, &nothing, win);
}

#else

#define TRMA_ABI_HOST_YIELDS        false
#define TRMA_ABI_KEEPS_HOST_WINDOWS false

static inline int trma_abi_make_window(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    return trma_host()->Win_create_dynamic(info, comm, win);
}

#endif

#endif
