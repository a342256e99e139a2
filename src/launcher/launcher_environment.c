/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "launcher_abi.h"

/* Hydra and what speaks its protocol (PMI-1, PMI-2). */
static const char *const mpich_variables[] = {"PMI_RANK", "PMI_SIZE", "PMI_FD", "MPI_LOCALNRANKS",
                                              "HYDI_CONTROL_FD"};
/* PMIX_RANK alone would not tell: MPICH can speak PMIx as well. */
static const char *const openmpi_variables[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                                "OMPI_UNIVERSE_SIZE"};

static const char *first_set(const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (getenv(names[i]) != NULL)
            return names[i];
    return NULL;
}

enum trma_knob_abi launcher_environment_abi(char **reason) {
    const char *mpich = first_set(mpich_variables, sizeof mpich_variables / sizeof mpich_variables[0]);
    const char *openmpi =
        first_set(openmpi_variables, sizeof openmpi_variables / sizeof openmpi_variables[0]);
    if ((mpich == NULL) ==
        (openmpi == NULL)) /* neither, or one's mpiexec started from within the other's job */
        return TRMA_ABI_UNSET;
    *reason = launcher_text("%s is set by %s", mpich != NULL ? mpich : openmpi,
                            mpich != NULL ? "MPICH's mpiexec" : "Open MPI's mpiexec");
    return mpich != NULL ? TRMA_ABI_MPICH : TRMA_ABI_OPENMPI;
}

bool launcher_environment_is_first_rank(void) {
    static const char *const ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        const char *rank = getenv(ranks[i]);
        if (rank != NULL)
            return strcmp(rank, "0") == 0;
    }
    return true;
}
