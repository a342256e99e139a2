/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiling tool as others write them: it defines a few MPI calls, counts, and goes on to PMPI. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int puts_seen;
static atomic_int fences_seen;

int MPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win) {
    puts_seen++;
    return PMPI_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                    target_datatype, win);
}

int MPI_Win_fence(int assert, MPI_Win win) {
    fences_seen++;
    return PMPI_Win_fence(assert, win);
}

int MPI_Finalize(void) {
    printf("tool: %d puts, %d fences\n", puts_seen, fences_seen);
    fflush(stdout);
    return PMPI_Finalize();
}
