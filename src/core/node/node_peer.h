/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PEER_H
#define TRMA_NODE_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../mem/mem_ticket.h"
#include "../trma_status.h"

/*
 * Peers: the processes whose memory this process can reach. A peer is known by its identity, a plain record
 * that the face exchanges with a collective of the host MPI. Two ranks are peers when they run on the same
 * kernel and agree on the layout of the shared control words.
 */

/* Raised whenever shared structures change: two different builds of the library never share words. */
#define TRMA_LAYOUT_VERSION 10U

/* Plain data, no pointers, no padding: travels by value. Filled by trma_node_identity_self. */
struct trma_identity {
    uint64_t host; /* hash of the kernel's boot id (and host name when that is hidden): the same on one node
                      only */
    uint64_t start_time; /* of the process, clock ticks since boot: tells a reused pid apart; 0 where /proc is
                            hidden */
    int32_t pid;         /* as the process sees itself */
    uint32_t pid_namespace; /* inode of /proc/self/ns/pid, 0 when hidden */
    uint32_t uid;
    uint32_t layout_version; /* TRMA_LAYOUT_VERSION of the process */
    uint32_t doors_closed;   /* ways to reach memory of others that are closed to the process (mem_door.h) */
    uint32_t reserved;       /* 0 */
    uint64_t probe_address;  /* of a word in the process's private memory that holds probe_value: what a CMA
                                probe reads */
    uint64_t probe_value;
    int64_t xpmem_segment; /* all of its memory, for mem_xpmem.h; 0: not offered */
    struct trma_ticket
        beacon; /* the first region of the control heap: mapping it proves that regions can be passed */
};

struct trma_peer {
    struct trma_identity identity;
    bool is_self;
    bool is_mapped;      /* the beacon could be mapped: control words of this peer can be reached */
    atomic_bool has_cma; /* process_vm_readv, or its memory as a file, was tried on this peer and gave the
                            right bytes; cleared when refused later */
    const char
        *map_reason; /* why is_mapped is false, or which door was taken; static text in a user's words */
    const char *cma_reason; /* why has_cma is false; static text in a user's words, NULL when it works */
    int64_t xpmem_access;   /* by which its private memory is attached, tried as CMA is; 0: it cannot be */
    pid_t pid; /* the peer's pid as *this* process names it, for process_vm_*; 0 when it cannot be named */
    pid_t proc_pid;           /* the peer's number in /proc as this process sees it; 0 when it is not shown */
    uint64_t start_time;      /* of the peer, as this process reads it; 0 when unknown */
    uint32_t doors_refused;   /* for mem_door.c: ways that this peer has refused */
    uint32_t door_proven;     /* for mem_door.c: the way that last led to this peer */
    atomic_int memory_file;   /* 1 + a descriptor of the peer's /proc/<pid>/mem; 0: none (yet) */
    atomic_bool is_file_only; /* the system calls of CMA are refused: the file serves for everything */
    atomic_uint small_transfers;      /* for move_copy_cma.c: that went without the file */
    _Atomic(struct trma_gate *) gate; /* the peer's, mapped here; set by every team with it, always to the
                                         same, NULL before */
    int beacon; /* for node_peer.c: descriptor of the beacon, kept only where the pid cannot be named; else -1
                 */
};

/*
 * false: no peer has CMA, as if the kernel refused it (a knob, a test). For peers acquired from now on.
 */
void trma_node_peer_allow_cma(bool allow);

/* Fills *out with this process's identity; makes the control heap's first region when there is none yet.
 * Thread-safe. */
enum trma_status trma_node_identity_self(struct trma_identity *out);

/* True when the two identities can be peers: same host and same layout version. Does not try anything. */
bool trma_node_identity_is_near(const struct trma_identity *a, const struct trma_identity *b);

/*
 * Looks the peer with this identity up, or makes it: maps its beacon and probes CMA with a real read of its
 * probe word. Always gives a peer unless memory is exhausted; is_mapped and has_cma say what works. One
 * object per process, counted: every acquire needs a trma_node_peer_release. Thread-safe.
 */
enum trma_status trma_node_peer_acquire(const struct trma_identity *identity, struct trma_peer **out);
void trma_node_peer_release(struct trma_peer *peer);

/*
 * Opens the peer's memory as a file: that asks the kernel for the same right as process_vm_readv, but by
 * system calls that no container's profile refuses, and only once. False when it is refused, when the file
 * is not this peer's, or, unless it `is_needed`, when it would take one of the last descriptors. Thread-safe.
 */
bool trma_node_peer_open_memory(struct trma_peer *peer, bool is_needed);

/*
 * True unless the process has certainly ended (a zombie has ended). Costs a few system calls: for waiters,
 * now and then. Where pids cannot be named (another pid namespace) it answers by the lock that every process
 * holds on its own beacon.
 */
bool trma_node_peer_is_alive(const struct trma_peer *peer);

#endif
