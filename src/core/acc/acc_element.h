/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_ELEMENT_H
#define TRMA_ACC_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "../trma_hidden.h"

/*
 * The element types that accumulate knows: what the predefined datatypes of C, C++ and Fortran are on this
 * machine. The face maps every predefined MPI datatype to one of these. The number in a name is the width in
 * bits, of one part for complex.
 */
enum trma_element {
    TRMA_ELEMENT_INT8,
    TRMA_ELEMENT_INT16,
    TRMA_ELEMENT_INT32,
    TRMA_ELEMENT_INT64,  /* addresses, counts and offsets as well */
    TRMA_ELEMENT_INT128, /* INTEGER*16 */
    TRMA_ELEMENT_UINT8,
    TRMA_ELEMENT_UINT16,
    TRMA_ELEMENT_UINT32,
    TRMA_ELEMENT_UINT64,
    TRMA_ELEMENT_FLOAT16,  /* IEEE half: REAL*2, MPIX_C_FLOAT16 */
    TRMA_ELEMENT_BFLOAT16, /* upper half of a float: MPIX_BFLOAT16 */
    TRMA_ELEMENT_FLOAT32,
    TRMA_ELEMENT_FLOAT64,
    TRMA_ELEMENT_LONG_DOUBLE,
    TRMA_ELEMENT_FLOAT128,  /* REAL*16 */
    TRMA_ELEMENT_COMPLEX16, /* two float16: COMPLEX*4 */
    TRMA_ELEMENT_COMPLEX32, /* two float32 */
    TRMA_ELEMENT_COMPLEX64, /* two float64 */
    TRMA_ELEMENT_COMPLEX_LONG_DOUBLE,
    TRMA_ELEMENT_COMPLEX128, /* two float128: COMPLEX*32 */
    TRMA_ELEMENT_BOOL8,      /* C _Bool, C++ bool, LOGICAL*1: logical operations only */
    TRMA_ELEMENT_LOGICAL16,
    TRMA_ELEMENT_LOGICAL32,
    TRMA_ELEMENT_LOGICAL64,
    TRMA_ELEMENT_LOGICAL128,     /* LOGICAL*16 */
    TRMA_ELEMENT_BYTE,           /* bit-wise operations only */
    TRMA_ELEMENT_CHARACTER,      /* text: REPLACE and NO_OP only */
    TRMA_ELEMENT_WIDE_CHARACTER, /* wide text: as text */
    TRMA_ELEMENT_PAIR_FLOAT_INT, /* struct { float; int; } and so on, as C lays them out: MAXLOC and MINLOC */
    TRMA_ELEMENT_PAIR_DOUBLE_INT,
    TRMA_ELEMENT_PAIR_LONG_INT,
    TRMA_ELEMENT_PAIR_INT_INT, /* two of Fortran's INTEGERs as well */
    TRMA_ELEMENT_PAIR_SHORT_INT,
    TRMA_ELEMENT_PAIR_LONG_DOUBLE_INT,
    TRMA_ELEMENT_PAIR_FLOAT_FLOAT,   /* two of Fortran's REALs */
    TRMA_ELEMENT_PAIR_DOUBLE_DOUBLE, /* two DOUBLE PRECISIONs */
    TRMA_ELEMENT_COUNT,
    TRMA_ELEMENT_MIXED =
        TRMA_ELEMENT_COUNT /* of a layout whose elements differ, or have none of these types */
};

enum trma_operation {
    TRMA_OPERATION_REPLACE,
    TRMA_OPERATION_NO_OP,
    TRMA_OPERATION_SUM,
    TRMA_OPERATION_PROD,
    TRMA_OPERATION_MAX,
    TRMA_OPERATION_MIN,
    TRMA_OPERATION_LAND,
    TRMA_OPERATION_LOR,
    TRMA_OPERATION_LXOR,
    TRMA_OPERATION_BAND,
    TRMA_OPERATION_BOR,
    TRMA_OPERATION_BXOR,
    TRMA_OPERATION_MAXLOC,
    TRMA_OPERATION_MINLOC,
    TRMA_OPERATION_COUNT
};

/* One block of an element's data bytes. */
struct trma_element_block {
    size_t offset;
    size_t length;
};

/*
 * How an element lies in memory. Most are one block of `extent` bytes. Pairs may have a hole at their end
 * (double-int: 8 + 4 of 16 bytes) or between their parts (short-int: 2 at 0, 4 at 4): adjacent parts are one
 * block.
 */
struct trma_element_shape {
    size_t extent;       /* from one element to the next in an array */
    size_t size;         /* data bytes: the lengths of the blocks */
    size_t span;         /* from the first to past the last data byte; the first is at offset 0 */
    unsigned operations; /* those that are allowed, as bits 1 << operation */
    unsigned n_blocks;
    struct trma_element_block blocks[2];
};

/* The shapes of all elements. Below, `element` must be less than TRMA_ELEMENT_COUNT unless it says otherwise.
 */
extern TRMA_HIDDEN const struct trma_element_shape trma_acc_element_shapes[TRMA_ELEMENT_COUNT];

static inline const struct trma_element_shape *trma_acc_element_shape(enum trma_element element) {
    return &trma_acc_element_shapes[element];
}

/* Bytes of one element in memory, holes included (the extent, e.g. 16 for double-int), and data bytes (12).
 */
static inline size_t trma_acc_element_extent(enum trma_element element) {
    return trma_acc_element_shapes[element].extent;
}

static inline size_t trma_acc_element_size(enum trma_element element) {
    return trma_acc_element_shapes[element].size;
}

/*
 * True when the standard allows the operation on the element (MPI-4.1 sections 6.9.2 and 6.9.4; REPLACE and
 * NO_OP on all). Elements are machine types: Fortran's integers, addresses, counts and offsets get the
 * logical operations that the standard gives to C's integers only. The same liberty as in the MPIs beneath
 * us. False for TRMA_ELEMENT_MIXED.
 */
static inline bool trma_acc_operation_is_allowed(enum trma_operation operation, enum trma_element element) {
    return (unsigned)element < TRMA_ELEMENT_COUNT && (unsigned)operation < TRMA_OPERATION_COUNT &&
           (trma_acc_element_shapes[element].operations >> operation & 1U) != 0;
}

/* True when compare_and_swap takes the element: integers, logicals, bytes (MPI-4.1 section 12.3.4). False for
 * MIXED. */
static inline bool trma_acc_compare_is_allowed(enum trma_element element) {
    return trma_acc_operation_is_allowed(TRMA_OPERATION_LXOR, element) ||
           trma_acc_operation_is_allowed(TRMA_OPERATION_BXOR, element);
}

/* Copies n elements that lie one extent apart on both sides; holes of pairs are left alone. The ranges must
 * not overlap. */
void trma_acc_copy(enum trma_element element, void *to, const void *from, size_t n);

/*
 * target[i] = target[i] op origin[i] for n elements that lie one extent apart on both sides. No atomicity, no
 * alignment needed, the ranges must not overlap. Holes of pairs are left alone in the target. The pair of
 * operation and element must be allowed. Vectorised. Thread-safe. MAX and MIN of floating-point values give
 * the origin's when the two cannot be compared (NaN), as the MPIs beneath us do.
 */
void trma_acc_combine(enum trma_operation operation, enum trma_element element, void *target,
                      const void *origin, size_t n);

/* As trma_acc_combine with so many bytes, of elements without holes, asked for by another process: false, and
 * nothing is done, when operation and element are none or do not fit. A trma_help_update. */
bool trma_acc_combine_bytes(unsigned operation, unsigned element, void *target, const void *operands,
                            size_t bytes);

#endif
