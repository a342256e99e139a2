/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_CALL_OPERATIONS_H
#define TRMA_CALL_OPERATIONS_H

#include "acc/acc_singles.h"
#include "face_type.h"
#include "face_window.h"
#include "move/move_bytes.h"
#include "move/move_claim.h"
#include "win/win_epoch.h"
#include "win/win_operation.h"
#include "win/win_order.h"

/*
 * The short way of put, get and the updates of one element, in line with the entry points: both sides the
 * same dense datatype, the target open and mapped. Everything else, every error included, is found by the
 * long way (call_operations.c).
 */
int trma_operation_accumulate(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                              MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op);
int trma_operation_fetch_and_op(struct trma_win *window, const void *origin_addr, void *result_addr,
                                MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Op op);
int trma_operation_compare_and_swap(struct trma_win *window, const void *origin_addr,
                                    const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                                    int target_rank, MPI_Aint target_disp);
/* The same for a target of a rank that there is, which as a rule is not open yet; the type of both sides has
 * been looked up. */
int trma_operation_put_typed(struct trma_win *window, const void *origin_addr, MPI_Count count,
                             const struct trma_type *type, int target_rank, MPI_Aint target_disp);
int trma_operation_get_typed(struct trma_win *window, void *origin_addr, MPI_Count count,
                             const struct trma_type *type, int target_rank, MPI_Aint target_disp);
/* The bytes of a put and a get that are more or fewer than one number. MPI_SUCCESS. Always called, as the
 * last thing that their callers do: in line they would need a frame there. */
__attribute__((noinline)) int trma_operation_put_bytes(void *target, const void *origin_addr, size_t bytes,
                                                       struct trma_win *window, int target_rank);
__attribute__((noinline)) int trma_operation_get_bytes(void *origin_addr, const void *target, size_t bytes,
                                                       struct trma_win *window, int target_rank);
/* The same for a type and an operation that have been looked up. Of accumulate: both sides are of that type,
 * the operation is not NO_OP. */
int trma_operation_accumulate_array(struct trma_win *window, const void *origin_addr, MPI_Count count,
                                    const struct trma_type *type, int target_rank, MPI_Aint target_disp,
                                    const struct trma_op *op);
int trma_operation_update(struct trma_win *window, const void *origin_addr, void *result_addr,
                          const struct trma_type *type, int target_rank, MPI_Aint target_disp,
                          const struct trma_op *op);
int trma_operation_swap(struct trma_win *window, const void *origin_addr, const void *compare_addr,
                        void *result_addr, const struct trma_type *type, int target_rank,
                        MPI_Aint target_disp);

/* How many bytes `count` elements of a type are, which must lie side by side. False: the long way must be
 * taken. */
static inline bool trma_operation_count_bytes(const struct trma_type *type, MPI_Count count, size_t *bytes) {
    int64_t size;

    if (!type->dense_size ||
        /* Signed: one instruction, and a negative count is a huge size. */
        __builtin_mul_overflow((int64_t)count, (int64_t)type->dense_size, &size)) {
        return false;
    }
    *bytes = (size_t)size;
    return true;
}

/* Where `count` elements of a type lie here at the target, and how many bytes they are; NULL when the long
 * way must be taken. */
static inline void *trma_operation_quick_array(struct trma_win *window, const struct trma_type *type,
                                               MPI_Count count, int target_rank, MPI_Aint target_disp,
                                               size_t *bytes) {
    return (uint32_t)target_rank < window->size && trma_operation_count_bytes(type, count, bytes)
               ? trma_win_quick_address(window->core, (uint32_t)target_rank, target_disp, *bytes)
               : NULL;
}

/* The datatype of both sides, when they are the same; NULL when not, and when it is not in its table's
 * cache: the long way finds it. The table never gives a freed one. */
static inline const struct trma_type *trma_operation_common_type(MPI_Count origin_count,
                                                                 MPI_Datatype origin_datatype,
                                                                 MPI_Count target_count,
                                                                 MPI_Datatype target_datatype) {
    return origin_datatype == target_datatype && origin_count == target_count
               ? (const struct trma_type *)trma_handle_peek(&trma_types, (uintptr_t)origin_datatype)
               : NULL;
}

/*
 * The short way of put and get. True: done, or failed, by *code. False: nothing was done, take the long way
 * (trma_call_Put, trma_call_Get). Every function that is called is the last thing done, and its parameters
 * fit into registers: little is saved on the stack, for whose stores a lock or an unlock, atomic
 * instructions, would have to wait.
 */
