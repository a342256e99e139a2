/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_HINTS_H
#define TRMA_FACE_HINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "face_mpi.h"
#include "node/node_knob.h"

/*
 * The hints of a window: what the standard's info keys (MPI-4.1 sections 12.2.1 to 12.2.4 and 9.2) are set
 * to, and our own truerma_adopt. Unknown keys and values that mean nothing are ignored. What a hint would
 * allow us is taken where it pays; none is needed.
 */
enum trma_hint {
    TRMA_HINT_NO_LOCKS,
    TRMA_HINT_ACCUMULATE_ORDERING,
    TRMA_HINT_ACCUMULATE_OPS,
    TRMA_HINT_ACCUMULATE_GRANULARITY,
    TRMA_HINT_SAME_SIZE,
    TRMA_HINT_SAME_DISP_UNIT,
    TRMA_HINT_NONCONTIGUOUS,
    TRMA_HINT_ALIGNMENT,
    TRMA_HINT_ADOPT,
    TRMA_HINTS
};

enum { TRMA_HINT_TEXT = 24 };

struct trma_hints {
    char values[TRMA_HINTS][TRMA_HINT_TEXT];
};

/* The defaults, those that the environment sets included. */
void trma_hints_init(struct trma_hints *hints);

/* Takes over what `info` sets; MPI_INFO_NULL sets nothing. Of a window that exists already (not `is_new`)
 * what its memory was made by stays in force. */
void trma_hints_take(struct trma_hints *hints, MPI_Info info, bool is_new);

/* A new info object with the hints that are in force for this flavour of window; the user frees it. An MPI
 * error class. */
int trma_hints_give(const struct trma_hints *hints, int flavor, MPI_Info *info);

/* True when a hint with the values true and false is true. */
bool trma_hints_say(const struct trma_hints *hints, enum trma_hint hint);

/* How memory that the user brings is to become mapped (enum trma_knob_adopt). */
enum trma_knob_adopt trma_hints_adopt(const struct trma_hints *hints);

/* True when mpi_accumulate_granularity says that updates are of one element of a number's size. */
bool trma_hints_updates_are_small(const struct trma_hints *hints);

/* The alignment in bytes of memory for the user: what mpi_minimum_memory_alignment in `info` asks for, if
 * anything, and a page for what is larger than one. A power of two. */
size_t trma_hints_alignment(MPI_Info info, size_t size);

#endif
