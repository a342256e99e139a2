/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_door.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem_backing.h"

/*
 * The last door: the owner's regions are POSIX objects with a name (only when the owner itself finds all
 * other doors closed, trma_mem_door_needs_names), which lasts until the window's members have mapped them, or
 * the chunk or the owner ends. What a killed owner leaves is unlinked by its tracker (mem_tracker.h).
 */
static int shm_open_region(const struct trma_peer *peer, const struct trma_ticket *ticket) {
    char name[TRMA_BACKING_NAME];
    trma_mem_backing_name(peer->identity.probe_value, ticket->serial, name);
    int descriptor = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (descriptor < 0 && errno == ENOENT) {
        errno = ESTALE; /* has lost its name: that says nothing about the next region */
    }
    return descriptor;
}

const struct trma_mem_door trma_mem_door_shm = {
    .name = "shm",
    .taken = "mapped through a POSIX shared memory object",
    .open = shm_open_region,
};
