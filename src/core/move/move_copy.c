/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_copy.h"

#include "move_mover.h"

/* Pairs handed to a mover at once: enough that a CMA call carries many, few enough to stay in the first-level
 * cache. */
#define BATCH_PAIRS 64U

typedef enum trma_status (*carry_call)(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                       struct trma_outstanding *outstanding);

/* Pairs that wait for their mover. */
struct batch {
    carry_call carry;
    size_t n;
    struct trma_pair pairs[BATCH_PAIRS];
};

/* Where the target's bytes of one operation lie. */
enum reach { REACH_MAPPED, REACH_REMOTE, REACH_MIXED };

static atomic_size_t deferred_least = SIZE_MAX;
static _Atomic(const struct trma_mover *) deferred_mover = NULL;

atomic_bool trma_move_has_late_mover;

void trma_move_mover_set(const struct trma_mover *mover, size_t least) {
    if (mover != NULL) {
        atomic_store_explicit(&trma_move_has_late_mover, true, memory_order_relaxed); /* from now on */
    }
    /* Release: who sees the limit or the pointer sees the mover's table. A limit without mover, in between,
     * does no harm. */
    atomic_store_explicit(&deferred_mover, mover, memory_order_release);
    atomic_store_explicit(&deferred_least, mover != NULL ? least : SIZE_MAX, memory_order_release);
}

/* The mover for the mapped part of an operation of `size` bytes. */
static const struct trma_mover *mover_for(size_t size) {
    if (size < atomic_load_explicit(&deferred_least, memory_order_acquire)) {
        return &trma_move_mover_map;
    }
    const struct trma_mover *mover = atomic_load_explicit(&deferred_mover, memory_order_acquire);
    return mover != NULL ? mover : &trma_move_mover_map;
}

static enum reach reach_of(const struct trma_path *path, const struct trma_extent *target) {
    ptrdiff_t low;
    ptrdiff_t high;
    if (path->peer->is_self) {
        return REACH_MAPPED;
    }
    trma_move_layout_span(target->layout, target->count, &low, &high);
    const uintptr_t first = target->address + (uintptr_t)low;
    const uintptr_t end = target->address + (uintptr_t)high;
    if (trma_move_path_is_mapped(path, first, end - first)) {
        return REACH_MAPPED;
    }
    const bool is_apart = end <= path->mapped_low || first >= path->mapped_high;
    return is_apart || path->mapped_low == path->mapped_high ? REACH_REMOTE : REACH_MIXED;
}

/* The target's address as this process sees it; of the process itself all addresses are valid as they are. */
static uintptr_t localise(const struct trma_path *path, uintptr_t address) {
    return path->peer->is_self ? address : (uintptr_t)trma_move_path_local(path, address);
}

static enum trma_status flush(struct batch *batch, const struct trma_path *path,
                              struct trma_outstanding *outstanding) {
    const size_t n = batch->n;
    batch->n = 0;
    return n > 0 ? batch->carry(path, batch->pairs, n, outstanding) : TRMA_OK;
}

/* All of the target is on one side: `target` has the addresses that the batch's mover wants. */
static enum trma_status carry_uniform(const struct trma_path *path, struct batch *batch,
                                      struct trma_cursor *origin, struct trma_cursor *target,
                                      struct trma_outstanding *outstanding) {
    while (trma_move_pair_next(origin, target, &batch->pairs[batch->n])) {
        if (++batch->n == BATCH_PAIRS) {
            const enum trma_status status = flush(batch, path, outstanding);
            if (status) {
                return status;
            }
        }
    }
    return flush(batch, path, outstanding);
}

/* Elements of one layout that are taken together when both sides have it: enough for long pairs, few enough
 * for the caches. */
#define TWIN_ELEMENTS 128U

/* Both sides have the same elements, some of them, of several runs without loops. */
static bool are_twins(const struct trma_extent *origin, const struct trma_extent *target) {
    return origin->layout == target->layout && origin->count > 1 && origin->layout->n_runs > 1 &&
           origin->layout->depth == 0;
}

