/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_probe_yield.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More than this share: the core is not handed over. In between lies nothing: it is some thousandths, or near
 * one and more. */
#define MOST_SHARE 0.25

struct trial {
    atomic_bool begins;
    atomic_bool ends;
    atomic_uint_fast64_t computed_ns; /* 0 until it ends */
    atomic_uint_fast64_t yielded_ns;
};

static uint64_t used_ns(void) {
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

static void compute(struct trial *trial) {
    uint64_t begin = used_ns();
    uint64_t now = begin;

    atomic_store(&trial->begins, true);
    while (now - begin < TRMA_PROBE_YIELD_COMPUTING_NS) {
        now = used_ns();
    }
    atomic_store(&trial->computed_ns, now - begin);
    atomic_store(&trial->ends, true);
}

static void yield(struct trial *trial) {
    while (!atomic_load(&trial->begins)) {
        sched_yield();
    }
    uint64_t begin = used_ns();
    while (!atomic_load(&trial->ends)) {
        sched_yield();
    }
    atomic_store(&trial->yielded_ns, used_ns() - begin);
}

/* Both end with their parent, lest one waits for ever for the other. */
static pid_t begin(void (*part)(struct trial *trial), struct trial *trial, int cpu, bool has_own_session) {
    pid_t parent = getpid();
    pid_t child = fork();

    if (child == 0) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
            sched_setaffinity(0, sizeof only, &only) != 0 || (has_own_session && setsid() < 0)) {
            _exit(1);
        }
        part(trial);
        _exit(0);
    }
    return child;
}

static bool end(pid_t child) {
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

double trma_node_probe_yield_share(bool has_own_sessions) {
    double share = -1;
    int cpu = sched_getcpu();
    struct trial *trial =
        mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (trial == MAP_FAILED) {
        return share;
    }
    pid_t yields = cpu < 0 || cpu >= CPU_SETSIZE ? -1 : begin(yield, trial, cpu, has_own_sessions);
    if (yields > 0) {
        pid_t computes = begin(compute, trial, cpu, has_own_sessions);
        bool is_good = computes > 0 && end(computes);
        atomic_store(&trial->begins, true); /* also where nobody could compute */
        atomic_store(&trial->ends, true);
        if (end(yields) && is_good) {
            share = (double)atomic_load(&trial->yielded_ns) / (double)atomic_load(&trial->computed_ns);
        }
    }
    munmap(trial, sizeof *trial);
    return share;
}

void trma_node_probe_yield_describe(double in_one_session, double in_own_sessions, bool has_autogroups,
                                    char *text, size_t room) {
    if (in_one_session < 0 || in_own_sessions < 0) {
        snprintf(text, room, "could not be tried");
    } else if (in_one_session > MOST_SHARE) {
        snprintf(text, room, "keep the core: who waits takes as much of it as who computes");
    } else if (in_own_sessions <= MOST_SHARE) {
        snprintf(text, room, "hand the core over");
    } else {
        snprintf(text, room,
                 "hand the core over within a session only, and launchers may give each rank its own%s",
                 has_autogroups ? " (cure: truerma launch, or sysctl kernel.sched_autogroup_enabled=0)" : "");
    }
}
