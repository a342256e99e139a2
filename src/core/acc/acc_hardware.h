/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_ACC_HARDWARE_H
#define TRMA_ACC_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

#include "acc_element.h"

/*
 * Updates of one element by atomic instructions: in singles mode (acc_singles.h), and for what
 * trma_acc_context.hardware_atomics switches on. No other way of updating the element may be in use at the
 * same time.
 */

/* True when the element at that address can be updated so: naturally aligned, 1, 2, 4 or 8 bytes. */
static inline bool trma_acc_hardware_fits(const struct trma_element_shape *shape, uintptr_t address) {
    const size_t size = shape->size;
    /* A mask, since a division takes longer than the update. */
    return size == shape->extent && size <= 8 && (size & (size - 1)) == 0 && (address & (size - 1)) == 0;
}

/* *result = *target (unless NULL); *target = *target op *origin. Only the target need be aligned. Acquire and
 * release. */
void trma_acc_hardware_update(enum trma_operation operation, enum trma_element element, void *target,
                              const void *origin, void *result);

/* *result = *target; if that equals *compare, *target = *origin. As above. */
void trma_acc_hardware_swap(size_t size, void *target, const void *origin, const void *compare, void *result);

#endif
