/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUERMA_H
#define TRUERMA_H

#include <mpi.h>

/*
 * TrueRMA's few calls of its own. No program needs them: everything works through MPI's calls. They tell a
 * program, or a test, what it got. Link with -ltruerma-mpich, -ltruerma-openmpi or -ltruerma-abi (the MPI
 * standard's own ABI) in front of the MPI (pkg-config truerma-mpich …), or find them at run time with
 * dlsym(RTLD_DEFAULT, …) in a program that may also run without TrueRMA. All return an MPI error code.
 */
#ifdef __cplusplus
extern "C" {
#endif

#define TRMA_VERSION_MAJOR 0
#define TRMA_VERSION_MINOR 1
#define TRMA_VERSION_PATCH 0

/* The version of the library that is loaded, which may be another one than that of this header. Thread-safe.
 */
int TRMA_Get_version(int *major, int *minor, int *patch);

/*
 * How this process reaches the memory of `rank` in `win`: *path is "self", "mapped", "mapped + cma", "cma",
 * "dynamic", "none" (no memory there), or "host" when the window is the host MPI's. *reason says why it is
 * not mapped, in words; it is empty when it is. Either pointer may be NULL. The texts live as long as the
 * window. MPI_ERR_RANK for a wrong rank (raised through the window's error handler). Thread-safe.
 */
int TRMA_Win_get_path(MPI_Win win, int rank, const char **path, const char **reason);

#ifdef __cplusplus
}
#endif

#endif
