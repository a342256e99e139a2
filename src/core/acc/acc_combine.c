/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "acc_element.h"
#include "acc_kernel.h"

static trma_acc_kernel_table *choose_vector_kernels(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return &trma_acc_kernels_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return &trma_acc_kernels_avx2;
    }
#endif
    return &trma_acc_kernels_baseline;
}

/* The families' tables do not overlap: each operation on each element is in exactly one. */
trma_acc_kernel *trma_acc_kernel_find(enum trma_operation operation, enum trma_element element) {
    static _Atomic(trma_acc_kernel_table *) vector_kernels;
    trma_acc_kernel_table *const other_families[] = {&trma_acc_kernels_pair, &trma_acc_kernels_wide,
                                                     &trma_acc_kernels_half};

    /* Relaxed: every thread that finds NULL computes the same address of constant data. */
    trma_acc_kernel_table *table = atomic_load_explicit(&vector_kernels, memory_order_relaxed);
    if (!table) {
        table = choose_vector_kernels();
        atomic_store_explicit(&vector_kernels, table, memory_order_relaxed);
    }
    trma_acc_kernel *kernel = (*table)[operation][element];
    for (size_t i = 0; !kernel && i < sizeof(other_families) / sizeof(other_families[0]); i++) {
        kernel = (*other_families[i])[operation][element];
    }
    return kernel;
}

void trma_acc_combine(enum trma_operation operation, enum trma_element element, void *target,
                      const void *origin, size_t n) {
    if (operation == TRMA_OPERATION_REPLACE) {
        trma_acc_copy(element, target, origin, n);
    } else if (operation != TRMA_OPERATION_NO_OP) {
        trma_acc_kernel_run(trma_acc_kernel_find(operation, element), trma_acc_element_extent(element),
                            target, origin, n);
    }
}

bool trma_acc_combine_bytes(unsigned operation, unsigned element, void *target, const void *operands,
                            size_t bytes) {
    if (!trma_acc_operation_is_allowed(operation, element) || bytes % trma_acc_element_extent(element) != 0) {
        return false;
    }
    trma_acc_combine(operation, element, target, operands, bytes / trma_acc_element_extent(element));
    return true;
}
