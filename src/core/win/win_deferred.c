/* SPDX-License-Identifier: BSD-3-Clause */
#include "win_deferred.h"

#include <stdlib.h>

#include "../move/move_bytes.h"
#include "win_order.h"

/* An entry of a target's list: an operation, or some stretches that followed each other. */
struct trma_deferred {
    struct trma_deferred *next;
    bool is_operation;
};

struct operation {
    struct trma_deferred entry;
    struct trma_rma rma;
};

struct stretch {
    void *mapped;
    void *local;
    size_t size;
    bool is_put;
};

enum { STRETCHES = 31 }; /* a KiB in all */

struct stretches {
    struct trma_deferred entry;
    size_t n;
    struct stretch list[STRETCHES];
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
    if (first->is_operation) {
        const struct trma_rma *rma = &((struct operation *)first)->rma;
        release(&rma->origin);
        release(&rma->result);
        release(&rma->place);
    }
    free(first);
}

static void append(struct trma_target *target, struct trma_deferred *entry, bool is_operation) {
    entry->next = NULL;
    entry->is_operation = is_operation;
    if (target->last_deferred) {
        target->last_deferred->next = entry;
    } else {
        target->first_deferred = entry;
    }
    target->last_deferred = entry;
}

enum trma_status trma_win_deferred_add(struct trma_target *target, const struct trma_rma *rma) {
    struct operation *operation = malloc(sizeof *operation);

    if (!operation) {
        return TRMA_ERR_NO_MEMORY;
    }
    operation->rma = *rma;
    retain(&rma->origin);
    retain(&rma->result);
    retain(&rma->place);
    append(target, &operation->entry, true);
    return TRMA_OK;
}

/* The last entry, if it has room for one more stretch, or a new one; NULL: no memory. */
static struct stretches *stretches_with_room(struct trma_target *target) {
    struct trma_deferred *last = target->last_deferred;

    if (last && !last->is_operation && ((struct stretches *)last)->n < STRETCHES) {
        return (struct stretches *)last;
    }
    struct stretches *stretches = malloc(sizeof *stretches);
    if (stretches) {
        stretches->n = 0;
        append(target, &stretches->entry, false);
    }
    return stretches;
}

enum trma_status trma_win_deferred_add_stretch(struct trma_target *target, void *mapped, void *local,
                                               size_t size, bool is_put) {
    struct stretches *stretches = stretches_with_room(target);

    if (!stretches) {
        return TRMA_ERR_NO_MEMORY;
    }
    stretches->list[stretches->n++] = (struct stretch){mapped, local, size, is_put};
    return TRMA_OK;
}

static void copy(struct trma_window *window, uint32_t target, const struct stretches *stretches) {
    for (const struct stretch *stretch = stretches->list; stretch < stretches->list + stretches->n;
         stretch++) {
        if (stretch->is_put) {
            trma_win_order_note_store(window);
            trma_win_operation_store(window, target, stretch->mapped, stretch->local, stretch->size);
        } else {
            trma_win_order_pay();
            trma_win_operation_fetch(window, target, stretch->mapped, stretch->local, stretch->size);
        }
    }
}

static enum trma_status perform(struct trma_window *window, uint32_t target,
                                const struct trma_deferred *entry) {
    if (entry->is_operation) {
        return trma_win_operation_perform(window, &((const struct operation *)entry)->rma);
    }
    copy(window, target, (const struct stretches *)entry);
    return TRMA_OK;
}

enum trma_status trma_win_deferred_run(struct trma_window *window, struct trma_target *target) {
    enum trma_status first_error = TRMA_OK;

    while (target->first_deferred) {
        enum trma_status status =
            perform(window, (uint32_t)(target - window->targets), target->first_deferred);
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
