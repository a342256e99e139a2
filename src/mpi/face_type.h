/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_TYPE_H
#define TRMA_FACE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "acc/acc_element.h"
#include "face_handle.h"
#include "face_mpi.h"
#include "move/move_layout.h"
#include "trma_hidden.h"

/*
 * Datatypes: the layout of a host datatype, built at its first use in an operation and kept until the
 * datatype is freed (an attribute with a delete callback tells).
 */
struct trma_type {
    struct trma_handle handle;
    struct trma_layout *layout;
    size_t dense_size; /* bytes of one element when n elements are one stretch that starts at the address;
                          else 0 */
    enum trma_element
        element; /* when the type is one predefined element, laid out as that; else TRMA_ELEMENT_MIXED */
};

/* A predefined operation. */
struct trma_op {
    struct trma_handle handle;
    enum trma_operation operation;
    uint64_t allowed; /* bit e: the operation is allowed on element e */
};

/* The host's handles. */
static inline MPI_Datatype trma_type_handle(const struct trma_type *type) {
    return (MPI_Datatype)atomic_load_explicit(&type->handle.key, memory_order_relaxed);
}

static inline MPI_Op trma_op_handle(const struct trma_op *op) {
    return (MPI_Op)atomic_load_explicit(&op->handle.key, memory_order_relaxed);
}

extern TRMA_HIDDEN struct trma_handle_table trma_types;
extern TRMA_HIDDEN struct trma_handle_table trma_ops;

/* NULL: not a datatype that can be used (MPI_DATATYPE_NULL, or memory is exhausted). Thread-safe. */
struct trma_type *trma_type_find_slow(MPI_Datatype datatype);

static inline struct trma_type *trma_type_find(MPI_Datatype datatype) {
    struct trma_handle *found = trma_handle_find(&trma_types, (uintptr_t)datatype);

    return __builtin_expect(found != NULL, 1) ? (struct trma_type *)found : trma_type_find_slow(datatype);
}

struct trma_op *trma_op_find_slow(MPI_Op op);

/* NULL: not a predefined operation (those made by the user are not allowed in RMA). Thread-safe. */
static inline struct trma_op *trma_op_find(MPI_Op op) {
    struct trma_handle *found = trma_handle_find(&trma_ops, (uintptr_t)op);

    return __builtin_expect(found != NULL, 1) ? (struct trma_op *)found : trma_op_find_slow(op);
}

static inline bool trma_op_is_allowed(const struct trma_op *op, enum trma_element element) {
    return op->allowed >> element & 1U;
}

#endif
