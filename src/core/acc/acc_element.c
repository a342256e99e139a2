/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_element.h"

#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "../move/move_bytes.h"
#include "acc_types.h"

/* Which operations are allowed, by the standard's classes of types. */
enum {
    ALLOW_COPY = 1U << TRMA_OPERATION_REPLACE | 1U << TRMA_OPERATION_NO_OP,
    ALLOW_ORDER = 1U << TRMA_OPERATION_MAX | 1U << TRMA_OPERATION_MIN,
    ALLOW_ARITHMETIC = 1U << TRMA_OPERATION_SUM | 1U << TRMA_OPERATION_PROD,
    ALLOW_LOGIC = 1U << TRMA_OPERATION_LAND | 1U << TRMA_OPERATION_LOR | 1U << TRMA_OPERATION_LXOR,
    ALLOW_BITS = 1U << TRMA_OPERATION_BAND | 1U << TRMA_OPERATION_BOR | 1U << TRMA_OPERATION_BXOR,
    ALLOW_PLACE = 1U << TRMA_OPERATION_MAXLOC | 1U << TRMA_OPERATION_MINLOC,
    INTEGER = ALLOW_COPY | ALLOW_ORDER | ALLOW_ARITHMETIC | ALLOW_LOGIC | ALLOW_BITS,
    FLOATING = ALLOW_COPY | ALLOW_ORDER | ALLOW_ARITHMETIC,
    COMPLEX = ALLOW_COPY | ALLOW_ARITHMETIC,
    LOGICAL = ALLOW_COPY | ALLOW_LOGIC,
    BYTE = ALLOW_COPY | ALLOW_BITS,
    CHARACTER = ALLOW_COPY,
    PAIR = ALLOW_COPY | ALLOW_PLACE
};

/* The members of a shape, for an element of one block without a hole. */
#define TRMA_WHOLE(bytes, allowed)                                                                           \
    (bytes), (bytes), (bytes), (allowed), 1, {                                                               \
        { 0, (bytes) }                                                                                       \
    }

/* The size of a structure's member, of a type that need not be complete in any object. */
#define TRMA_MEMBER_SIZE(type, member) sizeof(((type *)0)->member)

#define TRMA_INDEX_OFFSET(pair) offsetof(pair, index)
#define TRMA_PAIR_SPAN(pair)    (TRMA_INDEX_OFFSET(pair) + TRMA_MEMBER_SIZE(pair, index))
#define TRMA_PAIR_DATA(pair)    (TRMA_MEMBER_SIZE(pair, value) + TRMA_MEMBER_SIZE(pair, index))

/* For a pair whose index follows its value at once: one block, perhaps with a hole at the end. */
#define TRMA_JOINED_PAIR(pair)                                                                               \
    sizeof(pair), TRMA_PAIR_DATA(pair), TRMA_PAIR_SPAN(pair), PAIR, 1, {                                     \
        { 0, TRMA_PAIR_SPAN(pair) }                                                                          \
    }

/* For a pair with a hole between its parts. */
#define TRMA_PARTED_PAIR(pair)                                                                               \
    sizeof(pair), TRMA_PAIR_DATA(pair), TRMA_PAIR_SPAN(pair), PAIR, 2, {                                     \
        {0, TRMA_MEMBER_SIZE(pair, value)}, {                                                                \
            TRMA_INDEX_OFFSET(pair), TRMA_MEMBER_SIZE(pair, index)                                           \
        }                                                                                                    \
    }

_Static_assert(offsetof(struct trma_pair_long_int, index) == sizeof(long), "long-int is one block");
_Static_assert(offsetof(struct trma_pair_long_double_int, index) == sizeof(long double),
               "so is long-double-int");
_Static_assert(offsetof(struct trma_pair_short_int, index) > sizeof(short), "short-int has a hole within");
_Static_assert((sizeof(long double) & (sizeof(long double) - 1)) == 0, "all extents are powers of two");

