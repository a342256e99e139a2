/* SPDX-License-Identifier: BSD-3-Clause */
#include "halo.h"

enum { LOW, HIGH, SIDES };

/* A face is sent as one box, or as its core and the strips around it. */
enum { FACE_BOXES = 5 };

void halo_place(const struct halo *halo, int rank, int place[DIMENSIONS]) {
    for (int d = 0; d < DIMENSIONS; d++) {
        place[d] = rank % halo->ranks[d];
        rank /= halo->ranks[d];
    }
}

/* The rank beside this one along `dimension`; the cube is periodic. */
static int neighbour(const struct halo *halo, int dimension, int side) {
    int place[DIMENSIONS] = {halo->place[X], halo->place[Y], halo->place[Z]};
    int ranks = halo->ranks[dimension];
    place[dimension] = (place[dimension] + (side == LOW ? ranks - 1 : 1)) % ranks;
    return place[X] + halo->ranks[X] * (place[Y] + halo->ranks[Y] * place[Z]);
}

void halo_open(struct halo *halo, MPI_Comm comm, const struct app_options *options, int n,
               struct app_timer *timer) {
    *halo = (struct halo){.comm = comm, .ranks = {1, 1, 1}, .overlap = options->comm == APP_COMM_RMA_NB};
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    /* z first: its faces are contiguous */
    for (int d = Z; ranks > 1; ranks /= 2, d = (d + 2) % DIMENSIONS)
        halo->ranks[d] *= 2;
    halo_place(halo, rank, halo->place);
    for (int d = 0; d < DIMENSIONS; d++) {
        if (halo->ranks[d] == 1)
            continue;
        size_t face = 1;
        for (int e = 0; e < DIMENSIONS; e++)
            if (e != d)
                face *= (size_t)(n / halo->ranks[e] + 2);
        const struct app_exchange_leg legs[SIDES] = {
            {.partner = neighbour(halo, d, LOW), .partner_leg = HIGH, .capacity = face},
            {.partner = neighbour(halo, d, HIGH), .partner_leg = LOW, .capacity = face}};
        app_exchange_open(&halo->exchange[d], comm, options->comm, options->flavour, SIDES, legs, timer);
    }
}

void halo_close(struct halo *halo) {
    for (int d = 0; d < DIMENSIONS; d++)
        if (halo->ranks[d] > 1)
            app_exchange_close(&halo->exchange[d]);
}

/* The layer of points across `dimension` at index `layer`, with the halo of the dimensions before. */
static struct box layer_box(struct grid grid, int dimension, int layer) {
    struct box box = grid_interior(grid);
    for (int d = 0; d < dimension; d++) {
        box.lo[d] = 0;
        box.hi[d] = grid.m[d] + 1;
    }
    box.lo[dimension] = box.hi[dimension] = layer;
    return box;
}

/* What goes to the neighbour (`incoming` false), or comes from it. */
static struct box face_box(struct grid grid, int dimension, int side, bool incoming) {
    int first = incoming ? 0 : 1, last = grid.m[dimension] + (incoming ? 1 : 0);
    return layer_box(grid, dimension, side == LOW ? first : last);
}

/* Whether the rim of a face comes from other ranks: then core and rim travel apart when overlap is wanted. */
static bool is_split(const struct halo *halo, int dimension) {
    bool rim_travels = false;
    for (int d = 0; d < dimension; d++)
        rim_travels = rim_travels || halo->ranks[d] > 1;
    return halo->overlap && rim_travels;
}

/* The boxes of a face in the order in which they travel: all of it, or the core and then the rim. Returns how
 * many. */
static int face_boxes(const struct halo *halo, struct grid grid, int dimension, int side, bool incoming,
                      struct box boxes[FACE_BOXES]) {
    struct box rest = face_box(grid, dimension, side, incoming);
    if (!is_split(halo, dimension)) {
        boxes[0] = rest;
        return 1;
    }
    int count = 1;
    for (int d = dimension - 1; d >= 0; d--) {
        boxes[count] = boxes[count + 1] = rest;
        boxes[count++].hi[d] = rest.lo[d];
        boxes[count++].lo[d] = rest.hi[d];
        rest.lo[d]++;
        rest.hi[d]--;
    }
    boxes[0] = rest;
    return count;
}