/*
 * Every byte keeps its offset then, so that any order will do, overlaps included. The k-th blocks of many
 * elements make one pair, where type-map order would make one of each block: arrays of structures with holes.
 */
static enum trma_status carry_twins(const struct trma_path *path, struct batch *batch,
                                    const struct trma_extent *origin, uintptr_t target,
                                    struct trma_outstanding *outstanding) {
    const struct trma_layout *layout = origin->layout;
    for (size_t first = 0; first < origin->count; first += TWIN_ELEMENTS) {
        const size_t left = origin->count - first;
        const size_t elements = left < TWIN_ELEMENTS ? left : TWIN_ELEMENTS;
        for (size_t i = 0; i < layout->n_runs; i++) {
            const struct trma_run *run = &layout->runs[i];
            const bool is_block = run->count == 1;
            const uintptr_t offset = first * (uintptr_t)layout->extent + (uintptr_t)run->offset;
            struct trma_pair pair = {
                .origin = origin->address + offset,
                .target = target + offset,
                .length = run->length,
                .count = is_block ? elements : run->count,
                .origin_stride = is_block ? layout->extent : run->stride,
                .target_stride = is_block ? layout->extent : run->stride,
            };
            for (size_t element = is_block ? elements - 1 : 0; element < elements; element++) {
                batch->pairs[batch->n] = pair;
                pair.origin += (uintptr_t)layout->extent;
                pair.target += (uintptr_t)layout->extent;
                if (++batch->n == BATCH_PAIRS) {
                    const enum trma_status status = flush(batch, path, outstanding);
                    if (status) {
                        return status;
                    }
                }
            }
        }
    }
    return flush(batch, path, outstanding);
}

/* The two batches of an operation that is partly mapped. */
struct fork {
    const struct trma_path *path;
    struct trma_outstanding *outstanding;
    struct batch mapped;
    struct batch remote;
};

static enum trma_status fork_push(struct fork *fork, const struct trma_pair *pair, bool is_mapped) {
    struct batch *batch = is_mapped ? &fork->mapped : &fork->remote;
    struct trma_pair *slot = &batch->pairs[batch->n++];
    *slot = *pair;
    if (is_mapped) {
        slot->target = localise(fork->path, pair->target);
    }
    return batch->n == BATCH_PAIRS ? flush(batch, fork->path, fork->outstanding) : TRMA_OK;
}

/* One block that straddles a border of the mapped part. */
static enum trma_status fork_push_cut(struct fork *fork, const struct trma_pair *pair) {
    enum trma_status status = TRMA_OK;
    for (size_t done = 0; done < pair->length && status == TRMA_OK;) {
        bool is_mapped;
        const size_t size =
            trma_move_path_side(fork->path, pair->target + done, pair->length - done, &is_mapped);
        const struct trma_pair piece = trma_move_pair_dense(pair->origin + done, pair->target + done, size);
        status = fork_push(fork, &piece, is_mapped);
        done += size;
    }
    return status;
}

static enum trma_status fork_push_split(struct fork *fork, struct trma_pair pair) {
    enum trma_status status = TRMA_OK;
    while (pair.count > 0 && status == TRMA_OK) {
        bool is_mapped;
        size_t n = trma_move_pair_count_on_side(&pair, fork->path, &is_mapped);
        if (n > 0) {
            struct trma_pair front = pair;
            front.count = n;
            status = fork_push(fork, &front, is_mapped);
        } else {
            status = fork_push_cut(fork, &pair);
            n = 1;
        }
        trma_move_pair_step(&pair, n);
    }
    return status;
}

static enum trma_status carry_mixed(const struct trma_path *path, carry_call mapped, carry_call remote,
                                    struct trma_cursor *origin, struct trma_cursor *target,
                                    struct trma_outstanding *outstanding) {
    struct fork fork;
    fork.path = path;
    fork.outstanding = outstanding;
    fork.mapped.carry = mapped;
    fork.mapped.n = 0;
    fork.remote.carry = remote;
    fork.remote.n = 0;
    struct trma_pair pair;
    while (trma_move_pair_next(origin, target, &pair)) {
        const enum trma_status status = fork_push_split(&fork, pair);
        if (status) {
            return status;
        }
    }
    const enum trma_status status = flush(&fork.mapped, path, outstanding);
    return status ? status : flush(&fork.remote, path, outstanding);
}

