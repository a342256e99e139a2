/* SPDX-License-Identifier: BSD-3-Clause */
#include "page.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page_bytes = 4096 };

void *bench_page_map(int rank) {
    char name[64] = "/dev/shm/mpi-bench-XXXXXX";
    int fd = -1;
    if (rank == 0)
        fd = mkstemp(name);
    if (rank == 0 && fd >= 0 && ftruncate(fd, page_bytes) != 0) {
        close(fd);
        fd = -1;
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        fd = open(name, O_RDWR);
    void *page = fd >= 0 ? mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
    if (page == MAP_FAILED) {
        perror("a page shared by the ranks, in /dev/shm");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close(fd);
    return page;
}

void bench_page_unmap(void *page) {
    munmap(page, page_bytes);
}
