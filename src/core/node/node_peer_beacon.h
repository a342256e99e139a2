/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PEER_BEACON_H
#define TRMA_NODE_PEER_BEACON_H

#include <stdbool.h>

/*
 * The lock that a process holds on its beacon for life: how those who cannot name its pid see whether it has
 * ended. It is a POSIX record lock, since that belongs to the process: a forked child does not share it, and
 * the kernel takes it away when the process ends, however it ends. (An OFD lock would live on in the child.)
 * Its well-known trap, that closing any descriptor of the file drops it, is why the owner never opens or
 * copies the beacon's descriptor.
 */

/* Takes the lock on the beacon's descriptor; a kernel that refuses leaves the peers unable to tell that we
 * have ended. */
void trma_node_beacon_hold(int descriptor);

/* True when the owner of this file holds its lock, or when that cannot be found out. */
bool trma_node_beacon_is_held(int descriptor);

#endif
