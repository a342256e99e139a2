/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify.h"

#include "app_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The box within the whole grid that a rank's block covers. */
static struct box block_of(const struct grid *mine, MPI_Comm cart, int rank) {
    int coords[AXES];
    struct box box;
    MPI_Cart_coords(cart, rank, AXES, coords);
    for (int axis = 0; axis < AXES; axis++) {
        box.lo[axis] = coords[axis] * mine->n[axis];
        box.hi[axis] = box.lo[axis] + mine->n[axis];
    }
    return box;
}

static double largest(const double *values, size_t count) {
    double found = 0;
    for (size_t i = 0; i < count; i++)
        found = fmax(found, fabs(values[i]));
    return found;
}

/* Largest difference; infinite when a value is not a number, which fmax would pass over. */
static double largest_difference(const double *a, const double *b, size_t count) {
    double found = 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = fabs(a[i] - b[i]);
        found = isnan(difference) ? INFINITY : fmax(found, difference);
    }
    return found;
}

/* On rank 0: the relative difference of one field between the serial run and the blocks of all ranks. */
static double compare_field(const struct simulation *simulation, const struct grid *serial, enum field field,
                            MPI_Comm cart, double *block, double *expected) {
    int ranks;
    MPI_Comm_size(cart, &ranks);
    const struct box mine = grid_whole(&simulation->grid);
    const size_t points = box_points(&mine);
    double difference = 0, scale = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (rank == 0)
            box_pack(&simulation->grid, field, &mine, block);
        else
            MPI_Recv(block, (int)points, MPI_DOUBLE, rank, (int)field, cart, MPI_STATUS_IGNORE);
        const struct box there = block_of(&simulation->grid, cart, rank);
        box_pack(serial, field, &there, expected);
        difference = fmax(difference, largest_difference(block, expected, points));
        scale = fmax(scale, largest(expected, points));
    }
    return scale > 0 ? difference / scale : INFINITY;
}

void verify_against_serial(struct app_report *report, const struct simulation *simulation, MPI_Comm cart) {
    int rank;
    MPI_Comm_rank(cart, &rank);
    const struct box mine = grid_whole(&simulation->grid);
    const size_t points = box_points(&mine);
    double *block = app_memory_allocate(points, sizeof(double));
    double worst = 0;
    if (rank == 0) {
        struct simulation serial;
        simulation_create_serial(&serial, simulation->experiment);
        simulation_run(&serial);
        double *expected = app_memory_allocate(points, sizeof(double));
        for (int f = 0; f < FIELDS; f++)
            worst =
                fmax(worst, compare_field(simulation, &serial.grid, (enum field)f, cart, block, expected));
        free(expected);
        simulation_destroy(&serial);
    } else {
        for (int f = 0; f < FIELDS; f++) {
            box_pack(&simulation->grid, (enum field)f, &mine, block);
            MPI_Send(block, (int)points, MPI_DOUBLE, 0, f, cart);
        }
    }
    free(block);
    app_report_verify_bound(report, "fields", worst, 1e-12); /* rank 0's value counts */
}

/* How well a trace fits another that is moved `lag` samples later. */
static double correlation(const double *trace, const double *other, long samples, long lag) {
    double sum = 0;
    for (long i = 0; i < samples; i++)
        if (i + lag >= 0 && i + lag < samples)
            sum += trace[i + lag] * other[i];
    return sum;
}

/* How many samples a trace is late against another: where they fit best, by a parabola through the best lag
 * and its neighbours. */
static double lateness(const double *trace, const double *other, long samples) {
    long best = 0;
    double best_fit = correlation(trace, other, samples, 0);
    for (long lag = -samples / 4; lag <= samples / 4; lag++) {
        const double fit = correlation(trace, other, samples, lag);
        if (fit > best_fit) {
            best = lag;
            best_fit = fit;
        }
    }
    const double before = correlation(trace, other, samples, best - 1);
    const double after = correlation(trace, other, samples, best + 1);
    return (double)best + 0.5 * (before - after) / (before - 2 * best_fit + after);
}

void verify_arrival(struct app_report *report, const struct simulation *simulation, MPI_Comm cart) {
    static const char *const arrival[RECEIVERS] = {"arrival x", "arrival y", "arrival z"};
    static const char *const waveform[RECEIVERS] = {"waveform x", "waveform y", "waveform z"};
    const struct experiment *experiment = simulation->experiment;
    const long samples = experiment->steps_recorded;
    double *recorded = app_memory_allocate((size_t)samples, sizeof(double));
    double *exact = app_memory_allocate((size_t)samples, sizeof(double));
    for (long i = 0; i < samples; i++) /* velocities live half a step after the stresses */
        exact[i] = wave_exact_velocity(&experiment->medium, &experiment->source, experiment->distance,
                                       ((double)i + 0.5) * experiment->medium.dt);
    for (int r = 0; r < RECEIVERS; r++) {
        /* one rank has the trace, the others have zeros */
        MPI_Allreduce(simulation->trace[r], recorded, (int)samples, MPI_DOUBLE, MPI_SUM, cart);
        double error = 0, norm = 0;
        for (long i = 0; i < samples; i++) {
            error += (recorded[i] - exact[i]) * (recorded[i] - exact[i]);
            norm += exact[i] * exact[i];
        }
        app_report_verify_bound(report, arrival[r], lateness(recorded, exact, samples), 1.0);
        app_report_verify_bound(report, waveform[r], sqrt(error / norm), 0.1);
    }
    free(recorded);
    free(exact);
}
