/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived datatypes on the origin, on the target, on both with different layouts. What must come out is
 * computed with MPI_Pack and MPI_Unpack on private copies; every byte of target and origin is looked at, gaps
 * included.
 */
#include "check.h"

enum { ROOM = 65536, ORIGIN_AT = 20000, TARGET_AT = 24000 };

/* A datatype used at `at`; `count` of it. */
struct side {
    MPI_Datatype type;
    int count;
};

static unsigned char *origin; /* ROOM bytes each */
static unsigned char *result;
static unsigned char *expected;
static unsigned char *target_now;
static unsigned char *packed;

static void fill(unsigned char *data, uint64_t seed) {
    for (size_t i = 0; i < ROOM; i += 8) {
        uint64_t word = check_pattern(seed, i, 4);
        memcpy(data + i, &word, 8);
    }
}

/* Copies the data of `from` to the places of `to` by means of MPI_Pack. */
static void copy_packed(const unsigned char *source, const struct side *from, unsigned char *place,
                        const struct side *to) {
    int end = 0;
    int at = 0;

    MPI_Pack(source, from->count, from->type, packed, ROOM, &end, MPI_COMM_SELF);
    MPI_Unpack(packed, end, &at, place, to->count, to->type, MPI_COMM_SELF);
    CHECK_SAME(at, end);
}

static void compare(const unsigned char *actual, const unsigned char *wanted, const char *what,
                    const char *name, const struct check_window *window) {
    size_t i = 0;

    while (i < ROOM && actual[i] == wanted[i]) {
        i++;
    }
    CHECK_THAT(i == ROOM, "%s: %s, %s: byte %zu differs", name, what, check_flavor_name(window->flavor), i);
}

