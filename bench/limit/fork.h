/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of the limit programs, and the memory that they have in common. Nothing here is thread-safe;
 * what the machine refuses ends the program after a message. */
#ifndef TRUERMA_BENCH_LIMIT_FORK_H
#define TRUERMA_BENCH_LIMIT_FORK_H

#include <stddef.h>
#include <sys/types.h>

/* Zeroed memory of so many bytes, shared with the processes forked from then on; no page of it is there
 * before it is touched. The caller's, to unmap. */
void *limit_memory_share(size_t bytes);

/* A process that ends with its parent, pinned as rank `place` (`pin` as bench_pin takes it); it ends with
 * status 2 where that fails. Returns 0 in it, its number in the parent. */
pid_t limit_process_fork(const char *pin, int place);

#endif
