/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_type.h"

#include <stdbool.h>
#include <stdlib.h>

#include "face_abi.h"
#include "face_flatten.h"
#include "face_host.h"
#include "face_log.h"

struct trma_handle_table trma_types = TRMA_HANDLE_TABLE(struct trma_type);

struct trma_handle_table trma_ops = TRMA_HANDLE_TABLE(struct trma_op);

static int keyval = MPI_KEYVAL_INVALID;

/* What a predefined type is; together with its size that names the element. */
enum family { SIGNED, UNSIGNED, REAL, LONG_REAL, COMPLEX, LONG_COMPLEX, BOOLEAN, BYTES, CHARACTER, OPAQUE };

static enum trma_element element_of(enum family family, size_t size) {
    static const struct {
        enum family family;
        size_t size;
        enum trma_element element;
    } rows[] = {
        {SIGNED, 1, TRMA_ELEMENT_INT8},
        {SIGNED, 2, TRMA_ELEMENT_INT16},
        {SIGNED, 4, TRMA_ELEMENT_INT32},
        {SIGNED, 8, TRMA_ELEMENT_INT64},
        {SIGNED, 16, TRMA_ELEMENT_INT128},
        {UNSIGNED, 1, TRMA_ELEMENT_UINT8},
        {UNSIGNED, 2, TRMA_ELEMENT_UINT16},
        {UNSIGNED, 4, TRMA_ELEMENT_UINT32},
        {UNSIGNED, 8, TRMA_ELEMENT_UINT64},
        {REAL, 2, TRMA_ELEMENT_FLOAT16},
        {REAL, 4, TRMA_ELEMENT_FLOAT32},
        {REAL, 8, TRMA_ELEMENT_FLOAT64},
        {REAL, 16, TRMA_ELEMENT_FLOAT128},
        {LONG_REAL, sizeof(long double), TRMA_ELEMENT_LONG_DOUBLE},
        {COMPLEX, 8, TRMA_ELEMENT_COMPLEX32},
        {COMPLEX, 16, TRMA_ELEMENT_COMPLEX64},
        {COMPLEX, 32, TRMA_ELEMENT_COMPLEX128},
        {LONG_COMPLEX, 2 * sizeof(long double), TRMA_ELEMENT_COMPLEX_LONG_DOUBLE},
        {BOOLEAN, 1, TRMA_ELEMENT_BOOL8},
        {BOOLEAN, 2, TRMA_ELEMENT_LOGICAL16},
        {BOOLEAN, 4, TRMA_ELEMENT_LOGICAL32},
        {BOOLEAN, 8, TRMA_ELEMENT_LOGICAL64},
        {BYTES, 1, TRMA_ELEMENT_BYTE},
        {CHARACTER, 1, TRMA_ELEMENT_CHARACTER},
        {CHARACTER, 4, TRMA_ELEMENT_WIDE_CHARACTER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].family == family && rows[i].size == size) {
            return rows[i].element;
        }
    }
    return TRMA_ELEMENT_MIXED;
}

/* Takes over `layout` and puts the type into the table. */
static struct trma_type *insert(MPI_Datatype datatype, struct trma_layout *layout) {
    struct trma_type *type = (struct trma_type *)trma_handle_take(&trma_types);

    if (!type) {
        trma_move_layout_release(layout);
        return NULL;
    }
    type->layout = layout;
    type->dense_size = layout->is_dense && layout->true_low == 0 ? layout->size : 0;
    type->element = layout->element != TRMA_ELEMENT_MIXED &&
                            layout->size == trma_acc_element_size(layout->element) &&
                            layout->extent == (ptrdiff_t)trma_acc_element_extent(layout->element)
                        ? layout->element
                        : TRMA_ELEMENT_MIXED;
    trma_handle_insert(&trma_types, &type->handle, (uintptr_t)datatype);
    return type;
}

/* At initialisation: nobody else knows the type yet. */
static void insert_element(MPI_Datatype datatype, enum trma_element element, size_t size) {
    struct trma_layout *layout = NULL;
    enum trma_status status = element == TRMA_ELEMENT_MIXED ? trma_move_layout_make_bytes(size, &layout)
                                                            : trma_move_layout_make_element(element, &layout);

    if (!status && insert(datatype, layout)) {
        trma_move_layout_keep(layout); /* a predefined type is never freed */
    }
}

