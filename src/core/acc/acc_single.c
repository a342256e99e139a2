/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates of one element: fetch_and_op and compare_and_swap. In singles mode by an atomic instruction, else
 * under the element's stripes; what is mapped and lies in one of them runs straight through. */
#include <string.h>

#include "acc_hardware.h"
#include "acc_kernel.h"
#include "acc_lock.h"
#include "acc_reach.h"
#include "acc_singles.h"
#include "acc_types.h"
#include "acc_update.h"

#define ELEMENT_BYTES_MAX 32U

/* The stripes of one element: one, or with the one that follows. */
struct stripes {
    unsigned first;
    bool are_two;
};

/* Takes the element's stripes. Singles mode is ended, unless `found_singles` is given, see
 * trma_acc_lock_wait. */
static enum trma_status take(const struct trma_acc_context *context, uintptr_t address, size_t span,
                             struct stripes *stripes, bool *found_singles) {
    trma_acc_note_store(context);
    stripes->first = trma_acc_stripe_of(address);
    stripes->are_two = span > trma_acc_stripe_rest(address);
    if (__builtin_expect(stripes->are_two, 0)) {
        return trma_acc_lock_take_both(context, stripes->first);
    }
    return trma_acc_lock_try(context, stripes->first)
               ? TRMA_OK
               : trma_acc_lock_wait(context, stripes->first, found_singles);
}

/* True when an atomic instruction can do it, given singles mode. */
static inline bool is_single(const struct trma_acc_context *context, const struct trma_element_shape *shape,
                             const char *local, uintptr_t target) {
    return context->presence != NULL && local != NULL && trma_acc_hardware_fits(shape, target);
}

/* Either enters singles mode (*is_inside), which only an update that is single may, or takes the stripes. */
static enum trma_status take_or_enter(const struct trma_acc_context *context, uintptr_t address, size_t span,
                                      bool is_single, struct stripes *stripes, bool *is_inside) {
    *is_inside = is_single && trma_acc_singles_earn(context) && trma_acc_singles_enter(context);
    while (!*is_inside) {
        bool found_singles = false;
        enum trma_status status = take(context, address, span, stripes, is_single ? &found_singles : NULL);
        if (status || !found_singles) {
            return status;
        }
        *is_inside = trma_acc_singles_enter(context);
    }
    return TRMA_OK;
}

static void give(const struct trma_acc_context *context, const struct stripes *stripes) {
    if (stripes->are_two) {
        trma_acc_lock_give_both(context, stripes->first);
    } else {
        trma_acc_lock_give(context, stripes->first);
    }
}

/* Copies an element; the common sizes in a load and a store. */
static inline void copy_element(const struct trma_element_shape *shape, enum trma_element element, void *to,
                                const void *from) {
    if (shape->extent == 8 && shape->size == 8) {
        memcpy(to, from, 8);
    } else if (shape->extent == 4) {
        memcpy(to, from, 4);
    } else {
        trma_acc_copy(element, to, from, 1);
    }
}

static inline bool is_equal(size_t size, const void *a, const void *b) {
    if (size == 8) {
        return *(const trma_uint64 *)a == *(const trma_uint64 *)b;
    }
    if (size == 4) {
        return *(const trma_uint32 *)a == *(const trma_uint32 *)b;
    }
    return memcmp(a, b, size) == 0;
}

static inline void combine_element(enum trma_operation operation, enum trma_element element,
                                   const struct trma_element_shape *shape, void *target, const void *origin) {
    if (operation == TRMA_OPERATION_SUM &&
        (element == TRMA_ELEMENT_INT64 || element == TRMA_ELEMENT_UINT64)) {
        *(trma_uint64 *)target += *(const trma_uint64 *)origin;
    } else if (operation == TRMA_OPERATION_SUM &&
               (element == TRMA_ELEMENT_INT32 || element == TRMA_ELEMENT_UINT32)) {
        *(trma_uint32 *)target += *(const trma_uint32 *)origin;
    } else if (operation == TRMA_OPERATION_REPLACE) {
        copy_element(shape, element, target, origin);
    } else if (operation != TRMA_OPERATION_NO_OP) {
        trma_acc_kernel_find(operation, element)(target, origin, 1);
    }
}

#define BIT(operation) (1U << (operation))

