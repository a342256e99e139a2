/* SPDX-License-Identifier: BSD-3-Clause */
#include "kronecker.h"

#include <math.h>

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads each bit over all. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t random_draw(uint64_t seed, uint64_t stream, uint64_t counter) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return mix(mix(mix(seed + golden) + stream * golden) + (counter + 1) * golden);
}

/* A permutation of the numbers below 2^scale: multiplying by an odd number and xor-ing the upper half onto
 * the lower are both one-to-one there. */
static uint64_t scramble(uint64_t seed, int scale, uint64_t vertex) {
    const uint64_t mask = (UINT64_C(1) << scale) - 1;
    const uint64_t rounds = 4;
    for (uint64_t round = 0; round < rounds; round++) {
        const uint64_t key = random_draw(seed, UINT64_MAX, round);
        vertex = (vertex * (key | 1) + (key >> 32)) & mask;
        vertex ^= vertex >> (scale / 2 + 1);
    }
    return vertex;
}

/* A 32-bit number is below this with the given probability. */
static uint64_t threshold(double probability) {
    return (uint64_t)llround(ldexp(probability, 32));
}

struct edge kronecker_edge(uint64_t seed, int scale, uint64_t number) {
    const double a = 0.57, b = 0.19, c = 0.19;
    const uint64_t upper_half = threshold(a + b);              /* the row bit is 0 */
    const uint64_t left_if_upper = threshold(a / (a + b));     /* the column bit is 0, given row bit 0 */
    const uint64_t left_if_lower = threshold(c / (1 - a - b)); /* and given row bit 1 */

    uint64_t row = 0, column = 0;
    for (int level = 0; level < scale; level++) {
        const uint64_t draw = random_draw(seed, number, (uint64_t)level);
        const uint64_t row_bit = (draw >> 32) >= upper_half;
        const uint64_t column_bit = (draw & UINT32_MAX) >= (row_bit ? left_if_lower : left_if_upper);
        row |= row_bit << level;
        column |= column_bit << level;
    }
    return (struct edge){(int64_t)scramble(seed, scale, row), (int64_t)scramble(seed, scale, column)};
}
