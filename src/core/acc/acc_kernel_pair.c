/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MAXLOC and MINLOC (MPI-4.1 section 6.9.4): the pair with the greater (lesser) value; of equal values the
 * lower index. The members are written one by one, so that holes in the target stay as they are. A value that
 * cannot be compared (NaN) leaves the target unchanged.
 */
#include <string.h>

#include "acc_kernel.h"
#include "acc_types.h"

#define DEFINE_PAIR_KERNEL(operation, name, value_type, index_type, wins)                                    \
    static void operation##_##name(void *target, const void *origin, size_t n) {                             \
        typedef struct trma_pair_##name pair;                                                                \
        for (size_t i = 0; i < n; i++) {                                                                     \
            char *to = (char *)target + i * sizeof(pair);                                                    \
            const char *from = (const char *)origin + i * sizeof(pair);                                      \
            value_type a, b;                                                                                 \
            index_type a_index, b_index;                                                                     \
            memcpy(&a, to, sizeof(a));                                                                       \
            memcpy(&b, from, sizeof(b));                                                                     \
            memcpy(&a_index, to + offsetof(pair, index), sizeof(a_index));                                   \
            memcpy(&b_index, from + offsetof(pair, index), sizeof(b_index));                                 \
            if (b wins a) {                                                                                  \
                memcpy(to, &b, sizeof(b));                                                                   \
            }                                                                                                \
            if (b wins a || (a == b && b_index < a_index)) {                                                 \
                memcpy(to + offsetof(pair, index), &b_index, sizeof(b_index));                               \
            }                                                                                                \
        }                                                                                                    \
    }

#define DEFINE_PAIR_KERNELS(name, value_type, index_type)                                                    \
    DEFINE_PAIR_KERNEL(maxloc, name, value_type, index_type, >)                                              \
    DEFINE_PAIR_KERNEL(minloc, name, value_type, index_type, <)

TRMA_PAIR_TYPES(DEFINE_PAIR_KERNELS)

#define PAIR_ENTRIES(name, element)                                                                          \
    [TRMA_OPERATION_MAXLOC][element] = maxloc_##name, [TRMA_OPERATION_MINLOC][element] = minloc_##name

trma_acc_kernel_table trma_acc_kernels_pair = {
    PAIR_ENTRIES(float_int, TRMA_ELEMENT_PAIR_FLOAT_INT),
    PAIR_ENTRIES(double_int, TRMA_ELEMENT_PAIR_DOUBLE_INT),
    PAIR_ENTRIES(long_int, TRMA_ELEMENT_PAIR_LONG_INT),
    PAIR_ENTRIES(int_int, TRMA_ELEMENT_PAIR_INT_INT),
    PAIR_ENTRIES(short_int, TRMA_ELEMENT_PAIR_SHORT_INT),
    PAIR_ENTRIES(long_double_int, TRMA_ELEMENT_PAIR_LONG_DOUBLE_INT),
    PAIR_ENTRIES(float_float, TRMA_ELEMENT_PAIR_FLOAT_FLOAT),
    PAIR_ENTRIES(double_double, TRMA_ELEMENT_PAIR_DOUBLE_DOUBLE),
};
