/* SPDX-License-Identifier: BSD-3-Clause */
/* Every predefined operation on every predefined type that the standard allows, against MPI_Reduce_local;
 * forbidden pairs. */
#include "check.h"

/* The standard's classes of types (MPI-4.1 section 6.9.2). */
enum class_of_type { INTEGER, FLOATING, LOGICAL, COMPLEX, BYTES, PAIR };

struct row {
    const char *name;
    MPI_Datatype type;
    enum class_of_type class;
};

enum { MAX_ROWS = 80, N = 37, ROOM = N * 32 + 64 };

static struct row rows[MAX_ROWS];
static int n_rows;

static void add(const char *name, MPI_Datatype type, enum class_of_type class) {
    if (type != MPI_DATATYPE_NULL) {
        rows[n_rows++] = (struct row){name, type, class};
    }
}

#define ADD(type, class) add(#type, type, class)

static void list_types(void) {
    ADD(MPI_SIGNED_CHAR, INTEGER);
    ADD(MPI_UNSIGNED_CHAR, INTEGER);
    ADD(MPI_SHORT, INTEGER);
    ADD(MPI_UNSIGNED_SHORT, INTEGER);
    ADD(MPI_INT, INTEGER);
    ADD(MPI_UNSIGNED, INTEGER);
    ADD(MPI_LONG, INTEGER);
    ADD(MPI_UNSIGNED_LONG, INTEGER);
    ADD(MPI_LONG_LONG_INT, INTEGER);
    ADD(MPI_UNSIGNED_LONG_LONG, INTEGER);
    ADD(MPI_INT8_T, INTEGER);
    ADD(MPI_INT16_T, INTEGER);
    ADD(MPI_INT32_T, INTEGER);
    ADD(MPI_INT64_T, INTEGER);
    ADD(MPI_UINT8_T, INTEGER);
    ADD(MPI_UINT16_T, INTEGER);
    ADD(MPI_UINT32_T, INTEGER);
    ADD(MPI_UINT64_T, INTEGER);
    ADD(MPI_AINT, INTEGER);
    ADD(MPI_OFFSET, INTEGER);
    ADD(MPI_COUNT, INTEGER);
    ADD(MPI_INTEGER, INTEGER);
    ADD(MPI_INTEGER1, INTEGER);
    ADD(MPI_INTEGER2, INTEGER);
    ADD(MPI_INTEGER4, INTEGER);
    ADD(MPI_INTEGER8, INTEGER);
    ADD(MPI_FLOAT, FLOATING);
    ADD(MPI_DOUBLE, FLOATING);
    ADD(MPI_LONG_DOUBLE, FLOATING);
    ADD(MPI_REAL, FLOATING);
    ADD(MPI_DOUBLE_PRECISION, FLOATING);
    ADD(MPI_REAL4, FLOATING);
    ADD(MPI_REAL8, FLOATING);
    ADD(MPI_REAL16, FLOATING);
    ADD(MPI_C_BOOL, LOGICAL);
    ADD(MPI_CXX_BOOL, LOGICAL);
    ADD(MPI_LOGICAL, LOGICAL);
    ADD(MPI_C_FLOAT_COMPLEX, COMPLEX);
    ADD(MPI_C_DOUBLE_COMPLEX, COMPLEX);
    ADD(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX);
    ADD(MPI_CXX_FLOAT_COMPLEX, COMPLEX);
    ADD(MPI_CXX_DOUBLE_COMPLEX, COMPLEX);
    ADD(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX);
    ADD(MPI_COMPLEX, COMPLEX);
    ADD(MPI_DOUBLE_COMPLEX, COMPLEX);
    ADD(MPI_COMPLEX8, COMPLEX);
    ADD(MPI_COMPLEX16, COMPLEX);
    ADD(MPI_BYTE, BYTES);
    ADD(MPI_FLOAT_INT, PAIR);
    ADD(MPI_DOUBLE_INT, PAIR);
    ADD(MPI_LONG_INT, PAIR);
    ADD(MPI_2INT, PAIR);
    ADD(MPI_SHORT_INT, PAIR);
    ADD(MPI_LONG_DOUBLE_INT, PAIR);
    ADD(MPI_2INTEGER, PAIR);
    ADD(MPI_2REAL, PAIR);
    ADD(MPI_2DOUBLE_PRECISION, PAIR);
}

