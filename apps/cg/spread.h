/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks have to tell each other: q = A p for vectors spread over the ranks, and sums over all
 * elements.
 *
 * A rank multiplies its block with its segment of p, which gives partial sums for the block's rows. The ranks
 * of a grid row add theirs up in a butterfly: in each stage, a rank and its partner exchange what they have
 * and both add. With twice as many columns as rows, the first stage exchanges halves, and each keeps one.
 * Then the sums of segment s are with ranks of some grid row, and are wanted by those of grid column s: a
 * rank and its transposed one exchange them. (The decomposition is that of NPB's CG.)
 *
 * With --comm=rma-nb every message is cut into chunks. A chunk leaves as soon as it is computed, and while
 * one chunk is in flight, the one before is added; the rows that are not sent are multiplied while those that
 * are travel. (After Tipparaju et al., HiPC 2003.)
 */
#ifndef CG_SPREAD_H
#define CG_SPREAD_H

#include "layout.h"
#include "matrix.h"

#include "app_exchange.h"
#include "app_options.h"
#include "app_timer.h"

enum {
    SPREAD_STAGES = 8, /* the most stages of a butterfly: 2^8 columns of ranks */
    SPREAD_CHUNKS = 2, /* of a message, with rma-nb */
    SPREAD_SUMS = 2    /* the most sums at once */
};

struct spread {
    struct layout layout;
    const struct matrix *matrix;
    bool overlap; /* --comm=rma-nb */
    int chunks;
    int stages;         /* of the butterfly */
    int steps;          /* stages, and one more for the transposed rank, if that is another one */
    struct range given; /* rows of the block whose partial sums are sent in the first stage */
    struct range kept;  /* rows whose sums this rank has after the stages */
    double *partial;    /* the sums of the block's rows */
    struct app_exchange vector[SPREAD_STAGES + 1][SPREAD_CHUNKS];
    struct app_exchange scalar[SPREAD_STAGES];
};

/* Collective. Layout and matrix are those of this rank; the matrix must stay. */
void spread_open(struct spread *spread, MPI_Comm comm, const struct app_options *options,
                 const struct layout *layout, const struct matrix *matrix, struct app_timer *timer);
void spread_close(struct spread *spread);

/* q = A p, on this rank's segments. Collective. */
void spread_multiply(struct spread *spread, const double *p, double *q);

/* Adds up `count` (at most SPREAD_SUMS) numbers over the ranks of this rank's grid row: over all segments.
 * Collective. */
void spread_sum(struct spread *spread, double *values, int count);

#endif
