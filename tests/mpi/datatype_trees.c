/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Randomised datatypes: trees of all constructors with the same signature but different layouts on the two
 * sides. Put, get and accumulate are compared with what MPI_Pack and MPI_Unpack make of private copies.
 * usage: datatype_trees [trees]
 */
#include "check.h"

enum { SPAN = 1 << 16, ROOM = 2 * SPAN };

static uint64_t state;

static unsigned pick(unsigned limit) {
    return check_random(&state, limit);
}

static MPI_Datatype make(unsigned n, MPI_Datatype leaf, unsigned depth);

/* Pieces of `n` leaves in all, placed one behind the other with gaps, in a random order, first and last of
 * them random too. */
static MPI_Datatype make_pieces(unsigned n, MPI_Datatype leaf, unsigned depth) {
    enum { MAX_PIECES = 5 };
    MPI_Datatype pieces[MAX_PIECES];
    MPI_Aint places[MAX_PIECES];
    int lengths[MAX_PIECES];
    int order[MAX_PIECES];
    int count = 0;
    MPI_Datatype type;
    MPI_Aint at = -(MPI_Aint)pick(60);

    while (n && count < MAX_PIECES) {
        unsigned share = count + 1 == MAX_PIECES ? n : 1 + pick(n);
        pieces[count] = make(share, leaf, depth - 1);
        lengths[count] = 1;
        order[count] = count;
        n -= share;
        count++;
    }
    for (int i = count - 1; i > 0; i--) {
        int j = (int)pick((unsigned)i + 1);
        int swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < count; i++) {
        MPI_Aint lower;
        MPI_Aint extent;
        MPI_Type_get_true_extent(pieces[order[i]], &lower, &extent);
        places[order[i]] = at - lower;
        at += extent + (MPI_Aint)pick(12);
    }
    MPI_Type_create_struct(count, lengths, places, pieces, &type);
    for (int i = 0; i < count; i++) {
        MPI_Type_free(&pieces[i]);
    }
    return type;
}

/* The same child several times at a stride that keeps the copies apart, forwards or backwards. */
static MPI_Datatype make_repeated(unsigned copies, unsigned each, MPI_Datatype leaf, unsigned depth) {
    MPI_Datatype child = make(each, leaf, depth - 1);
    MPI_Datatype type;
    MPI_Aint lower;
    MPI_Aint extent;
    MPI_Aint places[64];
    int steps[64];

    MPI_Type_get_true_extent(child, &lower, &extent);
    MPI_Aint stride = extent + (MPI_Aint)pick(9);
    for (unsigned i = 0; i < copies; i++) {
        places[i] = (MPI_Aint)(copies - 1 - i) * stride;
        steps[i] = (int)i * 2 % (int)copies + (copies % 2 == 0 && i >= copies / 2);
    }
    switch (pick(4)) {
    case 0:
        MPI_Type_create_hvector((int)copies, 1, pick(2) ? stride : -stride, child, &type);
        break;
    case 1:
        MPI_Type_create_hindexed_block((int)copies, 1, places, child, &type);
        break;
    case 2: {
        /* With an extent of its own the child may be repeated in units of it. */
        MPI_Datatype resized;
        MPI_Type_create_resized(child, lower, stride, &resized);
        MPI_Type_create_indexed_block((int)copies, 1, steps, resized, &type);
        MPI_Type_free(&resized);
        break;
    }
    default: {
        MPI_Datatype resized;
        MPI_Type_create_resized(child, lower - 3, stride + 1, &resized);
        MPI_Type_vector((int)copies, 1, pick(2) ? 2 : -1, resized, &type);
        MPI_Type_free(&resized);
        break;
    }
    }
    MPI_Type_free(&child);
    return type;
}

/* n leaves cut out of a larger array. */
static MPI_Datatype make_array(unsigned n, MPI_Datatype leaf) {
    int rows = n % 3 == 0 ? 3 : n % 2 == 0 ? 2 : 1;
    int parts[2] = {rows, (int)n / rows};
    int sizes[2] = {parts[0] + (int)pick(3), parts[1] + (int)pick(4)};
    int starts[2] = {(int)pick((unsigned)(sizes[0] - parts[0]) + 1),
                     (int)pick((unsigned)(sizes[1] - parts[1]) + 1)};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, sizes, parts, starts, pick(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, leaf, &type);
    return type;
}

/* A type of exactly n leaves. */
static MPI_Datatype make(unsigned n, MPI_Datatype leaf, unsigned depth) {
    MPI_Datatype type;
    MPI_Datatype inner;
    unsigned divisor = 2 + pick(6);

    if (depth && n > 1 && n % divisor == 0 && pick(3)) {
        return make_repeated(divisor, n / divisor, leaf, depth);
    }
    if (depth && n > 1 && pick(4)) {
        return make_pieces(n, leaf, depth);
    }
    if (depth && pick(4) == 0) {
        inner = make(n, leaf, depth - 1);
        MPI_Type_dup(inner, &type);
        MPI_Type_free(&inner);
        return type;
    }
    if (pick(3) == 0) {
        return make_array(n, leaf);
    }
    if (pick(2)) {
        MPI_Type_vector((int)n, 1, 1 + (int)pick(3), leaf, &type);
    } else {
        MPI_Type_contiguous((int)n, leaf, &type);
    }
    return type;
}

/* Where in a buffer of SPAN bytes the type can be used, not negative; -1 when it is too wide. */
static long position_of(MPI_Datatype type) {
    MPI_Aint lower;
    MPI_Aint extent;

    MPI_Type_get_true_extent(type, &lower, &extent);
    long position = lower < 0 ? -(long)lower : 0;
    return position + lower + extent > SPAN ? -1 : position;
}