struct operation {
    const char *name;
    MPI_Op op;
    unsigned classes;
};

enum {
    I = 1 << INTEGER,
    F = 1 << FLOATING,
    L = 1 << LOGICAL,
    C = 1 << COMPLEX,
    B = 1 << BYTES,
    P = 1 << PAIR,
    OPERATIONS = 13
};

static const struct operation *operations(void) {
    static struct operation all[OPERATIONS];

    const struct operation listed[OPERATIONS] = {
        {"MPI_MAX", MPI_MAX, I | F},
        {"MPI_MIN", MPI_MIN, I | F},
        {"MPI_SUM", MPI_SUM, I | F | C},
        {"MPI_PROD", MPI_PROD, I | F | C},
        {"MPI_LAND", MPI_LAND, I | L},
        {"MPI_BAND", MPI_BAND, I | B},
        {"MPI_LOR", MPI_LOR, I | L},
        {"MPI_BOR", MPI_BOR, I | B},
        {"MPI_LXOR", MPI_LXOR, I | L},
        {"MPI_BXOR", MPI_BXOR, I | B},
        {"MPI_MAXLOC", MPI_MAXLOC, P},
        {"MPI_MINLOC", MPI_MINLOC, P},
        {"MPI_REPLACE", MPI_REPLACE, I | F | L | C | B | P},
    };
    memcpy(all, listed, sizeof all);
    return all;
}

/* Small whole numbers, so that every type computes exactly. */
static int number(uint64_t seed, int i, enum class_of_type class) {
    int small = (int)(check_pattern(seed, (uint64_t)i, 7) % 7);

    return class == LOGICAL ? small % 2 : small;
}

/* Stores the number as an element of this type; pairs get a second one as their index. */
static void store(unsigned char *at, const struct row *row, int size, int value, int index) {
    struct {
        float value;
        int index;
    } float_int = {(float)value, index};
    struct {
        double value;
        int index;
    } double_int = {value, index};
    struct {
        long value;
        int index;
    } long_int = {value, index};
    struct {
        short value;
        int index;
    } short_int = {(short)value, index};
    struct {
        long double value;
        int index;
    } long_double_int = {value, index};
    int ints[2] = {value, index};
    float floats[2] = {(float)value, (float)index};
    double doubles[2] = {value, index};
    long double longs[2] = {value, index};
    int64_t whole = value;

    if (row->type == MPI_FLOAT_INT) {
        memcpy(at, &float_int, sizeof float_int);
    } else if (row->type == MPI_DOUBLE_INT) {
        memcpy(at, &double_int, 12);
    } else if (row->type == MPI_LONG_INT) {
        memcpy(at, &long_int, 12);
    } else if (row->type == MPI_SHORT_INT) {
        memcpy(at, &short_int.value, 2);
        memcpy(at + 4, &short_int.index, 4);
    } else if (row->type == MPI_LONG_DOUBLE_INT) {
        memcpy(at, &long_double_int.value, sizeof(long double));
        memcpy(at + sizeof(long double), &long_double_int.index, 4);
    } else if (row->type == MPI_2INT || row->type == MPI_2INTEGER) {
        memcpy(at, ints, sizeof ints);
    } else if (row->type == MPI_2REAL) {
        memcpy(at, floats, sizeof floats);
    } else if (row->type == MPI_2DOUBLE_PRECISION) {
        memcpy(at, doubles, sizeof doubles);
    } else if (row->type == MPI_LONG_DOUBLE) {
        memcpy(at, longs, sizeof longs[0]);
    } else if (row->type == MPI_REAL16) {
        __float128 quad = value;
        memcpy(at, &quad, sizeof quad);
    } else if (row->class == FLOATING) {
        memcpy(at, size == 4 ? (void *)floats : (void *)doubles, (size_t)size);
    } else if (row->class == COMPLEX) {
        memcpy(at, size == 8 ? (void *)floats : size == 16 ? (void *)doubles : (void *)longs, (size_t)size);
    } else {
        memcpy(at, &whole, (size_t)size);
    }
}

static size_t extent_of(MPI_Datatype type) {
    MPI_Aint lower;
    MPI_Aint extent;

    MPI_Type_get_extent(type, &lower, &extent);
    return (size_t)extent;
}

