/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ACC_ORACLE_H
#define TEST_ACC_ORACLE_H

/*
 * What accumulate's operations must give, one element at a time and written down plainly: integers in 128
 * bits, 16-bit floating point in double, all else in its own type. And random elements, in which values where
 * arithmetic goes wrong first occur often.
 */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "acc/acc_element.h"
#include "acc/acc_types.h"

/* x86 pads its 10 bytes. */
#define LONG_DOUBLE_DATA (__LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double))

static uint64_t random_state = 0x9E3779B97F4A7C15U;

static inline uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- the oracle: one element at a time, in the widest type there is ---- */

/* A binary floating-point format of 16 bits. */
struct format {
    int mantissa_bits;
    int exponent_bits;
};

static const struct format half_format = {10, 5};
static const struct format bfloat_format = {7, 8};

static inline double format_decode(const struct format *format, uint16_t bits) {
    const int bias = (1 << (format->exponent_bits - 1)) - 1;
    const int exponent = bits >> format->mantissa_bits & ((1 << format->exponent_bits) - 1);
    const int mantissa = bits & ((1 << format->mantissa_bits) - 1);
    double magnitude;
    if (exponent == (1 << format->exponent_bits) - 1) {
        magnitude = mantissa ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        magnitude = ldexp(mantissa, 1 - bias - format->mantissa_bits);
    } else {
        magnitude = ldexp(mantissa + (1 << format->mantissa_bits), exponent - bias - format->mantissa_bits);
    }
    return bits >> 15 ? -magnitude : magnitude;
}

