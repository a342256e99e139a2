/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_HALF_H
#define TRMA_ACC_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * 16-bit floating-point numbers as float and back, rounded to nearest, ties to even. A float has more than
 * twice the digits of either, so that a sum or product computed as float and rounded once more is the
 * correctly rounded one.
 */

static inline float trma_acc_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t trma_acc_float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* bfloat16 is the upper half of a float. */
static inline float trma_acc_bfloat16_load(uint16_t half) {
    return trma_acc_float_from_bits((uint32_t)half << 16);
}

static inline uint16_t trma_acc_bfloat16_round(float value) {
    const uint32_t bits = trma_acc_float_to_bits(value);

    if (isnan(value)) { /* the quiet bit keeps a payload in the lower half from turning into an infinity */
        return (uint16_t)(bits >> 16 | 0x40U);
    }
    return (uint16_t)((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

#if defined(__FLT16_MAX__)

static inline float trma_acc_float16_load(uint16_t half) {
    _Float16 value;
    memcpy(&value, &half, sizeof(value));
    return (float)value;
}

static inline uint16_t trma_acc_float16_round(float value) {
    const _Float16 rounded = (_Float16)value;
    uint16_t half;
    memcpy(&half, &rounded, sizeof(half));
    return half;
}

#else

/* Compilers without _Float16 for this architecture: 1 bit sign, 5 bits exponent (bias 15), 10 bits mantissa.
 */
static inline float trma_acc_float16_load(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    const uint32_t exponent = half >> 10 & 0x1FU;
    const uint32_t mantissa = half & 0x3FFU;

    if (exponent == 0x1FU) { /* infinity or NaN */
        return trma_acc_float_from_bits(sign | 0x7F800000U | mantissa << 13);
    }
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 */
        const float magnitude = (float)mantissa * 0x1p-24F;
        return sign ? -magnitude : magnitude;
    }
    return trma_acc_float_from_bits(sign | (exponent + 112U) << 23 | mantissa << 13);
}

static inline uint16_t trma_acc_float16_round(float value) {
    const uint32_t bits = trma_acc_float_to_bits(value);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000U);
    const float magnitude = fabsf(value);

    if (isnan(value)) {
        return (uint16_t)(sign | 0x7E00U | (bits >> 13 & 0x3FFU));
    }
    if (magnitude >= 65520.0F) { /* halfway between the largest number and the next that does not exist */
        return (uint16_t)(sign | 0x7C00U);
    }
    if (magnitude < 0x1p-14F) {
        /* Subnormal, a multiple of 2^-24: the last bit of a float in [1/2, 1), to which adding 1/2 rounds. */
        const uint32_t units = trma_acc_float_to_bits(magnitude + 0.5F) - trma_acc_float_to_bits(0.5F);
        return (uint16_t)(sign | units);
    }
    const uint32_t rounded = (bits & 0x7FFFFFFFU) + 0xFFFU + (bits >> 13 & 1U);
    const uint32_t half = (rounded >> 13) - (112U << 10);
    return (uint16_t)(sign | half);
}

#endif

#endif
