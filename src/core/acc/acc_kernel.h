/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_KERNEL_H
#define TRMA_ACC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../trma_hidden.h"
#include "acc_element.h"

/*
 * Kernels: one function per operation and element type that runs over arrays. The simple numeric ones come
 * from acc_kernel_vector.inc, which is compiled once per instruction set; all others are the same for every
 * processor. Instruction sets are chosen through function pointers, not through ifunc: resolvers would run
 * before a sanitizer's run-time is up when the library is preloaded.
 */

/* target[i] = target[i] op origin[i], i < n. */
typedef void trma_acc_kernel(void *target, const void *origin, size_t n);

/* Kernels by operation and element; NULL where there is none. */
typedef trma_acc_kernel *const trma_acc_kernel_table[TRMA_OPERATION_COUNT][TRMA_ELEMENT_COUNT];

/*
 * A cache line, which is also the widest vector, and from how many bytes on it pays to begin at one: a vector
 * that lies in two lines takes twice the time to store (measured on an Intel Xeon with AVX-512: 4 KiB of sums
 * in 30 ns from the begin of a line on, in 61 to 69 from elsewhere; malloc's memory begins elsewhere).
 */
enum { TRMA_ACC_LINE_BYTES = 64, TRMA_ACC_LINED_LEAST = 1024 };

/* Runs a kernel over n elements of `extent` bytes, a power of two: the first ones apart, so that the others
 * begin with a line of the target's. */
static inline void trma_acc_kernel_run(trma_acc_kernel *kernel, size_t extent, void *target,
                                       const void *origin, size_t n) {
    const int shift = __builtin_ctzl(extent);
    const size_t first = -(uintptr_t)target % TRMA_ACC_LINE_BYTES >> shift;

    if (first != 0 && n << shift >= TRMA_ACC_LINED_LEAST) {
        kernel(target, origin, first);
        target = (char *)target + (first << shift);
        origin = (const char *)origin + (first << shift);
        n -= first;
    }
    kernel(target, origin, n);
}

/* Defines the kernel `name` for elements of `type`: `expression` computes the new value from a (target) and b
 * (origin). Unrolled, because the processor foresees the end of a short loop, not that of a long one. */
#define TRMA_DEFINE_KERNEL(name, type, expression)                                                           \
    TRMA_KERNEL_TARGET static void name(void *target, const void *origin, size_t n) {                        \
        type *restrict to = target;                                                                          \
        const type *restrict from = origin;                                                                  \
        _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++) {                                             \
            const type a = to[i];                                                                            \
            const type b = from[i];                                                                          \
            to[i] = (type)(expression);                                                                      \
        }                                                                                                    \
    }

/* Vectorised kernels, by instruction set. */
extern TRMA_HIDDEN trma_acc_kernel_table trma_acc_kernels_baseline;
#if defined(__x86_64__)
extern TRMA_HIDDEN trma_acc_kernel_table trma_acc_kernels_avx2;
extern TRMA_HIDDEN trma_acc_kernel_table trma_acc_kernels_avx512;
#endif

/* Kernels that no instruction set makes faster, by family. */
extern TRMA_HIDDEN trma_acc_kernel_table trma_acc_kernels_wide; /* 128 bits, long double, complex products */
extern TRMA_HIDDEN trma_acc_kernel_table trma_acc_kernels_half; /* 16-bit floating point */
extern TRMA_HIDDEN trma_acc_kernel_table trma_acc_kernels_pair; /* MAXLOC and MINLOC */

/* The best kernel on this processor; NULL for REPLACE, NO_OP and what is not allowed. Thread-safe. */
trma_acc_kernel *trma_acc_kernel_find(enum trma_operation operation, enum trma_element element);

#endif
