/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_DOOR_H
#define TRMA_MEM_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "../node/node_peer.h"
#include "../trma_hidden.h"
#include "../trma_status.h"
#include "mem_ticket.h"

/*
 * Doors: the ways by which the descriptor of a region comes from its owner to a peer. One file per door,
 * tried in the order of this list. Whatever a door gives is verified (inode and size) before it is used:
 * descriptors and pids are reused.
 */
enum trma_mem_door_kind {
    TRMA_MEM_DOOR_PROC,  /* open /proc/<pid>/fd/<n>: needs /proc and the same user */
    TRMA_MEM_DOOR_PIDFD, /* pidfd_getfd: needs no /proc, but the right to trace */
    TRMA_MEM_DOOR_SCM,   /* SCM_RIGHTS over an abstract Unix socket: needs a thread in the owner, and one
                            network namespace */
    TRMA_MEM_DOOR_SHM,   /* a POSIX shared memory object with a name: needs a common /dev/shm */
    TRMA_MEM_DOORS
};

struct trma_mem_door {
    const char *name;  /* as a knob gives it: "proc", "pidfd", "scm", "shm" */
    const char *taken; /* what to tell when it was the one, in a user's words */
    /*
     * Gives a descriptor that may be the region's, close-on-exec, owned by the caller; else -1 with errno
     * set: ESTALE when a process was reached that does not have the region (any more). The region's
     * descriptor is open at the owner's (ticket->descriptor >= 0) when this is called.
     */
    int (*open)(const struct trma_peer *peer, const struct trma_ticket *ticket);
};

extern TRMA_HIDDEN const struct trma_mem_door trma_mem_door_proc;
extern TRMA_HIDDEN const struct trma_mem_door trma_mem_door_pidfd;
extern TRMA_HIDDEN const struct trma_mem_door trma_mem_door_scm;
extern TRMA_HIDDEN const struct trma_mem_door trma_mem_door_shm;

/*
 * Opens the region of `ticket`, owned by `peer`; *descriptor is the caller's. Doors that refused this peer
 * before are not tried again. *reason, when not NULL, gets which door was taken or why none was (static
 * text). TRMA_ERR_REFUSED: none is open; TRMA_ERR_NO_MEMORY: descriptors are exhausted here. Not thread-safe
 * for one peer: the caller holds the lock of the mappings.
 */
enum trma_status trma_mem_door_open(struct trma_peer *peer, const struct trma_ticket *ticket, int *descriptor,
                                    const char **reason);

/* True when the descriptor is the ticket's region: regular memory with the right inode and size. */
bool trma_mem_door_verify(int descriptor, const struct trma_ticket *ticket);

/*
 * Closes a door for this process as the mapper, by its name (a knob, a test); false when no door has this
 * name. To be called before the first identity is made: peers learn from it what they have to offer.
 */
bool trma_mem_door_disable(const char *name);

/* The doors that are closed for this process as a mapper, found by trying them on itself: a bit per
 * trma_mem_door_kind. */
uint32_t trma_mem_door_closed(void);

/* Writes the names of the doors between this process as the mapper and the peer that are known to be closed,
 * with commas in between; an empty text when there are none. */
void trma_mem_door_name_closed(const struct trma_peer *peer, char *text, size_t size);

/* True when nothing but named objects can reach a peer that is as locked in as this process. */
bool trma_mem_door_needs_names(void);

/*
 * Looks whether a peer with these properties (or this process itself) may need SCM_RIGHTS, and starts the
 * service thread then, once. It serves until the process ends or trma_mem_door_serve_stop. A thread in every
 * program is not wanted; that is why it waits for a reason.
 */
void trma_mem_door_serve_if_needed(const struct trma_identity *self, const struct trma_identity *peer);
void trma_mem_door_serve(void);
void trma_mem_door_serve_stop(void);
/* Kernel's id of the service thread, 0 when there is none: adoption must not take it for one of the
 * program's. */
int trma_mem_door_serve_thread(void);
/*
 * What SCM_RIGHTS carries, over a connected SEQPACKET socket: one message with the serial and, unless it is
 * -1, the descriptor. The receiver owns what it gets: -1 with errno set when nothing came, or not for this
 * serial (ESTALE).
 */
void trma_mem_door_send(int connection, uint64_t serial, int descriptor);
int trma_mem_door_receive(int connection, uint64_t serial);
/* In the child of a fork: the service is the parent's. */
void trma_mem_door_serve_forget(void);

#endif
