/* SPDX-License-Identifier: BSD-3-Clause */
/* Put, get and the accumulate family: arguments checked and turned into what the core takes. */
#include "call_operations.h"

#include "face_host.h"
#include "handlers.h"
#include "win/win_epoch.h"
#include "win/win_order.h"

/* One side of an operation as the user gives it. */
struct side {
    const void *address;
    MPI_Count count;
    MPI_Datatype datatype;
};

/* True when the target is MPI_PROC_NULL, or the rank is wrong (*code then): nothing is left to do. */
static bool is_settled(struct trma_win *window, int rank, int *code) {
    *code = MPI_SUCCESS;
    if (rank == MPI_PROC_NULL) {
        return true;
    }
    if (rank < 0 || (uint32_t)rank >= window->size) {
        *code = trma_win_raise(window, MPI_ERR_RANK);
        return true;
    }
    return false;
}

static int make_extent(const struct side *side, struct trma_extent *extent) {
    struct trma_type *type = trma_type_find(side->datatype);

    if (!type) {
        return MPI_ERR_TYPE;
    }
    if (side->count < 0) {
        return MPI_ERR_COUNT;
    }
    *extent = (struct trma_extent){type->layout, (uintptr_t)side->address, (size_t)side->count};
    return MPI_SUCCESS;
}

/* The target's side: its address comes from the displacement. */
static int make_place(struct trma_win *window, int rank, MPI_Aint disp, MPI_Count count,
                      MPI_Datatype datatype, struct trma_rma *rma) {
    struct side side = {NULL, count, datatype};
    int code = make_extent(&side, &rma->place);

    rma->target = (uint32_t)rank;
    /* A displacement is an address in a dynamic window only; elsewhere it counts from the window's begin. */
    if (code == MPI_SUCCESS && disp < 0 && window->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        code = MPI_ERR_DISP;
    }
    if (code == MPI_SUCCESS &&
        !trma_win_target_address(window->core, rma->target, disp, &rma->place.address)) {
        code = MPI_ERR_RMA_RANGE;
    }
    return code;
}

/* Bytes of data of one side; false when they cannot be counted. */
static bool data_bytes(const struct trma_extent *extent, size_t *bytes) {
    return !__builtin_mul_overflow(extent->layout->size, extent->count, bytes);
}

static bool hold_the_same(const struct trma_extent *a, const struct trma_extent *b) {
    size_t bytes_a;
    size_t bytes_b;

    return data_bytes(a, &bytes_a) && data_bytes(b, &bytes_b) && bytes_a == bytes_b;
}

/* Raises `code` if it is an error, else issues the operation. */
static int issue(struct trma_win *window, const struct trma_rma *rma, int code) {
    if (code != MPI_SUCCESS) {
        return trma_win_raise(window, code);
    }
    return trma_win_conclude(window, trma_win_operation_issue(window->core, rma));
}

/* The short way of both sides being one stretch of bytes, to memory that is not mapped. */
static bool carry_dense(struct trma_win *window, enum trma_count_kind kind, const struct side *origin,
                        int rank, MPI_Aint disp) {
    const struct trma_type *type = trma_type_find(origin->datatype);
    size_t bytes;

    return type && type->dense_size &&
           /* A negative count is a huge one here. */
           !__builtin_mul_overflow((size_t)origin->count, type->dense_size, &bytes) &&
           trma_win_operation_carry(window->core, (uint32_t)rank, disp, (void *)(uintptr_t)origin->address,
                                    bytes, kind == TRMA_COUNT_PUT);
}

static int move(struct trma_win *window, enum trma_count_kind kind, const struct side *origin, int rank,
                MPI_Aint disp, MPI_Count count, MPI_Datatype datatype) {
    struct trma_rma rma = {.kind = kind};
    int code;

    if (is_settled(window, rank, &code)) {
        return code;
    }
    if (origin->datatype == datatype && origin->count == count &&
        carry_dense(window, kind, origin, rank, disp)) {
        return MPI_SUCCESS;
    }
    code = make_extent(origin, &rma.origin);
    if (code == MPI_SUCCESS) {
        code = make_place(window, rank, disp, count, datatype, &rma);
    }
    if (code == MPI_SUCCESS && !hold_the_same(&rma.origin, &rma.place)) {
        code = MPI_ERR_ARG;
    }
    return issue(window, &rma, code);
}

int trma_call_Put(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                  MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype) {
    struct side origin = {origin_addr, origin_count, origin_datatype};

    return move(window, TRMA_COUNT_PUT, &origin, target_rank, target_disp, target_count, target_datatype);
}

