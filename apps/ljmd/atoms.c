/* SPDX-License-Identifier: BSD-3-Clause */
#include "atoms.h"

#include "app_memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define DENSITY     0.8442
#define TEMPERATURE 0.72

int atoms_first_block(const struct atoms *atoms, int r) {
    return (int)((int64_t)r * atoms->nblocks / atoms->nranks);
}

int atoms_owner(const struct atoms *atoms, int b) {
    /* The largest r with floor(r * nblocks / nranks) <= b. */
    return (int)((((int64_t)b + 1) * atoms->nranks - 1) / atoms->nblocks);
}

int atoms_in_block(const struct atoms *atoms, int b) {
    int left = atoms->natoms - b * atoms->block;
    return left < atoms->block ? left : atoms->block;
}

size_t atoms_offset(const struct atoms *atoms, int b) {
    int from = atoms_first_block(atoms, atoms_owner(atoms, b));
    return 3 * (size_t)(b - from) * (size_t)atoms->block;
}

void atoms_open(struct atoms *atoms, int cells, int block, int nranks, int rank) {
    atoms->natoms = 4 * cells * cells * cells;
    atoms->block = block;
    atoms->nblocks = (atoms->natoms + block - 1) / block;
    atoms->nranks = nranks;
    atoms->rank = rank;
    atoms->first = atoms_first_block(atoms, rank);
    atoms->end = atoms_first_block(atoms, rank + 1);
    atoms->nown = 0;
    for (int b = atoms->first; b < atoms->end; b++)
        atoms->nown += atoms_in_block(atoms, b);
    atoms->box = cbrt(atoms->natoms / DENSITY);
    atoms->velocity = app_memory_allocate(3 * (size_t)atoms->nown, sizeof(double));
}

void atoms_close(struct atoms *atoms) {
    free(atoms->velocity);
}

/* A normal deviate that depends on `key` alone (splitmix64, then Box and Muller), so that every rank can draw
 * the velocities of any atom and the run does not depend on how the atoms are dealt out. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double normal(uint64_t key) {
    const uint64_t gamma = 0x9e3779b97f4a7c15u;
    double u = ((double)(mix((2 * key + 1) * gamma) >> 11) + 0.5) * 0x1p-53;
    double v = ((double)(mix((2 * key + 2) * gamma) >> 11) + 0.5) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

static void lattice_point(int atom, int cells, double edge, double at[3]) {
    static const double corner[4][3] = {{0, 0, 0}, {0, .5, .5}, {.5, 0, .5}, {.5, .5, 0}};
    int cell = atom / 4;
    const int place[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
    for (int d = 0; d < 3; d++)
        at[d] = (place[d] + corner[atom % 4][d] + 0.25) * edge;
}

void atoms_place(struct atoms *atoms, double *x) {
    const int n = atoms->natoms;
    double *all =
        app_memory_allocate(3 * (size_t)n, sizeof(double)); /* velocities of all atoms, atom by atom */
    double mean[3] = {0}, square = 0;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++)
            mean[d] += (all[3 * i + d] = normal(3 * (uint64_t)i + (uint64_t)d)) / n;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++) {
            all[3 * i + d] -= mean[d];
            square += all[3 * i + d] * all[3 * i + d];
        }
    /* 3N - 3 degrees of freedom are left once the momentum is fixed. */
    double scale = sqrt(TEMPERATURE * (3.0 * n - 3.0) / square);

    int cells = (int)lround(cbrt(n / 4.0));
    for (int b = atoms->first; b < atoms->end; b++) {
        int count = atoms_in_block(atoms, b);
        size_t at = atoms_offset(atoms, b);
        for (int k = 0; k < count; k++) {
            int atom = b * atoms->block + k;
            double point[3];
            lattice_point(atom, cells, atoms->box / cells, point);
            for (int d = 0; d < 3; d++) {
                x[at + (size_t)(d * count + k)] = point[d];
                atoms->velocity[at + (size_t)(d * count + k)] = scale * all[3 * atom + d];
            }
        }
    }
    free(all);
}
