/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_layout.h"

#include <stdlib.h>

/* A half-open range of byte offsets that grows as blocks are added. */
struct range {
    bool is_set;
    ptrdiff_t low;
    ptrdiff_t high;
};

/* What a maker collects before the layout is made. */
struct draft {
    struct trma_run_list list;
    struct range bounds; /* lower and upper bound */
    struct range data;   /* first and past-last byte of data */
    size_t size;
    bool has_element;
    enum trma_element element;
};

static bool shift_overflows(struct range *range, ptrdiff_t shift) {
    return __builtin_add_overflow(range->low, shift, &range->low) ||
           __builtin_add_overflow(range->high, shift, &range->high);
}

static void range_include(struct range *range, const struct range *other) {
    if (!range->is_set) {
        *range = *other;
        return;
    }
    range->low = other->low < range->low ? other->low : range->low;
    range->high = other->high > range->high ? other->high : range->high;
}

/* The range that `count` (at least 1) copies of `range`, one `stride` apart, cover. True when it does not
 * fit. */
static bool repeat_overflows(struct range *range, size_t count, ptrdiff_t stride) {
    ptrdiff_t last;
    struct range end = *range;
    if (__builtin_mul_overflow(count - 1, stride, &last) || shift_overflows(&end, last)) {
        return true;
    }
    range_include(range, &end);
    return false;
}

static void draft_drop(struct draft *draft) {
    trma_move_runs_free(&draft->list);
}

static enum trma_status draft_finish(struct draft *draft, struct trma_layout **out) {
    enum trma_status status = trma_move_runs_finish(&draft->list);
    struct trma_layout *layout = status ? NULL : malloc(sizeof *layout);
    if (layout == NULL) {
        draft_drop(draft);
        return TRMA_ERR_NO_MEMORY;
    }
    struct trma_run_list *list = &draft->list;
    if (list->n < list->capacity) {
        struct trma_run *runs = realloc(list->runs, list->n * sizeof *runs);
        list->runs = runs != NULL ? runs : list->runs;
    }
    *layout = (struct trma_layout){
        .size = draft->size,
        .lower_bound = draft->bounds.low,
        .extent = draft->bounds.high - draft->bounds.low,
        .true_low = draft->data.low,
        .true_high = draft->data.high,
        .element = draft->has_element ? draft->element : TRMA_ELEMENT_MIXED,
        .n_runs = list->n,
        .depth = list->depth,
        .runs = list->runs,
    };
    layout->is_dense = layout->size == 0 || (layout->n_runs == 1 && layout->runs[0].count == 1 &&
                                             layout->extent == (ptrdiff_t)layout->size);
    atomic_init(&layout->references, 1);
    *out = layout;
    return TRMA_OK;
}

/* Adds `count` blocks of `blocklength` children, `stride` apart, the first at `displacement`. */
static enum trma_status draft_add(struct draft *draft, const struct trma_layout *child,
                                  ptrdiff_t displacement, size_t count, size_t blocklength,
                                  ptrdiff_t stride) {
    if (count == 0 || blocklength == 0 || (child->size == 0 && child->extent == 0)) {
        return TRMA_OK;
    }
    struct range bounds = {true, child->lower_bound, child->lower_bound + child->extent};
    ptrdiff_t extent;
    if (shift_overflows(&bounds, displacement) || repeat_overflows(&bounds, blocklength, child->extent) ||
        repeat_overflows(&bounds, count, stride)) {
        return TRMA_ERR_ARGUMENT;
    }
    range_include(&draft->bounds, &bounds);
    if (__builtin_sub_overflow(draft->bounds.high, draft->bounds.low, &extent)) {
        return TRMA_ERR_ARGUMENT;
    }
    if (child->size == 0) {
        return TRMA_OK;
    }

    struct range data = {true, child->true_low, child->true_high};
    size_t n;
    size_t bytes;
    if (__builtin_mul_overflow(count, blocklength, &n) || __builtin_mul_overflow(n, child->size, &bytes) ||
        __builtin_add_overflow(draft->size, bytes, &draft->size) || draft->size > PTRDIFF_MAX ||
        shift_overflows(&data, displacement) || repeat_overflows(&data, blocklength, child->extent) ||
        repeat_overflows(&data, count, stride)) {
        return TRMA_ERR_ARGUMENT;
    }
    range_include(&draft->data, &data);
    if (!draft->has_element) {
        draft->has_element = true;
        draft->element = child->element;
    } else if (draft->element != child->element) {
        draft->element = TRMA_ELEMENT_MIXED;
    }

    if (count == 1) {
        return trma_move_runs_append(&draft->list, child->runs, child->n_runs, child->depth, displacement,
                                     blocklength, child->extent);
    }
    struct trma_run_list block = {0};
    enum trma_status status = trma_move_runs_append(&block, child->runs, child->n_runs, child->depth,
                                                    displacement, blocklength, child->extent);
    if (status == TRMA_OK) {
        status = trma_move_runs_finish(&block);
    }
    if (status == TRMA_OK) {
        status = trma_move_runs_append(&draft->list, block.runs, block.n, block.depth, 0, count, stride);
    }
    trma_move_runs_free(&block);
    return status;
}

