/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_tracker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t tracker_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t tracker_pid;
static int tracker_pipe = -1; /* the end that tells the tracker that we live */

/* The layout of what getdents64 writes; libc has no name for it. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/*
 * What the tracker does runs in a process cloned from a possibly threaded one: system calls only, no
 * allocation, no stdio. Several passes, since removing entries may make a directory read skip others.
 */
static bool remove_names_once(const char *prefix, size_t prefix_length) {
    bool found = false;
    int directory = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return false;
    }
    _Alignas(struct directory_entry) char buffer[4096];
    long got;
    while ((got = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct directory_entry *entry = (const struct directory_entry *)(buffer + at);
            if (strncmp(entry->name, prefix, prefix_length) == 0) {
                found = unlinkat(directory, entry->name, 0) == 0 || found;
            }
            at += entry->length;
        }
    }
    close(directory);
    return found;
}

static _Noreturn void tracker_run(int alive, const char *prefix, size_t prefix_length) {
    setsid(); /* a signal to the program's process group is not for us */
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* Holding none of the program's files: a reader of its pipes must see their end. */
    if (alive != 0) {
        dup2(alive, 0);
    }
    syscall(SYS_close_range, 1U, ~0U, 0U);
    char byte;
    ssize_t got;
    do {
        got = read(0, &byte, 1);
    } while (got > 0 || (got < 0 && errno == EINTR));
    while (remove_names_once(prefix, prefix_length)) {
    }
    _exit(0);
}

bool trma_mem_tracker_start(uint64_t nonce) {
    pthread_mutex_lock(&tracker_lock);
    if (tracker_pid == 0) {
        char prefix[64];
        /* shm_open's names begin with a slash, the directory's entries do not. */
        int length =
            snprintf(prefix, sizeof prefix, "%s%016llx-", &TRMA_TRACKER_PREFIX[1], (unsigned long long)nonce);
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) == 0) {
            /* No exit signal (flags 0): the program's SIGCHLD handlers and wait calls never see this child.
             */
            long pid = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
            if (pid == 0) {
                close(ends[1]);
                tracker_run(ends[0], prefix, (size_t)length);
            }
            close(ends[0]);
            if (pid > 0) {
                tracker_pid = (pid_t)pid;
                tracker_pipe = ends[1];
            } else {
                close(ends[1]);
            }
        }
    }
    bool runs = tracker_pid != 0;
    pthread_mutex_unlock(&tracker_lock);
    return runs;
}

void trma_mem_tracker_stop(void) {
    pthread_mutex_lock(&tracker_lock);
    if (tracker_pid != 0) {
        close(tracker_pipe);
        while (waitpid(tracker_pid, NULL, __WALL) < 0 && errno == EINTR) {
        }
        tracker_pid = 0;
        tracker_pipe = -1;
    }
    pthread_mutex_unlock(&tracker_lock);
}

void trma_mem_tracker_forget(void) {
    /* The child holds a copy of the pipe's end: closed, or the parent's death would go unnoticed while the
     * child lives. */
    if (tracker_pipe >= 0) {
        close(tracker_pipe);
    }
    tracker_pid = 0;
    tracker_pipe = -1;
}
