/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_door.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mem_backing.h"

static const struct trma_mem_door *const doors[TRMA_MEM_DOORS] = {
    [TRMA_MEM_DOOR_PROC] = &trma_mem_door_proc,
    [TRMA_MEM_DOOR_PIDFD] = &trma_mem_door_pidfd,
    [TRMA_MEM_DOOR_SCM] = &trma_mem_door_scm,
    [TRMA_MEM_DOOR_SHM] = &trma_mem_door_shm,
};

#define BIT(kind)      (1U << (kind))
#define NAMELESS_DOORS (BIT(TRMA_MEM_DOOR_PROC) | BIT(TRMA_MEM_DOOR_PIDFD) | BIT(TRMA_MEM_DOOR_SCM))
#define PID_DOORS      (BIT(TRMA_MEM_DOOR_PROC) | BIT(TRMA_MEM_DOOR_PIDFD))
#define PROBED         (1U << 31)

static atomic_uint disabled;
static atomic_uint probed; /* doors found closed, and PROBED */

bool trma_mem_door_disable(const char *name) {
    for (unsigned kind = 0; kind < TRMA_MEM_DOORS; kind++) {
        if (strcmp(doors[kind]->name, name) == 0) {
            atomic_fetch_or(&disabled, BIT(kind));
            return true;
        }
    }
    return false;
}

static bool pidfd_works_on_self(void) {
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0) {
        return false;
    }
    int copy = (int)syscall(SYS_pidfd_getfd, self, self, 0);
    close(self);
    if (copy >= 0) {
        close(copy);
    }
    return copy >= 0;
}

static bool sockets_work(void) {
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return descriptor >= 0;
}

uint32_t trma_mem_door_closed(void) {
    unsigned known = atomic_load(&probed);
    if (known == 0) {
        known = PROBED;
        known |= access("/proc/self/fd", X_OK) == 0 ? 0 : BIT(TRMA_MEM_DOOR_PROC);
        known |= pidfd_works_on_self() ? 0 : BIT(TRMA_MEM_DOOR_PIDFD);
        known |= sockets_work() ? 0 : BIT(TRMA_MEM_DOOR_SCM);
        known |= access("/dev/shm", W_OK | X_OK) == 0 ? 0 : BIT(TRMA_MEM_DOOR_SHM);
        atomic_store(&probed, known);
    }
    return (known | atomic_load(&disabled)) & ~PROBED;
}

void trma_mem_door_name_closed(const struct trma_peer *peer, char *text, size_t size) {
    uint32_t closed = trma_mem_door_closed() | peer->doors_refused;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned kind = 0; kind < TRMA_MEM_DOORS && used < size; kind++) {
        if ((closed & BIT(kind)) != 0) {
            int written =
                snprintf(text + used, size - used, "%s%s", used != 0 ? ", " : "", doors[kind]->name);
            used += written > 0 ? (size_t)written : 0;
        }
    }
}

bool trma_mem_door_needs_names(void) {
    uint32_t closed = trma_mem_door_closed();
    return (closed & NAMELESS_DOORS) == NAMELESS_DOORS && (closed & BIT(TRMA_MEM_DOOR_SHM)) == 0 &&
           trma_mem_backing_nonce() != 0;
}

void trma_mem_door_serve_if_needed(const struct trma_identity *self, const struct trma_identity *peer) {
    bool is_foreign = self->pid_namespace != peer->pid_namespace || self->uid != peer->uid;
    uint32_t closed = self->doors_closed | peer->doors_closed;
    if ((is_foreign || (closed & PID_DOORS) == PID_DOORS) &&
        (peer->doors_closed & BIT(TRMA_MEM_DOOR_SCM)) == 0) {
        trma_mem_door_serve();
    }
}

bool trma_mem_door_verify(int descriptor, const struct trma_ticket *ticket) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == ticket->inode &&
           (uint64_t)status.st_size == ticket->size;
}

enum trma_status trma_mem_door_open(struct trma_peer *peer, const struct trma_ticket *ticket, int *descriptor,
                                    const char **reason) {
    const char *said =
        "the owner has closed the region's descriptor, since descriptors are scarce (ulimit -n)";
    enum trma_status status = TRMA_ERR_REFUSED;
    if (ticket->descriptor >= 0) {
        said = "no door is open: /proc/<pid>/fd, pidfd_getfd, SCM_RIGHTS and POSIX shm are all refused";
        for (unsigned kind = 0; kind < TRMA_MEM_DOORS; kind++) {
            if (((trma_mem_door_closed() | peer->doors_refused) & BIT(kind)) != 0) {
                continue;
            }
            int opened = doors[kind]->open(peer, ticket);
            if (opened >= 0 && trma_mem_door_verify(opened, ticket)) {
                *descriptor = opened;
                said = doors[kind]->taken;
                status = TRMA_OK;
                peer->door_proven = BIT(kind);
                break;
            }
            if (opened >= 0) {
                close(opened);
                errno = ESTALE;
            }
            if (errno == ESTALE) {
                if ((peer->door_proven & BIT(kind)) != 0) {
                    said = "the owner has given the region up";
                    break;
                }
                continue; /* or a door to another process, with a pid that means somebody else here */
            }
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
                said = "file descriptors or memory are exhausted";
                status = TRMA_ERR_NO_MEMORY;
                break;
            }
            peer->doors_refused |= BIT(kind);
        }
    }
    if (reason != NULL) {
        *reason = said;
    }
    return status;
}
