/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_stream.h"

#include <pthread.h>
#include <stdbool.h>

#include "node_cache.h"
#include "node_wait.h"

/* Of a word, from the highest bit on: 32 bits of time, 24 of KiB, 8 of the cache. */
enum { KIB_BITS = 24, CACHE_BITS = 8, NS_PER_US = 1000 };

static struct trma_stream_word *own;
static struct {
    struct trma_stream_word *word;
    unsigned teams; /* that have it */
} others[TRMA_STREAM_MOST];
static unsigned n_others;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t pack(size_t bytes, uint64_t now_us, unsigned cache) {
    const uint64_t most_kib = (1U << KIB_BITS) - 1;
    const uint64_t kib = bytes >> 10 < most_kib ? bytes >> 10 : most_kib;

    return (now_us << (KIB_BITS + CACHE_BITS)) | (kib << CACHE_BITS) | (cache & ((1U << CACHE_BITS) - 1));
}

static size_t bytes_of(uint64_t told) {
    return (size_t)(told >> CACHE_BITS & ((1U << KIB_BITS) - 1)) << 10;
}

static bool is_at_same_cache(uint64_t told, uint64_t as) {
    return (told & ((1U << CACHE_BITS) - 1)) == (as & ((1U << CACHE_BITS) - 1));
}

/* Microseconds from the one to the other; their clock wraps around after 71 minutes. */
static uint32_t time_between(uint64_t told, uint64_t now) {
    return (uint32_t)(now >> (KIB_BITS + CACHE_BITS)) - (uint32_t)(told >> (KIB_BITS + CACHE_BITS));
}

/* One that tells just now may be ahead by the clock: then that is nearly 2^32. */
static bool is_recent(uint32_t since, uint32_t recent) {
    return since <= recent || since >= UINT32_MAX - TRMA_STREAM_RECENT_US;
}

/* Relaxed, all: no more than hints. */
static uint64_t look_at(const struct trma_stream_word *word) {
    return atomic_load_explicit(&word->told, memory_order_relaxed);
}

void trma_node_stream_own(struct trma_stream_word *word) {
    pthread_mutex_lock(&mutex);
    own = word;
    pthread_mutex_unlock(&mutex);
}

/* Where it is among the others, or behind them. */
static unsigned find(const struct trma_stream_word *word) {
    unsigned at = 0;

    while (at < n_others && others[at].word != word) {
        at++;
    }
    return at;
}

void trma_node_stream_join(struct trma_stream_word *word) {
    pthread_mutex_lock(&mutex);
    const unsigned at = find(word);
    if (at < n_others) {
        others[at].teams++;
    } else if (at < TRMA_STREAM_MOST) {
        others[n_others].word = word;
        others[n_others++].teams = 1;
    }
    pthread_mutex_unlock(&mutex);
}

void trma_node_stream_leave(struct trma_stream_word *word) {
    pthread_mutex_lock(&mutex);
    const unsigned at = find(word);
    if (at < n_others && --others[at].teams == 0) {
        others[at] = others[--n_others];
    }
    pthread_mutex_unlock(&mutex);
}

static size_t sum_others(uint64_t mine, uint32_t recent) {
    size_t sum = 0;

    for (unsigned i = 0; i < n_others; i++) {
        const uint64_t told = look_at(others[i].word);
        if (others[i].word != own && is_at_same_cache(told, mine) &&
            is_recent(time_between(told, mine), recent)) {
            sum += bytes_of(told);
        }
    }
    return sum;
}

size_t trma_node_stream_begin_at(size_t bytes, uint64_t now_us, unsigned cache) {
    const uint64_t mine = pack(bytes, now_us, cache);
    size_t sum = 0;

    if (pthread_mutex_trylock(&mutex) != 0) {
        return 0;
    }
    if (own) {
        const uint32_t since = time_between(look_at(own), mine);

        atomic_store_explicit(&own->told, mine, memory_order_relaxed);
        sum = sum_others(mine, since < TRMA_STREAM_RECENT_US / 2 ? 2 * since : TRMA_STREAM_RECENT_US);
    }
    pthread_mutex_unlock(&mutex);
    return sum;
}

size_t trma_node_stream_begin(size_t bytes) {
    return trma_node_stream_begin_at(bytes, trma_node_clock_ns() / NS_PER_US, trma_node_cache_number());
}