int trma_call_Get(struct trma_win *window, void *origin_addr, MPI_Count origin_count,
                  MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype) {
    struct side origin = {origin_addr, origin_count, origin_datatype};

    return move(window, TRMA_COUNT_GET, &origin, target_rank, target_disp, target_count, target_datatype);
}

int trma_operation_put_bytes(void *target, const void *origin_addr, size_t bytes, struct trma_win *window,
                             int target_rank) {
    trma_win_operation_store(window->core, (uint32_t)target_rank, target, origin_addr, bytes);
    return MPI_SUCCESS;
}

int trma_operation_get_bytes(void *origin_addr, const void *target, size_t bytes, struct trma_win *window,
                             int target_rank) {
    trma_win_operation_fetch(window->core, (uint32_t)target_rank, target, origin_addr, bytes);
    return MPI_SUCCESS;
}

/* Opens the target of an epoch's first put or get: where its bytes lie here, NULL when it is not to be had at
 * once. */
static inline void *open_place(struct trma_window *window, const struct trma_type *type, MPI_Count count,
                               int rank, MPI_Aint disp, size_t *bytes) {
    return trma_operation_count_bytes(type, count, bytes) && trma_win_epoch_open(window, (uint32_t)rank)
               ? trma_win_quick_place(&window->targets[rank], disp, *bytes)
               : NULL;
}

/* The same where it may take a turn of the target's; NULL when the long way must be taken. */
static void *open_place_late(struct trma_window *window, const struct trma_type *type, MPI_Count count,
                             int rank, MPI_Aint disp, size_t *bytes) {
    return trma_operation_count_bytes(type, count, bytes) && trma_win_epoch_open_late(window, (uint32_t)rank)
               ? trma_win_quick_place(&window->targets[rank], disp, *bytes)
               : NULL;
}

/* Asks for the line of the word that will announce the end of an epoch, as far as that is worth it. */
static inline void claim_word(const struct trma_window *window, int rank, size_t bytes) {
    if (bytes <= TRMA_MOVE_CLAIM_MOST) {
        trma_move_claim_line(trma_win_epoch_word(window, (uint32_t)rank));
    }
}

/* The same, and before it for the lines of the epoch's first update of the target's memory. */
static inline void claim(const struct trma_window *window, int rank, void *target, size_t bytes) {
    if (bytes <= TRMA_MOVE_CLAIM_MOST) {
        trma_move_claim(target, bytes);
    }
    claim_word(window, rank, bytes);
}

/* What put_typed and get_typed leave: a target that may have to be waited for, and the long way. Apart, so
 * that those have nothing to save on the stack. */
static __attribute__((noinline)) int put_late(struct trma_win *window, const void *origin_addr,
                                              MPI_Count count, const struct trma_type *type, int target_rank,
                                              MPI_Aint target_disp) {
    struct trma_window *core = window->core;
    MPI_Datatype datatype = trma_type_handle(type);
    size_t bytes;
    void *target = open_place_late(core, type, count, target_rank, target_disp, &bytes);

    if (!target) {
        return trma_call_Put(window, origin_addr, count, datatype, target_rank, target_disp, count, datatype);
    }
    claim(core, target_rank, target, bytes);
    trma_win_order_note_store(core);
    return trma_operation_put_bytes(target, origin_addr, bytes, window, target_rank);
}

static __attribute__((noinline)) int get_late(struct trma_win *window, void *origin_addr, MPI_Count count,
                                              const struct trma_type *type, int target_rank,
                                              MPI_Aint target_disp) {
    struct trma_window *core = window->core;
    MPI_Datatype datatype = trma_type_handle(type);
    size_t bytes;
    const void *target = open_place_late(core, type, count, target_rank, target_disp, &bytes);

    if (!target) {
        return trma_call_Get(window, origin_addr, count, datatype, target_rank, target_disp, count, datatype);
    }
    claim_word(core, target_rank, bytes);
    trma_win_order_pay();
    return trma_operation_get_bytes(origin_addr, target, bytes, window, target_rank);
}

int trma_operation_put_typed(struct trma_win *window, const void *origin_addr, MPI_Count count,
                             const struct trma_type *type, int target_rank, MPI_Aint target_disp) {
    size_t bytes;
    void *target = open_place(window->core, type, count, target_rank, target_disp, &bytes);

    if (__builtin_expect(!target, 0)) {
        return put_late(window, origin_addr, count, type, target_rank, target_disp);
    }
    claim(window->core, target_rank, target, bytes);
    trma_win_order_note_store(window->core);
    return trma_move_copy_number(target, origin_addr, bytes)
               ? MPI_SUCCESS
               : trma_operation_put_bytes(target, origin_addr, bytes, window, target_rank);
}