/* Operations that often leave an integer as it is: a maximum that is reached, a flag that is set. */
static const unsigned often_idle = BIT(TRMA_OPERATION_NO_OP) | BIT(TRMA_OPERATION_MAX) |
                                   BIT(TRMA_OPERATION_MIN) | BIT(TRMA_OPERATION_BAND) |
                                   BIT(TRMA_OPERATION_BOR);

/* True when the operation with `origin` certainly leaves an integer of 8 or 4 bytes, which is `old`, as it
 * is. */
static inline bool is_idle(enum trma_operation operation, enum trma_element element, uint64_t old,
                           uint64_t origin) {
    const bool is_less = element == TRMA_ELEMENT_UINT64 ? old < origin : (int64_t)old < (int64_t)origin;

    switch (operation) {
    case TRMA_OPERATION_NO_OP:
        return true;
    case TRMA_OPERATION_MAX:
        return !is_less;
    case TRMA_OPERATION_MIN:
        return is_less || old == origin;
    case TRMA_OPERATION_BAND:
        return (old & origin) == old;
    case TRMA_OPERATION_BOR:
        return (old | origin) == old;
    default:
        return false;
    }
}

/* An integer as 64 bits that compare as it does (UINT64 as unsigned ones), loaded once. */
__attribute__((no_sanitize("thread"))) static inline uint64_t widen(enum trma_element element,
                                                                    const void *at) {
    switch (element) {
    case TRMA_ELEMENT_INT32:
        return (uint64_t)(int64_t) * (const volatile trma_int32 *)at;
    case TRMA_ELEMENT_UINT32:
        return *(const volatile trma_uint32 *)at;
    default:
        return *(const volatile trma_uint64 *)at;
    }
}

static inline bool is_wide_integer(enum trma_element element) {
    return element == TRMA_ELEMENT_INT64 || element == TRMA_ELEMENT_UINT64 || element == TRMA_ELEMENT_INT32 ||
           element == TRMA_ELEMENT_UINT32;
}

/* True when the operation leaves the integer at `local` as it is: *old. */
static inline bool look(enum trma_operation operation, enum trma_element element, const void *origin,
                        const char *local, uint64_t *old) {
    if ((often_idle & BIT(operation)) == 0 || !is_wide_integer(element)) {
        return false;
    }
    *old = widen(element, local);
    return is_idle(operation, element, *old, operation == TRMA_OPERATION_NO_OP ? 0 : widen(element, origin));
}

/* Always true: for conditions. */
static inline bool keep_old(size_t size, void *result, uint64_t old) {
    if (size == sizeof(uint64_t)) {
        *(trma_uint64 *)result = old;
    } else {
        *(trma_uint32 *)result = (uint32_t)old;
    }
    return true;
}

/*
 * An update that changes nothing needs the old value only, and no lock: origins that look at the same words
 * share their cache lines then, instead of taking them from one another. False: take the lock.
 *
 * What is loaded may be in the middle of a change, which the end of the look finds out. ThreadSanitizer
 * cannot know, since it does not follow fences.
 */
__attribute__((no_sanitize("thread"))) static bool
update_idly(const struct trma_acc_context *context, enum trma_operation operation, enum trma_element element,
            const void *origin, void *result, const char *local, uintptr_t target, size_t size) {
    const unsigned stripe = trma_acc_stripe_of(target);
    unsigned version;
    uint64_t old;

    if (size > trma_acc_stripe_rest(target) || !trma_acc_look_begin(context, stripe, &version)) {
        return false;
    }
    return look(operation, element, origin, local, &old) && trma_acc_look_end(context, stripe, version) &&
           keep_old(size, result, old);
}

/* fetch_and_op inside singles mode, which is left. What changes nothing is not stored. */
static inline void update_inside(const struct trma_acc_context *context, enum trma_operation operation,
                                 enum trma_element element, const void *origin, void *result, char *local) {
    uint64_t old;

    trma_acc_note_atomic(context);
    if (look(operation, element, origin, local, &old)) {
        /* As the instruction that it stands for. */
        atomic_thread_fence(memory_order_acquire);
        (void)keep_old(trma_acc_element_size(element), result, old);
    } else {
        trma_acc_hardware_update(operation, element, local, origin, result);
    }
    trma_acc_singles_leave(context);
}

/* compare_and_swap inside singles mode, which is left. */
static inline void swap_inside(const struct trma_acc_context *context, size_t size, const void *origin,
                               const void *compare, void *result, char *local) {
    trma_acc_note_atomic(context);
    trma_acc_hardware_swap(size, local, origin, compare, result);
    trma_acc_singles_leave(context);
}

