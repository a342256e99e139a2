/* SPDX-License-Identifier: BSD-3-Clause */
/* Fence, post/start/complete/wait, locks, flushes: arguments checked and handed to the core. */
#include "call_synchronise.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "face_host.h"
#include "handlers.h"

atomic_uint trma_synchronise_group_generation;

int trma_call_Group_free(MPI_Group *group) {
    atomic_fetch_add_explicit(&trma_synchronise_group_generation, 1, memory_order_relaxed);
    return trma_host()->Group_free(group);
}

/* Room for so many ranks in the cache, and behind it the numbers from 0 on; grows only. Programs that make a
 * group for every epoch come by here every time: nothing is allocated then. */
static bool reserve(struct trma_group_cache *cache, uint32_t n) {
    if (n <= cache->capacity) {
        return true;
    }
    uint32_t *ranks = realloc(cache->ranks, 2 * (size_t)n * sizeof *ranks);
    if (!ranks) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        ranks[n + i] = i;
    }
    cache->ranks = ranks;
    cache->capacity = n;
    return true;
}

static int translate(struct trma_win *window, MPI_Group group, struct trma_group_cache *cache) {
    const struct trma_host_table *host = trma_host();
    int n = 0;

    if (host->Group_size(group, &n) != MPI_SUCCESS || n < 0 || (uint32_t)n > window->size) {
        return MPI_ERR_GROUP;
    }
    if (!reserve(cache, (uint32_t)n)) {
        return MPI_ERR_NO_MEM;
    }
    int *translated = (int *)cache->ranks;
    if (n && host->Group_translate_ranks(group, n, (const int *)(cache->ranks + cache->capacity),
                                         window->group, translated) != MPI_SUCCESS) {
        return MPI_ERR_GROUP;
    }
    for (int i = 0; i < n; i++) {
        if (translated[i] < 0) {
            return MPI_ERR_GROUP; /* not a member of the window's group */
        }
    }
    cache->n = (uint32_t)n;
    return MPI_SUCCESS;
}

/* The group's ranks in the window, from the cache when it is the group of the last call. */
static int find_ranks(struct trma_win *window, MPI_Group group, struct trma_group_cache *cache) {
    if (trma_synchronise_is_cached(cache, group)) {
        return MPI_SUCCESS;
    }
    /* Before the group is looked at: a group freed meanwhile is not the cache's. */
    unsigned generation = atomic_load_explicit(&trma_synchronise_group_generation, memory_order_relaxed);
    cache->group = 0;
    if (group == MPI_GROUP_NULL) {
        return MPI_ERR_GROUP;
    }
    int code = translate(window, group, cache);
    if (code == MPI_SUCCESS) {
        cache->group = (uintptr_t)group;
        cache->generation = generation;
    }
    return code;
}

/* True when only bits of `allowed` are set. */
static bool is_assertion(int assert, int allowed) {
    return (assert & ~allowed) == 0;
}

int trma_synchronise_fence(struct trma_win *window, int assert) {
    unsigned assertions = (assert &MPI_MODE_NOPRECEDE ? TRMA_FENCE_NOPRECEDE : 0U) |
                          (assert &MPI_MODE_NOSUCCEED ? TRMA_FENCE_NOSUCCEED : 0U);

    if (!is_assertion(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)) {
        return trma_win_raise(window, MPI_ERR_ASSERT);
    }
    return trma_win_conclude(window, trma_win_fence(window->core, assertions));
}

int trma_synchronise_start(struct trma_win *window, MPI_Group group, int assert) {
    int code = is_assertion(assert, MPI_MODE_NOCHECK) ? find_ranks(window, group, &window->start_group)
                                                      : MPI_ERR_ASSERT;

    if (code != MPI_SUCCESS) {
        return trma_win_raise(window, code);
    }
    return trma_win_conclude(window,
                             trma_win_start(window->core, window->start_group.ranks, window->start_group.n));
}

int trma_synchronise_post(struct trma_win *window, MPI_Group group, int assert) {
    int code = is_assertion(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)
                   ? find_ranks(window, group, &window->post_group)
                   : MPI_ERR_ASSERT;

    if (code != MPI_SUCCESS) {
        return trma_win_raise(window, code);
    }
    return trma_win_conclude(window,
                             trma_win_post(window->core, window->post_group.ranks, window->post_group.n));
}

int trma_synchronise_complete(struct trma_win *window) {
    return trma_win_conclude(window, trma_win_complete(window->core));
}

int trma_synchronise_wait(struct trma_win *window) {
    return trma_win_conclude(window, trma_win_wait(window->core));
}

int trma_call_Win_test(struct trma_win *window, int *flag) {
    bool done = false;
    int code = trma_win_conclude(window, trma_win_test(window->core, &done));

    *flag = done;
    return code;
}

int trma_synchronise_lock(struct trma_win *window, int lock_type, int rank, int assert) {
    enum trma_lock_kind kind = lock_type == MPI_LOCK_EXCLUSIVE ? TRMA_LOCK_EXCLUSIVE : TRMA_LOCK_SHARED;

    if (lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED) {
        return trma_win_raise(window, MPI_ERR_LOCKTYPE);
    }
    if (!is_assertion(assert, MPI_MODE_NOCHECK)) {
        return trma_win_raise(window, MPI_ERR_ASSERT);
    }
    if (rank == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    if (rank < 0 || (uint32_t)rank >= window->size) {
        return trma_win_raise(window, MPI_ERR_RANK);
    }
    return trma_win_conclude(
        window,
        trma_win_lock(window->core, assert &MPI_MODE_NOCHECK ? TRMA_LOCK_UNCHECKED : kind, (uint32_t)rank));
}

/* Unlock and flush of one target share their rank check. */
static int with_rank(struct trma_win *window, int rank,
                     enum trma_status (*call)(struct trma_window *, uint32_t)) {
    if (rank == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    if (rank < 0 || (uint32_t)rank >= window->size) {
        return trma_win_raise(window, MPI_ERR_RANK);
    }
    return trma_win_conclude(window, call(window->core, (uint32_t)rank));
}

int trma_synchronise_unlock(struct trma_win *window, int rank) {
    return with_rank(window, rank, trma_win_unlock);
}

int trma_call_Win_lock_all(struct trma_win *window, int assert) {
    if (!is_assertion(assert, MPI_MODE_NOCHECK)) {
        return trma_win_raise(window, MPI_ERR_ASSERT);
    }
    return trma_win_conclude(window, trma_win_lock_all(window->core, assert &MPI_MODE_NOCHECK));
}

int trma_call_Win_unlock_all(struct trma_win *window) {
    return trma_win_conclude(window, trma_win_unlock_all(window->core));
}

static enum trma_status flush(struct trma_window *window, uint32_t rank) {
    return trma_win_flush(window, rank, false);
}

static enum trma_status flush_local(struct trma_window *window, uint32_t rank) {
    return trma_win_flush(window, rank, true);
}

int trma_synchronise_flush(struct trma_win *window, int rank) {
    return with_rank(window, rank, flush);
}

int trma_call_Win_flush_local(struct trma_win *window, int rank) {
    return with_rank(window, rank, flush_local);
}

int trma_call_Win_flush_all(struct trma_win *window) {
    return trma_win_conclude(window, trma_win_flush_all(window->core, false));
}

int trma_call_Win_flush_local_all(struct trma_win *window) {
    return trma_win_conclude(window, trma_win_flush_all(window->core, true));
}

int trma_call_Win_sync(struct trma_win *window) {
    return trma_win_conclude(window, trma_win_sync(window->core));
}
