/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_MOVE_TARGET_H
#define TEST_MOVE_TARGET_H

/* A forked process that does nothing but have memory: the target of the movers' tests. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/node_peer.h"

struct target {
    struct trma_peer peer;
    int leash; /* the target ends when this is closed */
};

/* Forks a target, in which `prepare` (may be NULL) runs first. Returns once that is done. */
static inline void target_start(struct target *target, void (*prepare)(void *), void *argument) {
    int leash[2];
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(leash), 0);
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(leash[1]);
        close(ready[0]);
        if (prepare != NULL) {
            prepare(argument);
        }
        if (write(ready[1], &byte, 1) == 1) {
            (void)!read(leash[0], &byte, 1);
        }
        _exit(0);
    }
    close(leash[0]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *target = (struct target){.peer = {.pid = pid}, .leash = leash[1]};
    atomic_init(&target->peer.has_cma, true);
}

static inline void target_stop(struct target *target) {
    close(target->leash);
    waitpid(target->peer.pid, NULL, 0);
}

/* The whole of a stretch of the target's memory, by one bare system call. True when all of it was carried. */
static inline bool target_read(const struct target *target, void *local, const void *remote, size_t size) {
    const struct iovec here = {local, size};
    const struct iovec there = {(void *)(uintptr_t)remote, size};
    return process_vm_readv(target->peer.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static inline bool target_write(const struct target *target, const void *local, void *remote, size_t size) {
    const struct iovec here = {(void *)(uintptr_t)local, size};
    const struct iovec there = {remote, size};
    return process_vm_writev(target->peer.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Skips the calling test where this machine lets nobody use CMA, which is not the movers' fault. */
static inline void target_need_cma(struct target *target) {
    static int word;
    int copy;
    if (!target_read(target, &copy, &word, sizeof word)) {
        target_stop(target);
        skip();
    }
}

#endif
