/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_door.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* pidfd_getfd (Linux 5.6) copies a descriptor out of another process. It asks for what process_vm_readv asks
 * for. */
static int pidfd_open_region(const struct trma_peer *peer, const struct trma_ticket *ticket) {
    if (peer->pid == 0) {
        errno = EPERM;
        return -1;
    }
    int process = (int)syscall(SYS_pidfd_open, peer->pid, 0);
    if (process < 0) {
        return -1;
    }
    int copy = (int)syscall(SYS_pidfd_getfd, process, ticket->descriptor, 0);
    int error = errno == EBADF ? ESTALE : errno;
    close(process);
    errno = error;
    return copy;
}

const struct trma_mem_door trma_mem_door_pidfd = {
    .name = "pidfd",
    .taken = "mapped through pidfd_getfd",
    .open = pidfd_open_region,
};