static void read_target(struct check_window *window, int target, unsigned char *into) {
    MPI_Get(into, ROOM, MPI_BYTE, target, check_disp(window, target, 0), ROOM, MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
}

/* Put, get, accumulate (replace) and get_accumulate (replace and no-op) from `from` to `to`; element: what
 * both consist of. */
static void try_sides(struct check_window *window, const struct side *from, const struct side *to,
                      const char *name, uint64_t seed) {
    int target = check_neighbour(1);
    MPI_Aint place = check_disp(window, target, TARGET_AT);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    fill(target_now, seed + 1);
    MPI_Put(target_now, ROOM, MPI_BYTE, target, check_disp(window, target, 0), ROOM, MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
    memcpy(expected, target_now, ROOM);

    fill(origin, seed + 2);
    copy_packed(origin + ORIGIN_AT, from, expected + TARGET_AT, to);
    MPI_Put(origin + ORIGIN_AT, from->count, from->type, target, place, to->count, to->type, window->win);
    MPI_Win_flush(target, window->win);
    read_target(window, target, target_now);
    compare(target_now, expected, "put", name, window);

    fill(origin, seed + 3);
    memcpy(expected, origin, ROOM);
    copy_packed(target_now + TARGET_AT, to, expected + ORIGIN_AT, from);
    MPI_Get(origin + ORIGIN_AT, from->count, from->type, target, place, to->count, to->type, window->win);
    MPI_Win_flush(target, window->win);
    compare(origin, expected, "get", name, window);

    /* Replace, with the old content fetched through the origin's layout into another buffer. */
    fill(origin, seed + 4);
    fill(result, seed + 5);
    memcpy(expected, result, ROOM);
    copy_packed(target_now + TARGET_AT, to, expected + ORIGIN_AT, from);
    MPI_Get_accumulate(origin + ORIGIN_AT, from->count, from->type, result + ORIGIN_AT, from->count,
                       from->type, target, place, to->count, to->type, MPI_REPLACE, window->win);
    MPI_Win_flush(target, window->win);
    compare(result, expected, "get_accumulate's result", name, window);
    copy_packed(origin + ORIGIN_AT, from, target_now + TARGET_AT, to);
    read_target(window, target, expected);
    compare(expected, target_now, "get_accumulate", name, window);
    MPI_Win_unlock(target, window->win);
}

/* All four combinations of the layout with a contiguous one. */
static void try_type(struct check_window *window, MPI_Datatype type, int count, MPI_Datatype element,
                     const char *name) {
    int size;
    int element_size;
    uint64_t seed = (uint64_t)check_rank * 100;

    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    MPI_Type_size(element, &element_size);
    struct side derived = {type, count};
    struct side plain = {element, count * (size / element_size)};
    try_sides(window, &derived, &derived, name, seed);
    try_sides(window, &derived, &plain, name, seed);
    try_sides(window, &plain, &derived, name, seed);
    MPI_Type_free(&type);
}

static void arrays(struct check_window *window) {
    static const int sizes[3] = {6, 7, 5};
    static const int parts[3] = {3, 4, 2};
    static const int starts[3] = {2, 1, 3};
    static const int processes[2] = {2, 2};
    MPI_Datatype type;

    for (int order = 0; order < 2; order++) {
        int c_or_fortran = order ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
        MPI_Type_create_subarray(3, sizes, parts, starts, c_or_fortran, MPI_INT, &type);
        try_type(window, type, 2, MPI_INT, "subarray");
        for (int kind = 0; kind < 4; kind++) {
            int distributions[2] = {kind & 1 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK,
                                    kind & 2 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK};
            int arguments[2] = {kind & 1 ? 2 : MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
            int extents[2] = {13, 9};
            for (int rank = 0; rank < 4; rank += 3) {
                MPI_Type_create_darray(4, rank, 2, extents, distributions, arguments, processes, c_or_fortran,
                                       MPI_SHORT, &type);
                try_type(window, type, 1, MPI_SHORT, "darray");
            }
        }
        int none[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC};
        int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 3};
        int extents[2] = {4, 17};
        int one_two[2] = {1, 2};
        MPI_Type_create_darray(2, 1, 2, extents, none, arguments, one_two, c_or_fortran, MPI_DOUBLE, &type);
        try_type(window, type, 1, MPI_DOUBLE, "darray with an undistributed dimension");
    }
}

static void one_of_each(struct check_window *window) {
    static const int lengths[4] = {3, 0, 1, 4};
    static const int places[4] = {10, 5, -3, 20};
    static const MPI_Aint bytes[4] = {100, 10, -40, 201};
    static const MPI_Aint apart[2] = {1001, -10};
    MPI_Datatype type;
    MPI_Datatype inner;
    MPI_Datatype middle;

    MPI_Type_contiguous(9, MPI_SHORT, &type);
    try_type(window, type, 3, MPI_SHORT, "contiguous");
    MPI_Type_vector(5, 2, 4, MPI_INT, &type);
    try_type(window, type, 3, MPI_INT, "vector");
    MPI_Type_vector(5, 2, -4, MPI_INT, &type);
    try_type(window, type, 2, MPI_INT, "vector with a negative stride");
    MPI_Type_create_hvector(5, 3, 29, MPI_CHAR, &type);
    try_type(window, type, 2, MPI_CHAR, "hvector");
    MPI_Type_create_hvector(4, 1, -13, MPI_DOUBLE, &type);
    try_type(window, type, 1, MPI_DOUBLE, "hvector with a negative stride");
    MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
    try_type(window, type, 2, MPI_INT, "indexed");
    MPI_Type_create_hindexed(4, lengths, bytes, MPI_INT, &type);
    try_type(window, type, 1, MPI_INT, "hindexed");
    MPI_Type_create_indexed_block(4, 2, places, MPI_SHORT, &type);
    try_type(window, type, 2, MPI_SHORT, "indexed_block");
    MPI_Type_create_hindexed_block(4, 2, bytes, MPI_SHORT, &type);
    try_type(window, type, 1, MPI_SHORT, "hindexed_block");
    MPI_Type_create_resized(MPI_INT, -8, 24, &type);
    try_type(window, type, 5, MPI_INT, "resized with a negative lower bound");
    MPI_Type_vector(3, 1, 3, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, 4, &type); /* the elements interlock */
    try_type(window, type, 3, MPI_INT, "columns of a matrix");
    MPI_Type_dup(inner, &type);
    try_type(window, type, 2, MPI_INT, "dup");
    MPI_Type_vector(3, 2, 5, inner, &middle);
    MPI_Type_create_hindexed_block(2, 1, apart, middle, &type);
    try_type(window, type, 1, MPI_INT, "hindexed_block of vector of vector");
    MPI_Type_free(&middle);
    MPI_Type_free(&inner);
    MPI_Type_contiguous(0, MPI_INT, &type);
    try_type(window, type, 4, MPI_INT, "no elements");
    MPI_Type_vector(3, 0, 2, MPI_INT, &type);
    try_type(window, type, 4, MPI_INT, "blocks without elements");
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &type);
    try_type(window, type, 2, MPI_DOUBLE_INT, "vector of pairs");
    MPI_Type_vector(3, 1, 2, MPI_SHORT_INT, &type);
    try_type(window, type, 2, MPI_SHORT_INT, "vector of pairs with a hole");
}

/* Structures of several types: moved only (accumulates take one predefined type). */
static void structures(struct check_window *window) {
    struct record {
        char tag;
        double value[2];
        short small;
        int number;
    };
    int lengths[4] = {1, 2, 1, 1};
    MPI_Aint places[4] = {offsetof(struct record, tag), offsetof(struct record, value),
                          offsetof(struct record, small), offsetof(struct record, number)};
    MPI_Aint shuffled[4] = {30, 100, -17, 51};
    MPI_Datatype parts[4] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
    MPI_Datatype in_memory;
    MPI_Datatype type;
    MPI_Datatype other;
    int target = check_neighbour(1);
    MPI_Aint place = check_disp(window, target, TARGET_AT);

    MPI_Type_create_struct(4, lengths, places, parts, &in_memory);
    MPI_Type_create_resized(in_memory, 0, sizeof(struct record), &type);
    MPI_Type_create_struct(4, lengths, shuffled, parts, &other);
    MPI_Type_commit(&type);
    MPI_Type_commit(&other);
    struct side from = {type, 3};
    struct side to = {other, 3};
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    fill(expected, 1);
    fill(origin, 2);
    MPI_Put(expected, ROOM, MPI_BYTE, target, check_disp(window, target, 0), ROOM, MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Put(origin + ORIGIN_AT, 3, type, target, place, 3, other, window->win);
    MPI_Win_flush(target, window->win);
    copy_packed(origin + ORIGIN_AT, &from, expected + TARGET_AT, &to);
    read_target(window, target, target_now);
    compare(target_now, expected, "put", "struct", window);
    fill(origin, 3);
    memcpy(expected, origin, ROOM);
    copy_packed(target_now + TARGET_AT, &to, expected + ORIGIN_AT, &from);
    MPI_Get(origin + ORIGIN_AT, 3, type, target, place, 3, other, window->win);
    MPI_Win_unlock(target, window->win);
    compare(origin, expected, "get", "struct", window);
    MPI_Type_free(&in_memory);
    MPI_Type_free(&type);
    MPI_Type_free(&other);
}

/* Types are freed and made again many times: what is cached for one must not serve another one of the same
 * handle. */
static void made_again(struct check_window *window) {
    int target = check_neighbour(1);
    int values[64];
    int got[64];

    for (int i = 0; i < 64; i++) {
        values[i] = check_rank * 1000 + i;
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    for (int round = 1; round < 40; round++) {
        MPI_Datatype type;
        int stride = 1 + round % 7;
        MPI_Type_vector(8, 1, stride, MPI_INT, &type);
        MPI_Type_commit(&type);
        memset(got, 0, sizeof got);
        MPI_Put(values, 64, MPI_INT, target, check_disp(window, target, 0), 64, MPI_INT, window->win);
        MPI_Win_flush(target, window->win);
        MPI_Get(got, 8, MPI_INT, target, check_disp(window, target, 0), 1, type, window->win);
        MPI_Type_free(&type);
        MPI_Win_flush(target, window->win);
        for (int i = 0; i < 8; i++) {
            CHECK_SAME(got[i], values[i * stride]);
        }
    }
    MPI_Win_unlock(target, window->win);
}

static void all_of_it(struct check_window *window) {
    one_of_each(window);
    arrays(window);
    structures(window);
    made_again(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    unsigned char **buffers[] = {&origin, &result, &expected, &target_now, &packed};
    for (size_t i = 0; i < 5; i++) {
        *buffers[i] = malloc(ROOM);
    }
    check_each_flavor(ROOM, all_of_it);
    for (size_t i = 0; i < 5; i++) {
        free(*buffers[i]);
    }
    return check_finish();
}
