/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectorised kernels for x86 processors with AVX-512. Left alone, gcc would use half of a register's
 * width. */
#if defined(__x86_64__)
#if defined(__clang__)
#define TRMA_KERNEL_TARGET                                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), min_vector_width(512)))
#else
#define TRMA_KERNEL_TARGET                                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define TRMA_KERNEL_TABLE trma_acc_kernels_avx512
#include "acc_kernel_vector.inc"
#endif
