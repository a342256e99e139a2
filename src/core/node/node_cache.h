/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_CACHE_H
#define TRMA_NODE_CACHE_H

#include <stddef.h>

/*
 * The size in bytes of the largest cache that the first core uses, as the kernel tells it in /sys; 0 where it
 * does not. Not by sysconf: glibc 2.36 tells the sum of all such caches of an AMD processor, of which a core
 * uses one. Read once. Thread-safe.
 */
size_t trma_node_cache_bytes(void);

/* The same of its cache of the second level. */
size_t trma_node_cache_second_bytes(void);

/* Which one of the node's largest caches the core uses on which the caller is now: a number by which the
 * kernel tells them apart; 0 where it tells none. Thread-safe. */
unsigned trma_node_cache_number(void);

/* The number in a file such as /sys/devices/system/cpu/cpu0/cache/index3/size, in bytes where a unit follows;
 * 0 when it is not there or says something else. */
size_t trma_node_cache_read(const char *path);

#endif
