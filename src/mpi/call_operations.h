/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_OPERATIONS_H
#define TRMA_CALL_OPERATIONS_H

#include <string.h>

#include "face_type.h"
#include "face_window.h"
#include "win/win_operation.h"

/*
 * The short way of put and get, in line with the entry points: both sides the same dense datatype, the target
 * open and mapped. Everything else, every error included, is found by the long way (call_operations.c).
 */
int trma_operation_put(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                       MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype);
int trma_operation_get(struct trma_win *window, void *origin_addr, MPI_Count origin_count,
                       MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype);

/* Where the target's bytes lie here and how many they are; NULL when the long way must be taken. */
static inline void *trma_operation_quick(struct trma_win *window, MPI_Count origin_count,
                                         MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                         MPI_Count target_count, MPI_Datatype target_datatype,
                                         size_t *bytes) {
    if (origin_datatype != target_datatype || origin_count != target_count ||
        (uint32_t)target_rank >= window->size) {
        return NULL;
    }
    /* The table never gives a freed type; one that is not there yet is found by the long way. */
    struct trma_handle *found = trma_handle_find(&trma_types, (uintptr_t)origin_datatype);
    if (!found || !((struct trma_type *)found)->dense_size ||
        /* A negative count is a huge one here. */
        __builtin_mul_overflow((size_t)origin_count, ((struct trma_type *)found)->dense_size, bytes)) {
        return NULL;
    }
    return trma_win_quick_address(window->core, (uint32_t)target_rank, target_disp, *bytes);
}

/* Copies; one word without a call, since most operations of message-rate kind are one word. */
static inline void trma_operation_copy(void *to, const void *from, size_t bytes) {
    if (bytes == sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        memcpy(to, &word, sizeof word);
    } else {
        memmove(to, from, bytes);
    }
}

static inline int trma_call_Put(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                                MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                MPI_Count target_count, MPI_Datatype target_datatype) {
    size_t bytes;
    void *target = trma_operation_quick(window, origin_count, origin_datatype, target_rank, target_disp,
                                        target_count, target_datatype, &bytes);

    if (__builtin_expect(target != NULL, 1)) {
        trma_operation_copy(target, origin_addr, bytes);
        return MPI_SUCCESS;
    }
    return trma_operation_put(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype);
}

static inline int trma_call_Get(struct trma_win *window, void *origin_addr, MPI_Count origin_count,
                                MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                MPI_Count target_count, MPI_Datatype target_datatype) {
    size_t bytes;
    void *target = trma_operation_quick(window, origin_count, origin_datatype, target_rank, target_disp,
                                        target_count, target_datatype, &bytes);

    if (__builtin_expect(target != NULL, 1)) {
        trma_operation_copy(origin_addr, target, bytes);
        return MPI_SUCCESS;
    }
    return trma_operation_get(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype);
}

#endif
