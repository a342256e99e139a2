/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_TRACKER_H
#define TRMA_MEM_TRACKER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The tracker: a tiny process that outlives this one by a moment and removes what a killed process could not.
 * It exists only while POSIX shared memory objects need names, which is the last of all ways to pass memory
 * (mem_door_shm.c). It sleeps on a pipe whose other end this process holds; when that end closes, for
 * whatever reason, it unlinks every name of this process and ends. The idea is that of Python's
 * multiprocessing.resource_tracker.
 */

/* How the names of this project's objects begin, for shm_open. */
#define TRMA_TRACKER_PREFIX "/truerma-"

/* Starts the tracker for the names that begin with TRMA_TRACKER_PREFIX and this nonce, unless it runs
 * already. False: it could not. Thread-safe. */
bool trma_mem_tracker_start(uint64_t nonce);

/* Ends the tracker, which removes what names are left. Thread-safe. */
void trma_mem_tracker_stop(void);

/* In the child of a fork: the parent's tracker is not ours. Called by mem_region's fork handler. */
void trma_mem_tracker_forget(void);

#endif
