/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of types that no vector instruction knows: 128-bit integers and logicals, long double, REAL*16, and
 * the products of complex numbers, which follow C's rules for infinities as the MPIs beneath us do.
 */
#include "acc_kernel.h"
#include "acc_types.h"

#define TRMA_KERNEL_TARGET

TRMA_DEFINE_KERNEL(sum_integer, trma_uint128, a + b)
TRMA_DEFINE_KERNEL(prod_integer, trma_uint128, a *b)
TRMA_DEFINE_KERNEL(land_integer, trma_uint128, (a != 0) & (b != 0))
TRMA_DEFINE_KERNEL(lor_integer, trma_uint128, (a | b) != 0)
TRMA_DEFINE_KERNEL(lxor_integer, trma_uint128, (a != 0) ^ (b != 0))
TRMA_DEFINE_KERNEL(band_integer, trma_uint128, a &b)
TRMA_DEFINE_KERNEL(bor_integer, trma_uint128, a | b)
TRMA_DEFINE_KERNEL(bxor_integer, trma_uint128, a ^ b)
TRMA_DEFINE_KERNEL(max_integer, trma_int128, a > b ? a : b)
TRMA_DEFINE_KERNEL(min_integer, trma_int128, a < b ? a : b)

#define DEFINE_FLOAT_KERNELS(name)                                                                           \
    TRMA_DEFINE_KERNEL(sum_##name, trma_##name, a + b)                                                       \
    TRMA_DEFINE_KERNEL(prod_##name, trma_##name, a *b)                                                       \
    TRMA_DEFINE_KERNEL(max_##name, trma_##name, a > b ? a : b)                                               \
    TRMA_DEFINE_KERNEL(min_##name, trma_##name, a < b ? a : b)

DEFINE_FLOAT_KERNELS(long_double)
DEFINE_FLOAT_KERNELS(float128)
TRMA_DEFINE_KERNEL(sum_complex_long_double, trma_complex_long_double, a + b)
TRMA_DEFINE_KERNEL(sum_complex128, trma_complex128, a + b)
TRMA_DEFINE_KERNEL(prod_complex32, trma_complex32, a *b)
TRMA_DEFINE_KERNEL(prod_complex64, trma_complex64, a *b)
TRMA_DEFINE_KERNEL(prod_complex_long_double, trma_complex_long_double, a *b)
TRMA_DEFINE_KERNEL(prod_complex128, trma_complex128, a *b)

#define FLOAT_ENTRIES(name, element)                                                                         \
    [TRMA_OPERATION_SUM][element] = sum_##name, [TRMA_OPERATION_PROD][element] = prod_##name,                \
    [TRMA_OPERATION_MAX][element] = max_##name, [TRMA_OPERATION_MIN][element] = min_##name

trma_acc_kernel_table trma_acc_kernels_wide = {
    [TRMA_OPERATION_SUM][TRMA_ELEMENT_INT128] = sum_integer,
    [TRMA_OPERATION_PROD][TRMA_ELEMENT_INT128] = prod_integer,
    [TRMA_OPERATION_MAX][TRMA_ELEMENT_INT128] = max_integer,
    [TRMA_OPERATION_MIN][TRMA_ELEMENT_INT128] = min_integer,
    [TRMA_OPERATION_LAND][TRMA_ELEMENT_INT128] = land_integer,
    [TRMA_OPERATION_LOR][TRMA_ELEMENT_INT128] = lor_integer,
    [TRMA_OPERATION_LXOR][TRMA_ELEMENT_INT128] = lxor_integer,
    [TRMA_OPERATION_BAND][TRMA_ELEMENT_INT128] = band_integer,
    [TRMA_OPERATION_BOR][TRMA_ELEMENT_INT128] = bor_integer,
    [TRMA_OPERATION_BXOR][TRMA_ELEMENT_INT128] = bxor_integer,
    [TRMA_OPERATION_LAND][TRMA_ELEMENT_LOGICAL128] = land_integer,
    [TRMA_OPERATION_LOR][TRMA_ELEMENT_LOGICAL128] = lor_integer,
    [TRMA_OPERATION_LXOR][TRMA_ELEMENT_LOGICAL128] = lxor_integer,
    FLOAT_ENTRIES(long_double, TRMA_ELEMENT_LONG_DOUBLE),
    FLOAT_ENTRIES(float128, TRMA_ELEMENT_FLOAT128),
    [TRMA_OPERATION_SUM][TRMA_ELEMENT_COMPLEX_LONG_DOUBLE] = sum_complex_long_double,
    [TRMA_OPERATION_SUM][TRMA_ELEMENT_COMPLEX128] = sum_complex128,
    [TRMA_OPERATION_PROD][TRMA_ELEMENT_COMPLEX32] = prod_complex32,
    [TRMA_OPERATION_PROD][TRMA_ELEMENT_COMPLEX64] = prod_complex64,
    [TRMA_OPERATION_PROD][TRMA_ELEMENT_COMPLEX_LONG_DOUBLE] = prod_complex_long_double,
    [TRMA_OPERATION_PROD][TRMA_ELEMENT_COMPLEX128] = prod_complex128,
};
