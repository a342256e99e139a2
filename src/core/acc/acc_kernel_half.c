/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of 16-bit floating-point types: computed as float, rounded once per element. */
#include "acc_half.h"
#include "acc_kernel.h"
#include "acc_types.h"

#define TRMA_KERNEL_TARGET

#define DEFINE_HALF_KERNELS(name)                                                                            \
    TRMA_DEFINE_KERNEL(sum_##name, trma_uint16,                                                              \
                       trma_acc_##name##_round(trma_acc_##name##_load(a) + trma_acc_##name##_load(b)))       \
    TRMA_DEFINE_KERNEL(prod_##name, trma_uint16,                                                             \
                       trma_acc_##name##_round(trma_acc_##name##_load(a) * trma_acc_##name##_load(b)))       \
    TRMA_DEFINE_KERNEL(max_##name, trma_uint16,                                                              \
                       trma_acc_##name##_load(a) > trma_acc_##name##_load(b) ? a : b)                        \
    TRMA_DEFINE_KERNEL(min_##name, trma_uint16, trma_acc_##name##_load(a) < trma_acc_##name##_load(b) ? a : b)

DEFINE_HALF_KERNELS(float16)
DEFINE_HALF_KERNELS(bfloat16)

static void sum_complex16(void *target, const void *origin, size_t n) {
    sum_float16(target, origin, 2 * n);
}

static _Complex float load_complex16(const trma_uint16 *parts) {
    _Complex float value;

    __real__ value = trma_acc_float16_load(parts[0]);
    __imag__ value = trma_acc_float16_load(parts[1]);
    return value;
}

static void prod_complex16(void *target, const void *origin, size_t n) {
    trma_uint16 *to = target;
    const trma_uint16 *from = origin;

    for (size_t i = 0; i < 2 * n; i += 2) {
        const _Complex float product = load_complex16(to + i) * load_complex16(from + i);
        to[i] = trma_acc_float16_round(__real__ product);
        to[i + 1] = trma_acc_float16_round(__imag__ product);
    }
}

#define HALF_ENTRIES(name, element)                                                                          \
    [TRMA_OPERATION_SUM][element] = sum_##name, [TRMA_OPERATION_PROD][element] = prod_##name,                \
    [TRMA_OPERATION_MAX][element] = max_##name, [TRMA_OPERATION_MIN][element] = min_##name

trma_acc_kernel_table trma_acc_kernels_half = {
    HALF_ENTRIES(float16, TRMA_ELEMENT_FLOAT16),
    HALF_ENTRIES(bfloat16, TRMA_ELEMENT_BFLOAT16),
    [TRMA_OPERATION_SUM][TRMA_ELEMENT_COMPLEX16] = sum_complex16,
    [TRMA_OPERATION_PROD][TRMA_ELEMENT_COMPLEX16] = prod_complex16,
};
