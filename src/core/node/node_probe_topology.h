/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PROBE_TOPOLOGY_H
#define TRMA_NODE_PROBE_TOPOLOGY_H

#include <stddef.h>

/*
 * One line about packages, NUMA nodes, cores and caches, by hwloc: for trma_node_probe_set_topology. Not part
 * of the core's library: compiled into the launcher, which links hwloc. Takes tens of milliseconds.
 */
void trma_node_probe_topology(char *text, size_t room);

#endif