static inline bool trma_quick_Put(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                                  MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                  MPI_Count target_count, MPI_Datatype target_datatype, int *code) {
    const struct trma_type *type =
        trma_operation_common_type(origin_count, origin_datatype, target_count, target_datatype);
    size_t bytes;

    if (__builtin_expect(!type || (uint32_t)target_rank >= window->size, 0)) {
        return false;
    }
    void *target = trma_operation_quick_array(window, type, origin_count, target_rank, target_disp, &bytes);
    if (__builtin_expect(!target, 0)) {
        *code = trma_operation_put_typed(window, origin_addr, origin_count, type, target_rank, target_disp);
        return true;
    }
    trma_win_order_note_store(window->core);
    *code = trma_move_copy_number(target, origin_addr, bytes)
                ? MPI_SUCCESS
                : trma_operation_put_bytes(target, origin_addr, bytes, window, target_rank);
    return true;
}

static inline bool trma_quick_Get(struct trma_win *window, void *origin_addr, MPI_Count origin_count,
                                  MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                  MPI_Count target_count, MPI_Datatype target_datatype, int *code) {
    const struct trma_type *type =
        trma_operation_common_type(origin_count, origin_datatype, target_count, target_datatype);
    size_t bytes;

    if (__builtin_expect(!type || (uint32_t)target_rank >= window->size, 0)) {
        return false;
    }
    const void *target = NULL;
    if (trma_operation_count_bytes(type, origin_count, &bytes)) {
        trma_win_epoch_open_to_get(window->core, (uint32_t)target_rank, bytes);
        target = trma_win_quick_address(window->core, (uint32_t)target_rank, target_disp, bytes);
    }
    if (__builtin_expect(!target, 0)) {
        *code = trma_operation_get_typed(window, origin_addr, origin_count, type, target_rank, target_disp);
        return true;
    }
    trma_win_order_pay();
    *code = trma_move_copy_number(origin_addr, target, bytes)
                ? MPI_SUCCESS
                : trma_operation_get_bytes(origin_addr, target, bytes, window, target_rank);
    return true;
}

/*
 * One predefined element at an open, mapped target: where it is mapped here, or NULL when the long way must
 * be taken. The operation, when there is one, must be allowed on the element.
 */
static inline char *trma_operation_quick_element(struct trma_win *window, const struct trma_type *type,
                                                 int target_rank, MPI_Aint target_disp) {
    if (!type || type->element == TRMA_ELEMENT_MIXED || (uint32_t)target_rank >= window->size) {
        return NULL;
    }
    return trma_win_quick_address(window->core, (uint32_t)target_rank, target_disp,
                                  (size_t)(type->layout->true_high - type->layout->true_low));
}

/* In the target's address space what is mapped at `local`. */
static inline uintptr_t trma_operation_place(const struct trma_target *target, const char *local) {
    return target->path.mapped_low + (uintptr_t)(local - target->path.local);
}

/* The sum of an integer of 8 bytes by an origin that is alone there. False: nothing was done. */
static inline bool trma_operation_add_alone(const struct trma_target *target, const void *origin_addr,
                                            void *result_addr, void *local) {
    if (target->lock != TRMA_LOCK_EXCLUSIVE) {
        return false;
    }
    trma_win_order_pay();
    return trma_acc_alone_add(&target->updates, origin_addr, result_addr, local);
}

/* False: nothing was done, take the long way. */
static inline bool trma_operation_quick_update(struct trma_win *window, const void *origin_addr,
                                               void *result_addr, const struct trma_type *type,
                                               int target_rank, MPI_Aint target_disp,
                                               const struct trma_op *op, int *code) {
    char *local = trma_operation_quick_element(window, type, target_rank, target_disp);

    if (__builtin_expect(!local || !op || !trma_op_is_allowed(op, type->element), 0)) {
        return false;
    }
    const struct trma_target *target = &window->core->targets[target_rank];
    if (op->operation == TRMA_OPERATION_SUM && trma_acc_singles_is_word(type->element) &&
        trma_operation_add_alone(target, origin_addr, result_addr, local)) {
        *code = MPI_SUCCESS;
        return true;
    }
    /* A sum is always an atomic instruction; the others may only look. */
    if (op->operation != TRMA_OPERATION_SUM || !TRMA_ATOMICS_ARE_FENCES) {
        trma_win_order_pay();
    }
    if (trma_acc_singles_update(&target->updates, op->operation, type->element, origin_addr, result_addr,
                                local)) {
        *code = MPI_SUCCESS;
        return true;
    }
    trma_win_order_pay();
    *code = trma_win_conclude(window, trma_acc_fetch_and_op(&target->updates, &target->path, op->operation,
                                                            type->element, origin_addr, result_addr,
                                                            trma_operation_place(target, local)));
    return true;
}

/* compare_and_swap likewise. */
static inline bool trma_operation_swap_alone(const struct trma_target *target, const void *origin_addr,
                                             const void *compare_addr, void *result_addr, void *local) {
    if (target->lock != TRMA_LOCK_EXCLUSIVE) {
        return false;
    }
    trma_win_order_pay();
    return trma_acc_alone_swap(&target->updates, origin_addr, compare_addr, result_addr, local);
}

