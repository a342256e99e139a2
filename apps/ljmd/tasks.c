/* SPDX-License-Identifier: BSD-3-Clause */
#include "forces.h"

#include "lj.h"

/*
 * Block i meets the blocks i, i + 1, ... i + n/2 around a circle of n blocks, so that each pair comes up
 * once: with n even, only half of the blocks go the last step. Tasks are numbered by distance first;
 * neighbours in number thus belong to different blocks, and ranks that work at the same time do not all talk
 * to the same owner.
 */
int tasks_count(const struct atoms *atoms) {
    return atoms->nblocks * (atoms->nblocks + 1) / 2;
}

struct task task_at(const struct atoms *atoms, int t) {
    int distance = t / atoms->nblocks;
    struct task task = {.i = t % atoms->nblocks};
    task.j = (task.i + distance) % atoms->nblocks;
    return task;
}

double task_compute(const struct atoms *atoms, struct task task, const double *xi, const double *xj,
                    double *fi, double *fj) {
    int ni = atoms_in_block(atoms, task.i);
    if (task.i == task.j)
        return lj_within(xi, ni, atoms->box, fi);
    return lj_between(xi, ni, xj, atoms_in_block(atoms, task.j), atoms->box, fi, fj);
}
