/* SPDX-License-Identifier: BSD-3-Clause */
#include "multigrid.h"

#include "app_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A level is shared when each rank has at least so many points of it per dimension. */
enum { POINTS_MIN = 2 };

static bool is_shared(const int ranks[DIMENSIONS], int k) {
    for (int d = 0; d < DIMENSIONS; d++)
        if ((1 << k) < POINTS_MIN * ranks[d])
            return false;
    return true;
}

bool multigrid_possible(int levels, int ranks) {
    /* the ranks are split evenly among the dimensions, so z has the most: the third root, rounded up to a
     * power of 2 */
    int power = 0;
    while ((1 << power) < ranks)
        power++;
    const int split[DIMENSIONS] = {1, 1, 1 << (power + DIMENSIONS - 1) / DIMENSIONS};
    return (1 << power) == ranks && is_shared(split, levels);
}

void multigrid_open(struct multigrid *mg, MPI_Comm comm, const struct app_options *options, int levels,
                    struct weights smoother, struct app_timer *timer) {
    *mg = (struct multigrid){.levels = levels, .timer = timer, .smoother = smoother};
    mg->laplacian =
        (struct weights){.centre = -8.0 / 3.0, .face = 0.0, .edge = 1.0 / 6.0, .corner = 1.0 / 12.0};
    halo_open(&mg->halo, comm, options, 1 << levels, timer);
    size_t most = 0;
    for (int k = 1; k <= levels; k++) {
        struct level *level = &mg->level[k];
        level->replicated = !is_shared(mg->halo.ranks, k);
        int m[DIMENSIONS];
        for (int d = 0; d < DIMENSIONS; d++)
            m[d] = (1 << k) / (level->replicated ? 1 : mg->halo.ranks[d]);
        level->u = grid_new(m);
        level->r = grid_new(m);
        if (level->replicated)
            most = box_points(grid_interior(level->r));
        if (k == levels) {
            mg->v = grid_new(m);
            for (int d = 0; d < DIMENSIONS; d++)
                mg->offset[d] = mg->halo.place[d] * m[d];
        }
    }
    mg->collected = app_memory_allocate(most, sizeof(double));
}

void multigrid_close(struct multigrid *mg) {
    for (int k = 1; k <= mg->levels; k++) {
        free(mg->level[k].u.at);
        free(mg->level[k].r.at);
    }
    free(mg->v.at);
    free(mg->collected);
    halo_close(&mg->halo);
}

/* The part of a replicated level's grid that the rank at `place` computes, when its finer neighbour is
 * shared. */
static struct grid part_at(const struct multigrid *mg, struct grid grid, const int place[DIMENSIONS]) {
    int offset[DIMENSIONS], m[DIMENSIONS];
    for (int d = 0; d < DIMENSIONS; d++) {
        m[d] = grid.m[d] / mg->halo.ranks[d];
        offset[d] = place[d] * m[d];
    }
    return grid_part(grid, offset, m);
}

/* Collects the parts of all ranks of a replicated grid. */
static void collect(const struct multigrid *mg, struct grid grid) {
    struct grid mine = part_at(mg, grid, mg->halo.place);
    size_t points = box_points(grid_interior(mine));
    int rank, ranks;
    MPI_Comm_rank(mg->halo.comm, &rank);
    MPI_Comm_size(mg->halo.comm, &ranks);
    grid_pack(mine, grid_interior(mine), mg->collected + (size_t)rank * points);
    app_timer_start(mg->timer, APP_PHASE_WAITING);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mg->collected, (int)points, MPI_DOUBLE, mg->halo.comm);
    app_timer_stop(mg->timer, APP_PHASE_WAITING);
    for (int other = 0; other < ranks; other++) {
        int place[DIMENSIONS];
        halo_place(&mg->halo, other, place);
        struct grid part = part_at(mg, grid, place);
        grid_unpack(part, grid_interior(part), mg->collected + (size_t)other * points);
    }
}

/* What one step computes, for halo_update's calls. */
struct work {
    struct grid out, in, rhs;
    struct weights weights;
};

static void compute_residual(const void *work, int first, int last) {
    const struct work *w = work;
    stencil_residual(w->out, w->rhs, w->in, w->weights, first, last);
}

static void compute_smooth(const void *work, int first, int last) {
    const struct work *w = work;
    stencil_smooth(w->out, w->in, w->weights, first, last);
}

static void compute_restrict(const void *work, int first, int last) {
    const struct work *w = work;
    stencil_restrict(w->out, w->in, first, last);
}

/* Computes a grid of a level, and its halo. */
static void run(struct multigrid *mg, int k, halo_compute *compute, struct work work) {
    if (mg->level[k].replicated) {
        compute(&work, 1, work.out.m[Z]);
        halo_wrap(work.out);
    } else {
        halo_update(&mg->halo, work.out, compute, &work);
    }
}

static void residual(struct multigrid *mg, int k, struct grid v) {
    const struct level *level = &mg->level[k];
    run(mg, k, compute_residual,
        (struct work){.out = level->r, .rhs = v, .in = level->u, .weights = mg->laplacian});
}

static void smooth(struct multigrid *mg, int k) {
    const struct level *level = &mg->level[k];
    run(mg, k, compute_smooth, (struct work){.out = level->u, .in = level->r, .weights = mg->smoother});
}

/* The residual of level k+1, restricted to level k. */
static void restrict_residual(struct multigrid *mg, int k) {
    struct grid coarse = mg->level[k].r, fine = mg->level[k + 1].r;
    if (mg->level[k].replicated && !mg->level[k + 1].replicated) {
        struct grid part = part_at(mg, coarse, mg->halo.place);
        stencil_restrict(part, fine, 1, part.m[Z]);
        collect(mg, coarse);
        halo_wrap(coarse);
    } else {
        run(mg, k, compute_restrict, (struct work){.out = coarse, .in = fine});
    }
}

/* Adds the correction of level k-1 to level k. */
static void prolong(struct multigrid *mg, int k) {
    struct grid coarse = mg->level[k - 1].u;
    if (mg->level[k - 1].replicated && !mg->level[k].replicated)
        coarse = part_at(mg, coarse, mg->halo.place);
    stencil_prolong(mg->level[k].u, coarse);
}

void multigrid_residual(struct multigrid *mg) {
    residual(mg, mg->levels, mg->v);
}

void multigrid_cycle(struct multigrid *mg) {
    for (int k = mg->levels - 1; k >= 1; k--)
        restrict_residual(mg, k);
    grid_clear(mg->level[1].u);
    smooth(mg, 1);
    for (int k = 2; k <= mg->levels; k++) {
        bool finest = k == mg->levels;
        if (!finest)
            grid_clear(mg->level[k].u);
        prolong(mg, k);
        residual(mg, k, finest ? mg->v : mg->level[k].r);
        smooth(mg, k);
    }
}

double multigrid_norm(const struct multigrid *mg) {
    struct grid r = mg->level[mg->levels].r;
    double sum = 0.0;
    for (int z = 1; z <= r.m[Z]; z++) {
        for (int y = 1; y <= r.m[Y]; y++) {
            const double *row = grid_row(r, y, z);
            for (int x = 1; x <= r.m[X]; x++)
                sum += row[x] * row[x];
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, mg->halo.comm);
    return sqrt(sum / pow(1 << mg->levels, DIMENSIONS));
}
