/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_LINK_H
#define TRMA_LAUNCHER_LINK_H

#include "launcher_elf.h"

/*
 * Which MPI a program or library links, itself or through the libraries that it links: found as the dynamic
 * loader would find them (ld.so(8): RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache, the default folders),
 * without loading anything.
 */

enum launcher_family {
    LAUNCHER_MPICH,    /* the MPICH ABI (.so.12): MPICH, Intel MPI, MVAPICH, Cray MPI */
    LAUNCHER_OPENMPI,  /* Open MPI 3 to 5 (.so.40) */
    LAUNCHER_STANDARD, /* the MPI 5.0 standard's ABI (libmpi_abi.so.N) */
    LAUNCHER_OTHER,    /* a libmpi with another version number */
    LAUNCHER_FAMILIES
};

struct launcher_link {
    bool found[LAUNCHER_FAMILIES];
    char *library[LAUNCHER_FAMILIES]; /* the name it is linked by; NULL when not found */
    char *through[LAUNCHER_FAMILIES]; /* the file that links it */
    unsigned n_found;
    bool is_static; /* no dynamic loader runs for it (programs only) */
    bool holds_mpi; /* MPI_Init is inside the file itself, linked statically */
};

/*
 * Examines the ELF file at `path`. On LAUNCHER_ELF_OK the report is filled and the caller frees it with
 * launcher_link_free; otherwise it is empty.
 */
enum launcher_elf_status launcher_link_examine(const char *path, struct launcher_link *report);
void launcher_link_free(struct launcher_link *report);

/* The family that a library's name belongs to ("libmpich.so.12"), LAUNCHER_FAMILIES when it is no MPI
 * library. */
enum launcher_family launcher_link_family(const char *library);

/*
 * The family of the MPI library that the loader finds by this name or path, by its own name when the given
 * one has no version number ("libmpi.so"); LAUNCHER_FAMILIES when there is none.
 */
enum launcher_family launcher_link_family_of_file(const char *name);

#endif
