/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_GUARD_H
#define TRMA_MEM_ADOPT_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A guard holds back whoever may write into a range while its pages are exchanged. Alone in the process it
 * blocks the signals of the calling thread, so that no handler runs. With other threads it opens a
 * userfaultfd as well: a write, or a touch of a page that is not there, waits (in user code and inside system
 * calls alike) until the range is let go; it then meets the new mapping.
 */
struct trma_guard {
    sigset_t signals; /* as they were */
    int userfault;    /* -1: alone */
};

/*
 * Opens a userfaultfd that can hold back writes to private and shared memory, the kernel's own included (a
 * read() into the range must wait, not fail); -1 with errno set where that is not allowed. Owned by the
 * caller.
 */
int trma_mem_guard_open_userfault(void);

/* Opens a guard; NULL, or the reason why threads cannot be held back (static text). */
const char *trma_mem_guard_open(struct trma_guard *guard, bool has_threads);
void trma_mem_guard_close(struct trma_guard *guard);

/* True when it would open. */
bool trma_mem_guard_is_possible(bool has_threads);

/*
 * Holds writes to [low, high) back, whole pages of one mapping; false when the kernel refuses. The calling
 * thread must not write there, nor read pages that are not there. What it does in between must not need a
 * lock that a held thread may have: no allocation.
 */
bool trma_mem_guard_hold(struct trma_guard *guard, uintptr_t low, uintptr_t high);
/* Lets everybody go who waits for the range. Whatever is mapped there now is what they meet. */
void trma_mem_guard_let_go(struct trma_guard *guard, uintptr_t low, uintptr_t high);

#endif
