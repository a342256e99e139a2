/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_claim.h"

size_t trma_move_claim_most = TRMA_MOVE_CLAIM_MOST;

#if defined(__x86_64__)
/* Before main, so that nobody else runs. */
__attribute__((constructor)) static void choose_most(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd")) {
        trma_move_claim_most = TRMA_MOVE_CLAIM_MOST_AMD;
    }
}
#endif
