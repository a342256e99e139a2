/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns between programs that are compared with each other and run at the same time: one has the machine, the
 * others sleep until it gives its turn away (bench/turns.py decides to whom). What a virtual machine does
 * within seconds is the same for all of them then. Knows no MPI; called by one thread of every rank. */
#ifndef TRUERMA_BENCH_TURN_H
#define TRUERMA_BENCH_TURN_H

#include <stdbool.h>

/* What a program says when it gives its turn away. */
enum bench_turn_end {
    BENCH_TURN_SAMPLE = '.', /* it goes on with the same cell at its next turn */
    BENCH_TURN_CELL = '+',   /* with its next cell: when all others have come as far */
};

/* Joins the others as `place` says, "FOLDER,NUMBER", and sleeps until the first turn. Nothing with NULL.
 * Returns 0, or -1 after a message on stderr. */
int bench_turn_begin(const char *place);

/* Whether there are others to take turns with. */
bool bench_turn_is_taken(void);

/* Ends the turn, which one rank (`speaks`) says for all after the last of them has ended it, and sleeps until
 * the next one. Ends the process where nobody hands out turns any more. Only with others. */
void bench_turn_give(enum bench_turn_end end, bool speaks);

#endif