static void fill(unsigned char *data, const struct row *row, uint64_t seed) {
    int size;

    MPI_Type_size(row->type, &size);
    memset(data, 0, ROOM);
    for (int i = 0; i < N; i++) {
        store(data + (size_t)i * extent_of(row->type), row, size, number(seed, i, row->class),
              number(seed + 1, i, row->class));
    }
}

/* Element by element, without the padding; x87 numbers have padding of their own, which no memcpy need keep.
 */
static bool same(const unsigned char *a, const unsigned char *b, const struct row *row) {
    size_t extent = extent_of(row->type);
    bool equal = true;

    for (int i = 0; i < N && equal; i++) {
        const unsigned char *x = a + (size_t)i * extent;
        const unsigned char *y = b + (size_t)i * extent;
        if (row->type == MPI_SHORT_INT) {
            equal = memcmp(x, y, 2) == 0 && memcmp(x + 4, y + 4, 4) == 0;
        } else if (row->type == MPI_LONG_DOUBLE || row->type == MPI_C_LONG_DOUBLE_COMPLEX ||
                   row->type == MPI_CXX_LONG_DOUBLE_COMPLEX || row->type == MPI_LONG_DOUBLE_INT) {
            long double p;
            long double q;
            for (size_t part = 0; part + sizeof p <= extent && equal; part += sizeof p) {
                bool is_index = row->type == MPI_LONG_DOUBLE_INT && part;
                memcpy(&p, x + part, sizeof p);
                memcpy(&q, y + part, sizeof q);
                equal = is_index ? memcmp(x + part, y + part, 4) == 0 : p == q;
            }
        } else {
            int size;
            MPI_Type_size(row->type, &size);
            equal = memcmp(x, y, (size_t)size) == 0;
        }
    }
    return equal;
}

/* REAL*16 is IEEE binary128 in Fortran; MPICH 4.0 and Open MPI 4.1 reduce it as x87 numbers, so they cannot
 * be asked. */
static void combine_quads(const unsigned char *from, unsigned char *into, MPI_Op op) {
    for (int i = 0; i < N; i++) {
        __float128 a;
        __float128 b;
        memcpy(&a, from + 16 * i, sizeof a);
        memcpy(&b, into + 16 * i, sizeof b);
        if (op == MPI_SUM) {
            b += a;
        } else if (op == MPI_PROD) {
            b *= a;
        } else if (op == MPI_MAX) {
            b = a > b ? a : b;
        } else {
            b = a < b ? a : b;
        }
        memcpy(into + 16 * i, &b, sizeof b);
    }
}

/* What the target must hold: origin op target, by the host's own reduction; false when the host has none for
 * this type. */
static bool combine(const unsigned char *from, unsigned char *into, const struct row *row,
                    const struct operation *operation) {
    if (operation->op == MPI_REPLACE) {
        memcpy(into, from, ROOM);
        return true;
    }
    if (row->type == MPI_REAL16) {
        combine_quads(from, into, operation->op);
        return true;
    }
    return MPI_Reduce_local((void *)(uintptr_t)from, into, N, row->type, operation->op) == MPI_SUCCESS;
}

static bool host_lacks(const unsigned char *from, const struct row *row, const struct operation *operation) {
    unsigned char scratch[ROOM];

    memcpy(scratch, from, ROOM);
    return !combine(from, scratch, row, operation);
}