static enum trma_status carry(const struct trma_path *path, const struct trma_extent *origin,
                              const struct trma_extent *target, carry_call mapped, carry_call remote,
                              struct trma_outstanding *outstanding) {
    const enum reach reach = reach_of(path, target);
    const uintptr_t address = reach == REACH_MAPPED ? localise(path, target->address) : target->address;
    struct batch batch;
    batch.carry = reach == REACH_MAPPED ? mapped : remote;
    batch.n = 0;
    if (reach == REACH_MAPPED && are_twins(origin, target)) {
        return carry_twins(path, &batch, origin, address, outstanding);
    }
    struct trma_cursor here;
    struct trma_cursor there;
    trma_move_cursor_init(&here, origin->layout, origin->address, origin->count);
    trma_move_cursor_init(&there, target->layout, address, target->count);
    if (reach == REACH_MIXED) {
        return carry_mixed(path, mapped, remote, &here, &there, outstanding);
    }
    return carry_uniform(path, &batch, &here, &there, outstanding);
}

enum trma_status trma_move_put(const struct trma_path *path, const struct trma_extent *origin,
                               const struct trma_extent *target, struct trma_outstanding *outstanding) {
    const struct trma_mover *mapped = mover_for(origin->count * origin->layout->size);
    return carry(path, origin, target, mapped->put, trma_move_mover_cma.put, outstanding);
}

enum trma_status trma_move_get(const struct trma_path *path, const struct trma_extent *origin,
                               const struct trma_extent *target, struct trma_outstanding *outstanding) {
    const struct trma_mover *mapped = mover_for(origin->count * origin->layout->size);
    return carry(path, origin, target, mapped->get, trma_move_mover_cma.get, outstanding);
}

/* One stretch, by the movers that finish at once. */
static enum trma_status carry_stretch(const struct trma_path *path, uintptr_t origin, uintptr_t target,
                                      size_t size, carry_call mapped, carry_call remote) {
    while (size > 0) {
        bool is_mapped = path->peer->is_self;
        const size_t n = is_mapped ? size : trma_move_path_side(path, target, size, &is_mapped);
        const struct trma_pair pair =
            trma_move_pair_dense(origin, is_mapped ? localise(path, target) : target, n);
        const enum trma_status status = (is_mapped ? mapped : remote)(path, &pair, 1, NULL);
        if (status) {
            return status;
        }
        origin += n;
        target += n;
        size -= n;
    }
    return TRMA_OK;
}

enum trma_status trma_move_read(const struct trma_path *path, void *local, uintptr_t target, size_t size) {
    return carry_stretch(path, (uintptr_t)local, target, size, trma_move_mover_map.get,
                         trma_move_mover_cma.get);
}

enum trma_status trma_move_write(const struct trma_path *path, const void *local, uintptr_t target,
                                 size_t size) {
    return carry_stretch(path, (uintptr_t)local, target, size, trma_move_mover_map.put,
                         trma_move_mover_cma.put);
}

bool trma_move_test(struct trma_outstanding *outstanding) {
    /* Acquire: pairs with trma_move_end. */
    if (atomic_load_explicit(&outstanding->pending, memory_order_acquire) == 0) {
        return true;
    }
    const struct trma_mover *mover = atomic_load_explicit(&deferred_mover, memory_order_acquire);
    if (mover != NULL && mover->progress != NULL) {
        mover->progress(outstanding);
    }
    return atomic_load_explicit(&outstanding->pending, memory_order_acquire) == 0;
}

enum trma_status trma_move_failure(struct trma_outstanding *outstanding) {
    return (enum trma_status)atomic_exchange_explicit(&outstanding->failure, TRMA_OK, memory_order_relaxed);
}