static void insert_families(void) {
    const struct {
        MPI_Datatype type;
        enum family family;
    } rows[] = {
        {MPI_CHAR, CHARACTER},
        {MPI_WCHAR, CHARACTER},
        {MPI_CHARACTER, CHARACTER},
        {MPI_SIGNED_CHAR, SIGNED},
        {MPI_SHORT, SIGNED},
        {MPI_INT, SIGNED},
        {MPI_LONG, SIGNED},
        {MPI_LONG_LONG_INT, SIGNED},
        {MPI_INT8_T, SIGNED},
        {MPI_INT16_T, SIGNED},
        {MPI_INT32_T, SIGNED},
        {MPI_INT64_T, SIGNED},
        {MPI_AINT, SIGNED},
        {MPI_OFFSET, SIGNED},
        {MPI_COUNT, SIGNED},
        {MPI_INTEGER, SIGNED},
        {MPI_INTEGER1, SIGNED},
        {MPI_INTEGER2, SIGNED},
        {MPI_INTEGER4, SIGNED},
        {MPI_INTEGER8, SIGNED},
        {TRMA_ABI_INTEGER16, SIGNED},
        {MPI_UNSIGNED_CHAR, UNSIGNED},
        {MPI_UNSIGNED_SHORT, UNSIGNED},
        {MPI_UNSIGNED, UNSIGNED},
        {MPI_UNSIGNED_LONG, UNSIGNED},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED},
        {MPI_UINT8_T, UNSIGNED},
        {MPI_UINT16_T, UNSIGNED},
        {MPI_UINT32_T, UNSIGNED},
        {MPI_UINT64_T, UNSIGNED},
        {MPI_FLOAT, REAL},
        {MPI_DOUBLE, REAL},
        {MPI_REAL, REAL},
        {MPI_DOUBLE_PRECISION, REAL},
        {TRMA_ABI_REAL2, REAL},
        {MPI_REAL4, REAL},
        {MPI_REAL8, REAL},
        {MPI_REAL16, REAL},
        {MPI_LONG_DOUBLE, LONG_REAL},
        {MPI_C_FLOAT_COMPLEX, COMPLEX},
        {MPI_C_DOUBLE_COMPLEX, COMPLEX},
        {MPI_COMPLEX, COMPLEX},
        {MPI_DOUBLE_COMPLEX, COMPLEX},
        {MPI_COMPLEX8, COMPLEX},
        {MPI_COMPLEX16, COMPLEX},
        {MPI_COMPLEX32, COMPLEX},
        {MPI_CXX_FLOAT_COMPLEX, COMPLEX},
        {MPI_CXX_DOUBLE_COMPLEX, COMPLEX},
        {MPI_C_LONG_DOUBLE_COMPLEX, LONG_COMPLEX},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, LONG_COMPLEX},
        {MPI_C_BOOL, BOOLEAN},
        {MPI_CXX_BOOL, BOOLEAN},
        {MPI_LOGICAL, BOOLEAN},
        {TRMA_ABI_LOGICAL1, BOOLEAN},
        {TRMA_ABI_LOGICAL2, BOOLEAN},
        {TRMA_ABI_LOGICAL4, BOOLEAN},
        {TRMA_ABI_LOGICAL8, BOOLEAN},
        {MPI_BYTE, BYTES},
        {MPI_PACKED, OPAQUE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = trma_abi_predefined_size(rows[i].type);
        if (size) {
            insert_element(rows[i].type, element_of(rows[i].family, size), size);
        }
    }
}

