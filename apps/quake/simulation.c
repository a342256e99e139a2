/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "app_memory.h"

#include <math.h>
#include <stdlib.h>

enum { FACES = 2 * AXES, FIELDS_PER_FACE = 3 };

/* The fields whose halo each axis needs: all velocities, but only those stresses whose divergence is taken
 * along that axis. */
static const enum field velocity_fields[AXES][FIELDS_PER_FACE] = {{VX, VY, VZ}, {VX, VY, VZ}, {VX, VY, VZ}};
static const enum field stress_fields[AXES][FIELDS_PER_FACE] = {
    {SXX, SXY, SXZ}, {SXY, SYY, SYZ}, {SXZ, SYZ, SZZ}};

typedef void update_function(struct grid *grid, const struct medium *medium, const struct box *box);

static int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

struct experiment experiment_plan(int n, const int ranks_along[AXES]) {
    const double p_speed = 6000, s_speed = 3464, density = 2700, spacing = 100; /* granite */
    /* Stable below 6 / (7 sqrt(3)) = 0.495 for these differences in three dimensions (Levander 1988). */
    const double courant = 0.4;
    /* Of the P wave at the source's frequency, in cells: 8 are as coarse as this order allows, 16 are fine
     * for the three wavelengths to the receivers, and more of them need finer cells. */
    const int wavelength = clamp(3 * n / 16, 8, n < 192 ? 16 : n / 12);
    const double delay = 1.2, tail = 0.8; /* of the wavelet, in periods: beyond, it is zero to 5 digits */

    struct experiment experiment = {.reach = n / 4};
    const double mu = density * s_speed * s_speed;
    experiment.medium = (struct medium){.h = spacing,
                                        .dt = courant * spacing / p_speed,
                                        .density = density,
                                        .lambda = density * p_speed * p_speed - 2 * mu,
                                        .mu = mu};
    const double frequency = p_speed / (wavelength * spacing);
    experiment.source = (struct source){.frequency = frequency, .delay = delay / frequency, .moment = 1e15};
    experiment.distance = (experiment.reach + 0.5) * spacing;
    const double passed = experiment.distance / p_speed + (delay + tail) / frequency;
    experiment.steps_recorded = (long)ceil(passed / experiment.medium.dt);
    experiment.steps = experiment.steps_recorded;
    for (int axis = 0; axis < AXES; axis++) {
        experiment.global[axis] = n * ranks_along[axis];
        experiment.source.at[axis] = experiment.global[axis] / 2;
    }
    return experiment;
}

/* The rank's place in the whole grid, and who is beside it. */
static void place_block(struct grid *grid, MPI_Comm cart) {
    int dims[AXES], periods[AXES], coords[AXES];
    MPI_Cart_get(cart, AXES, dims, periods, coords);
    for (int axis = 0; axis < AXES; axis++) {
        grid->first[axis] = coords[axis] * grid->n[axis];
        grid->global[axis] = dims[axis] * grid->n[axis];
        MPI_Cart_shift(cart, axis, 1, &grid->neighbour[axis][0], &grid->neighbour[axis][1]);
    }
}

static void create_traces(struct simulation *simulation) {
    for (int r = 0; r < RECEIVERS; r++)
        simulation->trace[r] =
            app_memory_allocate((size_t)simulation->experiment->steps_recorded, sizeof(double));
}

void simulation_create(struct simulation *simulation, const struct experiment *experiment,
                       const struct app_options *options, MPI_Comm cart, struct app_timer *timer) {
    *simulation = (struct simulation){.experiment = experiment,
                                      .options = options,
                                      .exchanging = true,
                                      .overlapping = options->comm == APP_COMM_RMA_NB};
    int dims[AXES], periods[AXES], coords[AXES], n[AXES];
    MPI_Cart_get(cart, AXES, dims, periods, coords);
    for (int axis = 0; axis < AXES; axis++)
        n[axis] = experiment->global[axis] / dims[axis];
    grid_create(&simulation->grid, n);
    place_block(&simulation->grid, cart);
    create_traces(simulation);

    struct app_exchange_leg legs[FACES];
    for (int face = 0; face < FACES; face++) {
        const int axis = face / 2, side = face % 2;
        const struct box box = grid_send_box(&simulation->grid, axis, side);
        legs[face] = (struct app_exchange_leg){.partner = simulation->grid.neighbour[axis][side],
                                               .partner_leg = 2 * axis + (1 - side),
                                               .capacity = FIELDS_PER_FACE * box_points(&box)};
    }
    /* Both one-sided variants use post-start-complete-wait; they differ in what is done meanwhile. */
    const enum app_comm kind = options->comm == APP_COMM_P2P ? APP_COMM_P2P : APP_COMM_RMA;
    app_exchange_open(&simulation->exchange, cart, kind, options->flavour, FACES, legs, timer);
}

