/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_TYPES_H
#define TRMA_ACC_TYPES_H

#include <stdint.h>

/*
 * The C types behind the element types. All are declared without alignment and as aliasing anything: windows
 * hold elements at any address, and the compiler then emits unaligned loads and stores, which cost nothing
 * extra on aligned data.
 */
#define TRMA_ANYWHERE __attribute__((aligned(1), may_alias))

typedef int8_t trma_int8 TRMA_ANYWHERE;
typedef int16_t trma_int16 TRMA_ANYWHERE;
typedef int32_t trma_int32 TRMA_ANYWHERE;
typedef int64_t trma_int64 TRMA_ANYWHERE;
typedef __int128 trma_int128 TRMA_ANYWHERE;
typedef uint8_t trma_uint8 TRMA_ANYWHERE;
typedef uint16_t trma_uint16 TRMA_ANYWHERE;
typedef uint32_t trma_uint32 TRMA_ANYWHERE;
typedef uint64_t trma_uint64 TRMA_ANYWHERE;
typedef unsigned __int128 trma_uint128 TRMA_ANYWHERE;

/* REAL*16 is IEEE binary128: where long double is not that (x86), the compilers have a type of their own. */
#if __LDBL_MANT_DIG__ == 113
typedef long double trma_quad;
typedef _Complex long double trma_complex_quad;
#else
typedef __float128 trma_quad;
typedef _Complex float __attribute__((mode(TC))) trma_complex_quad;
#endif

typedef float trma_float32 TRMA_ANYWHERE;
typedef double trma_float64 TRMA_ANYWHERE;
typedef long double trma_long_double TRMA_ANYWHERE;
typedef trma_quad trma_float128 TRMA_ANYWHERE;
typedef _Complex float trma_complex32 TRMA_ANYWHERE;
typedef _Complex double trma_complex64 TRMA_ANYWHERE;
typedef _Complex long double trma_complex_long_double TRMA_ANYWHERE;
typedef trma_complex_quad trma_complex128 TRMA_ANYWHERE;

/* Pairs are as the C compiler lays out the structures that MPI-4.1 section 6.9.4 names. X(name, type of
 * value, of index) */
#define TRMA_PAIR_TYPES(X)                                                                                   \
    X(float_int, float, int)                                                                                 \
    X(double_int, double, int)                                                                               \
    X(long_int, long, int)                                                                                   \
    X(int_int, int, int)                                                                                     \
    X(short_int, short, int)                                                                                 \
    X(long_double_int, long double, int)                                                                     \
    X(float_float, float, float)                                                                             \
    X(double_double, double, double)

#define TRMA_DECLARE_PAIR(name, value_type, index_type)                                                      \
    struct trma_pair_##name {                                                                                \
        value_type value;                                                                                    \
        index_type index;                                                                                    \
    };
TRMA_PAIR_TYPES(TRMA_DECLARE_PAIR)
#undef TRMA_DECLARE_PAIR

#endif
