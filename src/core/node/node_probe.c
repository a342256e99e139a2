/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_probe.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "node_peer_process.h"
#include "node_probe_doors.h"
#include "node_probe_yield.h"

/* CPUs that an affinity mask may name: the mask grows until the kernel accepts its size. */
#define MOST_CPUS (1U << 18)

static void (*_Atomic topology_describe)(char *text, size_t room);

void trma_node_probe_set_topology(void (*describe)(char *text, size_t room)) {
    atomic_store(&topology_describe, describe);
}

static unsigned count_allowed_cores(void) {
    unsigned allowed = 0;
    for (unsigned cpus = 1024; allowed == 0 && cpus <= MOST_CPUS; cpus *= 4) {
        cpu_set_t *mask = CPU_ALLOC(cpus);
        if (mask == NULL) {
            break;
        }
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), mask) == 0) {
            allowed = (unsigned)CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), mask);
        } else if (errno != EINVAL) {
            cpus = MOST_CPUS;
        }
        CPU_FREE(mask);
    }
    return allowed;
}

static size_t soft_limit(int resource) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) {
        return 0;
    }
    return limit.rlim_cur > SIZE_MAX ? SIZE_MAX : (size_t)limit.rlim_cur;
}

static size_t free_bytes_of_shm(void) {
    struct statvfs status;
    return statvfs("/dev/shm", &status) == 0 ? (size_t)status.f_bavail * status.f_frsize : 0;
}

static void describe_huge_pages(char *text, size_t room) {
    int error = trma_node_probe_huge_pages();
    if (error == 0) {
        snprintf(text, room,
                 "shared memory of 2 MiB and more can be put on huge pages (MADV_COLLAPSE works)");
    } else if (error == EINVAL) {
        snprintf(text, room,
                 "shared memory stays on small pages: the kernel has no MADV_COLLAPSE (Linux 6.1)");
    } else {
        snprintf(text, room, "shared memory stays on small pages: %s", strerror(error));
    }
}

void trma_node_probe_run(struct trma_probe *out, bool with_topology) {
    *out = (struct trma_probe){0};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    out->cores_online = online > 0 ? (unsigned)online : 1;
    out->cores_allowed = count_allowed_cores();
    out->yama_scope = trma_node_process_yama_scope();
    out->shm_bytes_free = free_bytes_of_shm();
    out->descriptor_limit = soft_limit(RLIMIT_NOFILE);
    out->lock_limit = soft_limit(RLIMIT_MEMLOCK);
    describe_huge_pages(out->huge_pages, sizeof out->huge_pages);
    trma_node_probe_yield_describe(trma_node_probe_yield_share(false), trma_node_probe_yield_share(true),
                                   trma_node_process_has_autogroups(), out->yields, sizeof out->yields);
    trma_node_probe_doors(out);
    if (with_topology) {
        void (*describe)(char *text, size_t room) = atomic_load(&topology_describe);
        if (describe != NULL) {
            describe(out->topology, sizeof out->topology);
        } else {
            snprintf(out->topology, sizeof out->topology, "%u cores", out->cores_online);
        }
    }
}
