/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The magic links of /proc/<pid>/fd lead to the open file itself, so a memfd or an unlinked object can be
 * opened anew. The kernel asks for the right to read the process (ptrace mode "read", which Yama does not
 * restrict): the same user suffices.
 */
static int proc_open(const struct trma_peer *peer, const struct trma_ticket *ticket) {
    if (peer->proc_pid == 0) {
        errno = EPERM;
        return -1;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer->proc_pid, (int)ticket->descriptor);
    /* Looked at before it is opened: opening whatever has this number now (a device, a pipe) could do or wait
     * for something. */
    struct stat status;
    if (stat(path, &status) != 0) {
        int error = errno;
        snprintf(path, sizeof path, "/proc/%d/fd", (int)peer->proc_pid);
        errno = error == ENOENT && access(path, X_OK) == 0 ? ESTALE : error;
        return -1;
    }
    if (!S_ISREG(status.st_mode) || status.st_ino != ticket->inode) {
        errno = ESTALE;
        return -1;
    }
    return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

const struct trma_mem_door trma_mem_door_proc = {
    .name = "proc",
    .taken = "mapped through /proc/<pid>/fd",
    .open = proc_open,
};
