/* SPDX-License-Identifier: BSD-3-Clause */
#include "solve.h"

#include "app_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The benchmark's number of conjugate gradient iterations in a step. */
enum { ITERATIONS = 25 };

void solver_open(struct solver *solver, struct spread *spread) {
    *solver = (struct solver){.spread = spread, .length = range_length(spread->layout.block_columns)};
    double **vectors[] = {&solver->x, &solver->z, &solver->p, &solver->q, &solver->r};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        *vectors[i] = app_memory_allocate((size_t)solver->length, sizeof(double));
}

void solver_close(struct solver *solver) {
    free(solver->x);
    free(solver->z);
    free(solver->p);
    free(solver->q);
    free(solver->r);
}

void solver_reset(struct solver *solver) {
    for (int i = 0; i < solver->length; i++)
        solver->x[i] = 1.0;
}

/* Of this rank's segment only. */
static double dot(const struct solver *solver, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < solver->length; i++)
        sum += a[i] * b[i];
    return sum;
}

static double dot_all(struct solver *solver, const double *a, const double *b) {
    double sum = dot(solver, a, b);
    spread_sum(solver->spread, &sum, 1);
    return sum;
}

/* z = A^-1 x, nearly. Returns |x - A z|. */
static double solve(struct solver *solver) {
    const int length = solver->length;
    double *restrict z = solver->z, *restrict p = solver->p, *restrict q = solver->q, *restrict r = solver->r;
    memset(z, 0, (size_t)length * sizeof *z);
    memcpy(r, solver->x, (size_t)length * sizeof *r);
    memcpy(p, solver->x, (size_t)length * sizeof *p);
    double rho = dot_all(solver, r, r);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        spread_multiply(solver->spread, p, q);
        double alpha = rho / dot_all(solver, p, q);
        for (int i = 0; i < length; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double before = rho;
        rho = dot_all(solver, r, r);
        double beta = rho / before;
        for (int i = 0; i < length; i++)
            p[i] = r[i] + beta * p[i];
    }
    spread_multiply(solver->spread, z, q);
    for (int i = 0; i < length; i++)
        r[i] = solver->x[i] - q[i];
    return sqrt(dot_all(solver, r, r));
}

double solver_step(struct solver *solver, double *residual) {
    *residual = solve(solver);
    double sums[2] = {dot(solver, solver->x, solver->z), dot(solver, solver->z, solver->z)};
    spread_sum(solver->spread, sums, 2);
    double scale = 1.0 / sqrt(sums[1]);
    for (int i = 0; i < solver->length; i++)
        solver->x[i] = scale * solver->z[i];
    return 1.0 / sums[0];
}
