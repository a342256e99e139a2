/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_TEST_YIELD_IN_SPINS_H
#define TRMA_TEST_YIELD_IN_SPINS_H

#include <sched.h>

#include "node/node_wait.h"

/* Included ahead of a source: who spins in it gives the processor away now and then. What it waits for comes
 * then within a bounded number of looks, though all members share one processor, or theirs with other tests.
 */
static inline void yield_in_spin(void) {
    enum { LOOKS = 64 /* of the few that are made, or a busy machine would take seconds for them */ };
    static _Thread_local unsigned looks;

    if (++looks % LOOKS == 0) {
        sched_yield();
    }
}

#define trma_node_relax yield_in_spin

#endif
