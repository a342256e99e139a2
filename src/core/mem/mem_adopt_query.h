/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_QUERY_H
#define TRMA_MEM_ADOPT_QUERY_H

#include <stdint.h>

/*
 * Asks the kernel for one mapping of this process by address (PROCMAP_QUERY, Linux 6.11), where the text of
 * /proc/self/maps would have to be read from the start. Thread-safe; allocates nothing.
 */
struct trma_query_mapping {
    uintptr_t low;
    uintptr_t high;
    uint64_t inode;
    char name[64]; /* what is mapped, as in maps; cut to what fits */
};

enum trma_query_answer { TRMA_QUERY_FOUND, TRMA_QUERY_NONE, TRMA_QUERY_UNKNOWN };

/*
 * The first shared mapping that reaches beyond `address`. `maps` is an open descriptor of /proc/self/maps.
 * UNKNOWN: this kernel does not answer.
 */
enum trma_query_answer trma_mem_query_shared(int maps, uintptr_t address, struct trma_query_mapping *mapping);

#endif