static void insert_pairs(void) {
    const struct {
        MPI_Datatype type;
        enum trma_element element;
    } rows[] = {
        {MPI_FLOAT_INT, TRMA_ELEMENT_PAIR_FLOAT_INT},
        {MPI_DOUBLE_INT, TRMA_ELEMENT_PAIR_DOUBLE_INT},
        {MPI_LONG_INT, TRMA_ELEMENT_PAIR_LONG_INT},
        {MPI_2INT, TRMA_ELEMENT_PAIR_INT_INT},
        {MPI_SHORT_INT, TRMA_ELEMENT_PAIR_SHORT_INT},
        {MPI_LONG_DOUBLE_INT, TRMA_ELEMENT_PAIR_LONG_DOUBLE_INT},
        {MPI_2INTEGER, TRMA_ELEMENT_PAIR_INT_INT},
        {MPI_2REAL, TRMA_ELEMENT_PAIR_FLOAT_FLOAT},
        {MPI_2DOUBLE_PRECISION, TRMA_ELEMENT_PAIR_DOUBLE_DOUBLE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (trma_abi_predefined_size(rows[i].type)) {
            insert_element(rows[i].type, rows[i].element, 0);
        }
    }
}

static int forget(MPI_Datatype datatype, int used_keyval, void *value, void *extra) {
    struct trma_type *type = value;

    (void)datatype;
    (void)used_keyval;
    (void)extra;
    trma_move_layout_release(type->layout);
    trma_handle_give(&trma_types, &type->handle);
    return MPI_SUCCESS;
}

/* A duplicate of the datatype gets a layout of its own when it is used. */
static int copy_nothing(MPI_Datatype datatype, int used_keyval, void *extra, void *in, void *out, int *flag) {
    (void)datatype;
    (void)used_keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static void prepare(void) {
    insert_families();
    insert_pairs();
    if (trma_host()->Type_create_keyval(copy_nothing, forget, &keyval, NULL) != MPI_SUCCESS) {
        keyval = MPI_KEYVAL_INVALID;
    }
}

struct trma_type *trma_type_find_slow(MPI_Datatype datatype) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
    struct trma_layout *layout = NULL;

    pthread_once(&once, prepare);
    if (datatype == MPI_DATATYPE_NULL) {
        return NULL;
    }
    /* One builder at a time: two threads that meet a new datatype must not both set its attribute. */
    pthread_mutex_lock(&building);
    struct trma_type *type = (struct trma_type *)trma_handle_find(&trma_types, (uintptr_t)datatype);
    if (!type && keyval != MPI_KEYVAL_INVALID && trma_flatten_datatype(datatype, &layout) == TRMA_OK) {
        type = insert(datatype, layout);
        if (type && trma_host()->Type_set_attr(datatype, keyval, type) != MPI_SUCCESS) {
            forget(datatype, keyval, type, NULL);
            type = NULL;
        }
    }
    pthread_mutex_unlock(&building);
    return type;
}

_Static_assert(TRMA_ELEMENT_COUNT < 64, "struct trma_op has one bit per element");

static void prepare_ops(void) {
    const struct {
        MPI_Op op;
        enum trma_operation operation;
    } rows[] = {
        {MPI_SUM, TRMA_OPERATION_SUM},       {MPI_REPLACE, TRMA_OPERATION_REPLACE},
        {MPI_NO_OP, TRMA_OPERATION_NO_OP},   {MPI_PROD, TRMA_OPERATION_PROD},
        {MPI_MAX, TRMA_OPERATION_MAX},       {MPI_MIN, TRMA_OPERATION_MIN},
        {MPI_LAND, TRMA_OPERATION_LAND},     {MPI_LOR, TRMA_OPERATION_LOR},
        {MPI_LXOR, TRMA_OPERATION_LXOR},     {MPI_BAND, TRMA_OPERATION_BAND},
        {MPI_BOR, TRMA_OPERATION_BOR},       {MPI_BXOR, TRMA_OPERATION_BXOR},
        {MPI_MAXLOC, TRMA_OPERATION_MAXLOC}, {MPI_MINLOC, TRMA_OPERATION_MINLOC},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trma_op *op = (struct trma_op *)trma_handle_take(&trma_ops);
        if (op) {
            op->operation = rows[i].operation;
            for (unsigned element = 0; element < TRMA_ELEMENT_COUNT; element++) {
                bool allowed = trma_acc_operation_is_allowed(op->operation, (enum trma_element)element);
                op->allowed |= (uint64_t)allowed << element;
            }
            trma_handle_insert(&trma_ops, &op->handle, (uintptr_t)rows[i].op);
        }
    }
}

struct trma_op *trma_op_find_slow(MPI_Op op) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, prepare_ops);
    return (struct trma_op *)trma_handle_find(&trma_ops, (uintptr_t)op);
}
