/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_probe_topology.h"

#include <hwloc.h>
#include <stdio.h>

/* Size of the cache of this kind that core 0 uses, in KiB; 0 when there is none. */
static unsigned long long cache_kib(hwloc_topology_t topology, hwloc_obj_type_t type) {
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache != NULL ? (unsigned long long)cache->attr->cache.size >> 10 : 0;
}

void trma_node_probe_topology(char *text, size_t room) {
    hwloc_topology_t topology;
    text[0] = '\0';
    if (hwloc_topology_init(&topology) != 0) {
        return;
    }
    if (hwloc_topology_load(topology) == 0) {
        snprintf(text, room,
                 "%d packages, %d NUMA nodes, %d cores, %d hardware threads; L1d %llu, L2 %llu, L3 %llu KiB",
                 hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE),
                 hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE),
                 hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
                 hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), cache_kib(topology, HWLOC_OBJ_L1CACHE),
                 cache_kib(topology, HWLOC_OBJ_L2CACHE), cache_kib(topology, HWLOC_OBJ_L3CACHE));
    }
    hwloc_topology_destroy(topology);
}
