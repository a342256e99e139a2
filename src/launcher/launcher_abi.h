/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_ABI_H
#define TRMA_LAUNCHER_ABI_H

#include "launcher.h"
#include "node/node_knob.h"

/*
 * Which ABI's library belongs under a command. In this order: TRUERMA_ABI; what the program links, or the
 * program that interprets it when it is a script; what a program named in its arguments links (`env`,
 * `taskset`, `gdb --args`, … start another one); what mpi4py is told by its own variables (Python only); the
 * MPI whose mpiexec started us; what Python could import. A program that no library can be put under is
 * refused.
 */
struct launcher_decision {
    enum launcher_exit exit_code; /* LAUNCHER_OK: abi is decided; else what the launcher ends with */
    enum trma_knob_abi abi;
    char *reason; /* one line for the user: why this ABI, or what is wrong and what to do. Owned by the
                     caller. */
};

/* Decides for the command argv[0], argv[1], … up to NULL; told is what TRUERMA_ABI says. */
struct launcher_decision launcher_abi_decide(char **argv, enum trma_knob_abi told);

/* "mpich", "openmpi" or "abi" (the MPI standard's own), as TRUERMA_ABI takes it. */
const char *launcher_abi_name(enum trma_knob_abi abi);

/* The MPI whose mpiexec started this process, by the variables that it sets; TRMA_ABI_UNSET when none or
 * both. */
enum trma_knob_abi launcher_environment_abi(char **reason);

/* True unless mpiexec says that this is a rank other than 0: for messages that one rank should print. */
bool launcher_environment_is_first_rank(void);

#endif