static inline uint16_t format_encode(const struct format *format, double value) {
    const int bias = (1 << (format->exponent_bits - 1)) - 1;
    const int infinity = ((1 << format->exponent_bits) - 1) << format->mantissa_bits;
    const uint16_t sign = (uint16_t)(signbit(value) ? 0x8000 : 0);
    const double magnitude = fabs(value);
    if (isnan(value)) {
        return (uint16_t)(infinity | 1);
    }
    if (isinf(value)) {
        return (uint16_t)(sign | infinity);
    }
    int exponent = magnitude == 0 ? 1 - bias : ilogb(magnitude);
    exponent = exponent < 1 - bias ? 1 - bias : exponent;
    /* In units of the last place; nearbyint rounds ties to even. A carry moves on into the exponent by
     * itself. */
    const int units = (int)nearbyint(ldexp(magnitude, format->mantissa_bits - exponent));
    const int bits = units + ((exponent + bias - 1) << format->mantissa_bits);
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static inline bool is_unsigned(enum trma_element element) {
    return element >= TRMA_ELEMENT_UINT8 && element <= TRMA_ELEMENT_UINT64;
}

static inline bool is_integer(enum trma_element element) {
    return element <= TRMA_ELEMENT_UINT64;
}

static inline bool is_bits(enum trma_element element) {
    return is_integer(element) || (element >= TRMA_ELEMENT_BOOL8 && element <= TRMA_ELEMENT_BYTE);
}

static inline void oracle_bits(enum trma_operation operation, enum trma_element element, void *target,
                               const void *origin) {
    const size_t size = trma_acc_element_size(element);
    unsigned __int128 a = 0;
    unsigned __int128 b = 0;
    unsigned __int128 c = 0;
    memcpy(&a, target, size);
    memcpy(&b, origin, size);
    if (!is_unsigned(element) && size < 16) { /* sign extension */
        const unsigned __int128 sign = (unsigned __int128)1 << (8 * size - 1);
        a = (a ^ sign) - sign;
        b = (b ^ sign) - sign;
    }
    const bool a_is_less = is_unsigned(element) ? a < b : (__int128)a < (__int128)b;
    switch (operation) {
    case TRMA_OPERATION_SUM:
        c = a + b;
        break;
    case TRMA_OPERATION_PROD:
        c = a * b;
        break;
    case TRMA_OPERATION_MAX:
        c = a_is_less ? b : a;
        break;
    case TRMA_OPERATION_MIN:
        c = a_is_less ? a : b;
        break;
    case TRMA_OPERATION_LAND:
        c = a && b;
        break;
    case TRMA_OPERATION_LOR:
        c = a || b;
        break;
    case TRMA_OPERATION_LXOR:
        c = !a != !b;
        break;
    case TRMA_OPERATION_BAND:
        c = a & b;
        break;
    case TRMA_OPERATION_BOR:
        c = a | b;
        break;
    case TRMA_OPERATION_BXOR:
        c = a ^ b;
        break;
    default:
        fail_msg("operation %d on integers", (int)operation);
    }
    memcpy(target, &c, size);
}

#define ORACLE_FLOAT(type)                                                                                   \
    {                                                                                                        \
        type a, b, c = 0;                                                                                    \
        memcpy(&a, target, sizeof(a));                                                                       \
        memcpy(&b, origin, sizeof(b));                                                                       \
        switch (operation) {                                                                                 \
        case TRMA_OPERATION_SUM:                                                                             \
            c = a + b;                                                                                       \
            break;                                                                                           \
        case TRMA_OPERATION_PROD:                                                                            \
            c = a * b;                                                                                       \
            break;                                                                                           \
        case TRMA_OPERATION_MAX:                                                                             \
            c = a > b ? a : b;                                                                               \
            break;                                                                                           \
        case TRMA_OPERATION_MIN:                                                                             \
            c = a < b ? a : b;                                                                               \
            break;                                                                                           \
        default:                                                                                             \
            fail_msg("operation %d on floating point", (int)operation);                                      \
        }                                                                                                    \
        memcpy(target, &c, sizeof(c));                                                                       \
        return;                                                                                              \
    }

#define ORACLE_COMPLEX(type)                                                                                 \
    {                                                                                                        \
        type a, b;                                                                                           \
        memcpy(&a, target, sizeof(a));                                                                       \
        memcpy(&b, origin, sizeof(b));                                                                       \
        a = operation == TRMA_OPERATION_SUM ? a + b : a * b;                                                 \
        memcpy(target, &a, sizeof(a));                                                                       \
        return;                                                                                              \
    }

#define ORACLE_PAIR(name, value_type, index_type)                                                            \
    static void oracle_##name(enum trma_operation operation, void *target, const void *origin) {             \
        struct trma_pair_##name a, b;                                                                        \
        memcpy(&a, target, sizeof(a));                                                                       \
        memcpy(&b, origin, sizeof(b));                                                                       \
        const bool takes_origin =                                                                            \
            operation == TRMA_OPERATION_MAXLOC ? b.value > a.value : b.value < a.value;                      \
        const bool is_tie = a.value == b.value;                                                              \
        if (takes_origin) {                                                                                  \
            memcpy(target, &b.value, sizeof(b.value));                                                       \
        }                                                                                                    \
        if (takes_origin || (is_tie && b.index < a.index)) {                                                 \
            memcpy((char *)target + offsetof(struct trma_pair_##name, index), &b.index, sizeof(b.index));    \
        }                                                                                                    \
    }
TRMA_PAIR_TYPES(ORACLE_PAIR)

static inline void oracle_half(enum trma_operation operation, const struct format *format, void *target,
                               const void *origin) {
    uint16_t a;
    uint16_t b;
    memcpy(&a, target, sizeof(a));
    memcpy(&b, origin, sizeof(b));
    const double x = format_decode(format, a);
    const double y = format_decode(format, b);
    uint16_t c = 0;
    switch (operation) { /* sums and products of such numbers are exact in double */
    case TRMA_OPERATION_SUM:
        c = format_encode(format, x + y);
        break;
    case TRMA_OPERATION_PROD:
        c = format_encode(format, x * y);
        break;
    case TRMA_OPERATION_MAX:
        c = x > y ? a : b;
        break;
    case TRMA_OPERATION_MIN:
        c = x < y ? a : b;
        break;
    default:
        fail_msg("operation %d on 16-bit floating point", (int)operation);
    }
    memcpy(target, &c, sizeof(c));
}

static inline void oracle_complex_half(enum trma_operation operation, void *target, const void *origin) {
    uint16_t a[2];
    uint16_t b[2];
    double x[2];
    double y[2];
    memcpy(a, target, sizeof(a));
    memcpy(b, origin, sizeof(b));
    for (int i = 0; i < 2; i++) {
        x[i] = format_decode(&half_format, a[i]);
        y[i] = format_decode(&half_format, b[i]);
    }
    if (operation == TRMA_OPERATION_SUM) {
        a[0] = format_encode(&half_format, x[0] + y[0]);
        a[1] = format_encode(&half_format, x[1] + y[1]);
    } else {
        float complex first, second;
        __real__ first = (float)x[0];
        __imag__ first = (float)x[1];
        __real__ second = (float)y[0];
        __imag__ second = (float)y[1];
        const float complex product = first * second;
        a[0] = format_encode(&half_format, (double)crealf(product));
        a[1] = format_encode(&half_format, (double)cimagf(product));
    }
    memcpy(target, a, sizeof(a));
}

static inline void oracle(enum trma_operation operation, enum trma_element element, void *target,
                          const void *origin) {
    if (is_bits(element)) {
        oracle_bits(operation, element, target, origin);
        return;
    }
    switch (element) {
    case TRMA_ELEMENT_FLOAT16:
        oracle_half(operation, &half_format, target, origin);
        return;
    case TRMA_ELEMENT_BFLOAT16:
        oracle_half(operation, &bfloat_format, target, origin);
        return;
    case TRMA_ELEMENT_FLOAT32:
        ORACLE_FLOAT(float)
    case TRMA_ELEMENT_FLOAT64:
        ORACLE_FLOAT(double)
    case TRMA_ELEMENT_LONG_DOUBLE:
        ORACLE_FLOAT(long double)
    case TRMA_ELEMENT_FLOAT128:
        ORACLE_FLOAT(trma_quad)
    case TRMA_ELEMENT_COMPLEX16:
        oracle_complex_half(operation, target, origin);
        return;
    case TRMA_ELEMENT_COMPLEX32:
        ORACLE_COMPLEX(float complex)
    case TRMA_ELEMENT_COMPLEX64:
        ORACLE_COMPLEX(double complex)
    case TRMA_ELEMENT_COMPLEX_LONG_DOUBLE:
        ORACLE_COMPLEX(long double complex)
    case TRMA_ELEMENT_COMPLEX128:
        ORACLE_COMPLEX(trma_complex_quad)
    case TRMA_ELEMENT_PAIR_FLOAT_INT:
        oracle_float_int(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_DOUBLE_INT:
        oracle_double_int(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_LONG_INT:
        oracle_long_int(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_INT_INT:
        oracle_int_int(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_SHORT_INT:
        oracle_short_int(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_LONG_DOUBLE_INT:
        oracle_long_double_int(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_FLOAT_FLOAT:
        oracle_float_float(operation, target, origin);
        return;
    case TRMA_ELEMENT_PAIR_DOUBLE_DOUBLE:
        oracle_double_double(operation, target, origin);
        return;
    default:
        fail_msg("no oracle for element %d", (int)element);
    }
}

/* ---- random elements, and whether two are the same ---- */

/* Values where arithmetic goes wrong first, and ordinary ones. */
static inline double random_double(void) {
    const double special[] = {0.0, -0.0,    1.0,     -1.0,    3.0,  INFINITY, -INFINITY,
                              NAN, 65504.0, 65520.0, 0x1p-14, 1e-7, 0x1p-25,  3.4e38};
    const uint64_t bits = random_bits();
    if (bits % 4 == 0) {
        return special[bits / 4 % (sizeof(special) / sizeof(special[0]))];
    }
    return ldexp((double)(int64_t)random_bits(), (int)(bits / 4 % 24) - 75);
}

static inline void random_long_double(void *out) {
    const long double value = (long double)random_double() / 3;
    memset(out, 0, sizeof(value)); /* the padding, so that whole elements can be compared */
    memcpy(out, &value, LONG_DOUBLE_DATA);
}

static inline void random_quad(void *out) {
    const trma_quad value = (trma_quad)random_double() / 3;
    memcpy(out, &value, sizeof(value));
}

static inline void random_float(void *out) {
    const float value = (float)random_double();
    memcpy(out, &value, sizeof(value));
}

static inline void random_integer(void *out, size_t size) {
    const uint64_t kind = random_bits();
    unsigned __int128 value = (unsigned __int128)random_bits() << 64 | random_bits();
    if (kind % 4 == 0) {
        value = kind / 4 % 3;
    } else if (kind % 4 == 1) {
        value = ~(unsigned __int128)0 - kind / 4 % 2;
    }
    memcpy(out, &value, size);
}

static inline void random_element(enum trma_element element, char *out) {
    const double wide = random_double();
    const double wide2 = random_double();
    const int index = (int)(random_bits() % 5) - 2;
    memset(out, 0xA5, trma_acc_element_extent(element)); /* holes */
    switch (element) {
    case TRMA_ELEMENT_FLOAT32:
    case TRMA_ELEMENT_COMPLEX32:
    case TRMA_ELEMENT_PAIR_FLOAT_FLOAT:
        for (size_t i = 0; i < trma_acc_element_size(element); i += sizeof(float)) {
            random_float(out + i);
        }
        break;
    case TRMA_ELEMENT_FLOAT64:
        memcpy(out, &wide, sizeof(wide));
        break;
    case TRMA_ELEMENT_COMPLEX64:
    case TRMA_ELEMENT_PAIR_DOUBLE_DOUBLE:
        memcpy(out, &wide, sizeof(wide));
        memcpy(out + sizeof(wide), &wide2, sizeof(wide2));
        break;
    case TRMA_ELEMENT_LONG_DOUBLE:
        random_long_double(out);
        break;
    case TRMA_ELEMENT_COMPLEX_LONG_DOUBLE:
        random_long_double(out);
        random_long_double(out + sizeof(long double));
        break;
    case TRMA_ELEMENT_FLOAT128:
        random_quad(out);
        break;
    case TRMA_ELEMENT_COMPLEX128:
        random_quad(out);
        random_quad(out + sizeof(trma_quad));
        break;
    case TRMA_ELEMENT_PAIR_FLOAT_INT:
        random_float(out);
        memcpy(out + offsetof(struct trma_pair_float_int, index), &index, sizeof(index));
        break;
    case TRMA_ELEMENT_PAIR_DOUBLE_INT:
        memcpy(out, &wide, sizeof(wide));
        memcpy(out + offsetof(struct trma_pair_double_int, index), &index, sizeof(index));
        break;
    case TRMA_ELEMENT_PAIR_LONG_DOUBLE_INT:
        random_long_double(out);
        memcpy(out + offsetof(struct trma_pair_long_double_int, index), &index, sizeof(index));
        break;
    case TRMA_ELEMENT_PAIR_LONG_INT: {
        const long value = (long)(random_bits() % 5) - 2;
        memcpy(out, &value, sizeof(value));
        memcpy(out + offsetof(struct trma_pair_long_int, index), &index, sizeof(index));
        break;
    }
    case TRMA_ELEMENT_PAIR_INT_INT: {
        const int value = (int)(random_bits() % 5) - 2;
        memcpy(out, &value, sizeof(value));
        memcpy(out + offsetof(struct trma_pair_int_int, index), &index, sizeof(index));
        break;
    }
    case TRMA_ELEMENT_PAIR_SHORT_INT: {
        const short value = (short)((int)(random_bits() % 5) - 2);
        memcpy(out, &value, sizeof(value));
        memcpy(out + offsetof(struct trma_pair_short_int, index), &index, sizeof(index));
        break;
    }
    case TRMA_ELEMENT_COMPLEX16:
        random_integer(out, 2);
        random_integer(out + 2, 2);
        break;
    default: /* integers, logicals, bytes, 16-bit floating point: any bits */
        random_integer(out, trma_acc_element_size(element));
        break;
    }
}

/* Sizes of the floating-point parts at an element's beginning that may be NaN, whose payload is nobody's
 * promise. */
static inline size_t float_part(enum trma_element element, size_t *n) {
    *n = 1;
    switch (element) {
    case TRMA_ELEMENT_COMPLEX16:
        *n = 2;
        return 2;
    case TRMA_ELEMENT_FLOAT16:
    case TRMA_ELEMENT_BFLOAT16:
        return 2;
    case TRMA_ELEMENT_COMPLEX32:
        *n = 2;
        return sizeof(float);
    case TRMA_ELEMENT_FLOAT32:
        return sizeof(float);
    case TRMA_ELEMENT_COMPLEX64:
        *n = 2;
        return sizeof(double);
    case TRMA_ELEMENT_FLOAT64:
        return sizeof(double);
    case TRMA_ELEMENT_COMPLEX_LONG_DOUBLE:
        *n = 2;
        return sizeof(long double);
    case TRMA_ELEMENT_LONG_DOUBLE:
        return sizeof(long double);
    case TRMA_ELEMENT_COMPLEX128:
        *n = 2;
        return sizeof(trma_quad);
    case TRMA_ELEMENT_FLOAT128:
        return sizeof(trma_quad);
    default:
        *n = 0;
        return 0;
    }
}

static inline bool part_is_nan(enum trma_element element, const char *part) {
    float single;
    double wide;
    long double extended;
    trma_quad quad;
    uint16_t half;
    switch (element) {
    case TRMA_ELEMENT_FLOAT16:
    case TRMA_ELEMENT_COMPLEX16:
        memcpy(&half, part, sizeof(half));
        return isnan(format_decode(&half_format, half));
    case TRMA_ELEMENT_BFLOAT16:
        memcpy(&half, part, sizeof(half));
        return isnan(format_decode(&bfloat_format, half));
    case TRMA_ELEMENT_FLOAT32:
    case TRMA_ELEMENT_COMPLEX32:
        memcpy(&single, part, sizeof(single));
        return isnan(single);
    case TRMA_ELEMENT_FLOAT64:
    case TRMA_ELEMENT_COMPLEX64:
        memcpy(&wide, part, sizeof(wide));
        return isnan(wide);
    case TRMA_ELEMENT_LONG_DOUBLE:
    case TRMA_ELEMENT_COMPLEX_LONG_DOUBLE:
        memcpy(&extended, part, sizeof(extended));
        return isnan(extended);
    default:
        memcpy(&quad, part, sizeof(quad));
        return quad != quad;
    }
}

static inline bool is_same(enum trma_element element, const char *a, const char *b) {
    size_t n;
    const size_t part = float_part(element, &n);
    const bool is_long_double =
        element == TRMA_ELEMENT_LONG_DOUBLE || element == TRMA_ELEMENT_COMPLEX_LONG_DOUBLE;
    const size_t data = is_long_double ? LONG_DOUBLE_DATA : part;
    for (size_t i = 0; i < n; i++) {
        const bool both_nan = part_is_nan(element, a + i * part) && part_is_nan(element, b + i * part);
        if (!both_nan && memcmp(a + i * part, b + i * part, data) != 0) {
            return false;
        }
    }
    return n > 0 || memcmp(a, b, trma_acc_element_extent(element)) == 0;
}

#endif