const struct trma_element_shape trma_acc_element_shapes[TRMA_ELEMENT_COUNT] = {
    [TRMA_ELEMENT_INT8] = {TRMA_WHOLE(1, INTEGER)},
    [TRMA_ELEMENT_INT16] = {TRMA_WHOLE(2, INTEGER)},
    [TRMA_ELEMENT_INT32] = {TRMA_WHOLE(4, INTEGER)},
    [TRMA_ELEMENT_INT64] = {TRMA_WHOLE(8, INTEGER)},
    [TRMA_ELEMENT_INT128] = {TRMA_WHOLE(16, INTEGER)},
    [TRMA_ELEMENT_UINT8] = {TRMA_WHOLE(1, INTEGER)},
    [TRMA_ELEMENT_UINT16] = {TRMA_WHOLE(2, INTEGER)},
    [TRMA_ELEMENT_UINT32] = {TRMA_WHOLE(4, INTEGER)},
    [TRMA_ELEMENT_UINT64] = {TRMA_WHOLE(8, INTEGER)},
    [TRMA_ELEMENT_FLOAT16] = {TRMA_WHOLE(2, FLOATING)},
    [TRMA_ELEMENT_BFLOAT16] = {TRMA_WHOLE(2, FLOATING)},
    [TRMA_ELEMENT_FLOAT32] = {TRMA_WHOLE(4, FLOATING)},
    [TRMA_ELEMENT_FLOAT64] = {TRMA_WHOLE(8, FLOATING)},
    [TRMA_ELEMENT_LONG_DOUBLE] = {TRMA_WHOLE(sizeof(long double), FLOATING)},
    [TRMA_ELEMENT_FLOAT128] = {TRMA_WHOLE(16, FLOATING)},
    [TRMA_ELEMENT_COMPLEX16] = {TRMA_WHOLE(4, COMPLEX)},
    [TRMA_ELEMENT_COMPLEX32] = {TRMA_WHOLE(8, COMPLEX)},
    [TRMA_ELEMENT_COMPLEX64] = {TRMA_WHOLE(16, COMPLEX)},
    [TRMA_ELEMENT_COMPLEX_LONG_DOUBLE] = {TRMA_WHOLE(2 * sizeof(long double), COMPLEX)},
    [TRMA_ELEMENT_COMPLEX128] = {TRMA_WHOLE(32, COMPLEX)},
    [TRMA_ELEMENT_BOOL8] = {TRMA_WHOLE(1, LOGICAL)},
    [TRMA_ELEMENT_LOGICAL16] = {TRMA_WHOLE(2, LOGICAL)},
    [TRMA_ELEMENT_LOGICAL32] = {TRMA_WHOLE(4, LOGICAL)},
    [TRMA_ELEMENT_LOGICAL64] = {TRMA_WHOLE(8, LOGICAL)},
    [TRMA_ELEMENT_LOGICAL128] = {TRMA_WHOLE(16, LOGICAL)},
    [TRMA_ELEMENT_BYTE] = {TRMA_WHOLE(1, BYTE)},
    [TRMA_ELEMENT_CHARACTER] = {TRMA_WHOLE(1, CHARACTER)},
    [TRMA_ELEMENT_WIDE_CHARACTER] = {TRMA_WHOLE(sizeof(wchar_t), CHARACTER)},
    [TRMA_ELEMENT_PAIR_FLOAT_INT] = {TRMA_JOINED_PAIR(struct trma_pair_float_int)},
    [TRMA_ELEMENT_PAIR_DOUBLE_INT] = {TRMA_JOINED_PAIR(struct trma_pair_double_int)},
    [TRMA_ELEMENT_PAIR_LONG_INT] = {TRMA_JOINED_PAIR(struct trma_pair_long_int)},
    [TRMA_ELEMENT_PAIR_INT_INT] = {TRMA_JOINED_PAIR(struct trma_pair_int_int)},
    [TRMA_ELEMENT_PAIR_SHORT_INT] = {TRMA_PARTED_PAIR(struct trma_pair_short_int)},
    [TRMA_ELEMENT_PAIR_LONG_DOUBLE_INT] = {TRMA_JOINED_PAIR(struct trma_pair_long_double_int)},
    [TRMA_ELEMENT_PAIR_FLOAT_FLOAT] = {TRMA_JOINED_PAIR(struct trma_pair_float_float)},
    [TRMA_ELEMENT_PAIR_DOUBLE_DOUBLE] = {TRMA_JOINED_PAIR(struct trma_pair_double_double)},
};

void trma_acc_copy(enum trma_element element, void *to, const void *from, size_t n) {
    const struct trma_element_shape *shape = &trma_acc_element_shapes[element];

    if (shape->size == shape->extent) {
        trma_move_copy_bytes(to, from, n * shape->extent);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char *to_element = (char *)to + i * shape->extent;
        const char *from_element = (const char *)from + i * shape->extent;
        for (size_t b = 0; b < shape->n_blocks; b++) {
            const struct trma_element_block *block = &shape->blocks[b];
            memcpy(to_element + block->offset, from_element + block->offset, block->length);
        }
    }
}