static void fill(unsigned char *data, size_t size, uint64_t seed) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = check_pattern(seed, i, 4);
        memcpy(data + i, &word, 8);
    }
}

struct trial {
    unsigned char *origin;
    unsigned char *expected;
    unsigned char *there; /* the target's content */
    unsigned char *packed;
    unsigned char *more;
};

static void compare(const unsigned char *actual, const unsigned char *wanted, const char *what, uint64_t tree,
                    const char *flavor) {
    size_t i = 0;

    while (i < ROOM && actual[i] == wanted[i]) {
        i++;
    }
    CHECK_THAT(i == ROOM, "tree %llu: %s, %s: byte %zu differs", (unsigned long long)tree, what, flavor, i);
}

static void add_leaves(unsigned char *into, const unsigned char *from, int bytes, bool is_int) {
    if (is_int) {
        for (int i = 0; i < bytes; i += (int)sizeof(int)) {
            unsigned a;
            unsigned b;
            memcpy(&a, into + i, sizeof a);
            memcpy(&b, from + i, sizeof b);
            a += b;
            memcpy(into + i, &a, sizeof a);
        }
        return;
    }
    for (int i = 0; i < bytes; i += 2) {
        uint16_t a;
        uint16_t b;
        memcpy(&a, into + i, sizeof a);
        memcpy(&b, from + i, sizeof b);
        a = (uint16_t)(a + b);
        memcpy(into + i, &a, sizeof a);
    }
}

static void try_pair(struct check_window *window, struct trial *trial, MPI_Datatype from, MPI_Datatype to,
                     bool is_int, uint64_t tree) {
    const char *flavor = check_flavor_name(window->flavor);
    int target = check_neighbour(1);
    unsigned char *origin_at = trial->origin + position_of(from);
    long there_at = position_of(to);
    MPI_Aint place = check_disp(window, target, 0) + there_at;
    int end = 0;
    int at = 0;

    fill(trial->there, ROOM, tree + 1);
    fill(trial->origin, ROOM, tree + 2);
    MPI_Put(trial->there, ROOM, MPI_BYTE, target, check_disp(window, target, 0), ROOM, MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Put(origin_at, 1, from, target, place, 1, to, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Pack(origin_at, 1, from, trial->packed, ROOM, &end, MPI_COMM_SELF);
    MPI_Unpack(trial->packed, end, &at, trial->there + there_at, 1, to, MPI_COMM_SELF);
    MPI_Get(trial->expected, ROOM, MPI_BYTE, target, check_disp(window, target, 0), ROOM, MPI_BYTE,
            window->win);
    MPI_Win_flush(target, window->win);
    compare(trial->expected, trial->there, "put", tree, flavor);

    /* target += origin, leaf by leaf */
    fill(trial->origin, ROOM, tree + 3);
    end = at = 0;
    MPI_Pack(trial->there + there_at, 1, to, trial->packed, ROOM, &end, MPI_COMM_SELF);
    MPI_Pack(origin_at, 1, from, trial->more, ROOM, &at, MPI_COMM_SELF);
    add_leaves(trial->packed, trial->more, end, is_int);
    at = 0;
    MPI_Unpack(trial->packed, end, &at, trial->there + there_at, 1, to, MPI_COMM_SELF);
    MPI_Accumulate(origin_at, 1, from, target, place, 1, to, MPI_SUM, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Get(trial->expected, ROOM, MPI_BYTE, target, check_disp(window, target, 0), ROOM, MPI_BYTE,
            window->win);
    MPI_Win_flush(target, window->win);
    compare(trial->expected, trial->there, "accumulate", tree, flavor);

    fill(trial->origin, ROOM, tree + 4);
    memcpy(trial->expected, trial->origin, ROOM);
    at = 0;
    MPI_Unpack(trial->packed, end, &at, trial->expected + position_of(from), 1, from, MPI_COMM_SELF);
    MPI_Get(origin_at, 1, from, target, place, 1, to, window->win);
    MPI_Win_flush(target, window->win);
    compare(trial->origin, trial->expected, "get", tree, flavor);
}

static uint64_t trees = 60;

static void all_of_it(struct check_window *window) {
    struct trial trial;
    unsigned char **buffers[] = {&trial.origin, &trial.expected, &trial.there, &trial.packed, &trial.more};
    int target = check_neighbour(1);
    uint64_t tried = 0;

    for (size_t i = 0; i < 5; i++) {
        *buffers[i] = malloc(ROOM);
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    for (uint64_t tree = 0; tree < trees; tree++) {
        state = check_pattern(tree, (uint64_t)check_rank, 99);
        bool is_int = pick(2);
        MPI_Datatype leaf = is_int ? MPI_INT : MPI_SHORT;
        unsigned n = 1 + pick(pick(3) ? 60 : 400);
        MPI_Datatype from = make(n, leaf, 1 + pick(4));
        MPI_Datatype to = make(n, leaf, 1 + pick(4));
        MPI_Type_commit(&from);
        MPI_Type_commit(&to);
        if (position_of(from) >= 0 && position_of(to) >= 0) {
            try_pair(window, &trial, from, to, is_int, tree);
            tried++;
        }
        MPI_Type_free(&from);
        MPI_Type_free(&to);
    }
    CHECK_THAT(tried > trees / 2, "%llu trees were small enough", (unsigned long long)tried);
    MPI_Win_unlock(target, window->win);
    for (size_t i = 0; i < 5; i++) {
        free(*buffers[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    if (argc > 1) {
        trees = strtoull(argv[1], NULL, 10);
    }
    check_each_flavor(ROOM, all_of_it);
    return check_finish();
}
