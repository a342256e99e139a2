/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest MPI program; says its rank. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
