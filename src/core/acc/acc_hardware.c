/* SPDX-License-Identifier: BSD-3-Clause */
#include "acc_hardware.h"

#include <stdatomic.h>
#include <string.h>

#include "acc_kernel.h"

/*
 * For each width: most operations load, combine and swap until nobody came in between. Those that processors
 * know (exchange; addition of integers, the same for both signs) take one instruction.
 */
#define DEFINE_HARDWARE_UPDATE(bits)                                                                         \
    static void update_##bits(enum trma_operation operation, enum trma_element element, bool adds_integers,  \
                              void *target, const void *origin, void *result) {                              \
        _Atomic uint##bits##_t *word = target;                                                               \
        uint##bits##_t operand, old, wanted;                                                                 \
        memcpy(&operand, origin, sizeof(operand));                                                           \
        if (operation == TRMA_OPERATION_REPLACE) {                                                           \
            old = atomic_exchange_explicit(word, operand, memory_order_acq_rel);                             \
        } else if (adds_integers) {                                                                          \
            old = atomic_fetch_add_explicit(word, operand, memory_order_acq_rel);                            \
        } else {                                                                                             \
            trma_acc_kernel *kernel = trma_acc_kernel_find(operation, element);                              \
            old = atomic_load_explicit(word, memory_order_relaxed);                                          \
            do {                                                                                             \
                wanted = old;                                                                                \
                kernel(&wanted, &operand, 1);                                                                \
            } while (!atomic_compare_exchange_weak_explicit(word, &old, wanted, memory_order_acq_rel,        \
                                                            memory_order_relaxed));                          \
        }                                                                                                    \
        if (result != NULL) {                                                                                \
            memcpy(result, &old, sizeof(old));                                                               \
        }                                                                                                    \
    }                                                                                                        \
                                                                                                             \
    static void read_##bits(void *target, void *result) {                                                    \
        const uint##bits##_t old =                                                                           \
            atomic_load_explicit((_Atomic uint##bits##_t *)target, memory_order_acquire);                    \
        memcpy(result, &old, sizeof(old));                                                                   \
    }                                                                                                        \
                                                                                                             \
    static void swap_##bits(void *target, const void *origin, const void *compare, void *result) {           \
        uint##bits##_t operand, old;                                                                         \
        memcpy(&operand, origin, sizeof(operand));                                                           \
        memcpy(&old, compare, sizeof(old));                                                                  \
        atomic_compare_exchange_strong_explicit((_Atomic uint##bits##_t *)target, &old, operand,             \
                                                memory_order_acq_rel, memory_order_acquire);                 \
        memcpy(result, &old, sizeof(old)); /* on failure what was found, else equal to *compare */           \
    }

DEFINE_HARDWARE_UPDATE(8)
DEFINE_HARDWARE_UPDATE(16)
DEFINE_HARDWARE_UPDATE(32)
DEFINE_HARDWARE_UPDATE(64)

static bool is_integer(enum trma_element element) {
    return element <= TRMA_ELEMENT_UINT64 && element != TRMA_ELEMENT_INT128;
}

_Static_assert(TRMA_ELEMENT_INT8 == 0 && TRMA_ELEMENT_UINT64 == 8, "the integers come first");

static void read_element(size_t size, void *target, void *result) {
    switch (size) {
    case 1:
        read_8(target, result);
        break;
    case 2:
        read_16(target, result);
        break;
    case 4:
        read_32(target, result);
        break;
    default:
        read_64(target, result);
        break;
    }
}

void trma_acc_hardware_update(enum trma_operation operation, enum trma_element element, void *target,
                              const void *origin, void *result) {
    const size_t size = trma_acc_element_size(element);

    if (operation == TRMA_OPERATION_NO_OP) {
        if (result != NULL) {
            read_element(size, target, result);
        }
        return;
    }
    const bool adds_integers = operation == TRMA_OPERATION_SUM && is_integer(element);
    switch (size) {
    case 1:
        update_8(operation, element, adds_integers, target, origin, result);
        break;
    case 2:
        update_16(operation, element, adds_integers, target, origin, result);
        break;
    case 4:
        update_32(operation, element, adds_integers, target, origin, result);
        break;
    default:
        update_64(operation, element, adds_integers, target, origin, result);
        break;
    }
}

void trma_acc_hardware_swap(size_t size, void *target, const void *origin, const void *compare,
                            void *result) {
    switch (size) {
    case 1:
        swap_8(target, origin, compare, result);
        break;
    case 2:
        swap_16(target, origin, compare, result);
        break;
    case 4:
        swap_32(target, origin, compare, result);
        break;
    default:
        swap_64(target, origin, compare, result);
        break;
    }
}