/* Packs the boxes `first` .. `last` of both faces, as far as there are such, and lets them go. */
static void put_boxes(struct halo *halo, struct grid grid, int dimension, int first, int last) {
    struct app_exchange *exchange = &halo->exchange[dimension];
    for (int side = LOW; side < SIDES; side++) {
        struct box boxes[FACE_BOXES];
        int count = face_boxes(halo, grid, dimension, side, false, boxes);
        size_t offset = 0, begin = 0;
        for (int i = 0; i < count && i <= last; i++) {
            if (i == first)
                begin = offset;
            if (i >= first)
                grid_pack(grid, boxes[i], app_exchange_outgoing(exchange, side) + offset);
            offset += box_points(boxes[i]);
        }
        if (first < count)
            app_exchange_put(exchange, side, begin, offset - begin);
    }
}

static void start_core(struct halo *halo, struct grid grid, int dimension) {
    app_exchange_begin(&halo->exchange[dimension]);
    put_boxes(halo, grid, dimension, 0, 0);
}

static void send_rim(struct halo *halo, struct grid grid, int dimension) {
    put_boxes(halo, grid, dimension, 1, FACE_BOXES - 1);
    app_exchange_send(&halo->exchange[dimension]);
}

static void receive(struct halo *halo, struct grid grid, int dimension) {
    struct app_exchange *exchange = &halo->exchange[dimension];
    app_exchange_wait(exchange);
    for (int side = LOW; side < SIDES; side++) {
        struct box boxes[FACE_BOXES];
        int count = face_boxes(halo, grid, dimension, side, true, boxes);
        const double *packed = app_exchange_incoming(exchange, side);
        for (int i = 0; i < count; i++) {
            grid_unpack(grid, boxes[i], packed);
            packed += box_points(boxes[i]);
        }
    }
}

/* The halo across one dimension when this rank holds all of it: each side's is the other side's face. */
static void wrap(struct grid grid, int dimension) {
    for (int side = LOW; side < SIDES; side++)
        grid_copy(grid, face_box(grid, dimension, side == LOW ? HIGH : LOW, false),
                  face_box(grid, dimension, side, true));
}

void halo_wrap(struct grid grid) {
    for (int d = 0; d < DIMENSIONS; d++)
        wrap(grid, d);
}

/* Step by step: a dimension is done before the next one starts. */
static void update_blocking(struct halo *halo, struct grid grid) {
    for (int d = 0; d < DIMENSIONS; d++) {
        if (halo->ranks[d] == 1) {
            wrap(grid, d);
            continue;
        }
        start_core(halo, grid, d);
        send_rim(halo, grid, d);
        receive(halo, grid, d);
    }
}

/* The outermost planes are computed: their part of the exchange across z starts. */
static void start_z(struct halo *halo, struct grid grid) {
    if (is_split(halo, Z)) {
        start_core(halo, grid, Z);
        return;
    }
    /* x and y are all here: the whole face can go once it has their halo */
    for (int side = LOW; side < SIDES; side++) {
        int z = side == LOW ? 1 : grid.m[Z];
        struct grid plane = grid;
        plane.at = grid_row(grid, 0, z - 1);
        plane.m[Z] = 1;
        wrap(plane, X);
        wrap(plane, Y);
    }
    start_core(halo, grid, Z);
    send_rim(halo, grid, Z);
}

static void update_overlapping(struct halo *halo, struct grid grid, halo_compute *compute, const void *work) {
    bool shared_x = halo->ranks[X] > 1, shared_y = halo->ranks[Y] > 1;
    int last = grid.m[Z];
    if (last > 1)
        compute(work, last, last);
    compute(work, 1, 1); /* whose neighbours are then in the caches for what follows */
    start_z(halo, grid);
    if (last > 2)
        compute(work, 2, last - 1);
    if (shared_x) {
        start_core(halo, grid, X);
        send_rim(halo, grid, X);
    } else {
        wrap(grid, X);
    }
    if (shared_y)
        start_core(halo, grid, Y);
    if (shared_x)
        receive(halo, grid, X);
    if (shared_y) {
        send_rim(halo, grid, Y);
        receive(halo, grid, Y);
    } else {
        wrap(grid, Y);
    }
    if (is_split(halo, Z))
        send_rim(halo, grid, Z);
    receive(halo, grid, Z);
}

void halo_update(struct halo *halo, struct grid grid, halo_compute *compute, const void *work) {
    /* z is the first dimension to be shared: if it is not, none is */
    if (halo->overlap && halo->ranks[Z] > 1) {
        update_overlapping(halo, grid, compute, work);
    } else {
        compute(work, 1, grid.m[Z]);
        update_blocking(halo, grid);
    }
}
