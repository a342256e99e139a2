/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_random.h"

/* Products wrap at 2^64, which 2^46 divides: the low 46 bits are right. */
static const uint64_t low_bits = ((uint64_t)1 << 46) - 1;

double app_random_next(uint64_t *state, uint64_t a) {
    *state = *state * a & low_bits;
    return (double)*state * 0x1p-46;
}

uint64_t app_random_power(uint64_t a, uint64_t exponent) {
    uint64_t power = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            power = power * a & low_bits;
        a = a * a & low_bits;
    }
    return power;
}
