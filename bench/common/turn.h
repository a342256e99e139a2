/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns between programs that are compared with each other and run at the same time: one has the machine, the
 * others sleep until it gives its turn away (bench/turns.py decides to whom). What a virtual machine does
 * within seconds is the same for all of them then. Knows no MPI; called by one thread of every rank. */
#ifndef TRUERMA_BENCH_TURN_H
#define TRUERMA_BENCH_TURN_H

#include <stdbool.h>

enum { BENCH_TURN_NUMBERS = 4 };

/* What a program says when it gives its turn away. */
enum bench_turn_end {
    BENCH_TURN_SAMPLE = '.', /* it goes on with the same cell at its next turn */
    BENCH_TURN_CELL = '+',   /* with its next cell, or with one that it has planned: when all others have come
                                as far */
};

/* Joins the others as `place` says, "FOLDER,NUMBER", and sleeps until the first turn. Nothing with NULL.
 * Returns 0, or -1 after a message on stderr. */
int bench_turn_begin(const char *place);

/* Whether there are others to take turns with. */
bool bench_turn_is_taken(void);

/* Ends the turn, which one rank (`speaks`) says for all after the last of them has ended it, and sleeps until
 * the next one. Ends the process where nobody hands out turns any more. Only with others. */
void bench_turn_give(enum bench_turn_end end, bool speaks);

/* Leaves so many numbers, at most BENCH_TURN_NUMBERS, for the other programs to hear when this turn has ended
 * with BENCH_TURN_CELL; one rank (`speaks`) does so for all. Ends the process where that fails. */
void bench_turn_tell(const long *numbers, int count, bool speaks);

/* Copies what program `other`, from 0 on and this one among them, has told as the same one of its calls of
 * bench_turn_tell. Returns how many numbers that are, 0 of one that is no more, -1 where there is none. */
int bench_turn_hear(int other, long *numbers);

#endif