/* Sets what a predefined type has from nothing: n pieces of one element of `size` data bytes and `extent`. */
static enum trma_status make_basic(const struct trma_run *pieces, size_t n, size_t size, size_t extent,
                                   enum trma_element element, struct trma_layout **out) {
    struct draft draft = {
        .bounds = {true, 0, (ptrdiff_t)extent},
        .size = size,
        .has_element = true,
        .element = element,
    };
    if (n > 0) {
        draft.data = (struct range){true, 0, pieces[n - 1].offset + (ptrdiff_t)pieces[n - 1].length};
    }
    enum trma_status status = trma_move_runs_append(&draft.list, pieces, n, 0, 0, 1, 0);
    if (status) {
        draft_drop(&draft);
        return status;
    }
    return draft_finish(&draft, out);
}

static struct trma_run piece(size_t offset, size_t length) {
    return (struct trma_run){
        .offset = (ptrdiff_t)offset, .length = length, .count = 1, .stride = (ptrdiff_t)length};
}

enum trma_status trma_move_layout_make_element(enum trma_element element, struct trma_layout **out) {
    if ((unsigned)element >= TRMA_ELEMENT_COUNT) {
        return TRMA_ERR_ARGUMENT;
    }
    const struct trma_element_shape *shape = trma_acc_element_shape(element);
    struct trma_run pieces[sizeof shape->blocks / sizeof *shape->blocks];
    for (size_t i = 0; i < shape->n_blocks; i++) {
        pieces[i] = piece(shape->blocks[i].offset, shape->blocks[i].length);
    }
    return make_basic(pieces, shape->n_blocks, shape->size, shape->extent, element, out);
}

enum trma_status trma_move_layout_make_bytes(size_t size, struct trma_layout **out) {
    if (size > PTRDIFF_MAX) {
        return TRMA_ERR_ARGUMENT;
    }
    const struct trma_run whole = piece(0, size);
    return make_basic(&whole, size > 0, size, size, TRMA_ELEMENT_MIXED, out);
}

enum trma_status trma_move_layout_make_vector(size_t count, size_t blocklength, ptrdiff_t stride,
                                              const struct trma_layout *child, struct trma_layout **out) {
    struct draft draft = {0};
    enum trma_status status = draft_add(&draft, child, 0, count, blocklength, stride);
    if (status) {
        draft_drop(&draft);
        return status;
    }
    return draft_finish(&draft, out);
}

enum trma_status trma_move_layout_make_struct(size_t n, const size_t *blocklengths,
                                              const ptrdiff_t *displacements,
                                              const struct trma_layout *const *children,
                                              struct trma_layout **out) {
    struct draft draft = {0};
    for (size_t i = 0; i < n; i++) {
        enum trma_status status = draft_add(&draft, children[i], displacements[i], 1, blocklengths[i], 0);
        if (status) {
            draft_drop(&draft);
            return status;
        }
    }
    return draft_finish(&draft, out);
}

enum trma_status trma_move_layout_make_resized(const struct trma_layout *child, ptrdiff_t lower_bound,
                                               ptrdiff_t extent, struct trma_layout **out) {
    ptrdiff_t upper_bound;
    if (__builtin_add_overflow(lower_bound, extent, &upper_bound)) {
        return TRMA_ERR_ARGUMENT;
    }
    struct draft draft = {
        .bounds = {true, lower_bound, upper_bound},
        .data = {true, child->true_low, child->true_high},
        .size = child->size,
        .has_element = true,
        .element = child->element,
    };
    enum trma_status status =
        trma_move_runs_append(&draft.list, child->runs, child->n_runs, child->depth, 0, 1, 0);
    if (status) {
        draft_drop(&draft);
        return status;
    }
    return draft_finish(&draft, out);
}

void trma_move_layout_retain(struct trma_layout *layout) {
    /* Relaxed: who retains already has a reference, so nothing needs to be ordered before it. */
    if (!layout->is_kept) {
        atomic_fetch_add_explicit(&layout->references, 1, memory_order_relaxed);
    }
}

void trma_move_layout_release(struct trma_layout *layout) {
    /* Release/acquire: every thread's last use of the layout comes before the thread that frees it. */
    if (layout != NULL && !layout->is_kept &&
        atomic_fetch_sub_explicit(&layout->references, 1, memory_order_acq_rel) == 1) {
        free((void *)layout->runs);
        free(layout);
    }
}

void trma_move_layout_keep(struct trma_layout *layout) {
    layout->is_kept = true;
}

void trma_move_layout_span(const struct trma_layout *layout, size_t count, ptrdiff_t *low, ptrdiff_t *high) {
    if (count == 0 || layout->size == 0) {
        *low = 0;
        *high = 0;
        return;
    }
    struct range range = {true, layout->true_low, layout->true_high};
    if (repeat_overflows(&range, count, layout->extent)) {
        range = (struct range){true, PTRDIFF_MIN, PTRDIFF_MAX};
    }
    *low = range.low;
    *high = range.high;
}
