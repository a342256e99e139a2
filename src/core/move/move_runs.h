/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_RUNS_H
#define TRMA_MOVE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "../trma_status.h"

/*
 * Lists of runs: where the bytes of a datatype lie, compactly. An entry is either a run (`count` equal
 * blocks, one stride apart) or a loop over the entries behind it, so that any nest of regular datatypes takes
 * a few entries whatever its counts are. Entries are in type-map order and adjacent bytes are merged. All
 * offsets are relative to the start of the enclosing loop's iteration (or of the datatype) and are added
 * modulo 2^64: the makers of layouts check that the blocks themselves lie in range. Source of the idea:
 * dataloops (Ross, Miller, Gropp 2003: fast and reusable datatype processing).
 */

/* Loops that may be nested in one list; deeper nests are written out. Bounds the cursor's stack. */
#define TRMA_MOVE_LOOP_DEPTH 12U

struct trma_run {
    ptrdiff_t offset; /* of the first block, or of the first iteration */
    size_t length;    /* bytes of each block, at least 1; 0 in a loop */
    size_t count;     /* blocks or iterations, at least 1 */
    ptrdiff_t stride; /* bytes from one block's or iteration's start to the next; `length` when there is one
                         block */
    size_t body;      /* 0: blocks. Else a loop over the next `body` entries */
};

/* A list that grows. Zero-initialised is empty; owned by who made it, freed with trma_move_runs_free. Not
 * thread-safe. */
struct trma_run_list {
    struct trma_run *runs;
    size_t n;
    size_t capacity;
    unsigned depth;       /* loops nested in each other */
    bool last_is_run;     /* the last top-level entry is a run: what follows may be merged into it */
    struct trma_run open; /* one block, held back because the next block may be adjacent; length 0: none */
};

/*
 * Appends `count` copies of the n entries of a finished list (nest depth `depth`), moved by `shift`, one
 * `stride` apart. Linear in n, not in count, except where count * n is small and merging may pay.
 * TRMA_ERR_NO_MEMORY: memory is exhausted, or loops nested deeper than TRMA_MOVE_LOOP_DEPTH would have to be
 * written out millions of times.
 */
enum trma_status trma_move_runs_append(struct trma_run_list *list, const struct trma_run *runs, size_t n,
                                       unsigned depth, ptrdiff_t shift, size_t count, ptrdiff_t stride);

/* Writes the block that is held back: to be called once, before the entries are used. Errors as above. */
enum trma_status trma_move_runs_finish(struct trma_run_list *list);

void trma_move_runs_free(struct trma_run_list *list);

#endif
