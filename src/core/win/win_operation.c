/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_operation.h"

#include "../mem/mem_hot.h"
#include "../move/move_joint.h"
#include "win_deferred.h"
#include "win_epoch.h"
#include "win_order.h"

/* Finds the path to the operation's target bytes; TRMA_ERR_RANGE when the window has no memory there. */
static enum trma_status find_path(struct trma_window *window, const struct trma_rma *rma,
                                  struct trma_path *path) {
    struct trma_target *target = &window->targets[rma->target];
    ptrdiff_t low;
    ptrdiff_t high;

    trma_move_layout_span(rma->place.layout, rma->place.count, &low, &high);
    /* Unsigned: the span of a huge count saturates at both ends of ptrdiff_t. */
    size_t size = (size_t)high - (size_t)low;
    if (window->is_dynamic) {
        if (!size) {
            *path = target->path;
            return TRMA_OK;
        }
        struct trma_helper *helper = trma_win_target_helper(window, rma->target);
        const unsigned version = target->attached.version;
        const enum trma_status status = trma_win_attached_find(
            &target->attached, &target->words->attached, window->team->peers[rma->target],
            rma->place.address + (uintptr_t)low, size, path);
        if (helper && target->attached.version != version) {
            trma_node_helper_forget(helper);
        }
        path->helper = helper;
        return status;
    }
    /* Signed: a negative displacement or lower bound must not wrap into the window. */
    int64_t first;
    bool fits = !__builtin_add_overflow((int64_t)(rma->place.address - target->base), (int64_t)low, &first);
    if (size &&
        (!fits || first < 0 || (uint64_t)first > target->size || size > target->size - (uint64_t)first)) {
        return TRMA_ERR_RANGE;
    }
    if (!target->is_whole) {
        trma_win_adopt_follow(window, rma->target);
        target->path.helper = trma_win_target_helper(window, rma->target);
    }
    *path = target->path;
    return TRMA_OK;
}

static void copy_with_target(struct trma_window *window, uint32_t index, void *mapped, void *local,
                             size_t size, bool is_put) {
    struct trma_target *target = &window->targets[index];
    const struct trma_move_joint copy = {.own = &window->team->help,
                                         .words = &window->team->blocks[index]->help,
                                         .peer = window->team->peers[index],
                                         .mapped = mapped,
                                         .place = target->path.mapped_low +
                                                  ((uintptr_t)mapped - (uintptr_t)target->path.local),
                                         .local = local,
                                         .size = size,
                                         .is_put = is_put};
    const uint64_t blocks = trma_move_joint(&copy);

    if (blocks > 0) {
        atomic_fetch_add_explicit(&target->counts.helped, blocks, memory_order_relaxed);
    }
}

void trma_win_operation_copy_large(struct trma_window *window, uint32_t index, void *mapped, void *local,
                                   size_t size, bool is_put) {
    if (size >= TRMA_HOT_LEAST) {
        trma_mem_hot_note(local, size);
    }
    if (!trma_move_joint_is_alone(mapped, local, size, is_put) && index != window->me) {
        copy_with_target(window, index, mapped, local, size, is_put);
    } else if (is_put) {
        trma_move_copy_bytes(mapped, local, size);
    } else {
        trma_move_fetch_bytes(local, mapped, size);
    }
}

/* The sides of a put or get of one stretch of bytes that is mapped here (is_stretch). */
static void find_sides(const struct trma_rma *rma, const struct trma_path *path, void **mapped,
                       void **local) {
    *mapped = trma_move_path_local(path, rma->place.address + (uintptr_t)rma->place.layout->true_low);
    *local = (void *)(rma->origin.address + (uintptr_t)rma->origin.layout->true_low);
}

/* True for a put or get of one stretch of bytes on both sides, which is mapped here. */
static bool is_stretch(const struct trma_rma *rma, const struct trma_path *path) {
    const struct trma_layout *place = rma->place.layout;
    const size_t size = place->size * rma->place.count;

    return (rma->kind == TRMA_COUNT_PUT || rma->kind == TRMA_COUNT_GET) && size != 0 && place->is_dense &&
           rma->origin.layout->is_dense && !trma_move_may_be_late() &&
           trma_move_path_is_mapped(path, rma->place.address + (uintptr_t)place->true_low, size);
}

