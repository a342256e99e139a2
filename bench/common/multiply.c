/* SPDX-License-Identifier: BSD-3-Clause */
#include "multiply.h"

#include "measure.h"

double *bench_matrices(int n) {
    size_t elements = (size_t)n * (size_t)n;
    double *matrices = bench_memory(3 * elements * sizeof(double));
    for (size_t i = 0; i < 2 * elements; i++)
        matrices[i] = 1.0 / (double)(i + 1);
    return matrices;
}

void bench_multiply(double *matrices, int n) {
    size_t order = (size_t)n;
    const double *a = matrices, *b = a + order * order;
    double *c = matrices + 2 * order * order;
    for (size_t i = 0; i < order; i++) {
        for (size_t j = 0; j < order; j++) {
            double sum = 0;
            for (size_t k = 0; k < order; k++)
                sum += a[i * order + k] * b[k * order + j];
            c[i * order + j] = sum;
        }
    }
}
