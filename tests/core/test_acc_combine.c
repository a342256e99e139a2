/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements and kernels: shapes, which operation is allowed on which, every operation on every type against
 * plain arithmetic. */
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
#include "acc/acc_kernel.h"
#include "acc/acc_types.h"

#define ELEMENT_BYTES_MAX 32U
#define COUNT_MAX         100U
#define LONG_DOUBLE_DATA  (__LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double)) /* x86 pads its 10 bytes */

static uint64_t random_state = 0x9E3779B97F4A7C15U;

static uint64_t random_bits(void) {
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

static double format_decode(const struct format *format, uint16_t bits) {
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

static uint16_t format_encode(const struct format *format, double value) {
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

static bool is_unsigned(enum trma_element element) {
    return element >= TRMA_ELEMENT_UINT8 && element <= TRMA_ELEMENT_UINT64;
}

static bool is_integer(enum trma_element element) {
    return element <= TRMA_ELEMENT_UINT64;
}

static bool is_bits(enum trma_element element) {
    return is_integer(element) || (element >= TRMA_ELEMENT_BOOL8 && element <= TRMA_ELEMENT_BYTE);
}

static void oracle_bits(enum trma_operation operation, enum trma_element element, void *target,
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

static void oracle_half(enum trma_operation operation, const struct format *format, void *target,
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

static void oracle_complex_half(enum trma_operation operation, void *target, const void *origin) {
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

static void oracle(enum trma_operation operation, enum trma_element element, void *target,
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
static double random_double(void) {
    const double special[] = {0.0, -0.0,    1.0,     -1.0,    3.0,  INFINITY, -INFINITY,
                              NAN, 65504.0, 65520.0, 0x1p-14, 1e-7, 0x1p-25,  3.4e38};
    const uint64_t bits = random_bits();
    if (bits % 4 == 0) {
        return special[bits / 4 % (sizeof(special) / sizeof(special[0]))];
    }
    return ldexp((double)(int64_t)random_bits(), (int)(bits / 4 % 24) - 75);
}

static void random_long_double(void *out) {
    const long double value = (long double)random_double() / 3;
    memset(out, 0, sizeof(value)); /* the padding, so that whole elements can be compared */
    memcpy(out, &value, LONG_DOUBLE_DATA);
}

static void random_quad(void *out) {
    const trma_quad value = (trma_quad)random_double() / 3;
    memcpy(out, &value, sizeof(value));
}

static void random_float(void *out) {
    const float value = (float)random_double();
    memcpy(out, &value, sizeof(value));
}

static void random_integer(void *out, size_t size) {
    const uint64_t kind = random_bits();
    unsigned __int128 value = (unsigned __int128)random_bits() << 64 | random_bits();
    if (kind % 4 == 0) {
        value = kind / 4 % 3;
    } else if (kind % 4 == 1) {
        value = ~(unsigned __int128)0 - kind / 4 % 2;
    }
    memcpy(out, &value, size);
}

static void random_element(enum trma_element element, char *out) {
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
static size_t float_part(enum trma_element element, size_t *n) {
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

static bool part_is_nan(enum trma_element element, const char *part) {
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

static bool is_same(enum trma_element element, const char *a, const char *b) {
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

/* ---- the tests ---- */

typedef void combine_function(enum trma_operation operation, enum trma_element element, void *target,
                              const void *origin, size_t n);

/* One operation on one type: 0 to COUNT_MAX elements, at every misalignment in turn, with guards around the
 * target. */
static void check_operation(combine_function *combine, enum trma_operation operation,
                            enum trma_element element) {
    const size_t extent = trma_acc_element_extent(element);
    char target_room[64 + COUNT_MAX * ELEMENT_BYTES_MAX + 64];
    char expected_room[sizeof(target_room)];
    char origin_room[sizeof(target_room)];

    for (size_t n = 0; n <= COUNT_MAX; n++) {
        char *target = target_room + 64 + n % 17;
        char *expected = expected_room + 64 + n % 17;
        char *origin = origin_room + n % 13;
        memset(target_room, 0x5A, sizeof(target_room));
        for (size_t i = 0; i < n; i++) {
            random_element(element, target + i * extent);
            random_element(element, origin + i * extent);
        }
        memcpy(expected_room, target_room, sizeof(target_room));
        for (size_t i = 0; i < n; i++) {
            oracle(operation, element, expected + i * extent, origin + i * extent);
        }
        combine(operation, element, target, origin, n);
        assert_memory_equal(target_room, expected_room, (size_t)(target - target_room));
        assert_memory_equal(target + n * extent, expected + n * extent,
                            sizeof(target_room) - (size_t)(target - target_room) - n * extent);
        for (size_t i = 0; i < n; i++) {
            if (!is_same(element, target + i * extent, expected + i * extent)) {
                fail_msg("operation %d, element %d: number %zu of %zu is wrong", (int)operation, (int)element,
                         i, n);
            }
        }
    }
}

static bool is_copy(enum trma_operation operation) {
    return operation == TRMA_OPERATION_REPLACE || operation == TRMA_OPERATION_NO_OP;
}

static void test_combine(void **state) {
    (void)state;
    for (int operation = 0; operation < TRMA_OPERATION_COUNT; operation++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            if (!is_copy((enum trma_operation)operation) &&
                trma_acc_operation_is_allowed((enum trma_operation)operation, (enum trma_element)element)) {
                check_operation(trma_acc_combine, (enum trma_operation)operation, (enum trma_element)element);
            }
        }
    }
}

static trma_acc_kernel_table *table_under_test;

static void combine_by_table(enum trma_operation operation, enum trma_element element, void *target,
                             const void *origin, size_t n) {
    (*table_under_test)[operation][element](target, origin, n);
}

static void check_table(trma_acc_kernel_table *table) {
    table_under_test = table;
    for (int operation = 0; operation < TRMA_OPERATION_COUNT; operation++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            if ((*table)[operation][element] != NULL) {
                check_operation(combine_by_table, (enum trma_operation)operation, (enum trma_element)element);
            }
        }
    }
}

static void test_instruction_sets(void **state) {
    (void)state;
    check_table(&trma_acc_kernels_baseline);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        check_table(&trma_acc_kernels_avx2);
    }
#endif
}

/* Every allowed pair has one kernel, in one family; nothing else has. */
static void test_kernels_are_complete(void **state) {
    trma_acc_kernel_table *const families[] = {&trma_acc_kernels_baseline, &trma_acc_kernels_wide,
                                               &trma_acc_kernels_half, &trma_acc_kernels_pair};
    (void)state;
    for (int operation = 0; operation < TRMA_OPERATION_COUNT; operation++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            const bool allowed =
                trma_acc_operation_is_allowed((enum trma_operation)operation, (enum trma_element)element);
            size_t n = 0;
            for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
                n += (*families[i])[operation][element] != NULL;
            }
            assert_int_equal(n, allowed && !is_copy((enum trma_operation)operation));
        }
    }
}

static void test_allowed(void **state) {
    /* The table of MPI-4.1 section 6.9.2, by class: integer, floating, complex, logical, byte, character,
     * pair. */
    const struct {
        enum trma_operation operation;
        const char *classes;
    } rows[] = {
        {TRMA_OPERATION_REPLACE, "ifclbxp"}, {TRMA_OPERATION_NO_OP, "ifclbxp"}, {TRMA_OPERATION_SUM, "ifc"},
        {TRMA_OPERATION_PROD, "ifc"},        {TRMA_OPERATION_MAX, "if"},        {TRMA_OPERATION_MIN, "if"},
        {TRMA_OPERATION_LAND, "il"},         {TRMA_OPERATION_LOR, "il"},        {TRMA_OPERATION_LXOR, "il"},
        {TRMA_OPERATION_BAND, "ib"},         {TRMA_OPERATION_BOR, "ib"},        {TRMA_OPERATION_BXOR, "ib"},
        {TRMA_OPERATION_MAXLOC, "p"},        {TRMA_OPERATION_MINLOC, "p"},
    };
    const char *class_of_element = "iiiii"  /* signed */
                                   "iiii"   /* unsigned */
                                   "ffffff" /* float16 to float128 */
                                   "ccccc"  /* complex */
                                   "lllll"  /* bool, logical */
                                   "bxx"    /* byte, characters */
                                   "pppppppp" /* pairs */;
    (void)state;
    assert_int_equal(strlen(class_of_element), TRMA_ELEMENT_COUNT);
    assert_int_equal(sizeof(rows) / sizeof(rows[0]), TRMA_OPERATION_COUNT);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            assert_int_equal(trma_acc_operation_is_allowed(rows[r].operation, (enum trma_element)element),
                             strchr(rows[r].classes, class_of_element[element]) != NULL);
        }
        assert_false(trma_acc_operation_is_allowed(rows[r].operation, TRMA_ELEMENT_MIXED));
    }
    assert_false(trma_acc_operation_is_allowed(TRMA_OPERATION_COUNT, TRMA_ELEMENT_INT32));
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        assert_int_equal(trma_acc_compare_is_allowed((enum trma_element)element),
                         strchr("ilb", class_of_element[element]) != NULL);
    }
}

static void test_shapes(void **state) {
    (void)state;
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        const struct trma_element_shape *shape = trma_acc_element_shape((enum trma_element)element);
        size_t size = 0;
        size_t end = 0;
        assert_in_range(shape->n_blocks, 1, 2);
        assert_in_range(shape->extent, 1, ELEMENT_BYTES_MAX);
        for (size_t b = 0; b < shape->n_blocks; b++) {
            assert_true(b == 0 ? shape->blocks[b].offset == 0 : shape->blocks[b].offset > end);
            end = shape->blocks[b].offset + shape->blocks[b].length;
            size += shape->blocks[b].length;
        }
        assert_int_equal(shape->size, size);
        assert_int_equal(shape->span, end);
        assert_true(end <= shape->extent);
        assert_int_equal(trma_acc_element_size((enum trma_element)element), size);
        assert_int_equal(trma_acc_element_extent((enum trma_element)element), shape->extent);
    }
    assert_int_equal(trma_acc_element_extent(TRMA_ELEMENT_PAIR_DOUBLE_INT), 16);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_PAIR_DOUBLE_INT), 12);
    assert_int_equal(trma_acc_element_extent(TRMA_ELEMENT_PAIR_SHORT_INT), 8);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_PAIR_SHORT_INT), 6);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_COMPLEX64), 16);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_LOGICAL128), 16);
}

