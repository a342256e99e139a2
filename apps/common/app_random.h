/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random numbers of the NAS Parallel Benchmarks: x(k+1) = a * x(k) mod 2^46, and the number is x(k+1) /
 * 2^46. (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.3.)
 */
#ifndef APP_RANDOM_H
#define APP_RANDOM_H

#include <stdint.h>

/* The multiplier that the benchmarks use, 5^13, and the usual first state. */
#define APP_RANDOM_MULTIPLIER ((uint64_t)1220703125)
#define APP_RANDOM_SEED       ((uint64_t)314159265)

/* Advances the state by one step with the multiplier `a`; returns the new state as a number in (0, 1). */
double app_random_next(uint64_t *state, uint64_t a);

/* a^exponent mod 2^46: one step with it is `exponent` steps with `a`. */
uint64_t app_random_power(uint64_t a, uint64_t exponent);

#endif
