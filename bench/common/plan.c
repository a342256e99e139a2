/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan.h"

static bool is_long(const struct bench_plan_need *need, double us, long iterations, double last_us) {
    const double taken_us = us * (double)iterations;
    return taken_us >= need->sample_us / 4 && (!need->is_crowded || (last_us > 0 && taken_us >= 2 * last_us));
}

long bench_plan_grow(const struct bench_plan_need *need, bench_plan_sampler *sample, void *context,
                     double *us) {
    const long most = 1L << 24;
    double last_us = 0;
    for (long iterations = need->least;; iterations *= 4) {
        *us = sample(context, iterations);
        if (is_long(need, *us, iterations, last_us)) {
            const double again_us = sample(context, iterations);
            *us = again_us < *us ? again_us : *us;
        }
        if (iterations >= most || is_long(need, *us, iterations, last_us))
            return iterations;
        last_us = *us * (double)iterations;
    }
}

long bench_plan_lasting(const struct bench_plan_need *need, double sample_us, double us, long fewest) {
    const double wanted = us > 0 ? sample_us / us : (double)fewest;
    const long iterations = wanted > (double)fewest ? (long)wanted : fewest;
    return need->most > 0 && iterations > need->most ? need->most : iterations;
}

void bench_plan_take_most(long *chosen, const long *mine, int count, const long *others, int n_others) {
    enum { FEW = 64, TIMES = 4 };
    for (int i = 0; i < count; i++) {
        for (int other = 0; other < n_others && mine[i] < FEW; other++) {
            if (others[other] > chosen[i] && others[other] / TIMES <= mine[i])
                chosen[i] = others[other];
        }
    }
}