/* Copies move data bytes, and only those. */
static void test_copies(void **state) {
    char to[COUNT_MAX * ELEMENT_BYTES_MAX];
    char from[sizeof(to)];
    (void)state;
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        const struct trma_element_shape *shape = trma_acc_element_shape((enum trma_element)element);
        memset(to, 0x11, sizeof(to));
        memset(from, 0x22, sizeof(from));
        trma_acc_combine(TRMA_OPERATION_NO_OP, (enum trma_element)element, to, from, COUNT_MAX);
        for (size_t i = 0; i < sizeof(to); i++) {
            assert_int_equal(to[i], 0x11);
        }
        trma_acc_combine(TRMA_OPERATION_REPLACE, (enum trma_element)element, to, from, COUNT_MAX - 1);
        for (size_t i = 0; i < sizeof(to); i++) {
            bool is_data = false;
            for (size_t b = 0; b < shape->n_blocks; b++) {
                is_data |= i % shape->extent - shape->blocks[b].offset < shape->blocks[b].length;
            }
            is_data &= i / shape->extent < COUNT_MAX - 1;
            assert_int_equal(to[i], is_data ? 0x22 : 0x11);
        }
    }
}

/* Of equal values the lower index wins, whichever side it is on; so it does for both operations. */
static void test_ties(void **state) {
    const struct trma_pair_int_int cases[][3] = {
        {{7, 3}, {7, 1}, {7, 1}}, {{7, 1}, {7, 3}, {7, 1}}, {{7, -2}, {7, -1}, {7, -2}}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trma_pair_int_int target = cases[i][0];
        trma_acc_combine(TRMA_OPERATION_MAXLOC, TRMA_ELEMENT_PAIR_INT_INT, &target, &cases[i][1], 1);
        assert_memory_equal(&target, &cases[i][2], sizeof(target));
        target = cases[i][0];
        trma_acc_combine(TRMA_OPERATION_MINLOC, TRMA_ELEMENT_PAIR_INT_INT, &target, &cases[i][1], 1);
        assert_memory_equal(&target, &cases[i][2], sizeof(target));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_kernels_are_complete),
        cmocka_unit_test(test_combine),
        cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