void simulation_create_serial(struct simulation *simulation, const struct experiment *experiment) {
    *simulation = (struct simulation){.experiment = experiment};
    grid_create(&simulation->grid, experiment->global);
    create_traces(simulation);
}

void simulation_destroy(struct simulation *simulation) {
    if (simulation->exchanging)
        app_exchange_close(&simulation->exchange);
    for (int r = 0; r < RECEIVERS; r++)
        free(simulation->trace[r]);
    grid_destroy(&simulation->grid);
}

/* Packs and sends, field by field, the layers that the neighbours need. */
static void send_faces(struct simulation *simulation, const enum field fields[AXES][FIELDS_PER_FACE]) {
    struct app_exchange *exchange = &simulation->exchange;
    for (int face = 0; face < FACES; face++) {
        const int axis = face / 2, side = face % 2;
        if (simulation->grid.neighbour[axis][side] == MPI_PROC_NULL)
            continue;
        const struct box box = grid_send_box(&simulation->grid, axis, side);
        const size_t points = box_points(&box);
        for (int f = 0; f < FIELDS_PER_FACE; f++) {
            box_pack(&simulation->grid, fields[axis][f], &box,
                     app_exchange_outgoing(exchange, face) + (size_t)f * points);
            app_exchange_put(exchange, face, (size_t)f * points, points);
        }
    }
    app_exchange_send(exchange);
}

static void receive_faces(struct simulation *simulation, const enum field fields[AXES][FIELDS_PER_FACE]) {
    struct app_exchange *exchange = &simulation->exchange;
    app_exchange_wait(exchange);
    for (int face = 0; face < FACES; face++) {
        const int axis = face / 2, side = face % 2;
        if (simulation->grid.neighbour[axis][side] == MPI_PROC_NULL)
            continue;
        const struct box box = grid_halo_box(&simulation->grid, axis, side);
        for (int f = 0; f < FIELDS_PER_FACE; f++)
            box_unpack(&simulation->grid, fields[axis][f], &box,
                       app_exchange_incoming(exchange, face) + (size_t)f * box_points(&box));
    }
}

/* Half a time step: updates velocities or stresses and brings their halos up to date. With overlap, what the
 * neighbours wait for is updated first, and travels while the rest is updated. */
static void half_step(struct simulation *simulation, update_function *update,
                      const enum field fields[AXES][FIELDS_PER_FACE]) {
    struct grid *grid = &simulation->grid;
    const struct medium *medium = &simulation->experiment->medium;
    if (!simulation->exchanging) {
        const struct box whole = grid_whole(grid);
        update(grid, medium, &whole);
        return;
    }
    struct box first[FACES + 1], inner;
    int boxes = 0;
    if (simulation->overlapping)
        boxes = grid_split(grid, first, &inner);
    else
        first[boxes++] = grid_whole(grid);

    app_exchange_begin(&simulation->exchange);
    for (int b = 0; b < boxes; b++)
        update(grid, medium, &first[b]);
    send_faces(simulation, fields);
    if (simulation->overlapping)
        update(grid, medium, &inner);
    receive_faces(simulation, fields);
}

/* Receiver r stands `reach` cells from the source along axis r, and hears the velocity along that axis. */
static void record(struct simulation *simulation, long step) {
    const struct grid *grid = &simulation->grid;
    for (int r = 0; r < RECEIVERS; r++) {
        int at[AXES];
        bool here = true;
        for (int axis = 0; axis < AXES; axis++) {
            at[axis] = simulation->experiment->source.at[axis] - grid->first[axis];
            if (axis == r)
                at[axis] += simulation->experiment->reach;
            here = here && at[axis] >= 0 && at[axis] < grid->n[axis];
        }
        if (here)
            simulation->trace[r][step] = grid->field[VX + r][grid_at(grid, at[0], at[1], at[2])];
    }
}

void simulation_run(struct simulation *simulation) {
    const struct experiment *experiment = simulation->experiment;
    for (long step = 0; step < experiment->steps; step++) {
        half_step(simulation, wave_update_velocity, velocity_fields);
        if (step < experiment->steps_recorded)
            record(simulation, step);
        /* Before the update, not after, so that the halo that leaves on the way has it. */
        wave_add_source(&simulation->grid, &experiment->medium, &experiment->source, step);
        half_step(simulation, wave_update_stress, stress_fields);
        if (simulation->options)
            app_progress(simulation->options, step + 1, experiment->steps);
    }
}
