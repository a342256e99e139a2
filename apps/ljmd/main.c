/* SPDX-License-Identifier: BSD-3-Clause */
/* ljmd: molecular dynamics of a Lennard-Jones fluid by force decomposition. See README.md. */
#include "atoms.h"
#include "forces.h"
#include "lj.h"

#include "app_memory.h"
#include "app_options.h"
#include "app_report.h"

#include <math.h>
#include <stdlib.h>

#define TIME_STEP 0.004

static long cells = -1; /* these three: negative means as the class says */
static long steps = -1;
static long block = -1;

static const struct app_option own_options[] = {
    {.name = "cells",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &cells,
     .minimum = 3,
     .maximum = 60,
     .help = "fcc cells along an edge, 4 atoms each (default: the class's; S 5, W 8, A 12, B 16)"},
    {.name = "steps",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &steps,
     .minimum = 1,
     .maximum = 1000000,
     .help = "time steps (default: the class's; S 8, W and A 20, B 10)"},
    {.name = "block",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &block,
     .minimum = 16,
     .maximum = 100000,
     .help =
         "atoms in a block; a task is a pair of blocks (default: the class's; S 130, W 128, A and B 256)"},
};

static const struct app_description ljmd_description = {
    .name = "ljmd",
    .summary = "molecular dynamics of a Lennard-Jones fluid, all pairs, by force decomposition",
    .classes = "SWAB",
    .options = own_options,
    .option_count = sizeof own_options / sizeof own_options[0],
};

static void choose_size(const struct app_options *options) {
    static const struct {
        long cells, steps, block;
    } sizes[APP_CLASSES] = {{5, 8, 130}, {8, 20, 128}, {12, 20, 256}, {16, 10, 256}};
    const int problem = app_class_index(options);
    cells = cells > 0 ? cells : sizes[problem].cells;
    steps = steps > 0 ? steps : sizes[problem].steps;
    block = block > 0 ? block : sizes[problem].block;
}

/* Half a step of velocity Verlet's kick: v += f dt / 2. */
static void kick(struct atoms *atoms, const double *f) {
    for (size_t k = 0; k < 3 * (size_t)atoms->nown; k++)
        atoms->velocity[k] += 0.5 * TIME_STEP * f[k];
}

/* x += v dt, and back into the box. */
static void drift(const struct atoms *atoms, double *x) {
    for (size_t k = 0; k < 3 * (size_t)atoms->nown; k++) {
        double moved = x[k] + TIME_STEP * atoms->velocity[k];
        x[k] = moved - atoms->box * floor(moved / atoms->box);
    }
}

/* Per atom; `potential` is this rank's share. Collective. */
static double total_energy(const struct forces *forces, double potential) {
    const struct atoms *atoms = forces->atoms;
    double energy = potential;
    for (size_t k = 0; k < 3 * (size_t)atoms->nown; k++)
        energy += 0.5 * atoms->velocity[k] * atoms->velocity[k];
    MPI_Allreduce(MPI_IN_PLACE, &energy, 1, MPI_DOUBLE, MPI_SUM, forces->comm);
    return energy / atoms->natoms;
}

/* The size of the total momentum (sum over its components), per atom. Collective. */
static double momentum(const struct forces *forces) {
    const struct atoms *atoms = forces->atoms;
    double sum[3] = {0};
    for (int b = atoms->first; b < atoms->end; b++) {
        int count = atoms_in_block(atoms, b);
        const double *v = atoms->velocity + atoms_offset(atoms, b);
        for (int k = 0; k < 3 * count; k++)
            sum[k / count] += v[k];
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_DOUBLE, MPI_SUM, forces->comm);
    return (fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2])) / atoms->natoms;
}

/* The force on atom k of block b by all atoms, by the book. */
static void reference_force(const struct atoms *atoms, const double *all_x, int b, int k, double f[3]) {
    const size_t stride = 3 * (size_t)atoms->block;
    const double *x = all_x + (size_t)b * stride;
    const int count = atoms_in_block(atoms, b);
    f[0] = f[1] = f[2] = 0;
    for (int other = 0; other < atoms->nblocks; other++) {
        double part[3];
        lj_reference(x[k], x[count + k], x[2 * count + k], all_x + (size_t)other * stride,
                     atoms_in_block(atoms, other), atoms->box, part);
        for (int d = 0; d < 3; d++)
            f[d] += part[d];
    }
}

/* The largest difference between the forces and those of a serial sum, relative to the largest force.
 * Collective. */
static double force_error(const struct forces *forces) {
    const struct atoms *atoms = forces->atoms;
    double *all_x = forces_all_coordinates(forces);
    double largest[2] = {0, 0}; /* difference, force */
    for (int b = atoms->first; b < atoms->end; b++) {
        const int count = atoms_in_block(atoms, b);
        for (int k = 0; k < count; k++) {
            double reference[3];
            reference_force(atoms, all_x, b, k, reference);
            for (int d = 0; d < 3; d++) {
                double difference =
                    fabs(forces->f[atoms_offset(atoms, b) + (size_t)(d * count + k)] - reference[d]);
                largest[0] = fmax(largest[0], isnan(difference) ? INFINITY : difference);
                largest[1] = fmax(largest[1], fabs(reference[d]));
            }
        }
    }
    free(all_x);
    MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, forces->comm);
    return largest[0] / largest[1];
}

static int run(const struct app_options *options) {
    int nranks, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    choose_size(options);
    struct atoms atoms;
    struct forces forces;
    struct app_timer timer = {0};
    atoms_open(&atoms, (int)cells, (int)block, nranks, rank);
    forces_open(&forces, &atoms, MPI_COMM_WORLD, options->comm, options->flavour, &timer);
    atoms_place(&atoms, forces.x);
    double before = total_energy(&forces, forces_compute(&forces)), potential = 0;

    app_timer_reset(&timer); /* what was before is not timed */
    MPI_Barrier(MPI_COMM_WORLD);
    app_timer_start(&timer, APP_PHASE_TOTAL);
    for (long step = 0; step < steps; step++) {
        kick(&atoms, forces.f);
        drift(&atoms, forces.x);
        potential = forces_compute(&forces);
        kick(&atoms, forces.f);
        app_progress(options, step + 1, steps);
    }
    app_timer_stop(&timer, APP_PHASE_TOTAL);

    double after = total_energy(&forces, potential);
    double seconds = app_timer_collect(&timer, MPI_COMM_WORLD).maximum[APP_PHASE_TOTAL];
    double pairs = 0.5 * atoms.natoms * (atoms.natoms - 1.0) * (double)steps;
    struct app_report report;
    app_report_begin(&report, options, MPI_COMM_WORLD);
    app_report_integer(&report, "atoms", atoms.natoms);
    app_report_integer(&report, "blocks", atoms.nblocks);
    app_report_integer(&report, "steps", steps);
    app_report_figure(&report, "energy per atom", after, "epsilon");
    app_report_figure(&report, "speed", pairs / seconds * 1e-6, "million pairs/s");
    app_report_verify_bound(&report, "energy drift", (after - before) / before, 2e-4);
    app_report_verify_bound(&report, "force error", force_error(&forces), 1e-9);
    app_report_verify_bound(&report, "momentum", momentum(&forces), 1e-12);
    int status = app_report_end(&report, &timer);
    forces_close(&forces);
    atoms_close(&atoms);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&ljmd_description, argc, argv, run);
}
