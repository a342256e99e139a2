/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_PACE_H
#define TRMA_MOVE_PACE_H

#include <stdint.h>

/*
 * What this process needs to write its own memory past the caches: what puts that may be contested are
 * compared with (move_contest.h). It is measured within microseconds, and other tenants of the machine's
 * memory can be busy for longer. So it is measured again where it matters, and the least is kept. (Measured
 * once, by hand, Zen 4 near each other, puts of 256 KiB that were read: 1 in 60 to 300 processes had taken it
 * for 1.5 times what it is, found none of its puts contested then, and they took 2.8 times as long.)
 *
 * All functions are thread-safe; one thread at a time measures, the others go on with what is known.
 */

/* Ticks for 64 KiB, of any one clock; 0: that cannot be known. */
typedef uint64_t trma_move_pace_measure(void);

/* The least that was measured, the first time now; 0: not known yet. */
uint64_t trma_move_pace_past(trma_move_pace_measure *measure);

/* Something was close to be decided the other way by it: measures again, at the first such call, the second,
 * the fourth and so on. */
void trma_move_pace_doubt(trma_move_pace_measure *measure);

#endif