/* Moves it, if it is a large stretch; false, and nothing is done, for all else. What is attached to a dynamic
 * window has other addresses. */
static bool move_large(struct trma_window *window, const struct trma_rma *rma, const struct trma_path *path) {
    const size_t size = rma->place.layout->size * rma->place.count;
    void *mapped;
    void *local;

    if (size < TRMA_JOINT_LEAST || window->is_dynamic || !is_stretch(rma, path)) {
        return false;
    }
    find_sides(rma, path, &mapped, &local);
    trma_win_operation_copy_large(window, rma->target, mapped, local, size, rma->kind == TRMA_COUNT_PUT);
    return true;
}

static enum trma_status move_or_update(struct trma_window *window, const struct trma_rma *rma,
                                       const struct trma_path *path) {
    struct trma_target *target = &window->targets[rma->target];
    const struct trma_acc_context *updates = &target->updates;

    if (rma->kind != TRMA_COUNT_GET) {
        trma_win_order_note_store(window);
    }
    if (rma->kind != TRMA_COUNT_PUT) {
        trma_win_order_pay();
    }
    if (move_large(window, rma, path)) {
        return TRMA_OK;
    }
    switch (rma->kind) {
    case TRMA_COUNT_PUT:
        return trma_move_put(path, &rma->origin, &rma->place, &target->outstanding);
    case TRMA_COUNT_GET:
        return trma_move_get(path, &rma->origin, &rma->place, &target->outstanding);
    case TRMA_COUNT_ACCUMULATE:
        return trma_acc_update(updates, path, rma->operation, rma->element, &rma->origin, NULL, &rma->place);
    case TRMA_COUNT_GET_ACCUMULATE:
        return trma_acc_update(updates, path, rma->operation, rma->element, &rma->origin, &rma->result,
                               &rma->place);
    case TRMA_COUNT_FETCH_AND_OP:
        return trma_acc_fetch_and_op(updates, path, rma->operation, rma->element,
                                     (const void *)rma->origin.address, (void *)rma->result.address,
                                     rma->place.address);
    case TRMA_COUNT_COMPARE_AND_SWAP:
        return trma_acc_compare_and_swap(updates, path, rma->element, (const void *)rma->origin.address,
                                         rma->compare, (void *)rma->result.address, rma->place.address);
    case TRMA_COUNT_KINDS:
        break;
    }
    return TRMA_ERR_ARGUMENT;
}

/* Books an operation on memory that is not wholly mapped, of which the target has done so many pieces. */
static void book_private(struct trma_window *window, uint32_t index, size_t bytes, bool is_update,
                         uint64_t helped) {
    if (helped) {
        atomic_fetch_add_explicit(&window->targets[index].counts.helped, helped, memory_order_relaxed);
        trma_win_adopt_earn_help(window, index, helped);
    } else {
        trma_win_adopt_earn(window, index, bytes, is_update);
    }
}

static enum trma_status perform_along(struct trma_window *window, const struct trma_rma *rma,
                                      const struct trma_path *path) {
    /* By the path, not the target, which another thread may find to be mapped meanwhile. */
    const bool is_private = path->helper != NULL || path->mapped_low == path->mapped_high;
    const uint64_t before = is_private ? trma_node_help_received() : 0;

    if (!rma->place.count || !rma->place.layout->size) {
        return TRMA_OK;
    }
    enum trma_status status = move_or_update(window, rma, path);
    if (is_private) {
        book_private(window, rma->target, rma->place.layout->size * rma->place.count,
                     rma->kind != TRMA_COUNT_PUT && rma->kind != TRMA_COUNT_GET,
                     trma_node_help_received() - before);
    }
    return status;
}

/* True when the operation may be tried again after the kernel has refused a part of it. */
static bool may_repeat(const struct trma_rma *rma) {
    return rma->kind != TRMA_COUNT_ACCUMULATE && rma->kind != TRMA_COUNT_GET_ACCUMULATE;
}

