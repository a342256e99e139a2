/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_STATUS_H
#define TRMA_STATUS_H

/*
 * What a function of the core answers. The face (src/mpi) turns these into MPI error classes; the core never
 * prints, never exits and never raises. TRMA_OK is zero, so `if (status)` reads as "if it failed".
 */
enum trma_status {
    TRMA_OK = 0,
    TRMA_ERR_NO_MEMORY, /* memory, address space or file descriptors are exhausted */
    TRMA_ERR_REFUSED, /* the kernel or its policy refuses this way of reaching memory: another path may still
                         work */
    TRMA_ERR_RANGE,   /* target memory lies outside of what the window exposes, or is not mapped in the target
                       */
    TRMA_ERR_SYNC,    /* call outside of an epoch, or synchronisation calls that do not match */
    TRMA_ERR_PEER_DEAD, /* a process that must take part has ended */
    TRMA_ERR_ARGUMENT,  /* an argument that no caller may pass; the face checks what users may get wrong */
    TRMA_ERR_SYSTEM     /* a system call failed in a way that has no meaning above */
};

/* A static, human-readable phrase for a status ("the peer has ended"); never NULL. Thread-safe. */
const char *trma_status_text(enum trma_status status);

#endif
