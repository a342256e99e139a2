/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PROBE_H
#define TRMA_NODE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What this node allows, found out by trying (never by version numbers). Each door is open or refused, with
 * the reason in a user's words and, where an admin could change it, what would have to change.
 */
struct trma_door {
    const char *name; /* "memfd", "CMA", "/proc/<pid>/fd", "SCM_RIGHTS", "POSIX shm", "pidfd", "userfaultfd",
                         "XPMEM", … */
    bool is_open;
    char detail[160]; /* open: what it gives; refused: why, and what would open it */
};

#define TRMA_PROBE_DOORS 16

struct trma_probe {
    unsigned cores_online;   /* cores of the machine */
    unsigned cores_allowed;  /* cores that this process may run on (sched_getaffinity) */
    char topology[160];      /* one line, from hwloc: packages, cores, caches */
    int yama_scope;          /* -1 when the kernel has no Yama */
    size_t shm_bytes_free;   /* of /dev/shm; 0 when it is missing */
    size_t descriptor_limit; /* RLIMIT_NOFILE, soft */
    size_t lock_limit;       /* RLIMIT_MEMLOCK, soft, bytes */
    char huge_pages[160];    /* one line: whether shared memory can lie on huge pages */
    char yields[160];        /* one line: what happens to a core that a waiting rank yields */
    size_t n_doors;
    struct trma_door doors[TRMA_PROBE_DOORS];
};

/*
 * Tries every door, and yields, with short-lived child processes where a second process is needed. Takes
 * about a tenth of a second: for `truerma info` and tests, not for the start of every program. with_topology
 * false leaves the line about the topology empty. Not thread-safe against other threads that fork or set
 * PR_SET_PTRACER.
 */
void trma_node_probe_run(struct trma_probe *out, bool with_topology);

/*
 * Who describes the topology in one line. hwloc does (node_probe_topology.h), but only in programs of ours
 * that link it: the preloaded library must not bring a second hwloc into the host MPI's process. Without one,
 * the kernel's count of cores is told.
 */
void trma_node_probe_set_topology(void (*describe)(char *text, size_t room));

#endif
