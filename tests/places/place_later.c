/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A place that is locked down while a window is in use: first the system calls of CMA are refused to the
 * origin, then every other way into another process's memory. Operations must go on, by whatever is left; the
 * target comes by with synchronisation calls, nothing more. 2 ranks. Knows nothing of TrueRMA.
 */
#include "../mpi/check.h"

#include <errno.h>
#include <seccomp.h>

enum { WORDS = 1024, PUTS = 20, ORIGIN = 0, TARGET = 1, EXIT_SKIPPED = 77 };

static void refuse(const int *calls, size_t n) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool is_done = filter != NULL;

    for (size_t i = 0; i < n && is_done; i++) {
        is_done = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0) == 0;
    }
    if (!is_done || seccomp_load(filter) != 0) {
        fprintf(stderr, "place: cannot load a seccomp filter\n");
        exit(EXIT_SKIPPED);
    }
    seccomp_release(filter);
}

static void use(MPI_Win win, long base) {
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win);
    for (long i = 0; i < PUTS; i++) {
        long value = base + i;
        long read = -1;
        long before = -1;
        CHECK_CLASS(MPI_Put(&value, 1, MPI_LONG, TARGET, 1 + i, 1, MPI_LONG, win), MPI_SUCCESS);
        MPI_Win_flush(TARGET, win);
        CHECK_CLASS(MPI_Get(&read, 1, MPI_LONG, TARGET, 1 + i, 1, MPI_LONG, win), MPI_SUCCESS);
        CHECK_CLASS(MPI_Fetch_and_op(&value, &before, MPI_LONG, TARGET, 100 + i, MPI_REPLACE, win),
                    MPI_SUCCESS);
        MPI_Win_flush(TARGET, win);
        CHECK_SAME(read, value);
        CHECK_SAME(before, base == 1000 ? 0 : value - 1000);
    }
    MPI_Win_unlock(TARGET, win);
}

static long look(MPI_Win win, const long *word) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
    long value = *word;
    MPI_Win_unlock(TARGET, win);
    return value;
}

int main(int argc, char **argv) {
    static const int cma[] = {SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev)};
    static const int files[] = {SCMP_SYS(pread64), SCMP_SYS(pwrite64)};
    long *memory = NULL;
    MPI_Win win;

    check_begin(&argc, &argv);
    CHECK_SAME(check_ranks, 2);
    CHECK(posix_memalign((void **)&memory, 4096, WORDS * sizeof *memory) == 0);
    memset(memory, 0, WORDS * sizeof *memory);
    MPI_Win_create(memory, WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == ORIGIN) {
        long done = 1;
        use(win, 1000);
        refuse(cma, sizeof cma / sizeof *cma);
        use(win, 2000);
        refuse(files, sizeof files / sizeof *files);
        use(win, 3000);
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win);
        MPI_Put(&done, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(TARGET, win);
    } else {
        while (look(win, &memory[0]) != 1) {
        }
        for (long i = 0; i < PUTS; i++) {
            CHECK_SAME(memory[1 + i], 3000 + i);
            CHECK_SAME(memory[100 + i], 3000 + i);
        }
    }
    MPI_Win_free(&win);
    free(memory);
    return check_finish();
}
