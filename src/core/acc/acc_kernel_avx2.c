/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectorised kernels for x86 processors with AVX2. */
#if defined(__x86_64__)
#define TRMA_KERNEL_TARGET __attribute__((target("avx2")))
#define TRMA_KERNEL_TABLE  trma_acc_kernels_avx2
#include "acc_kernel_vector.inc"
#endif
