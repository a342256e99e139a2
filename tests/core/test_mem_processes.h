/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_MEM_PROCESSES_H
#define TEST_MEM_PROCESSES_H

/*
 * For tests that need several processes: children that run a function, a page that all of them share, and
 * waiting for conditions with a deadline. Checks in children end the child with a message; the parent sees it
 * by the exit status.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mem/mem_ticket.h"
#include "node/node_peer.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define TEST_IS_UNDER_TSAN 1
#else
#define TEST_IS_UNDER_TSAN 0
#endif
#ifdef __SANITIZE_ADDRESS__
#define TEST_IS_SANITIZED 1
#else
#define TEST_IS_SANITIZED TEST_IS_UNDER_TSAN
#endif

#define TEST_DEADLINE_S 60

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: in process %d: %s\n", __FILE__, __LINE__, (int)getpid(), #condition);    \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

/* What the processes of a test share. */
struct stage {
    atomic_int step; /* only grows */
    struct trma_identity identities[4];
    struct trma_share shares[8];
    atomic_uint_fast64_t words[8];
};

static inline struct stage *stage_open(void) {
    struct stage *stage =
        mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(stage != MAP_FAILED);
    return stage;
}

static inline void stage_close(struct stage *stage) {
    munmap(stage, sizeof *stage);
}

static inline void stage_reach(struct stage *stage, int step) {
    atomic_store_explicit(&stage->step, step, memory_order_release);
}

/* Waits until another process has reached the step. */
static inline void stage_await(struct stage *stage, int step) {
    time_t deadline = time(NULL) + TEST_DEADLINE_S;
    while (atomic_load_explicit(&stage->step, memory_order_acquire) < step) {
        CHECK(time(NULL) < deadline);
        sched_yield();
    }
}

static inline pid_t child_start(void (*run)(struct stage *), struct stage *stage) {
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        run(stage);
        _exit(0);
    }
    return pid;
}

static inline int child_join(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* Makes a system call fail with `error` in this process and its children from now on, as container profiles
 * do. */
static inline void refuse_call(int number, int error) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Entries of a directory that begin with a prefix (all: ""), the two dots left out. */
static inline size_t count_entries(const char *directory, const char *prefix) {
    char command[256];
    snprintf(command, sizeof command, "ls -A %s | grep -c '^%s'", directory, prefix);
    FILE *stream = popen(command, "r");
    CHECK(stream != NULL);
    long count = -1;
    CHECK(fscanf(stream, "%ld", &count) == 1);
    pclose(stream);
    return (size_t)count;
}

/* Lines of /proc/self/maps: how many mappings this process has. */
static inline size_t count_mappings(void) {
    FILE *stream = fopen("/proc/self/maps", "r");
    CHECK(stream != NULL);
    size_t lines = 0;
    for (int c; (c = fgetc(stream)) != EOF;) {
        lines += c == '\n';
    }
    fclose(stream);
    return lines;
}

/* Descriptors that this process has open. */
static inline size_t count_descriptors(void) {
    size_t count = 0;
    for (int descriptor = 0; descriptor < 4096; descriptor++) {
        count += fcntl(descriptor, F_GETFD) >= 0;
    }
    return count;
}

/* How many mappings [memory, memory + size) has. */
static inline size_t mappings_within(const char *memory, size_t size) {
    FILE *stream = fopen("/proc/self/maps", "r");
    CHECK(stream != NULL);
    char line[512];
    size_t count = 0;
    while (fgets(line, sizeof line, stream) != NULL) {
        unsigned long low;
        unsigned long high;
        CHECK(sscanf(line, "%lx-%lx ", &low, &high) == 2);
        count += low < (uintptr_t)memory + size && high > (uintptr_t)memory;
    }
    fclose(stream);
    return count;
}

#endif
