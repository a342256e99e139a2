/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PEER_PROCESS_H
#define TRMA_NODE_PEER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the kernel tells about processes. All functions are thread-safe and hold nothing open. */

/* Hash of the kernel's boot id, of the host name where that is hidden: equal for all processes on one kernel.
 */
uint64_t trma_node_process_host(void);

/*
 * When a process started, in clock ticks since boot (field 22 of /proc/<proc_pid>/stat; proc_pid 0 is this
 * process); 0 where /proc is hidden or the process has ended.
 */
uint64_t trma_node_process_start_time(pid_t proc_pid);

/* The same of a thread of this process. */
uint64_t trma_node_process_thread_start_time(pid_t thread);

/* True when the numbers in /proc are the pids of this process's namespace: containers may be given another
 * /proc. */
bool trma_node_process_owns_proc(void);

/* Inode of /proc/self/ns/pid; 0 where it is hidden. */
uint32_t trma_node_process_pid_namespace(void);

/* kernel.yama.ptrace_scope; -1 when the kernel has no Yama or hides it. */
int trma_node_process_yama_scope(void);

/* True when the kernel puts sessions into autogroups (node_probe_yield.h). */
bool trma_node_process_has_autogroups(void);

/*
 * The number in /proc of the process that is `pid` in the pid namespace with this inode; 0 when /proc does
 * not show it. Costs a walk over /proc.
 */
pid_t trma_node_process_find(pid_t pid, uint32_t pid_namespace);

/*
 * False when no process with this pid runs any more, a zombie included, or when /proc/<proc_pid> (0: not to
 * be asked) started at another time than start_time (0: unknown), so that the pid has been reused.
 */
bool trma_node_process_is_alive(pid_t pid, pid_t proc_pid, uint64_t start_time);

#endif
