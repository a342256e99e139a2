/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectorised kernels in the instructions that every processor of the architecture has (SSE2, NEON). */
#define TRMA_KERNEL_TARGET
#define TRMA_KERNEL_TABLE trma_acc_kernels_baseline
#include "acc_kernel_vector.inc"
