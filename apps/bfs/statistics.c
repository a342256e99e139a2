/* SPDX-License-Identifier: BSD-3-Clause */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double fraction) {
    const double position = fraction * (count - 1);
    const int below = (int)position;
    const int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

/* Deviation of the sample around its mean. */
static double deviation(double sum, double sum_of_squares, int count) {
    if (count < 2)
        return 0;
    const double variance = (sum_of_squares - sum * sum / count) / (count - 1);
    return variance > 0 ? sqrt(variance) : 0;
}

struct statistics statistics_of(double *values, int count) {
    double sum = 0, squares = 0, inverse = 0, inverse_squares = 0;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    for (int i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
        inverse += 1 / values[i];
        inverse_squares += 1 / (values[i] * values[i]);
    }
    struct statistics result = {.minimum = values[0],
                                .first_quartile = quantile(values, count, 0.25),
                                .median = quantile(values, count, 0.5),
                                .third_quartile = quantile(values, count, 0.75),
                                .maximum = values[count - 1],
                                .mean = sum / count,
                                .deviation = deviation(sum, squares, count),
                                .harmonic_mean = count / inverse};
    if (count > 1)
        result.harmonic_deviation = deviation(inverse, inverse_squares, count) / sqrt(count - 1) *
                                    result.harmonic_mean * result.harmonic_mean;
    return result;
}
