/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_statistics.h"

const char *trma_win_count_name(enum trma_count_kind kind) {
    static const char *const names[TRMA_COUNT_KINDS] = {
        [TRMA_COUNT_PUT] = "put",
        [TRMA_COUNT_GET] = "get",
        [TRMA_COUNT_ACCUMULATE] = "accumulate",
        [TRMA_COUNT_GET_ACCUMULATE] = "get_accumulate",
        [TRMA_COUNT_FETCH_AND_OP] = "fetch_and_op",
        [TRMA_COUNT_COMPARE_AND_SWAP] = "compare_and_swap",
    };
    return names[kind];
}

const char *trma_win_wait_name(enum trma_wait_kind kind) {
    static const char *const names[TRMA_WAIT_KINDS] = {
        [TRMA_WAIT_FENCE] = "fence",
        [TRMA_WAIT_START] = "start",
        [TRMA_WAIT_COMPLETE] = "complete",
        [TRMA_WAIT_POST] = "post",
        [TRMA_WAIT_WAIT] = "wait",
        [TRMA_WAIT_LOCK] = "lock",
        [TRMA_WAIT_UNLOCK] = "unlock",
        [TRMA_WAIT_LOCK_ALL] = "lock_all",
        [TRMA_WAIT_UNLOCK_ALL] = "unlock_all",
        [TRMA_WAIT_FLUSH] = "flush",
    };
    return names[kind];
}
