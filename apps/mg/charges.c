/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The right-hand side: every point of the cube gets a random number; the ten points with the smallest become
 * -1, the ten with the largest +1, all others 0. (Bailey et al., RNR-94-007, section 3.2.)
 */
#include "multigrid.h"

#include "app_memory.h"
#include "app_random.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>

enum { CHARGES = 10 };

/* A random number and the point of the whole cube it belongs to. MPI sees two doubles; points are below 2^53.
 */
struct candidate {
    double number, point;
};

/* The best candidates so far, best first, by the largest number. For the smallest ones numbers are negated.
 */
struct best {
    struct candidate candidate[CHARGES];
};

static void offer(struct best *best, struct candidate candidate) {
    if (candidate.number <= best->candidate[CHARGES - 1].number)
        return;
    int i = CHARGES - 1;
    for (; i > 0 && best->candidate[i - 1].number < candidate.number; i--)
        best->candidate[i] = best->candidate[i - 1];
    best->candidate[i] = candidate;
}

static struct best none(void) {
    struct best best;
    for (int i = 0; i < CHARGES; i++)
        best.candidate[i] = (struct candidate){.number = -DBL_MAX, .point = -1.0};
    return best;
}

/* The candidates among this rank's points. The point number p, x fastest, has the (p+1)th random number. */
static void search(const struct multigrid *mg, struct best *smallest, struct best *largest) {
    const uint64_t n = (uint64_t)1 << mg->levels;
    for (int z = 0; z < mg->v.m[Z]; z++) {
        for (int y = 0; y < mg->v.m[Y]; y++) {
            uint64_t row = (uint64_t)(z + mg->offset[Z]) * n + (uint64_t)(y + mg->offset[Y]);
            uint64_t point = row * n + (uint64_t)mg->offset[X];
            uint64_t state = APP_RANDOM_SEED;
            app_random_next(&state, app_random_power(APP_RANDOM_MULTIPLIER, point));
            for (int x = 0; x < mg->v.m[X]; x++, point++) {
                double number = app_random_next(&state, APP_RANDOM_MULTIPLIER);
                offer(largest, (struct candidate){number, (double)point});
                offer(smallest, (struct candidate){-number, (double)point});
            }
        }
    }
}

/* The candidates among all ranks', known to all. */
static struct best merge(MPI_Comm comm, const struct best *mine) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    struct best *all = app_memory_allocate((size_t)ranks, sizeof *all), merged = none();
    const int doubles = sizeof *mine / sizeof(double);
    MPI_Allgather(mine, doubles, MPI_DOUBLE, all, doubles, MPI_DOUBLE, comm);
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < CHARGES; i++)
            offer(&merged, all[rank].candidate[i]);
    free(all);
    return merged;
}

/* Sets the points that lie on this rank. */
static void set(struct multigrid *mg, const struct best *best, double charge) {
    const uint64_t n = (uint64_t)1 << mg->levels;
    for (int i = 0; i < CHARGES; i++) {
        uint64_t point = (uint64_t)best->candidate[i].point;
        const uint64_t place[DIMENSIONS] = {point % n, point / n % n, point / n / n};
        int at[DIMENSIONS];
        bool here = true;
        for (int d = 0; d < DIMENSIONS; d++) {
            at[d] = (int)place[d] - mg->offset[d] + 1;
            here = here && at[d] >= 1 && at[d] <= mg->v.m[d];
        }
        if (here)
            grid_row(mg->v, at[Y], at[Z])[at[X]] = charge;
    }
}

void multigrid_charge(struct multigrid *mg) {
    struct best smallest = none(), largest = none();
    search(mg, &smallest, &largest);
    smallest = merge(mg->halo.comm, &smallest);
    largest = merge(mg->halo.comm, &largest);
    grid_clear(mg->v);
    set(mg, &smallest, -1.0);
    set(mg, &largest, 1.0);
    /* the halo of v is never read: the operators take v's own points only */
}