/* As perform_along; where the kernel has come to refuse CMA, the target is asked to adopt its memory. */
static enum trma_status perform_somehow(struct trma_window *window, const struct trma_rma *rma,
                                        struct trma_path *path, bool is_guarded) {
    const struct trma_peer *peer = window->team->peers[rma->target];
    bool was_refused = !atomic_load_explicit(&peer->has_cma, memory_order_relaxed);
    enum trma_status status = perform_along(window, rma, path);

    if (__builtin_expect(status != TRMA_ERR_REFUSED, 1) || window->is_dynamic ||
        !(was_refused || may_repeat(rma))) {
        return status;
    }
    status = trma_win_adopt_demand(window, rma->target);
    if (!status) {
        if (!is_guarded) {
            trma_win_guard_enter(window);
        }
        status = find_path(window, rma, path);
        if (!is_guarded) {
            trma_win_guard_leave(window);
        }
    }
    return status ? status : perform_along(window, rma, path);
}

enum trma_status trma_win_operation_perform(struct trma_window *window, const struct trma_rma *rma) {
    struct trma_path path;
    enum trma_status status = find_path(window, rma, &path);

    return status ? status : perform_somehow(window, rma, &path, true);
}

/* Copies the path to a target that has private memory alone; false when a part is mapped. */
static bool take_private_path(struct trma_window *window, uint32_t index, struct trma_path *path) {
    trma_win_guard_enter(window);
    trma_win_adopt_follow(window, index);
    *path = window->targets[index].path;
    path->helper = trma_win_target_helper(window, index);
    trma_win_guard_leave(window);
    return path->mapped_high == path->mapped_low;
}

bool trma_win_operation_carry(struct trma_window *window, uint32_t index, int64_t displacement, void *local,
                              size_t size, bool is_put) {
    struct trma_target *target = &window->targets[index];
    struct trma_path path;
    uint64_t offset;

    if (window->is_dynamic || !size ||
        atomic_load_explicit(&target->state, memory_order_acquire) == TRMA_TARGET_CLOSED ||
        __builtin_mul_overflow((uint64_t)displacement, (uint64_t)target->disp_unit, &offset) ||
        offset > target->size || size > target->size - offset || !take_private_path(window, index, &path)) {
        return false;
    }
    if (is_put) {
        trma_win_order_note_store(window);
    } else {
        trma_win_order_pay();
    }
    const uint64_t before = trma_node_help_received();
    if (!trma_move_dense(&path, (uintptr_t)local, target->base + offset, size, is_put)) {
        return false;
    }
    book_private(window, index, size, false, trma_node_help_received() - before);
    if (trma_win_is_counted(window)) {
        trma_win_count(&target->counts, is_put ? TRMA_COUNT_PUT : TRMA_COUNT_GET, size);
    }
    return true;
}

/* For when the target will have posted. */
static enum trma_status remember(struct trma_window *window, const struct trma_rma *rma,
                                 const struct trma_path *path) {
    struct trma_target *target = &window->targets[rma->target];

    atomic_fetch_add_explicit(&target->counts.deferred, 1, memory_order_relaxed);
    /* What is attached to a dynamic window may be detached, and mapped no more. */
    if (window->is_dynamic || !is_stretch(rma, path)) {
        return trma_win_deferred_add(target, rma);
    }
    void *mapped;
    void *local;
    find_sides(rma, path, &mapped, &local);
    return trma_win_deferred_add_stretch(target, mapped, local, rma->place.layout->size * rma->place.count,
                                         rma->kind == TRMA_COUNT_PUT);
}

enum trma_status trma_win_operation_issue(struct trma_window *window, const struct trma_rma *rma) {
    struct trma_target *target = &window->targets[rma->target];
    struct trma_path path;
    bool is_open = false;

    trma_win_guard_enter(window);
    enum trma_status status = trma_win_epoch_open_target(window, rma->target, &is_open);
    if (!status) {
        status = find_path(window, rma, &path);
    }
    if (!status && trma_win_is_counted(window)) {
        trma_win_count(&target->counts, rma->kind, rma->place.layout->size * rma->place.count);
    }
    if (!status && !is_open) {
        status = remember(window, rma, &path);
    } else if (!status && window->is_dynamic) {
        /* Under the guard: another thread's look at the attachments may replace the mappings that the path
         * goes through. */
        status = perform_along(window, rma, &path);
    } else if (!status) {
        trma_win_guard_leave(window);
        return perform_somehow(window, rma, &path, false);
    }
    trma_win_guard_leave(window);
    return status;
}