int trma_operation_get_typed(struct trma_win *window, void *origin_addr, MPI_Count count,
                             const struct trma_type *type, int target_rank, MPI_Aint target_disp) {
    size_t bytes;
    const void *target = open_place(window->core, type, count, target_rank, target_disp, &bytes);

    if (__builtin_expect(!target, 0)) {
        return get_late(window, origin_addr, count, type, target_rank, target_disp);
    }
    claim_word(window->core, target_rank, bytes);
    trma_win_order_pay();
    return trma_move_copy_number(origin_addr, target, bytes)
               ? MPI_SUCCESS
               : trma_operation_get_bytes(origin_addr, target, bytes, window, target_rank);
}

/* Finds operation and element of an accumulate; all its data is of the target's one predefined type. */
static int make_operation(MPI_Op op, struct trma_rma *rma) {
    const struct trma_op *known = trma_op_find(op);
    enum trma_element element = rma->place.layout->element;

    if (!known) {
        return MPI_ERR_OP;
    }
    rma->operation = known->operation;
    if (!rma->place.count || !rma->place.layout->size) {
        rma->element = TRMA_ELEMENT_BYTE; /* nothing to combine: the hosts do not ask whether it could be */
        return MPI_SUCCESS;
    }
    if (element == TRMA_ELEMENT_MIXED) {
        /* MPI_PACKED and user structs of several types: only moved, never combined, byte by byte. */
        if (rma->operation != TRMA_OPERATION_REPLACE && rma->operation != TRMA_OPERATION_NO_OP) {
            return MPI_ERR_TYPE;
        }
        element = TRMA_ELEMENT_BYTE;
    }
    rma->element = element;
    return trma_op_is_allowed(known, element) ? MPI_SUCCESS : MPI_ERR_OP;
}

static int update(struct trma_win *window, enum trma_count_kind kind, const struct side *origin,
                  const struct side *result, int rank, MPI_Aint disp, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op) {
    struct trma_rma rma = {.kind = kind};
    int code;

    if (is_settled(window, rank, &code)) {
        return code;
    }
    code = make_place(window, rank, disp, count, datatype, &rma);
    if (code == MPI_SUCCESS) {
        code = make_operation(op, &rma);
    }
    if (code == MPI_SUCCESS && result) {
        code = make_extent(result, &rma.result);
        if (code == MPI_SUCCESS && !hold_the_same(&rma.result, &rma.place)) {
            code = MPI_ERR_ARG;
        }
    }
    /* With MPI_NO_OP the origin's arguments are not looked at (MPI-4.1 section 12.3.4). */
    if (code == MPI_SUCCESS && rma.operation != TRMA_OPERATION_NO_OP) {
        code = make_extent(origin, &rma.origin);
        if (code == MPI_SUCCESS && !hold_the_same(&rma.origin, &rma.place)) {
            code = MPI_ERR_ARG;
        }
    }
    return issue(window, &rma, code);
}

/* Opens a target that is not open, as none is for an epoch's first operation, and asks for the lines of the
 * `count` elements that are to be updated. Where that cannot be done the long way will say so. */
static inline void open_for_update(struct trma_win *window, const struct trma_type *type, MPI_Count count,
                                   int rank, MPI_Aint disp) {
    size_t bytes;

    if ((uint32_t)rank >= window->size || trma_win_is_open(&window->core->targets[rank])) {
        return;
    }
    void *local = open_place(window->core, type, count, rank, disp, &bytes);
    local = local ? local : open_place_late(window->core, type, count, rank, disp, &bytes);
    if (local) {
        claim(window->core, rank, local, bytes);
    }
}

/* The short way of an accumulate whose sides are arrays of one predefined type. False: nothing was done. */
static inline bool update_array(struct trma_win *window, const void *origin_addr, MPI_Count count,
                                const struct trma_type *type, int rank, MPI_Aint disp,
                                const struct trma_op *op, int *code) {
    size_t bytes;

    if (type->element == TRMA_ELEMENT_MIXED || !trma_op_is_allowed(op, type->element)) {
        return false;
    }
    char *local = trma_operation_quick_array(window, type, count, rank, disp, &bytes);
    if (!local) {
        return false;
    }
    const struct trma_target *target = &window->core->targets[rank];
    const uintptr_t place = trma_operation_place(target, local);
    if (!trma_acc_array_fits(&target->updates, type->element, place)) {
        return false;
    }
    trma_win_order_note_store(window->core);
    *code = trma_win_conclude(window, trma_acc_update_array(&target->updates, op->operation, type->element,
                                                            origin_addr, local, place, bytes));
    return true;
}

