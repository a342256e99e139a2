/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_VISIT_H
#define TRMA_CALL_VISIT_H

#include <stdatomic.h>

#include "node/node_gate.h"
#include "trma_hidden.h"

/*
 * Windows are adopted by their owner, and an owner that is only ever a target makes no RMA calls. It comes by
 * at the calls that it does make (barriers, receives): a look at one word, and no more as long as nothing has
 * been earned.
 */
extern TRMA_HIDDEN _Atomic(struct trma_gate *)
    trma_visit_gate; /* this process's; a closed account of nobody's until there is a window to adopt */

void trma_visit_slow(void);

static inline void trma_visit(void) {
    struct trma_gate *gate = atomic_load_explicit(&trma_visit_gate, memory_order_relaxed);

    if (__builtin_expect(atomic_load_explicit(&gate->wanted, memory_order_relaxed) != 0, 0)) {
        trma_visit_slow();
    }
}

#endif
