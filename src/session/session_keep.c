/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Preloaded by `truerma launch`: keeps the ranks that MPICH's launcher starts on this node in one session.
 *
 * Its proxy, one on each node, has a session of its own and calls setsid in each child before that becomes a
 * rank: the child leads a process group then, by which the proxy ends it and all that it has started. It also
 * leads a session, which only who opens a terminal needs; but Linux divides cores between sessions first
 * ("autogroups", sched(7)), so that ranks which share a core cannot hand it to each other by a yield
 * (node_probe_yield.h). Here such a child leads a group within the proxy's session, which has no terminal
 * either.
 *
 * The library is inherited by all that the proxy starts; in every other program setsid is the kernel's.
 */

static const char proxy[] = "hydra_pmi_proxy";

/* Between fork and exec of a process that may have threads: only what is async-signal-safe. */
static bool is_proxy(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    ssize_t last = (ssize_t)sizeof proxy - 1;
    return length > last && length < (ssize_t)sizeof path && path[length - last - 1] == '/' &&
           memcmp(path + length - last, proxy, (size_t)last) == 0;
}

/*
 * setsid(2), but for what the new group is in. As there the answer is the caller's process ID, or -1 with
 * EPERM when it leads a group already. Thread-safe.
 */
__attribute__((visibility("default"))) pid_t setsid(void) {
    if (!is_proxy()) {
        return (pid_t)syscall(SYS_setsid);
    }
    if (getpgrp() == getpid()) {
        errno = EPERM;
        return -1;
    }
    return setpgid(0, 0) == 0 ? getpid() : -1;
}