/* An array whose target is not open yet, or one for the long way. Apart, so that the short way saves little
 * on the stack. */
static __attribute__((noinline)) int open_and_update(struct trma_win *window, const void *origin_addr,
                                                     MPI_Count count, const struct trma_type *type, int rank,
                                                     MPI_Aint disp, const struct trma_op *op) {
    const struct side origin = {origin_addr, count, trma_type_handle(type)};
    int code;

    open_for_update(window, type, count, rank, disp);
    if (update_array(window, origin_addr, count, type, rank, disp, op, &code)) {
        return code;
    }
    return update(window, TRMA_COUNT_ACCUMULATE, &origin, NULL, rank, disp, count, origin.datatype,
                  trma_op_handle(op));
}

int trma_operation_accumulate_array(struct trma_win *window, const void *origin_addr, MPI_Count count,
                                    const struct trma_type *type, int target_rank, MPI_Aint target_disp,
                                    const struct trma_op *op) {
    int code;

    return __builtin_expect(
               update_array(window, origin_addr, count, type, target_rank, target_disp, op, &code), 1)
               ? code
               : open_and_update(window, origin_addr, count, type, target_rank, target_disp, op);
}

int trma_operation_accumulate(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                              MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op) {
    /* MPI_NO_OP is for the calls that give something back (MPI-4.1 section 12.3.4). */
    if (op == MPI_NO_OP) {
        return trma_win_raise(window, MPI_ERR_OP);
    }
    if (origin_datatype == target_datatype && origin_count == target_count) {
        const struct trma_type *type = trma_type_find(origin_datatype);
        const struct trma_op *known = trma_op_find(op);
        if (type && known) {
            return trma_operation_accumulate_array(window, origin_addr, origin_count, type, target_rank,
                                                   target_disp, known);
        }
    }
    const struct side origin = {origin_addr, origin_count, origin_datatype};
    return update(window, TRMA_COUNT_ACCUMULATE, &origin, NULL, target_rank, target_disp, target_count,
                  target_datatype, op);
}

int trma_call_Get_accumulate(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                             MPI_Datatype origin_datatype, void *result_addr, MPI_Count result_count,
                             MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                             MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op) {
    struct side origin = {origin_addr, origin_count, origin_datatype};
    struct side result = {result_addr, result_count, result_datatype};

    return update(window, TRMA_COUNT_GET_ACCUMULATE, &origin, &result, target_rank, target_disp, target_count,
                  target_datatype, op);
}

int trma_operation_fetch_and_op(struct trma_win *window, const void *origin_addr, void *result_addr,
                                MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Op op) {
    struct side origin = {origin_addr, 1, datatype};
    struct side result = {result_addr, 1, datatype};
    struct trma_type *type = trma_type_find(datatype);

    /* One predefined element is what the call is for; anything else is a get_accumulate of one element. */
    bool is_element = type && type->element != TRMA_ELEMENT_MIXED;

    return update(window, is_element ? TRMA_COUNT_FETCH_AND_OP : TRMA_COUNT_GET_ACCUMULATE, &origin, &result,
                  target_rank, target_disp, 1, datatype, op);
}

/* Compare_and_swap takes integers, logicals, bytes and multi-language types (MPI-4.1 section 12.3.4);
 * MPI_CHAR is not among them, but every host takes it, and programs (mpi4py's tests) use it. */
static bool can_be_compared(enum trma_element element) {
    return element == TRMA_ELEMENT_CHARACTER || trma_acc_compare_is_allowed(element);
}

int trma_operation_compare_and_swap(struct trma_win *window, const void *origin_addr,
                                    const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                                    int target_rank, MPI_Aint target_disp) {
    struct trma_rma rma = {.kind = TRMA_COUNT_COMPARE_AND_SWAP, .compare = compare_addr};
    struct side origin = {origin_addr, 1, datatype};
    struct side result = {result_addr, 1, datatype};
    int code;

    if (is_settled(window, target_rank, &code)) {
        return code;
    }
    code = make_place(window, target_rank, target_disp, 1, datatype, &rma);
    if (code == MPI_SUCCESS && !can_be_compared(rma.place.layout->element)) {
        code = MPI_ERR_TYPE;
    }
    if (code == MPI_SUCCESS) {
        code = make_extent(&origin, &rma.origin);
    }
    if (code == MPI_SUCCESS) {
        code = make_extent(&result, &rma.result);
    }
    rma.element = code == MPI_SUCCESS ? rma.place.layout->element : TRMA_ELEMENT_BYTE;
    return issue(window, &rma, code);
}

