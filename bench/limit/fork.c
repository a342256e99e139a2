/* SPDX-License-Identifier: BSD-3-Clause */
#include "fork.h"

#include "../common/options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

void *limit_memory_share(size_t bytes) {
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("limit: shared memory");
        exit(1);
    }
    return memory;
}

pid_t limit_process_fork(const char *pin, int place) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        perror("limit: fork");
        exit(1);
    }
    if (child == 0 &&
        (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || bench_pin(pin, place) != 0))
        _exit(2);
    return child;
}
