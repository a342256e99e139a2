/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_share.h"

#include <string.h>

_Static_assert(sizeof(struct trma_share) % sizeof(uint64_t) == 0, "a share is a whole number of words");

void trma_win_share_store(struct trma_share_words *words, const struct trma_share *share) {
    uint64_t plain[TRMA_SHARE_WORDS];

    memcpy(plain, share, sizeof plain);
    for (int i = 0; i < TRMA_SHARE_WORDS; i++) {
        atomic_store_explicit(&words->word[i], plain[i], memory_order_relaxed);
    }
}

void trma_win_share_load(struct trma_share_words *words, struct trma_share *share) {
    uint64_t plain[TRMA_SHARE_WORDS];

    for (int i = 0; i < TRMA_SHARE_WORDS; i++) {
        plain[i] = atomic_load_explicit(&words->word[i], memory_order_relaxed);
    }
    memcpy(share, plain, sizeof plain);
}