int trma_operation_update(struct trma_win *window, const void *origin_addr, void *result_addr,
                          const struct trma_type *type, int target_rank, MPI_Aint target_disp,
                          const struct trma_op *op) {
    int code;

    open_for_update(window, type, 1, target_rank, target_disp);
    if (__builtin_expect(trma_operation_quick_update(window, origin_addr, result_addr, type, target_rank,
                                                     target_disp, op, &code),
                         1)) {
        return code;
    }
    return trma_operation_fetch_and_op(window, origin_addr, result_addr, trma_type_handle(type), target_rank,
                                       target_disp, trma_op_handle(op));
}

int trma_operation_swap(struct trma_win *window, const void *origin_addr, const void *compare_addr,
                        void *result_addr, const struct trma_type *type, int target_rank,
                        MPI_Aint target_disp) {
    open_for_update(window, type, 1, target_rank, target_disp);
    char *local = trma_operation_quick_element(window, type, target_rank, target_disp);
    if (__builtin_expect(!local || !trma_acc_compare_is_allowed(type->element), 0)) {
        return trma_operation_compare_and_swap(window, origin_addr, compare_addr, result_addr,
                                               trma_type_handle(type), target_rank, target_disp);
    }
    const struct trma_target *target = &window->core->targets[target_rank];
    trma_win_order_pay();
    return trma_win_conclude(window, trma_acc_compare_and_swap(&target->updates, &target->path, type->element,
                                                               origin_addr, compare_addr, result_addr,
                                                               trma_operation_place(target, local)));
}

/*
 * R-operations are finished, or failed, on return: the request is a complete one. They are for passive target
 * epochs only, which the lock of the target tells (MPI_PROC_NULL needs no epoch).
 */
static int request_after(struct trma_win *window, int code, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (trma_host_completed_request(request) != MPI_SUCCESS) {
        return trma_win_raise(window, MPI_ERR_REQUEST);
    }
    return MPI_SUCCESS;
}

/* False, with the error raised in *code, when no passive target epoch is open. */
static bool may_request(struct trma_win *window, int target_rank, int *code) {
    enum trma_access access = window->core->epoch.access;

    if (access == TRMA_ACCESS_LOCK || access == TRMA_ACCESS_LOCK_ALL || target_rank == MPI_PROC_NULL) {
        return true;
    }
    *code = trma_win_raise(window, MPI_ERR_RMA_SYNC);
    return false;
}

int trma_call_Rput(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                   MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                   MPI_Count target_count, MPI_Datatype target_datatype, MPI_Request *request) {
    int code;

    if (!may_request(window, target_rank, &code)) {
        return code;
    }
    if (!trma_quick_Put(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                        target_count, target_datatype, &code)) {
        code = trma_call_Put(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                             target_count, target_datatype);
    }
    return request_after(window, code, request);
}

int trma_call_Rget(struct trma_win *window, void *origin_addr, MPI_Count origin_count,
                   MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                   MPI_Count target_count, MPI_Datatype target_datatype, MPI_Request *request) {
    int code;

    if (!may_request(window, target_rank, &code)) {
        return code;
    }
    if (!trma_quick_Get(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                        target_count, target_datatype, &code)) {
        code = trma_call_Get(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                             target_count, target_datatype);
    }
    return request_after(window, code, request);
}

int trma_call_Raccumulate(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                          MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                          MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                          MPI_Request *request) {
    int code;

    if (!may_request(window, target_rank, &code)) {
        return code;
    }
    code = trma_call_Accumulate(window, origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                target_count, target_datatype, op);
    return request_after(window, code, request);
}

int trma_call_Rget_accumulate(struct trma_win *window, const void *origin_addr, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, void *result_addr, MPI_Count result_count,
                              MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                              MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                              MPI_Request *request) {
    int code;

    if (!may_request(window, target_rank, &code)) {
        return code;
    }
    code = trma_call_Get_accumulate(window, origin_addr, origin_count, origin_datatype, result_addr,
                                    result_count, result_datatype, target_rank, target_disp, target_count,
                                    target_datatype, op);
    return request_after(window, code, request);
}
