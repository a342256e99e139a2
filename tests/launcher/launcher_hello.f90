! SPDX-License-Identifier: BSD-3-Clause
! The smallest MPI program; says its rank.
program hello
    use mpi
    implicit none
    integer :: rank, ranks, error
    call mpi_init(error)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
    call mpi_comm_size(MPI_COMM_WORLD, ranks, error)
    print '("rank ", i0, " of ", i0)', rank, ranks
    call mpi_finalize(error)
end program hello
