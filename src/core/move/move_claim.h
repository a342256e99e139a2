/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_CLAIM_H
#define TRMA_MOVE_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "../trma_hidden.h"

/*
 * Lines that another processor has read cost two transactions when they are updated: the load brings them in
 * to be shared, the store takes them over. Who asks for them as a writer beforehand pays one, and for all
 * lines at once; a copy by string instructions, too, takes them over one after the other. Measured (Intel
 * Xeon, bench-latency with and without in turns, a target that reads what came): accumulates of 64 B to 8 KiB
 * by post, start, complete, wait and by fence in 0.67 to 0.85 of the time, puts of 1 to 8 KiB in 0.70
 * to 1.08.
 *
 * So is the line of the word by which the epoch's end will be announced, at which the peer looks all the
 * time: it is on its way while the data's lines are, instead of after them. Measured in turns as above, with
 * and without, 8 B to 8 KiB: in 0.95 of the time in the geometric mean (single cells 0.77 to 1.15, in ten
 * launches of each).
 *
 * Small gets have nothing else under way, and want that line the sooner the better; only that the peer takes
 * it back if the word is not written soon. So start asks for it where the last epoch with this target began
 * with a small get. Measured (AMD EPYC, Zen 3, bench-latency, the library before and after, which also spares
 * the epoch's first operation a look at the post, in turns, 5 launches): gets of 8 and 64 B by post, start,
 * complete, wait in 0.75 to 0.81 of the time, of 512 B in 0.89 to 0.97, of 1 KiB in 0.99 to 1.02. When every
 * start asked, and no operation later, gets of 4 and 8 KiB took 1.1 to 1.36 times as long, puts of 8 B to
 * 1 KiB up to 1.6 times (a loop of these calls, 10 launches of each in turns).
 *
 * AMD's string instructions, by which the C library copies more than 2 KiB there, take lines over without
 * reading them, and claims, which do read, only delay them (AMD EPYC, Zen 3, likewise, 10 to 20 launches of
 * each: puts of 3 to 8 KiB in 1.2 to 1.4 of the time, accumulates of 8 KiB in 1.1 to 1.2, of 4 KiB in 1.0, of
 * 64 B to 1 KiB in 0.65 to 0.84).
 *
 * Only for the first operation of an epoch in which the target takes part: it is then that the target has
 * been at its memory. Lines that are here already are asked for in vain: puts of 64 and 512 B in bursts of 32
 * took 1.2 to 1.5 times as long when each asked (bench-rate).
 */
enum {
    TRMA_MOVE_CLAIM_MOST = 8192,
    TRMA_MOVE_CLAIM_MOST_AMD = 2048,
    TRMA_MOVE_CLAIM_EARLY_MOST = 1024,
    TRMA_MOVE_CLAIM_LINE = 64
};

/* One of these, by the processor; set before main, and never again. */
extern TRMA_HIDDEN size_t trma_move_claim_most;

/* Asks for the line at `memory` to be written. A hint: changes nothing, faults never. */
static inline void trma_move_claim_line(const void *memory) {
#if defined(__x86_64__)
    /* The builtin gives the hint of a reader to all processors that may lack this one; they take it for no
     * instruction at all. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)memory));
#else
    __builtin_prefetch(memory, 1);
#endif
}

/* Asks for the lines of `size` bytes that are about to be written; more than trma_move_claim_most are left to
 * the processor, which runs ahead of long stretches by itself. A hint as well. */
static inline void trma_move_claim(void *memory, size_t size) {
    const uintptr_t begin = (uintptr_t)memory / TRMA_MOVE_CLAIM_LINE * TRMA_MOVE_CLAIM_LINE;
    const uintptr_t end = (uintptr_t)memory + size;

    if (size > trma_move_claim_most) {
        return;
    }
    for (uintptr_t line = begin; line < end; line += TRMA_MOVE_CLAIM_LINE) {
        trma_move_claim_line((const void *)line);
    }
}

#endif