/* Where an integer of 8 bytes that an atomic instruction could update lies here; NULL when it is another
 * type, or the long way must be taken. */
static inline void *trma_operation_quick_word(struct trma_win *window, const struct trma_type *type,
                                              int target_rank, MPI_Aint target_disp) {
    return trma_acc_singles_is_word(type->element) && (uint32_t)target_rank < window->size
               ? trma_win_quick_address(window->core, (uint32_t)target_rank, target_disp, sizeof(uint64_t))
               : NULL;
}

/*
 * The shortest ways of fetch_and_op and compare_and_swap, for counters and locks, save little on the stack:
 * an atomic instruction waits until all stores before it have left the processor. All else goes on in another
 * function, with what has been looked up.
 */
static inline int trma_call_Fetch_and_op(struct trma_win *window, const void *origin_addr, void *result_addr,
                                         MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                                         MPI_Op op) {
    const struct trma_type *type =
        (const struct trma_type *)trma_handle_peek(&trma_types, (uintptr_t)datatype);
    const struct trma_op *known = (const struct trma_op *)trma_handle_peek(&trma_ops, (uintptr_t)op);

    if (__builtin_expect(!type || !known, 0)) {
        return trma_operation_fetch_and_op(window, origin_addr, result_addr, datatype, target_rank,
                                           target_disp, op);
    }
    if (known->operation == TRMA_OPERATION_SUM) {
        void *local = trma_operation_quick_word(window, type, target_rank, target_disp);
        if (!TRMA_ATOMICS_ARE_FENCES) {
            trma_win_order_pay();
        }
        const struct trma_target *target = &window->core->targets[target_rank];
        /* Signed or not makes no difference to a sum. */
        if (local != NULL &&
            (trma_operation_add_alone(target, origin_addr, result_addr, local) ||
             trma_acc_singles_update(&target->updates, TRMA_OPERATION_SUM, TRMA_ELEMENT_UINT64, origin_addr,
                                     result_addr, local))) {
            return MPI_SUCCESS;
        }
    }
    return trma_operation_update(window, origin_addr, result_addr, type, target_rank, target_disp, known);
}

static inline int trma_call_Compare_and_swap(struct trma_win *window, const void *origin_addr,
                                             const void *compare_addr, void *result_addr,
                                             MPI_Datatype datatype, int target_rank, MPI_Aint target_disp) {
    const struct trma_type *type =
        (const struct trma_type *)trma_handle_peek(&trma_types, (uintptr_t)datatype);

    if (__builtin_expect(!type, 0)) {
        return trma_operation_compare_and_swap(window, origin_addr, compare_addr, result_addr, datatype,
                                               target_rank, target_disp);
    }
    void *local = trma_operation_quick_word(window, type, target_rank, target_disp);
    if (!TRMA_ATOMICS_ARE_FENCES) {
        trma_win_order_pay();
    }
    const struct trma_target *target = &window->core->targets[target_rank];
    if (local != NULL && (trma_operation_swap_alone(target, origin_addr, compare_addr, result_addr, local) ||
                          trma_acc_singles_swap(&target->updates, TRMA_ELEMENT_UINT64, origin_addr,
                                                compare_addr, result_addr, local))) {
        return MPI_SUCCESS;
    }
    return trma_operation_swap(window, origin_addr, compare_addr, result_addr, type, target_rank,
                               target_disp);
}

/* An accumulate of one element is a fetch_and_op whose result nobody wants. */
static inline int trma_call_Accumulate(struct trma_win *window, const void *origin_addr,
                                       MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                                       MPI_Aint target_disp, MPI_Count target_count,
                                       MPI_Datatype target_datatype, MPI_Op op) {
    enum { LARGEST_ELEMENT = 64 };

    const struct trma_type *type =
        (const struct trma_type *)trma_handle_peek(&trma_types, (uintptr_t)origin_datatype);
    const struct trma_op *known = (const struct trma_op *)trma_handle_peek(&trma_ops, (uintptr_t)op);
    char nobody_wants[LARGEST_ELEMENT];
    int code;

    if (__builtin_expect(!type || !known || origin_count != target_count ||
                             origin_datatype != target_datatype || op == MPI_NO_OP,
                         0)) {
        return trma_operation_accumulate(window, origin_addr, origin_count, origin_datatype, target_rank,
                                         target_disp, target_count, target_datatype, op);
    }
    if (origin_count == 1 && trma_operation_quick_update(window, origin_addr, nobody_wants, type, target_rank,
                                                         target_disp, known, &code)) {
        return code;
    }
    return trma_operation_accumulate_array(window, origin_addr, origin_count, type, target_rank, target_disp,
                                           known);
}

#endif
