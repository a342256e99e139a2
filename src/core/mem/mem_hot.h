/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_HOT_H
#define TRMA_MEM_HOT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Hot memory: the program's own memory out of which, or into which, is copied again and again. It comes from
 * malloc and lies on small pages, while the windows lie on huge ones (mem_huge.h); then every few KiB of a
 * copy wait for a translation, which in a virtual machine is walked twice. So an extent of the size of a huge
 * page through which has been copied for as long as it would take to move it there is put onto one, by
 * MADV_COLLAPSE: the content stays, and so does what the process owns, since only extents are moved whose
 * pages are all there, and not shared by a fork. Where the program has said that memory is not to lie on huge
 * pages, the kernel refuses.
 *
 * Measured (Xeon in a virtual machine): copies within a process between 8 MiB on huge pages and 8 MiB on
 * small ones 11.2 GB/s, both on huge ones 14.2, both on small ones 10.3 (where both processors
 * did so 13.5, 14.0 and 13.2 and more); moving an extent takes 0.6 to 1.3
 * ms, and 7 to 10 where the machine has to give the page first. So what a process spends on it is bounded as
 * for new memory (mem_huge.h).
 */

enum {
    TRMA_HOT_LEAST = 256 << 10, /* bytes of a copy that should be noted */
    TRMA_HOT_ENOUGH = 64 << 20, /* bytes copied through an extent before it is moved */
    TRMA_HOT_AGAIN = 64,        /* times as many before it is looked at again: other memory may lie there */
    TRMA_HOT_EXTENTS = 1024     /* that are known at a time */
};

/* false: nothing is moved (a knob). */
void trma_mem_hot_allow(bool allow);

/* Notes that so many bytes are about to be copied from or to `memory`, by the calling process; mostly that is
 * all. Best effort, never fails; content never changes. Takes the lock of the owner's regions. Thread-safe.
 */
void trma_mem_hot_note(const void *memory, size_t size);

#endif
