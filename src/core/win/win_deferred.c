/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_deferred.h"

#include <stdlib.h>

struct trma_deferred {
    struct trma_deferred *next;
    struct trma_rma rma;
};

static void retain(const struct trma_extent *extent) {
    if (extent->layout) {
        trma_move_layout_retain((struct trma_layout *)(uintptr_t)extent->layout);
    }
}

static void release(const struct trma_extent *extent) {
    if (extent->layout) {
        trma_move_layout_release((struct trma_layout *)(uintptr_t)extent->layout);
    }
}

static void forget_first(struct trma_target *target) {
    struct trma_deferred *first = target->first_deferred;

    target->first_deferred = first->next;
    if (!first->next) {
        target->last_deferred = NULL;
    }
    release(&first->rma.origin);
    release(&first->rma.result);
    release(&first->rma.place);
    free(first);
}

enum trma_status trma_win_deferred_add(struct trma_target *target, const struct trma_rma *rma) {
    struct trma_deferred *deferred = malloc(sizeof *deferred);

    if (!deferred) {
        return TRMA_ERR_NO_MEMORY;
    }
    deferred->next = NULL;
    deferred->rma = *rma;
    retain(&rma->origin);
    retain(&rma->result);
    retain(&rma->place);
    if (target->last_deferred) {
        target->last_deferred->next = deferred;
    } else {
        target->first_deferred = deferred;
    }
    target->last_deferred = deferred;
    return TRMA_OK;
}

enum trma_status trma_win_deferred_run(struct trma_window *window, struct trma_target *target) {
    enum trma_status first_error = TRMA_OK;

    while (target->first_deferred) {
        enum trma_status status = trma_win_operation_perform(window, &target->first_deferred->rma);
        if (status && !first_error) {
            first_error = status;
        }
        forget_first(target);
    }
    return first_error;
}

void trma_win_deferred_clear(struct trma_target *target) {
    while (target->first_deferred) {
        forget_first(target);
    }
}
