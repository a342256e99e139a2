/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_SYNCHRONISE_H
#define TRMA_CALL_SYNCHRONISE_H

#include "face_window.h"
#include "trma_hidden.h"
#include "win/win_epoch.h"

/* MPI_Group_free calls so far, see struct trma_group_cache. */
extern TRMA_HIDDEN atomic_uint trma_synchronise_group_generation;

/* True when the ranks in the cache are the group's. */
static inline bool trma_synchronise_is_cached(const struct trma_group_cache *cache, MPI_Group group) {
    return cache->group == (uintptr_t)group &&
           cache->generation ==
               atomic_load_explicit(&trma_synchronise_group_generation, memory_order_relaxed) &&
           cache->group;
}

/* The long ways: every error, assertions, groups other than the last call's, and all that is to be waited for
 * (call_synchronise.c). Each is the last thing its entry point does, which so has nothing to save on the
 * stack. */
int trma_synchronise_fence(struct trma_win *window, int assert);
int trma_synchronise_start(struct trma_win *window, MPI_Group group, int assert);
int trma_synchronise_post(struct trma_win *window, MPI_Group group, int assert);
int trma_synchronise_complete(struct trma_win *window);
int trma_synchronise_wait(struct trma_win *window);
int trma_synchronise_lock(struct trma_win *window, int lock_type, int rank, int assert);
int trma_synchronise_unlock(struct trma_win *window, int rank);
int trma_synchronise_flush(struct trma_win *window, int rank);

static inline int trma_call_Win_fence(struct trma_win *window, int assert) {
    return __builtin_expect(!assert &&trma_win_fence_quick(window->core), 1)
               ? trma_win_conclude(window, trma_win_fence_finish(window->core))
               : trma_synchronise_fence(window, assert);
}

static inline int trma_call_Win_start(struct trma_win *window, MPI_Group group, int assert) {
    const struct trma_group_cache *cache = &window->start_group;

    if (__builtin_expect(!assert &&trma_synchronise_is_cached(cache, group), 1) &&
        __builtin_expect(trma_win_start_quick(window->core, cache->ranks, cache->n), 1)) {
        return MPI_SUCCESS;
    }
    return trma_synchronise_start(window, group, assert);
}

static inline int trma_call_Win_post(struct trma_win *window, MPI_Group group, int assert) {
    const struct trma_group_cache *cache = &window->post_group;

    if (__builtin_expect(!assert &&trma_synchronise_is_cached(cache, group), 1) &&
        __builtin_expect(trma_win_post_quick(window->core, cache->ranks, cache->n), 1)) {
        return MPI_SUCCESS;
    }
    return trma_synchronise_post(window, group, assert);
}

static inline int trma_call_Win_complete(struct trma_win *window) {
    return __builtin_expect(trma_win_complete_quick(window->core), 1) ? MPI_SUCCESS
                                                                      : trma_synchronise_complete(window);
}

static inline int trma_call_Win_wait(struct trma_win *window) {
    return __builtin_expect(trma_win_wait_quick(window->core), 1) ? MPI_SUCCESS
                                                                  : trma_synchronise_wait(window);
}

static inline int trma_call_Win_lock(struct trma_win *window, int lock_type, int rank, int assert) {
    if (__builtin_expect((uint32_t)rank < window->size && !assert, 1)) {
        if (lock_type == MPI_LOCK_EXCLUSIVE &&
            __builtin_expect(trma_win_lock_quick(window->core, TRMA_LOCK_EXCLUSIVE, (uint32_t)rank), 1)) {
            return MPI_SUCCESS;
        }
        if (lock_type == MPI_LOCK_SHARED &&
            __builtin_expect(trma_win_lock_quick(window->core, TRMA_LOCK_SHARED, (uint32_t)rank), 1)) {
            return MPI_SUCCESS;
        }
    }
    return trma_synchronise_lock(window, lock_type, rank, assert);
}

static inline int trma_call_Win_unlock(struct trma_win *window, int rank) {
    if (__builtin_expect((uint32_t)rank < window->size, 1) &&
        __builtin_expect(trma_win_unlock_quick(window->core, (uint32_t)rank), 1)) {
        return MPI_SUCCESS;
    }
    return trma_synchronise_unlock(window, rank);
}

static inline int trma_call_Win_flush(struct trma_win *window, int rank) {
    if (__builtin_expect((uint32_t)rank < window->size, 1) &&
        __builtin_expect(trma_win_flush_quick(window->core, (uint32_t)rank), 1)) {
        return MPI_SUCCESS;
    }
    return trma_synchronise_flush(window, rank);
}

#endif
