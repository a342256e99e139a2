/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_query.h"

#include <errno.h>
#include <sys/ioctl.h>

/* As in <linux/fs.h> of Linux 6.11, which the system's headers may be older than. */
struct procmap_query {
    uint64_t size; /* of this structure */
    uint64_t query_flags;
    uint64_t query_address;
    uint64_t low;
    uint64_t high;
    uint64_t flags;
    uint64_t page_size;
    uint64_t offset;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    uint32_t name_size; /* in: room, out: with the final zero; 0: no name wanted, or none there */
    uint32_t build_id_size;
    uint64_t name_address;
    uint64_t build_id_address;
};

enum { QUERY_SHARED = 0x08, QUERY_COVERING_OR_NEXT = 0x10 };

#define QUERY_MAPPING _IOWR('f', 17, struct procmap_query)

enum trma_query_answer trma_mem_query_shared(int maps, uintptr_t address,
                                             struct trma_query_mapping *mapping) {
    struct procmap_query query = {.size = sizeof query,
                                  .query_flags = QUERY_SHARED | QUERY_COVERING_OR_NEXT,
                                  .query_address = address,
                                  .name_size = sizeof mapping->name,
                                  .name_address = (uintptr_t)mapping->name};
    int result = ioctl(maps, QUERY_MAPPING, &query);
    if (result != 0 && errno == ENAMETOOLONG) {
        /* None of the names that matter here is so long. */
        query.name_size = 0;
        query.name_address = 0;
        result = ioctl(maps, QUERY_MAPPING, &query);
    }
    if (result != 0) {
        return errno == ENOENT ? TRMA_QUERY_NONE : TRMA_QUERY_UNKNOWN;
    }
    mapping->low = (uintptr_t)query.low;
    mapping->high = (uintptr_t)query.high;
    mapping->inode = query.inode;
    mapping->name[query.name_size > 0 ? sizeof mapping->name - 1 : 0] = '\0';
    return TRMA_QUERY_FOUND;
}
