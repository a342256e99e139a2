/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_THREADS_H
#define TRMA_MEM_ADOPT_THREADS_H

#include <stdbool.h>

/*
 * Does this process have threads that may write into the memory that the calling thread is about to exchange?
 * All but the caller, our own service thread (mem_door.h) and those that are trusted (mem_adopt.h). True as
 * well where /proc does not tell.
 */
bool trma_mem_threads_may_write(void);

/* Are there other threads at all, trusted ones and our own included? True as well where /proc does not tell.
 */
bool trma_mem_threads_exist(void);

/* In the child of a fork there is one thread. */
void trma_mem_threads_forget(void);

#endif
