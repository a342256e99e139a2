/* SPDX-License-Identifier: BSD-3-Clause */
#include "spread.h"

#include "app_memory.h"

#include <stdlib.h>
#include <string.h>

/* One exchange with one partner; a message has at most `capacity` doubles. */
static void open_pair(struct app_exchange *exchange, MPI_Comm comm, const struct app_options *options,
                      int partner, int capacity, struct app_timer *timer) {
    const struct app_exchange_leg leg = {.partner = partner, .partner_leg = 0, .capacity = (size_t)capacity};
    app_exchange_open(exchange, comm, options->comm, options->flavour, 1, &leg, timer);
}

/* The rows of `segment`, counted from the start of this rank's block. */
static struct range segment_rows(const struct layout *layout, int segment) {
    struct range rows = layout_segment(layout, segment);
    rows.first -= layout->block_rows.first;
    rows.end -= layout->block_rows.first;
    return rows;
}

void spread_open(struct spread *spread, MPI_Comm comm, const struct app_options *options,
                 const struct layout *layout, const struct matrix *matrix, struct app_timer *timer) {
    *spread =
        (struct spread){.layout = *layout, .matrix = matrix, .overlap = options->comm == APP_COMM_RMA_NB};
    spread->chunks = spread->overlap ? SPREAD_CHUNKS : 1;
    spread->partial = app_memory_allocate((size_t)matrix->rows, sizeof(double));

    int transposed_row = layout->column, transposed_column = layout->row;
    spread->given = spread->kept = (struct range){0, matrix->rows};
    if (layout->halved) {
        int half = layout->column % 2;
        spread->kept = segment_rows(layout, 2 * layout->row + half);
        spread->given = segment_rows(layout, 2 * layout->row + 1 - half);
        transposed_row = layout->column / 2;
        transposed_column = 2 * layout->row + half;
    }
    /* segments differ by one in length, and so do their chunks */
    const int longest = layout->n / layout->columns + 1;
    const int capacity = (longest + spread->chunks - 1) / spread->chunks;
    /* halves are exchanged between neighbours, so the first stage is over a distance of one */
    for (int distance = 1; distance < layout->columns; distance *= 2, spread->stages++) {
        int partner = layout_rank(layout, layout->row, layout->column ^ distance);
        for (int chunk = 0; chunk < spread->chunks; chunk++)
            open_pair(&spread->vector[spread->stages][chunk], comm, options, partner, capacity, timer);
        open_pair(&spread->scalar[spread->stages], comm, options, partner, SPREAD_SUMS, timer);
    }
    spread->steps = spread->stages;
    int ranks;
    MPI_Comm_size(comm, &ranks);
    if (layout->rows > 1) { /* for some rank the transposed one is another one, and opening is collective */
        int partner = layout_rank(layout, transposed_row, transposed_column);
        for (int chunk = 0; chunk < spread->chunks; chunk++)
            open_pair(&spread->vector[spread->steps][chunk], comm, options, partner, capacity, timer);
        spread->steps++;
    }
}

void spread_close(struct spread *spread) {
    for (int step = 0; step < spread->steps; step++)
        for (int chunk = 0; chunk < spread->chunks; chunk++)
            app_exchange_close(&spread->vector[step][chunk]);
    for (int stage = 0; stage < spread->stages; stage++)
        app_exchange_close(&spread->scalar[stage]);
    free(spread->partial);
}

static void send(struct app_exchange *exchange, const double *values, struct range range) {
    size_t count = (size_t)range_length(range);
    app_exchange_begin(exchange);
    memcpy(app_exchange_outgoing(exchange, 0), values + range.first, count * sizeof(double));
    app_exchange_put(exchange, 0, 0, count);
    app_exchange_send(exchange);
}

/* The partial sums of the block's rows; those given away set out chunk by chunk. */
static void multiply_and_give(struct spread *spread, const double *p) {
    bool keeps_others = spread->layout.halved;
    if (keeps_others && !spread->overlap)
        matrix_multiply(spread->matrix, spread->kept, p, spread->partial);
    for (int chunk = 0; chunk < spread->chunks; chunk++) {
        struct range rows = range_part(spread->given, chunk, spread->chunks);
        matrix_multiply(spread->matrix, rows, p, spread->partial);
        if (spread->steps > 0)
            send(&spread->vector[0][chunk], spread->partial, rows);
    }
    if (keeps_others && spread->overlap)
        matrix_multiply(spread->matrix, spread->kept, p, spread->partial);
}

void spread_multiply(struct spread *spread, const double *p, double *q) {
    multiply_and_give(spread, p);
    for (int stage = 0; stage < spread->stages; stage++) {
        for (int chunk = 0; chunk < spread->chunks; chunk++) {
            struct range rows = range_part(spread->kept, chunk, spread->chunks);
            app_exchange_wait(&spread->vector[stage][chunk]);
            const double *theirs = app_exchange_incoming(&spread->vector[stage][chunk], 0);
            for (int row = rows.first; row < rows.end; row++)
                spread->partial[row] += theirs[row - rows.first];
            if (stage + 1 < spread->steps)
                send(&spread->vector[stage + 1][chunk], spread->partial, rows);
        }
    }
    if (spread->steps == spread->stages) { /* one row of ranks: every rank keeps what it wants */
        memcpy(q, spread->partial + spread->kept.first, (size_t)range_length(spread->kept) * sizeof(double));
        return;
    }
    const struct range all = {0, range_length(spread->layout.block_columns)};
    for (int chunk = 0; chunk < spread->chunks; chunk++) {
        struct app_exchange *transposed = &spread->vector[spread->stages][chunk];
        struct range part = range_part(all, chunk, spread->chunks);
        app_exchange_wait(transposed);
        memcpy(q + part.first, app_exchange_incoming(transposed, 0),
               (size_t)range_length(part) * sizeof(double));
    }
}

void spread_sum(struct spread *spread, double *values, int count) {
    for (int stage = 0; stage < spread->stages; stage++) {
        send(&spread->scalar[stage], values, (struct range){0, count});
        app_exchange_wait(&spread->scalar[stage]);
        const double *theirs = app_exchange_incoming(&spread->scalar[stage], 0);
        for (int i = 0; i < count; i++)
            values[i] += theirs[i];
    }
}