/* Writes an element's data bytes back over CMA, not its holes. */
static enum trma_status write_element(const struct trma_path *path, const struct trma_element_shape *shape,
                                      const char *local, uintptr_t target) {
    enum trma_status status = TRMA_OK;

    for (size_t b = 0; b < shape->n_blocks && status == TRMA_OK; b++) {
        const struct trma_element_block *block = &shape->blocks[b];
        status = trma_move_write(path, local + block->offset, target + block->offset, block->length);
    }
    return status;
}

enum trma_status trma_acc_fetch_and_op(const struct trma_acc_context *context, const struct trma_path *path,
                                       enum trma_operation operation, enum trma_element element,
                                       const void *origin, void *result, uintptr_t target) {
    if (__builtin_expect(!trma_acc_operation_is_allowed(operation, element), 0)) {
        return TRMA_ERR_ARGUMENT;
    }
    const struct trma_element_shape *shape = trma_acc_element_shape(element);
    char *local = trma_acc_reach(path, target, shape->span);

    if (context->hardware_atomics && trma_acc_hardware_fits(shape, target) &&
        trma_move_path_is_mapped(path, target, shape->span)) {
        trma_acc_note_atomic(context);
        trma_acc_hardware_update(operation, element, local, origin, result);
        return TRMA_OK;
    }
    const bool single = is_single(context, shape, local, target);
    if (single && trma_acc_singles_enter(context)) {
        update_inside(context, operation, element, origin, result, local);
        return TRMA_OK;
    }
    if (local != NULL &&
        update_idly(context, operation, element, origin, result, local, target, shape->size)) {
        return TRMA_OK;
    }
    struct stripes stripes;
    bool is_inside;
    enum trma_status status = take_or_enter(context, target, shape->span, single, &stripes, &is_inside);
    if (__builtin_expect(status != TRMA_OK, 0)) {
        return status;
    }
    if (is_inside) {
        update_inside(context, operation, element, origin, result, local);
        return TRMA_OK;
    }
    if (__builtin_expect(local != NULL, 1)) {
        copy_element(shape, element, result, local);
        combine_element(operation, element, shape, local, origin);
    } else {
        char stage[ELEMENT_BYTES_MAX];
        status = trma_move_read(path, stage, target, shape->span);
        if (status == TRMA_OK) {
            trma_acc_copy(element, result, stage, 1);
            combine_element(operation, element, shape, stage, origin);
            if (operation != TRMA_OPERATION_NO_OP) {
                status = write_element(path, shape, stage, target);
            }
        }
    }
    give(context, &stripes);
    return status;
}

enum trma_status trma_acc_compare_and_swap(const struct trma_acc_context *context,
                                           const struct trma_path *path, enum trma_element element,
                                           const void *origin, const void *compare, void *result,
                                           uintptr_t target) {
    if (__builtin_expect(!trma_acc_compare_is_allowed(element), 0)) {
        return TRMA_ERR_ARGUMENT;
    }
    const struct trma_element_shape *shape =
        trma_acc_element_shape(element); /* these elements have no holes */
    const size_t size = shape->size;
    char *local = trma_acc_reach(path, target, size);

    if (context->hardware_atomics && trma_acc_hardware_fits(shape, target) &&
        trma_move_path_is_mapped(path, target, size)) {
        trma_acc_note_atomic(context);
        trma_acc_hardware_swap(size, local, origin, compare, result);
        return TRMA_OK;
    }
    const bool single = is_single(context, shape, local, target);
    if (single && trma_acc_singles_enter(context)) {
        swap_inside(context, size, origin, compare, result, local);
        return TRMA_OK;
    }
    struct stripes stripes;
    bool is_inside;
    enum trma_status status = take_or_enter(context, target, size, single, &stripes, &is_inside);
    if (__builtin_expect(status != TRMA_OK, 0)) {
        return status;
    }
    if (is_inside) {
        swap_inside(context, size, origin, compare, result, local);
        return TRMA_OK;
    }
    if (__builtin_expect(local != NULL, 1)) {
        copy_element(shape, element, result, local);
        if (is_equal(size, result, compare)) {
            copy_element(shape, element, local, origin);
        }
    } else {
        status = trma_move_read(path, result, target, size);
        if (status == TRMA_OK && is_equal(size, result, compare)) {
            status = trma_move_write(path, origin, target, size);
        }
    }
    give(context, &stripes);
    return status;
}
