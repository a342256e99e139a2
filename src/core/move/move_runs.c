/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_runs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Repetitions of up to so many entries are written out instead of looped over: merges may follow, and loops
 * cost time. */
#define WRITE_OUT_ALWAYS 16U
/* Most entries that a loop nested too deep may be written out to (about 640 MiB). */
#define WRITE_OUT_AT_MOST ((size_t)1 << 24)

/* Offsets wrap around: an intermediate sum may leave the range that the blocks themselves stay in. */
static ptrdiff_t add(ptrdiff_t a, ptrdiff_t b) {
    return (ptrdiff_t)((uintptr_t)a + (uintptr_t)b);
}

static ptrdiff_t subtract(ptrdiff_t a, ptrdiff_t b) {
    return (ptrdiff_t)((uintptr_t)a - (uintptr_t)b);
}

static ptrdiff_t multiply(size_t n, ptrdiff_t stride) {
    return (ptrdiff_t)((uintptr_t)n * (uintptr_t)stride);
}

static enum trma_status reserve(struct trma_run_list *list, size_t more) {
    if (more <= list->capacity - list->n) {
        return TRMA_OK;
    }
    size_t capacity;
    size_t bytes;
    if (__builtin_add_overflow(list->n, more, &capacity)) {
        return TRMA_ERR_NO_MEMORY;
    }
    if (capacity < 2 * list->capacity) {
        capacity = 2 * list->capacity;
    }
    if (__builtin_mul_overflow(capacity, sizeof *list->runs, &bytes)) {
        return TRMA_ERR_NO_MEMORY;
    }
    struct trma_run *runs = realloc(list->runs, bytes);
    if (runs == NULL) {
        return TRMA_ERR_NO_MEMORY;
    }
    list->runs = runs;
    list->capacity = capacity;
    return TRMA_OK;
}

/* Makes `run` part of the last entry where it goes on with the same blocks at the same stride. */
static bool merge(struct trma_run *last, const struct trma_run *run) {
    if (last->length != run->length) {
        return false;
    }
    const ptrdiff_t distance = subtract(run->offset, last->offset);
    if (last->count == 1 && run->count == 1) {
        last->stride = distance;
    } else if (last->count == 1) {
        if (distance != run->stride) {
            return false;
        }
        last->stride = distance;
    } else if (distance != multiply(last->count, last->stride) ||
               (run->count > 1 && run->stride != last->stride)) {
        return false;
    }
    last->count += run->count;
    return true;
}

static enum trma_status commit(struct trma_run_list *list, const struct trma_run *run) {
    if (list->last_is_run && merge(&list->runs[list->n - 1], run)) {
        return TRMA_OK;
    }
    enum trma_status status = reserve(list, 1);
    if (status) {
        return status;
    }
    list->runs[list->n++] = *run;
    list->last_is_run = true;
    return TRMA_OK;
}

enum trma_status trma_move_runs_finish(struct trma_run_list *list) {
    if (list->open.length == 0) {
        return TRMA_OK;
    }
    const struct trma_run block = list->open;
    list->open.length = 0;
    return commit(list, &block);
}

static enum trma_status append_run(struct trma_run_list *list, struct trma_run run) {
    if (run.count > 1 && run.stride == (ptrdiff_t)run.length) {
        run.length *= run.count;
        run.count = 1;
    }
    if (run.count == 1) {
        if (list->open.length != 0 && add(list->open.offset, (ptrdiff_t)list->open.length) == run.offset) {
            list->open.length += run.length;
            list->open.stride = (ptrdiff_t)list->open.length;
            return TRMA_OK;
        }
        run.stride = (ptrdiff_t)run.length;
    }
    enum trma_status status = trma_move_runs_finish(list);
    if (status) {
        return status;
    }
    if (run.count == 1) {
        list->open = run;
        return TRMA_OK;
    }
    return commit(list, &run);
}

/* Copies a loop's body, or a loop with its body, as it is: nothing merges across a loop's border. */
static enum trma_status append_verbatim(struct trma_run_list *list, const struct trma_run *runs, size_t n) {
    enum trma_status status = reserve(list, n);
    if (status) {
        return status;
    }
    memcpy(list->runs + list->n, runs, n * sizeof *runs);
    list->n += n;
    list->last_is_run = false;
    return TRMA_OK;
}

static enum trma_status append_once(struct trma_run_list *list, const struct trma_run *runs, size_t n,
                                    unsigned depth, ptrdiff_t shift) {
    for (size_t i = 0; i < n; i += 1 + runs[i].body) {
        enum trma_status status;
        if (runs[i].body == 0) {
            struct trma_run run = runs[i];
            run.offset = add(run.offset, shift);
            status = append_run(list, run);
        } else {
            status = trma_move_runs_finish(list);
            if (status == TRMA_OK) {
                status = append_verbatim(list, runs + i, 1 + runs[i].body);
            }
            if (status == TRMA_OK) {
                struct trma_run *loop = &list->runs[list->n - 1 - runs[i].body];
                loop->offset = add(loop->offset, shift);
            }
        }
        if (status) {
            return status;
        }
    }
    if (depth > list->depth) {
        list->depth = depth;
    }
    return TRMA_OK;
}

static enum trma_status append_loop(struct trma_run_list *list, const struct trma_run *runs, size_t n,
                                    unsigned depth, ptrdiff_t shift, size_t count, ptrdiff_t stride) {
    const struct trma_run loop = {.offset = shift, .length = 0, .count = count, .stride = stride, .body = n};
    enum trma_status status = trma_move_runs_finish(list);
    if (status == TRMA_OK) {
        status = append_verbatim(list, &loop, 1);
    }
    if (status == TRMA_OK) {
        status = append_verbatim(list, runs, n);
    }
    if (status == TRMA_OK && depth + 1 > list->depth) {
        list->depth = depth + 1;
    }
    return status;
}

enum trma_status trma_move_runs_append(struct trma_run_list *list, const struct trma_run *runs, size_t n,
                                       unsigned depth, ptrdiff_t shift, size_t count, ptrdiff_t stride) {
    if (n == 0 || count == 0) {
        return TRMA_OK;
    }
    if (count == 1) {
        return append_once(list, runs, n, depth, shift);
    }
    if (n == 1) { /* a list of one entry holds a run: a loop has a body */
        struct trma_run run = runs[0];
        run.offset = add(run.offset, shift);
        if (run.count == 1) {
            run.count = count;
            run.stride = stride;
            return append_run(list, run);
        }
        if (stride == multiply(run.count, run.stride)) {
            run.count *= count;
            return append_run(list, run);
        }
    }
    const bool loop_fits = depth < TRMA_MOVE_LOOP_DEPTH;
    if (loop_fits && count > WRITE_OUT_ALWAYS / n) {
        return append_loop(list, runs, n, depth, shift, count, stride);
    }
    if (!loop_fits && count > WRITE_OUT_AT_MOST / n) {
        return TRMA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        enum trma_status status = append_once(list, runs, n, depth, add(shift, multiply(i, stride)));
        if (status) {
            return status;
        }
    }
    return TRMA_OK;
}

void trma_move_runs_free(struct trma_run_list *list) {
    free(list->runs);
    *list = (struct trma_run_list){0};
}