static void try_allowed(struct check_window *window, const struct row *row,
                        const struct operation *operation) {
    static unsigned char from[ROOM];
    static unsigned char expected[ROOM];
    static unsigned char before[ROOM];
    static unsigned char got[ROOM];
    int target = check_neighbour(1);
    MPI_Aint place = check_disp(window, target, 0);
    MPI_Win win = window->win;
    size_t extent = extent_of(row->type);
    const char *flavor = check_flavor_name(window->flavor);

    fill(from, row, 3);
    fill(expected, row, 4);
    if (host_lacks(from, row, operation)) {
        return;
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(expected, ROOM, MPI_BYTE, target, place, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    CHECK_CLASS(MPI_Accumulate(from, N, row->type, target, place, N, row->type, operation->op, win),
                MPI_SUCCESS);
    MPI_Win_flush(target, win);
    combine(from, expected, row, operation);
    MPI_Get(got, ROOM, MPI_BYTE, target, place, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    CHECK_THAT(same(got, expected, row), "accumulate %s %s %s", operation->name, row->name, flavor);

    memcpy(before, expected, ROOM);
    memset(got, 0, ROOM);
    fill(from, row, 5);
    CHECK_CLASS(MPI_Get_accumulate(from, N, row->type, got, N, row->type, target, place, N, row->type,
                                   operation->op, win),
                MPI_SUCCESS);
    MPI_Win_flush(target, win);
    CHECK_THAT(same(got, before, row), "get_accumulate's result %s %s %s", operation->name, row->name,
               flavor);
    combine(from, expected, row, operation);
    memset(got, 0, ROOM);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, got, N, row->type, target, place, N, row->type, MPI_NO_OP,
                       win);
    MPI_Win_flush(target, win);
    CHECK_THAT(same(got, expected, row), "get_accumulate %s %s %s", operation->name, row->name, flavor);

    /* One element, the third one, the others stay. */
    memcpy(before, expected, ROOM);
    memset(got, 0, ROOM);
    CHECK_CLASS(MPI_Fetch_and_op(from, got + 2 * extent, row->type, target, place + 2 * (MPI_Aint)extent,
                                 operation->op, win),
                MPI_SUCCESS);
    MPI_Win_flush(target, win);
    memcpy(got, before, 2 * extent);
    memcpy(got + 3 * extent, before + 3 * extent, ROOM - 3 * extent);
    CHECK_THAT(same(got, before, row), "fetch_and_op's result %s %s %s", operation->name, row->name, flavor);
    fill(got, row, 5);
    combine(got, before, row, operation);
    /* combine() took from[i] for element i; the third element was combined with from[0]. */
    fill(before, row, 5);
    memcpy(before + 2 * extent, from, extent);
    memcpy(got, expected, ROOM);
    combine(before, got, row, operation);
    memcpy(expected + 2 * extent, got + 2 * extent, extent);
    MPI_Get(got, ROOM, MPI_BYTE, target, place, ROOM, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    CHECK_THAT(same(got, expected, row), "fetch_and_op %s %s %s", operation->name, row->name, flavor);
}

/* Pairs that the standard forbids give MPI_ERR_OP and change nothing. */
static void try_forbidden(struct check_window *window, const struct row *row,
                          const struct operation *operation) {
    static unsigned char from[ROOM];
    static unsigned char before[ROOM];
    static unsigned char got[ROOM];
    int target = check_neighbour(1);
    MPI_Aint place = check_disp(window, target, 0);
    MPI_Win win = window->win;

    fill(from, row, 3);
    fill(before, row, 4);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(before, ROOM, MPI_BYTE, target, place, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    int code = MPI_Accumulate(from, N, row->type, target, place, N, row->type, operation->op, win);
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    CHECK_THAT(class == MPI_ERR_OP, "accumulate %s %s gives class %d", operation->name, row->name, class);
    MPI_Win_flush(target, win);
    MPI_Get(got, ROOM, MPI_BYTE, target, place, ROOM, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    CHECK_THAT(memcmp(got, before, ROOM) == 0, "a refused %s on %s changes nothing", operation->name,
               row->name);
}

static void user_operation(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)in;
    (void)inout;
    (void)n;
    (void)type;
}

static void all_of_it(struct check_window *window) {
    const struct operation *all = operations();
    MPI_Op own;
    int word = 0;

    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    for (int i = 0; i < n_rows; i++) {
        for (int j = 0; j < OPERATIONS; j++) {
            if (all[j].classes & 1U << rows[i].class) {
                try_allowed(window, &rows[i], &all[j]);
            } else if (window->flavor == CHECK_CREATE) {
                try_forbidden(window, &rows[i], &all[j]);
            }
        }
    }
    MPI_Op_create(user_operation, 1, &own);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, window->win);
    CHECK_CLASS(MPI_Accumulate(&word, 1, MPI_INT, check_rank, check_disp(window, check_rank, 0), 1, MPI_INT,
                               own, window->win),
                MPI_ERR_OP);
    MPI_Win_unlock(check_rank, window->win);
    MPI_Op_free(&own);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                            MPI_ERRORS_RETURN); /* MPI_Reduce_local of a type that the host cannot reduce */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    list_types();
    check_each_flavor(ROOM, all_of_it);
    check_one_flavor(CHECK_SMALL_UPDATES, ROOM, all_of_it);
    return check_finish();
}
