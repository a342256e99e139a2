/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_PROBE_YIELD_H
#define TRMA_NODE_PROBE_YIELD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a process that yields lets another one have the core. Linux may divide cores between sessions first
 * ("autogroups") or control groups: then sched_yield only lets others of the same one run, and a waiting
 * process uses up as much of the core as the one that it waits for. Some launchers give every process a
 * session of its own.
 */

/* Nanoseconds of processor time that the trial's one process computes. Some time slices long: what a
 * scheduler lends in one it takes back in the next. */
enum { TRMA_PROBE_YIELD_COMPUTING_NS = 20000000 };

/*
 * Two processes on one core, for some 40 ms: one computes, the other one yields, in sessions of their own or
 * in one. The processor time of the one that yields as a share of the other's: near 0 where it hands the core
 * over, near 1 where they get as much each, and more where the kernel has not balanced two new sessions yet
 * (2.0 was seen). Negative: it could not be tried.
 */
double trma_node_probe_yield_share(bool has_own_sessions);

/* One line, in a user's words, for two such shares; what cures it, where something does. */
void trma_node_probe_yield_describe(double in_one_session, double in_own_sessions, bool has_autogroups,
                                    char *text, size_t room);

#endif
