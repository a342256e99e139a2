/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocking calls of MPI, which TrueRMA replaces where ranks outnumber cores: collectives and messages of
 * all sizes and layouts on all kinds of communicators, statuses, requests, errors, and windows in between. To
 * the program nothing of the replacement may be seen. It begins with the program's first window.
 *
 *   crowded          all of it but the following
 *   crowded windows  only collectives and windows in turns, which is quick
 *   crowded errors   wrong arguments, for MPIs that check them
 *   crowded spawn    communicators with processes that are started later
 */
#include "check.h"

#include <time.h>

/* Words are of 8 bytes. */
enum {
    BIG = (1 << 20) / 8,
    ROOM = 4 * BIG,
    LONG = 1400,
    MARGIN = 8, /* words behind the received ones that must not change */
    MAX_RANKS = 64,
    TAG = 7,
    CHILDREN = 2
};

static const uint64_t BLANK = UINT64_C(0xeeeeeeeeeeeeeeee);

/* The large-count twins have parameters of other types, but the same arguments serve both. */
#if MPI_VERSION >= 4 && !defined OPEN_MPI
enum { VARIANTS = 2 };
static bool is_large;
#define EITHER(name, ...) (is_large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
enum { VARIANTS = 1 };
static bool is_large;
#define EITHER(name, ...) MPI_##name(__VA_ARGS__)
#endif

/* A communicator, and a number that all its members count alike, so that no two calls carry the same data. */
struct team {
    const char *name;
    MPI_Comm comm;
    int rank;
    int size;
    uint64_t round;
};

struct layout {
    MPI_Datatype type;
    int words;  /* of data in one item */
    int extent; /* words from one item to the next */
    int step;   /* words from one word of data to the next within an item */
};

struct reduction {
    const struct layout *layout;
    MPI_Op op;
    bool composes; /* instead of adding */
};

static struct layout plain = {MPI_DATATYPE_NULL, 1, 1, 1};
static struct layout pairs = {MPI_DATATYPE_NULL, 2, 2, 1};
static struct layout gaps = {MPI_DATATYPE_NULL, 2, 3, 2};
static MPI_Op compose_op;

static uint64_t *out;
static uint64_t *in;
static uint64_t *wanted; /* what `in` has to be after the call */

static struct team make_team(const char *name, MPI_Comm comm) {
    struct team team = {.name = name, .comm = comm};

    MPI_Comm_rank(comm, &team.rank);
    MPI_Comm_size(comm, &team.size);
    return team;
}

static uint64_t datum(const struct team *team, int member, size_t k) {
    return check_pattern(team->round, (uint64_t)member, k);
}

static size_t span(const struct layout *layout, int words) {
    return (size_t)(words / layout->words * layout->extent);
}

static uint64_t *word(uint64_t *buffer, const struct layout *layout, size_t k) {
    const size_t words = (size_t)layout->words;

    return &buffer[k / words * (size_t)layout->extent + k % words * (size_t)layout->step];
}

/* A member's data from the word `first` on. */
static void fill(const struct team *team, uint64_t *buffer, const struct layout *layout, int member,
                 size_t first, int words) {
    for (size_t k = 0; k < (size_t)words; k++) {
        *word(buffer, layout, k) = datum(team, member, first + k);
    }
}

/* Before a call that may write so many words. */
static void fresh(struct team *team, size_t words) {
    team->round++;
    for (size_t i = 0; i < words + MARGIN; i++) {
        in[i] = wanted[i] = BLANK;
    }
}

static void look_at(const struct team *team, const char *what, size_t words) {
    size_t wrong = 0;

    while (wrong < words && in[wrong] == wanted[wrong]) {
        wrong++;
    }
    CHECK_THAT(wrong == words, "%s%s on %s, member %d, round %llu: word %zu of %zu is wrong", what,
               is_large ? "_c" : "", team->name, team->rank, (unsigned long long)team->round, wrong, words);
}

/* As above, with what lies behind. */
static void look(const struct team *team, const char *what, size_t words) {
    look_at(team, what, words + MARGIN);
}

/* Words for each member, where `total` is large. */
static int share(const struct team *team, int total) {
    return total <= BIG / MAX_RANKS ? total : total / team->size & ~1;
}

/* --- collectives that move data --- */

static void bcast(struct team *team, const struct layout *layout, int words) {
    const size_t room = span(layout, words);

    for (int root = 0; root < team->size; root++) {
        fresh(team, room);
        fill(team, team->rank == root ? in : wanted, layout, root, 0, words);
        if (team->rank == root) {
            memcpy(wanted, in, room * sizeof *in);
        }
        EITHER(Bcast, in, words / layout->words, layout->type, root, team->comm);
        look(team, "Bcast", room);
    }
}

static void gather(struct team *team, const struct layout *from, const struct layout *to, int total,
                   bool in_place) {
    const int words = share(team, total);
    const size_t room = span(to, words);

    for (int root = 0; root < team->size; root++) {
        const bool is_root = team->rank == root;
        fresh(team, room * (size_t)team->size);
        fill(team, out, from, team->rank, 0, words);
        for (int r = 0; is_root && r < team->size; r++) {
            fill(team, wanted + (size_t)r * room, to, r, 0, words);
        }
        if (is_root && in_place) {
            fill(team, in + (size_t)root * room, to, root, 0, words);
        }
        EITHER(Gather, is_root && in_place ? MPI_IN_PLACE : out, words / from->words, from->type, in,
               words / to->words, to->type, root, team->comm);
        look(team, "Gather", room * (size_t)team->size);
    }
}

static void scatter(struct team *team, const struct layout *from, const struct layout *to, int total,
                    bool in_place) {
    const int words = share(team, total);
    const size_t room = span(to, words);

    for (int root = 0; root < team->size; root++) {
        const bool keeps = team->rank == root && in_place;
        fresh(team, room);
        fill(team, out, from, root, 0, words * team->size);
        if (!keeps) {
            fill(team, wanted, to, root, (size_t)(team->rank * words), words);
        }
        EITHER(Scatter, out, words / from->words, from->type, keeps ? MPI_IN_PLACE : in, words / to->words,
               to->type, root, team->comm);
        look(team, "Scatter", room);
    }
}

static void allgather(struct team *team, const struct layout *from, const struct layout *to, int total,
                      bool in_place) {
    const int words = share(team, total);
    const size_t room = span(to, words);

    fresh(team, room * (size_t)team->size);
    fill(team, out, from, team->rank, 0, words);
    for (int r = 0; r < team->size; r++) {
        fill(team, wanted + (size_t)r * room, to, r, 0, words);
    }
    if (in_place) {
        fill(team, in + (size_t)team->rank * room, to, team->rank, 0, words);
    }
    EITHER(Allgather, in_place ? MPI_IN_PLACE : out, words / from->words, from->type, in, words / to->words,
           to->type, team->comm);
    look(team, "Allgather", room * (size_t)team->size);
}

static void alltoall(struct team *team, const struct layout *from, const struct layout *to, int total,
                     bool in_place) {
    const int words = share(team, total);
    const size_t room = span(to, words);

    fresh(team, room * (size_t)team->size);
    fill(team, out, from, team->rank, 0, words * team->size);
    if (in_place) {
        fill(team, in, to, team->rank, 0, words * team->size);
    }
    for (int r = 0; r < team->size; r++) {
        fill(team, wanted + (size_t)r * room, to, r, (size_t)(team->rank * words), words);
    }
    EITHER(Alltoall, in_place ? MPI_IN_PLACE : out, words / from->words, from->type, in, words / to->words,
           to->type, team->comm);
    look(team, "Alltoall", room * (size_t)team->size);
}

/* Where the blocks of the members lie: backwards, with holes, some of them empty. */
struct spread {
    const struct layout *layout;
    int words[MAX_RANKS];
    int counts[MAX_RANKS];
    int places[MAX_RANKS];
    MPI_Count large_counts[MAX_RANKS];
    MPI_Aint large_places[MAX_RANKS];
    size_t room; /* words that all of them span */
};

/* Words of the block that one member has for another. In alltoallv that is the same both ways, as
 * MPI_IN_PLACE needs it. */
static int block(const struct team *team, int words, int one, int other) {
    return words * ((int)((unsigned)(one + other) + team->round) % 3);
}

static void spread_out(struct spread *spread, const struct team *team, const struct layout *layout, int words,
                       int other) {
    int place = 0;

    spread->layout = layout;
    for (int r = team->size - 1; r >= 0; r--) {
        spread->words[r] = block(team, words, r, other);
        spread->counts[r] = spread->words[r] / layout->words;
        spread->large_counts[r] = spread->counts[r];
        spread->large_places[r] = spread->places[r] = place;
        place += spread->counts[r] + 1;
    }
    spread->room = (size_t)(place * layout->extent);
}

static void *counts(struct spread *spread) {
    return is_large ? (void *)spread->large_counts : spread->counts;
}

static void *places(struct spread *spread) {
    return is_large ? (void *)spread->large_places : spread->places;
}

static uint64_t *at(uint64_t *buffer, const struct spread *spread, int member) {
    return buffer + (size_t)(spread->places[member] * spread->layout->extent);
}

static void gatherv(struct team *team, const struct layout *from, const struct layout *to, int total,
                    bool in_place) {
    const int words = share(team, total) & ~1;
    struct spread spread;

    for (int root = 0; root < team->size; root++) {
        const bool is_root = team->rank == root;
        spread_out(&spread, team, to, words, 0);
        fresh(team, spread.room);
        fill(team, out, from, team->rank, 0, spread.words[team->rank]);
        for (int r = 0; is_root && r < team->size; r++) {
            fill(team, at(wanted, &spread, r), to, r, 0, spread.words[r]);
        }
        if (is_root && in_place) {
            fill(team, at(in, &spread, root), to, root, 0, spread.words[root]);
        }
        EITHER(Gatherv, is_root && in_place ? MPI_IN_PLACE : out, spread.words[team->rank] / from->words,
               from->type, in, counts(&spread), places(&spread), to->type, root, team->comm);
        look(team, "Gatherv", spread.room);
    }
}

static void scatterv(struct team *team, const struct layout *from, const struct layout *to, int total,
                     bool in_place) {
    const int words = share(team, total) & ~1;
    struct spread spread;

    for (int root = 0; root < team->size; root++) {
        const bool keeps = team->rank == root && in_place;
        spread_out(&spread, team, from, words, 0);
        const int mine = spread.words[team->rank];
        fresh(team, span(to, mine));
        for (int r = 0; r < team->size; r++) {
            fill(team, at(out, &spread, r), from, r, 0, spread.words[r]);
        }
        if (!keeps) {
            fill(team, wanted, to, team->rank, 0, mine);
        }
        EITHER(Scatterv, out, counts(&spread), places(&spread), from->type, keeps ? MPI_IN_PLACE : in,
               mine / to->words, to->type, root, team->comm);
        look(team, "Scatterv", span(to, mine));
    }
}

static void allgatherv(struct team *team, const struct layout *from, const struct layout *to, int total,
                       bool in_place) {
    struct spread spread;

    spread_out(&spread, team, to, share(team, total), 0);
    fresh(team, spread.room);
    fill(team, out, from, team->rank, 0, spread.words[team->rank]);
    for (int r = 0; r < team->size; r++) {
        fill(team, at(wanted, &spread, r), to, r, 0, spread.words[r]);
    }
    if (in_place) {
        fill(team, at(in, &spread, team->rank), to, team->rank, 0, spread.words[team->rank]);
    }
    EITHER(Allgatherv, in_place ? MPI_IN_PLACE : out, spread.words[team->rank] / from->words, from->type, in,
           counts(&spread), places(&spread), to->type, team->comm);
    look(team, "Allgatherv", spread.room);
}

static void alltoallv(struct team *team, const struct layout *from, const struct layout *to, int total,
                      bool in_place) {
    struct spread sent;
    struct spread received;

    spread_out(&sent, team, from, share(team, total), team->rank);
    spread_out(&received, team, to, share(team, total), team->rank);
    fresh(team, received.room);
    for (int r = 0; r < team->size; r++) {
        fill(team, at(out, &sent, r), from, team->rank, (size_t)r * BIG, sent.words[r]);
        fill(team, at(wanted, &received, r), to, r, (size_t)team->rank * BIG, received.words[r]);
        if (in_place) {
            fill(team, at(in, &received, r), to, team->rank, (size_t)r * BIG, received.words[r]);
        }
    }
    EITHER(Alltoallv, in_place ? MPI_IN_PLACE : out, counts(&sent), places(&sent), from->type, in,
           counts(&received), places(&received), to->type, team->comm);
    look(team, "Alltoallv", received.room);
}

/* --- reductions --- */

/* Maps x -> left[0] * x + left[1], one after the other: associative, not commutative. */
static void compose(const uint64_t left[2], uint64_t right[2]) {
    right[1] = left[0] * right[1] + left[1];
    right[0] = left[0] * right[0];
}

static void compose_all(void *left, void *right, int *count, MPI_Datatype *type) {
    const struct layout *layout = *type == gaps.type ? &gaps : &pairs;

    for (size_t k = 0; k < 2 * (size_t)*count; k += 2) {
        const uint64_t first[2] = {*word(left, layout, k), *word(left, layout, k + 1)};
        uint64_t second[2] = {*word(right, layout, k), *word(right, layout, k + 1)};
        compose(first, second);
        *word(right, layout, k) = second[0];
        *word(right, layout, k + 1) = second[1];
    }
}

/* What members 0 to `last` give together, from the word `first` on. */
static void reduced(const struct team *team, uint64_t *result, const struct reduction *how, int last,
                    size_t first, int words) {
    const struct layout *layout = how->layout;

    for (size_t k = first; k < first + (size_t)words; k += (size_t)layout->words) {
        uint64_t sum[2] = {datum(team, last, k), datum(team, last, k + 1)};
        for (int member = last - 1; member >= 0; member--) {
            const uint64_t theirs[2] = {datum(team, member, k), datum(team, member, k + 1)};
            if (how->composes) {
                compose(theirs, sum);
            } else {
                sum[0] += theirs[0];
            }
        }
        *word(result, layout, k - first) = sum[0];
        if (layout->words > 1) {
            *word(result, layout, k - first + 1) = sum[1];
        }
    }
}

static void reduce(struct team *team, const struct reduction *how, int words, bool in_place) {
    const struct layout *layout = how->layout;
    const size_t room = span(layout, words);

    for (int root = 0; root < team->size; root++) {
        const bool is_root = team->rank == root;
        /* MPICH 4.0 alone takes MPI_IN_PLACE for an address in long ones to another root than the first. */
        const bool keeps = is_root && in_place && (root == 0 || words < LONG);
        fresh(team, room);
        fill(team, keeps ? in : out, layout, team->rank, 0, words);
        if (is_root) {
            reduced(team, wanted, how, team->size - 1, 0, words);
        }
        EITHER(Reduce, keeps ? MPI_IN_PLACE : out, in, words / layout->words, layout->type, how->op, root,
               team->comm);
        look(team, "Reduce", room);
    }
}

enum reduction_to_all { ALLREDUCE, SCAN, EXSCAN, REDUCTIONS_TO_ALL };

static void reduce_to_all(struct team *team, const struct reduction *how, int words, bool in_place,
                          enum reduction_to_all which) {
    const struct layout *layout = how->layout;
    const size_t room = span(layout, words);
    const int items = words / layout->words;
    const void *from = in_place ? MPI_IN_PLACE : out;

    fresh(team, room);
    fill(team, in_place ? in : out, layout, team->rank, 0, words);
    switch (which) {
    case ALLREDUCE:
        reduced(team, wanted, how, team->size - 1, 0, words);
        EITHER(Allreduce, from, in, items, layout->type, how->op, team->comm);
        look(team, "Allreduce", room);
        break;
    case SCAN:
        reduced(team, wanted, how, team->rank, 0, words);
        EITHER(Scan, from, in, items, layout->type, how->op, team->comm);
        look(team, "Scan", room);
        break;
    case EXSCAN:
    case REDUCTIONS_TO_ALL:
        EITHER(Exscan, from, in, items, layout->type, how->op, team->comm);
        if (team->rank > 0) { /* the first member's buffer is undefined */
            reduced(team, wanted, how, team->rank - 1, 0, words);
            look(team, "Exscan", room);
        }
        break;
    }
}

static void reduce_scatter(struct team *team, const struct reduction *how, int total, bool in_place) {
    const struct layout *layout = how->layout;
    const int words = share(team, total);
    struct spread spread;
    int first = 0;
    int all = 0;

    spread_out(&spread, team, layout, words, 0);
    for (int r = 0; r < team->size; r++) {
        first += r < team->rank ? spread.words[r] : 0;
        all += spread.words[r];
    }
    const int mine = spread.words[team->rank];
    fresh(team, span(layout, all));
    fill(team, in_place ? in : out, layout, team->rank, 0, all);
    reduced(team, wanted, how, team->size - 1, (size_t)first, mine);
    EITHER(Reduce_scatter, in_place ? MPI_IN_PLACE : out, in, counts(&spread), layout->type, how->op,
           team->comm);
    look_at(team, "Reduce_scatter", span(layout, mine) + (in_place ? 0 : MARGIN));
}

static void reduce_scatter_block(struct team *team, const struct reduction *how, int total, bool in_place) {
    const struct layout *layout = how->layout;
    const int words = share(team, total);
    const int all = words * team->size;

    fresh(team, span(layout, all));
    fill(team, in_place ? in : out, layout, team->rank, 0, all);
    reduced(team, wanted, how, team->size - 1, (size_t)(words * team->rank), words);
    EITHER(Reduce_scatter_block, in_place ? MPI_IN_PLACE : out, in, words / layout->words, layout->type,
           how->op, team->comm);
    look_at(team, "Reduce_scatter_block", span(layout, words) + (in_place ? 0 : MARGIN));
}

static void collectives_of_size(struct team *team, int words) {
    const struct layout *layouts[] = {&plain, &gaps};
    const struct reduction reductions[] = {
        {&plain, MPI_SUM, false}, {&pairs, compose_op, true}, {&gaps, compose_op, true}};

    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            const struct layout *sent = layouts[from];
            const struct layout *received = layouts[to];
            const bool in_place = from != to;
            if (words % sent->words != 0 || words % received->words != 0) {
                continue; /* one word, which has no gaps */
            }
            gather(team, sent, received, words, in_place);
            scatter(team, sent, received, words, in_place);
            allgather(team, sent, received, words, in_place);
            alltoall(team, sent, received, words, in_place);
            gatherv(team, sent, received, words, in_place);
            scatterv(team, sent, received, words, in_place);
            allgatherv(team, sent, received, words, in_place);
            alltoallv(team, sent, received, words, in_place);
            if (from == to) {
                bcast(team, sent, words);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        const struct reduction *how = &reductions[i];
        if (words % how->layout->words != 0) {
            continue;
        }
        for (int in_place = 0; in_place < 2; in_place++) {
            reduce(team, how, words, in_place);
            for (int which = 0; which < REDUCTIONS_TO_ALL; which++) {
                reduce_to_all(team, how, words, in_place, (enum reduction_to_all)which);
            }
            /* In place MPICH alone copies long ones onto themselves, which it forbids itself. */
            reduce_scatter(team, how, words, in_place && words < LONG);
            reduce_scatter_block(team, how, words, in_place && words < LONG);
        }
    }
}

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time); /* one clock for all ranks of a node */
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Nobody leaves before all have entered. */
static void barrier(struct team *team) {
    double last = 0;

    for (int i = 0; i < 5; i++) {
        const double entered = now();
        MPI_Barrier(team->comm);
        const double left = now();
        MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, team->comm);
        CHECK_THAT(left >= last, "%s: member %d leaves a barrier %g s too early", team->name, team->rank,
                   last - left);
    }
}

static void collectives(struct team *team, int biggest) {
    static const int sizes[] = {0, 1, 2, 10, LONG, BIG};

    for (int variant = 0; variant < VARIANTS; variant++) {
        is_large = variant;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (sizes[i] <= (is_large ? LONG : biggest)) {
                collectives_of_size(team, sizes[i]);
            }
        }
    }
    is_large = false;
    barrier(team);
}

/* --- messages --- */

static void look_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count) {
    int found = -1;

    CHECK_SAME(status->MPI_SOURCE, source);
    CHECK_SAME(status->MPI_TAG, tag);
    MPI_Get_count(status, type, &found);
    CHECK_SAME(found, count);
}

static void look_empty(const MPI_Status *status) {
    look_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_BYTE, 0);
}

static void look_nobody(const MPI_Status *status) {
    look_status(status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
}

static int right_of(const struct team *team) {
    return (team->rank + 1) % team->size;
}

static int left_of(const struct team *team) {
    return (team->rank + team->size - 1) % team->size;
}

/* Round the ring, and along the line, whose ends have nobody beside them. */
static void sendrecv(struct team *team, const struct layout *from, const struct layout *to, int words,
                     bool is_ring, bool with_status) {
    const bool is_first = !is_ring && team->rank == 0;
    const bool is_last = !is_ring && team->rank == team->size - 1;
    const int left = is_first ? MPI_PROC_NULL : left_of(team);
    const int right = is_last ? MPI_PROC_NULL : right_of(team);
    const size_t room = span(to, words);
    MPI_Status status;

    fresh(team, room);
    fill(team, out, from, team->rank, 0, words);
    if (!is_first) {
        fill(team, wanted, to, left, 0, words);
    }
    /* Room for more than will come. */
    EITHER(Sendrecv, out, words / from->words, from->type, right, TAG + team->rank, in, words / to->words + 1,
           to->type, left, is_first ? TAG : TAG + left, team->comm,
           with_status ? &status : MPI_STATUS_IGNORE);
    look(team, "Sendrecv", room);
    if (with_status && is_first) {
        look_nobody(&status);
    } else if (with_status) {
        look_status(&status, left, TAG + left, to->type, words / to->words);
    }
}

/* MPI_BOTTOM with absolute addresses on both sides. */
static void absolute(struct team *team) {
    struct {
        int32_t small[3];
        uint64_t large;
    } sent, received;
    MPI_Datatype types[2] = {MPI_UINT64_T, MPI_INT32_T}; /* the second one first */
    int lengths[2] = {1, 2};
    MPI_Aint addresses[2];
    MPI_Datatype from;
    MPI_Datatype to;
    int left = left_of(team);

    team->round++;
    memset(&received, 0, sizeof received);
    sent.large = datum(team, team->rank, 0);
    for (int i = 0; i < 3; i++) {
        sent.small[i] = team->rank * 10 + i;
    }
    MPI_Get_address(&sent.large, &addresses[0]);
    MPI_Get_address(&sent.small[1], &addresses[1]);
    MPI_Type_create_struct(2, lengths, addresses, types, &from);
    MPI_Get_address(&received.large, &addresses[0]);
    MPI_Get_address(&received.small[0], &addresses[1]);
    MPI_Type_create_struct(2, lengths, addresses, types, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    EITHER(Sendrecv, MPI_BOTTOM, 1, from, right_of(team), TAG, MPI_BOTTOM, 1, to, left, TAG, team->comm,
           MPI_STATUS_IGNORE);
    CHECK(received.large == datum(team, left, 0));
    CHECK_SAME(received.small[0], left * 10 + 1);
    CHECK_SAME(received.small[1], left * 10 + 2);
    CHECK_SAME(received.small[2], 0);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

static void send(struct team *team, const struct layout *layout, int words, int to, bool synchronous) {
    fill(team, out, layout, team->rank, 0, words);
    if (synchronous) {
        EITHER(Ssend, out, words / layout->words, layout->type, to, TAG + team->rank, team->comm);
    } else {
        EITHER(Send, out, words / layout->words, layout->type, to, TAG + team->rank, team->comm);
    }
}

/* All others send to the first member, which takes what comes, and answers when all has come: then nobody is
 * ahead. Each message has another length. */
static void to_the_first(struct team *team, const struct layout *layout, int words, bool probes,
                         bool synchronous) {
    bool seen[MAX_RANKS] = {false};
    MPI_Status status;

    team->round++;
    if (team->rank > 0) {
        send(team, layout, words + 2 * team->rank, 0, synchronous);
        fresh(team, span(layout, words));
        fill(team, wanted, layout, 0, 0, words);
        EITHER(Recv, in, words / layout->words, layout->type, 0, TAG, team->comm, MPI_STATUS_IGNORE);
        look(team, "Recv", span(layout, words));
        return;
    }
    const uint64_t round = team->round;
    for (int i = 1; i < team->size; i++) {
        const size_t room = span(layout, words + 2 * team->size);
        int items = (int)room;
        int source = MPI_ANY_SOURCE;
        int tag = MPI_ANY_TAG;
        fresh(team, room);
        team->round = round;
        if (probes) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &status);
            source = status.MPI_SOURCE;
            tag = status.MPI_TAG;
            MPI_Get_count(&status, layout->type, &items);
        }
        EITHER(Recv, in, items, layout->type, source, tag, team->comm, &status);
        source = status.MPI_SOURCE;
        CHECK_THAT(source > 0 && source < team->size && !seen[source], "a message from %d", source);
        seen[source] = true;
        look_status(&status, source, TAG + source, layout->type, (words + 2 * source) / layout->words);
        fill(team, wanted, layout, source, 0, words + 2 * source);
        look(team, "Recv", room);
    }
    team->round++;
    for (int r = 1; r < team->size; r++) {
        send(team, layout, words, r, synchronous);
    }
}

/* To oneself: what is sent has to be on its way before one waits for it. */
static void to_oneself(struct team *team, int words) {
    MPI_Request request;
    MPI_Status status;

    fresh(team, (size_t)words);
    fill(team, out, &plain, team->rank, 0, words);
    fill(team, wanted, &plain, team->rank, 0, words);
    MPI_Isend(out, words, plain.type, team->rank, TAG, team->comm, &request);
    MPI_Probe(team->rank, TAG, team->comm, MPI_STATUS_IGNORE);
    MPI_Probe(team->rank, MPI_ANY_TAG, team->comm, &status);
    look_status(&status, team->rank, TAG, plain.type, words);
    EITHER(Recv, in, words, plain.type, team->rank, TAG, team->comm, &status);
    look_status(&status, team->rank, TAG, plain.type, words);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(team, "Recv from oneself", (size_t)words);
    fresh(team, (size_t)words);
    fill(team, out, &plain, team->rank, 0, words);
    fill(team, wanted, &plain, team->rank, 0, words);
    MPI_Irecv(in, words, plain.type, team->rank, TAG, team->comm, &request);
    EITHER(Ssend, out, words, plain.type, team->rank, TAG, team->comm);
    MPI_Wait(&request, &status);
    look_status(&status, team->rank, TAG, plain.type, words);
    look(team, "Ssend to oneself", (size_t)words);
}

static void nobody(struct team *team) {
    MPI_Status status;
    MPI_Request request;

    fresh(team, 4);
    EITHER(Send, out, 4, plain.type, MPI_PROC_NULL, TAG, team->comm);
    EITHER(Ssend, out, 4, plain.type, MPI_PROC_NULL, TAG, team->comm);
    EITHER(Recv, in, 4, plain.type, MPI_PROC_NULL, TAG, team->comm, &status);
    look_nobody(&status);
    MPI_Probe(MPI_PROC_NULL, TAG, team->comm, &status);
    look_nobody(&status);
    EITHER(Sendrecv, out, 4, plain.type, MPI_PROC_NULL, TAG, in, 4, plain.type, MPI_PROC_NULL, TAG,
           team->comm, &status);
    look_nobody(&status);
    MPI_Irecv(in, 4, plain.type, MPI_PROC_NULL, TAG, team->comm, &request);
    MPI_Wait(&request, &status);
    look_nobody(&status);
    look(team, "MPI_PROC_NULL", 4);
}

static void messages(struct team *team, int biggest) {
    static const int sizes[] = {0, 2, 10, LONG, 16384, BIG};
    const struct layout *layouts[] = {&plain, &gaps};

    for (int variant = 0; variant < VARIANTS; variant++) {
        is_large = variant;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int bits = 0; sizes[i] <= biggest && bits < 4; bits++) {
                const struct layout *from = layouts[bits & 1];
                const struct layout *to = layouts[bits >> 1];
                sendrecv(team, from, to, sizes[i], true, bits != 0);
                sendrecv(team, from, to, sizes[i], false, bits != 1);
                to_the_first(team, from, sizes[i], bits & 2, (size_t)bits % 3 == 0);
            }
            if (sizes[i] <= biggest) {
                to_oneself(team, sizes[i]);
            }
        }
        absolute(team);
        nobody(team);
    }
    is_large = false;
}

/* --- requests --- */

/* Many at once, received in another order than sent, of sizes on both sides of what a host buffers. */
static void many(struct team *team, bool with_statuses) {
    enum { MESSAGES = 100, ALL = 2 * MESSAGES + 10 };
    MPI_Request requests[ALL];
    MPI_Status statuses[ALL];
    static uint64_t *places_in[MESSAGES];
    size_t used = 0;

    fresh(team, ROOM - MARGIN);
    for (int i = 0; i < ALL; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; i < MESSAGES; i++) {
        const int words = i % 10 == 3 ? 20000 : i;
        places_in[i] = in + used;
        fill(team, out + used, &plain, team->rank, used, words);
        fill(team, wanted + used, &plain, left_of(team), used, words);
        used += (size_t)words + 1;
    }
    for (int i = 0; i < MESSAGES; i++) {
        const int tag = i * 37 % MESSAGES;
        MPI_Irecv(places_in[tag], 20000, plain.type, left_of(team), tag, team->comm, &requests[2 * i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        const int words = i % 10 == 3 ? 20000 : i;
        MPI_Isend(out + (places_in[i] - in), words, plain.type, right_of(team), i, team->comm,
                  &requests[2 * i + 1]);
    }
    MPI_Waitall(ALL, requests, with_statuses ? statuses : MPI_STATUSES_IGNORE);
    look_at(team, "Waitall", used);
    for (int i = 0; i < ALL; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    for (int i = 0; with_statuses && i < MESSAGES; i++) {
        const int tag = i * 37 % MESSAGES;
        look_status(&statuses[2 * i], left_of(team), tag, plain.type, tag % 10 == 3 ? 20000 : tag);
    }
    for (int i = 2 * MESSAGES; with_statuses && i < ALL; i++) {
        look_empty(&statuses[i]);
    }
}

static void one_of_several(struct team *team) {
    enum { MESSAGES = 6, ALL = 2 * MESSAGES + 1 };
    MPI_Request requests[ALL];
    MPI_Status status;
    bool seen[ALL] = {false};
    int which;

    fresh(team, MESSAGES);
    fill(team, out, &plain, team->rank, 0, MESSAGES);
    fill(team, wanted, &plain, left_of(team), 0, MESSAGES);
    requests[MESSAGES] = MPI_REQUEST_NULL;
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Irecv(in + i, 1, plain.type, left_of(team), TAG + i, team->comm, &requests[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Isend(out + i, 1, plain.type, right_of(team), TAG + i, team->comm, &requests[ALL - 1 - i]);
    }
    for (int i = 0; i < 2 * MESSAGES; i++) {
        which = -1;
        MPI_Waitany(ALL, requests, &which, i % 3 == 2 ? MPI_STATUS_IGNORE : &status);
        CHECK_THAT(which >= 0 && which < ALL && which != MESSAGES && !seen[which], "Waitany gives %d", which);
        CHECK(requests[which] == MPI_REQUEST_NULL);
        seen[which] = true;
        if (i % 3 != 2 && which < MESSAGES) {
            look_status(&status, left_of(team), TAG + which, plain.type, 1);
        }
    }
    MPI_Waitany(ALL, requests, &which, &status);
    CHECK_SAME(which, MPI_UNDEFINED);
    look_empty(&status);
    look(team, "Waitany", MESSAGES);
    MPI_Waitany(0, NULL, &which, &status);
    CHECK_SAME(which, MPI_UNDEFINED);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Wait(&requests[0], &status);
    look_empty(&status);
}

static void persistent(struct team *team) {
    enum { WORDS = 3000 };
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int which = -1;

    MPI_Recv_init(in, WORDS, plain.type, left_of(team), TAG, team->comm, &requests[0]);
    MPI_Send_init(out, WORDS, plain.type, right_of(team), TAG, team->comm, &requests[1]);
    for (int i = 0; i < 6; i++) {
        fresh(team, WORDS);
        fill(team, out, &plain, team->rank, 0, WORDS);
        fill(team, wanted, &plain, left_of(team), 0, WORDS);
        MPI_Startall(2, requests);
        if (i % 3 == 0) {
            MPI_Wait(&requests[0], &statuses[0]);
            MPI_Wait(&requests[1], &statuses[1]);
        } else if (i % 3 == 1) {
            MPI_Waitall(2, requests, statuses);
        } else {
            MPI_Waitany(1, &requests[0], &which, &statuses[0]);
            CHECK_SAME(which, 0);
            MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
            CHECK_SAME(which, 1);
        }
        look_status(&statuses[0], left_of(team), TAG, plain.type, WORDS);
        look(team, "Start", WORDS);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        /* Inactive ones are waited for without end: not at all. */
        MPI_Wait(&requests[0], &statuses[0]);
        look_empty(&statuses[0]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        CHECK_SAME(which, MPI_UNDEFINED);
        MPI_Waitall(2, requests, statuses);
        look_empty(&statuses[1]);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void cancelled(struct team *team) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    fresh(team, 1);
    MPI_Irecv(in, 1, plain.type, team->rank, TAG, team->comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    CHECK(request == MPI_REQUEST_NULL);
    look(team, "a cancelled receive", 1);
}

static int queries;

static int query(void *extra, MPI_Status *status) {
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = TAG;
    return MPI_SUCCESS;
}

static int release(void *extra) {
    *(int *)extra = -1;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

/* The program's own requests, and those of nonblocking collectives. */
static void other_requests(struct team *team) {
    MPI_Request requests[2];
    MPI_Status status;
    int elements = 5;

    queries = 0;
    MPI_Grequest_start(query, release, cancel, &elements, &requests[0]);
    MPI_Grequest_complete(requests[0]);
    MPI_Wait(&requests[0], &status);
    look_status(&status, MPI_UNDEFINED, TAG, MPI_INT, 5);
    CHECK_SAME(queries, 1);
    CHECK_SAME(elements, -1);

    fresh(team, 100);
    fill(team, out, &plain, team->rank, 0, 100);
    reduced(team, wanted, &(struct reduction){&plain, MPI_SUM, false}, team->size - 1, 0, 100);
    MPI_Iallreduce(out, in, 100, plain.type, MPI_SUM, team->comm, &requests[0]);
    MPI_Ibarrier(team->comm, &requests[1]);
    MPI_Barrier(team->comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    look(team, "Iallreduce", 100);
}

static void requests(struct team *team) {
    many(team, true);
    many(team, false);
    one_of_several(team);
    persistent(team);
    cancelled(team);
    other_requests(team);
}

/* --- progress --- */

/*
 * The first member begins a large send and waits in another call; the second receives all of it before it
 * does what ends that wait. The others only take part in collectives.
 */
enum waits {
    IN_BARRIER,
    IN_BCAST,
    IN_ALLREDUCE,
    IN_RECV,
    IN_SSEND,
    IN_SENDRECV,
    IN_PROBE,
    IN_WAIT,
    IN_WAITANY,
    IN_WAITALL,
    WAITS
};

static void wait_in(const struct team *team, enum waits where, int peer) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    const uint64_t one = 1;
    uint64_t got = 0;
    int which = -1;

    switch (where) {
    case IN_BARRIER:
        MPI_Barrier(team->comm);
        return;
    case IN_BCAST:
        got = team->rank == 1;
        MPI_Bcast(&got, 1, plain.type, 1, team->comm);
        CHECK_SAME(got, 1);
        return;
    case IN_ALLREDUCE:
        MPI_Allreduce(&one, &got, 1, plain.type, MPI_SUM, team->comm);
        CHECK_SAME(got, team->size);
        return;
    case IN_SENDRECV:
        if (team->rank < 2) {
            MPI_Sendrecv(&one, 1, plain.type, peer, TAG, &got, 1, plain.type, peer, TAG, team->comm,
                         MPI_STATUS_IGNORE);
            CHECK_SAME(got, 1);
        }
        return;
    case IN_SSEND:
        if (team->rank == 0) {
            MPI_Ssend(&one, 1, plain.type, 1, TAG, team->comm);
            return;
        }
        break;
    case IN_PROBE:
        if (team->rank == 0) {
            MPI_Probe(1, TAG, team->comm, MPI_STATUS_IGNORE);
        }
        break;
    case IN_RECV:
    case IN_WAIT:
    case IN_WAITANY:
    case IN_WAITALL:
    case WAITS:
        break;
    }
    if (team->rank == 1 && where != IN_SSEND) {
        MPI_Send(&one, 1, plain.type, 0, TAG, team->comm);
    } else if (team->rank < 2) {
        if (where >= IN_WAIT) {
            MPI_Irecv(&got, 1, plain.type, peer, TAG, team->comm, &requests[1]);
        } else {
            MPI_Recv(&got, 1, plain.type, peer, TAG, team->comm, MPI_STATUS_IGNORE);
        }
        if (where == IN_WAIT) {
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        } else if (where == IN_WAITANY) {
            MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
            CHECK_SAME(which, 1);
        } else if (where == IN_WAITALL) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        CHECK_SAME(got, 1);
    }
}

static void progress(struct team *team) {
    for (int where = 0; where < WAITS; where++) {
        MPI_Request request = MPI_REQUEST_NULL;
        fresh(team, BIG);
        if (team->rank == 0) {
            fill(team, out, &plain, 0, 0, BIG);
            MPI_Isend(out, BIG, plain.type, 1, TAG + 1, team->comm, &request);
        } else if (team->rank == 1) {
            fill(team, wanted, &plain, 0, 0, BIG);
            MPI_Recv(in, BIG, plain.type, 0, TAG + 1, team->comm, MPI_STATUS_IGNORE);
            look(team, "a large message", BIG);
        }
        wait_in(team, (enum waits)where, 1 - team->rank);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* --- an intercommunicator --- */

/* Each member's data go to the other side only. `side` tells the groups apart, so that their data differ. */
static void between(struct team *team, int side) {
    enum { WORDS = 600 };
    const struct reduction sum = {&plain, MPI_SUM, false};
    struct team senders[2] = {*team, *team}; /* of reductions: the groups, in rounds of their own */
    const int base = side * MAX_RANKS;
    const int their_base = MAX_RANKS - base;
    int their_size = 0;
    MPI_Status status;

    MPI_Comm_remote_size(team->comm, &their_size);
    barrier(team);
    for (int sender = 0; sender < 2; sender++) {
        const bool sends = side == sender;
        const int all = sends ? their_size : team->size;
        const int root = sends ? (team->rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
        fresh(team, WORDS);
        fill(team, sends ? in : wanted, &plain, sender * MAX_RANKS, 0, WORDS);
        if (sends) {
            memcpy(wanted, in, WORDS * sizeof *in);
        }
        EITHER(Bcast, in, WORDS, plain.type, root, team->comm);
        look(team, "Bcast", WORDS);

        fresh(team, WORDS);
        fill(team, out, &plain, sender * MAX_RANKS, 0, 10 * all);
        if (!sends) {
            fill(team, wanted, &plain, sender * MAX_RANKS, (size_t)team->rank * 10, 10);
        }
        EITHER(Scatter, out, 10, plain.type, in, 10, plain.type, root, team->comm);
        look(team, "Scatter", WORDS);

        fresh(team, WORDS);
        fill(team, out, &plain, base + team->rank, 0, 10);
        if (sends && team->rank == 0) {
            for (int r = 0; r < their_size; r++) {
                fill(team, wanted + (size_t)r * 10, &plain, their_base + r, 0, 10);
            }
        }
        EITHER(Gather, out, 10, plain.type, in, 10, plain.type, root, team->comm);
        look(team, "Gather", WORDS);

        fresh(team, WORDS);
        senders[0].round = 2 * team->round;
        senders[1].round = 2 * team->round + 1;
        fill(&senders[side], out, &plain, team->rank, 0, WORDS);
        if (sends && team->rank == 0) {
            reduced(&senders[1 - side], wanted, &sum, their_size - 1, 0, WORDS);
        }
        EITHER(Reduce, out, in, WORDS, plain.type, MPI_SUM, root, team->comm);
        look(team, "Reduce", WORDS);
    }
    fresh(team, WORDS);
    senders[0].round = 2 * team->round;
    senders[1].round = 2 * team->round + 1;
    fill(&senders[side], out, &plain, team->rank, 0, WORDS);
    reduced(&senders[1 - side], wanted, &sum, their_size - 1, 0, WORDS);
    EITHER(Allreduce, out, in, WORDS, plain.type, MPI_SUM, team->comm);
    look(team, "Allreduce", WORDS);

    fresh(team, WORDS);
    fill(team, out, &plain, base + team->rank, 0, 10);
    for (int r = 0; r < their_size; r++) {
        fill(team, wanted + (size_t)r * 10, &plain, their_base + r, 0, 10);
    }
    EITHER(Allgather, out, 10, plain.type, in, 10, plain.type, team->comm);
    look(team, "Allgather", WORDS);

    fresh(team, WORDS);
    fill(team, out, &plain, base + team->rank, 0, 10 * their_size);
    for (int r = 0; r < their_size; r++) {
        fill(team, wanted + (size_t)r * 10, &plain, their_base + r, (size_t)team->rank * 10, 10);
    }
    EITHER(Alltoall, out, 10, plain.type, in, 10, plain.type, team->comm);
    look(team, "Alltoall", WORDS);

    if (team->rank >= their_size) {
        return; /* has no partner */
    }
    const int peer = team->rank;
    fresh(team, BIG);
    fill(team, out, &plain, base + team->rank, 0, BIG);
    fill(team, wanted, &plain, their_base + team->rank, 0, BIG);
    EITHER(Sendrecv, out, BIG, plain.type, peer, TAG, in, BIG, plain.type, peer, TAG, team->comm, &status);
    look_status(&status, peer, TAG, plain.type, BIG);
    look(team, "Sendrecv", BIG);

    fresh(team, 10);
    fill(team, out, &plain, base + team->rank, 0, 10);
    fill(team, wanted, &plain, their_base + team->rank, 0, 10);
    if (side == 0) {
        EITHER(Send, out, 10, plain.type, peer, TAG, team->comm);
    }
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &status);
    look_status(&status, peer, TAG, plain.type, 10);
    EITHER(Recv, in, 10, plain.type, peer, TAG, team->comm, &status);
    look_status(&status, peer, TAG, plain.type, 10);
    look(team, "Recv", 10);
    if (side == 1) {
        EITHER(Ssend, out, 10, plain.type, peer, TAG, team->comm);
    }
}

/* --- errors --- */

static int handled;
static MPI_Comm handled_comm;

static void count_errors(MPI_Comm *comm, int *code, ...) {
    (void)code;
    handled++;
    handled_comm = *comm;
}

static void expect_class(int code, int class, const struct team *team, int line, const char *text) {
    int returned = MPI_SUCCESS;

    MPI_Error_class(code, &returned);
    check_one(returned == class, __FILE__, line, "%s: %s gives class %d, expected %d", team->name, text,
              returned, class);
}

/* The handler has seen one error, of this communicator unless it is null. */
static void expect_handled(MPI_Comm comm, const struct team *team, int line, const char *text) {
    check_one(handled == 1 && (comm == MPI_COMM_NULL || handled_comm == comm), __FILE__, line,
              "%s: after %s the handler was called %d times, last %s", team->name, text, handled,
              handled_comm == team->comm ? "for it" : "for another communicator");
    handled = 0;
}

/* Fails with this class, which is told once. */
static void expect(int code, int class, const struct team *team, int line, const char *text) {
    expect_class(code, class, team, line, text);
    expect_handled(team->comm, team, line, text);
}

#define EXPECT(class, call) expect((call), (class), team, __LINE__, #call)

/* On a duplicate of its own. */
static void with_handler(MPI_Comm comm, const char *name, MPI_Errhandler handler,
                         void (*body)(struct team *team, bool counts), bool counts) {
    MPI_Comm own;

    MPI_Comm_dup(comm, &own);
    MPI_Comm_set_errhandler(own, handler);
    struct team team = make_team(name, own);
    handled = 0;
    for (int variant = 0; variant < VARIANTS; variant++) {
        is_large = variant;
        body(&team, counts);
    }
    is_large = false;
    /* And then all goes on. */
    collectives_of_size(&team, 10);
    messages(&team, 10);
    CHECK_SAME(handled, 0);
    MPI_Comm_free(&own);
}

/* Too much for the receive. With a handler of its own MPICH 5 alone returns MPI_SUCCESS, so that either the
 * handler is looked at or the code. */
static void expect_cut(int code, int class, MPI_Comm comm, const struct team *team, bool counts, int line,
                       const char *text) {
    if (counts) {
        expect_handled(comm, team, line, text);
    } else {
        expect_class(code, class, team, line, text);
    }
}

#define EXPECT_CUT(class, comm, call) expect_cut((call), (class), (comm), team, counts, __LINE__, #call)

static void truncated(struct team *team, bool counts) {
    const int left = left_of(team);
    const int right = right_of(team);
    MPI_Comm comm = team->comm;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int class = -1;

    fresh(team, BIG);
    for (int words = 4; words <= BIG; words *= 32) {
        MPI_Isend(out, words, plain.type, right, TAG, comm, &requests[1]);
        EXPECT_CUT(MPI_ERR_TRUNCATE, comm, EITHER(Recv, in, 1, plain.type, left, TAG, comm, &statuses[0]));
        CHECK_SAME(statuses[0].MPI_SOURCE, left);
        CHECK_SAME(statuses[0].MPI_TAG, TAG);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (team->size == 1) {
            continue; /* Open MPI alone cuts what one sends to oneself without a word, if the receive came
                         first */
        }

        EXPECT_CUT(MPI_ERR_TRUNCATE, comm,
                   EITHER(Sendrecv, out, words, plain.type, right, TAG, in, 1, plain.type, left, TAG, comm,
                          MPI_STATUS_IGNORE));

        /* MPICH alone goes to the handler of another communicator. */
        MPI_Irecv(in, 1, plain.type, left, TAG, comm, &requests[0]);
        MPI_Isend(out, words, plain.type, right, TAG, comm, &requests[1]);
        EXPECT_CUT(MPI_ERR_TRUNCATE, MPI_COMM_NULL, MPI_Wait(&requests[0], &statuses[0]));
        CHECK(requests[0] == MPI_REQUEST_NULL);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);

        MPI_Irecv(in, 1, plain.type, left, TAG, comm, &requests[0]);
        MPI_Isend(out, words, plain.type, right, TAG, comm, &requests[1]);
        EXPECT_CUT(MPI_ERR_IN_STATUS, MPI_COMM_NULL, MPI_Waitall(2, requests, statuses));
        CHECK(requests[0] == MPI_REQUEST_NULL);
        /* After a handler of the program's MPICH 5 returns success, with which statuses tell no errors. */
        if (!counts) {
            MPI_Error_class(statuses[0].MPI_ERROR, &class);
            CHECK_SAME(class, MPI_ERR_TRUNCATE);
            MPI_Error_class(statuses[1].MPI_ERROR, &class);
            CHECK(class == MPI_SUCCESS || class == MPI_ERR_PENDING);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
}

static void errors(void (*body)(struct team *team, bool counts), bool counts) {
    MPI_Errhandler handler = MPI_ERRORS_RETURN;

    if (counts) {
        MPI_Comm_create_errhandler(count_errors, &handler);
    }
    /* For hosts that tell the wrong one. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    with_handler(MPI_COMM_WORLD, "a duplicate of the world", handler, body, counts);
    with_handler(MPI_COMM_SELF, "a duplicate of oneself", handler, body, counts);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    if (counts) {
        MPI_Errhandler_free(&handler);
    }
}

static void wrong_arguments(struct team *team) {
    static const int roots[] = {MAX_RANKS, -77};
    int one[MAX_RANKS];
    int zero[MAX_RANKS] = {0};
    MPI_Count large_one[MAX_RANKS];
    MPI_Aint large_zero[MAX_RANKS] = {0};
    const struct layout *words = &plain;
    MPI_Comm comm = team->comm;

    for (int r = 0; r < MAX_RANKS; r++) {
        large_one[r] = one[r] = 1;
    }
    void *ones = is_large ? (void *)large_one : one;
    void *zeros = is_large ? (void *)large_zero : zero;
    for (int i = 0; i < 2; i++) {
        EXPECT(MPI_ERR_ROOT, EITHER(Bcast, in, 1, words->type, roots[i], comm));
        EXPECT(MPI_ERR_ROOT, EITHER(Reduce, out, in, 1, words->type, MPI_SUM, roots[i], comm));
        EXPECT(MPI_ERR_ROOT, EITHER(Gather, out, 1, words->type, in, 1, words->type, roots[i], comm));
        EXPECT(MPI_ERR_ROOT, EITHER(Scatter, out, 1, words->type, in, 1, words->type, roots[i], comm));
        EXPECT(MPI_ERR_ROOT,
               EITHER(Gatherv, out, 1, words->type, in, ones, zeros, words->type, roots[i], comm));
        EXPECT(MPI_ERR_ROOT,
               EITHER(Scatterv, out, ones, zeros, words->type, in, 1, words->type, roots[i], comm));

        EXPECT(MPI_ERR_RANK, EITHER(Send, out, 1, words->type, roots[i], TAG, comm));
        EXPECT(MPI_ERR_RANK, EITHER(Ssend, out, 1, words->type, roots[i], TAG, comm));
        EXPECT(MPI_ERR_RANK, EITHER(Recv, in, 1, words->type, roots[i], TAG, comm, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_RANK, MPI_Probe(roots[i], TAG, comm, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_RANK, EITHER(Sendrecv, out, 1, words->type, roots[i], TAG, in, 1, words->type, 0, TAG,
                                    comm, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_RANK, EITHER(Sendrecv, out, 1, words->type, 0, TAG, in, 1, words->type, roots[i], TAG,
                                    comm, MPI_STATUS_IGNORE));
    }
    EXPECT(MPI_ERR_COUNT, EITHER(Bcast, in, -1, words->type, 0, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Allgather, out, -1, words->type, in, -1, words->type, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Send, out, -1, words->type, 0, TAG, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Ssend, out, -1, words->type, 0, TAG, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Recv, in, -1, words->type, 0, TAG, comm, MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_COUNT, EITHER(Sendrecv, out, -1, words->type, 0, TAG, in, 1, words->type, 0, TAG, comm,
                                 MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_TAG, EITHER(Send, out, 1, words->type, 0, -77, comm));
    EXPECT(MPI_ERR_TYPE, EITHER(Bcast, in, 1, MPI_DATATYPE_NULL, 0, comm));
}

/* A message that waits for its receive is still there after a Sendrecv that was refused. */
static void refused_sendrecv(struct team *team) {
    MPI_Request request;
    int flag = 0;

    MPI_Barrier(team->comm); /* none of the calls before may take it either */
    fresh(team, 1);
    fill(team, out, &plain, team->rank, 0, 1);
    fill(team, wanted, &plain, left_of(team), 0, 1);
    MPI_Isend(out, 1, plain.type, right_of(team), TAG, team->comm, &request);
    MPI_Probe(left_of(team), TAG, team->comm, MPI_STATUS_IGNORE);
    EXPECT(MPI_ERR_RANK, EITHER(Sendrecv, out, 1, plain.type, MAX_RANKS, TAG, in, 1, plain.type,
                                left_of(team), TAG, team->comm, MPI_STATUS_IGNORE));
    MPI_Iprobe(left_of(team), TAG, team->comm, &flag, MPI_STATUS_IGNORE);
    CHECK_THAT(flag && in[0] == BLANK, "%s: Sendrecv%s was refused, but has taken a message", team->name,
               is_large ? "_c" : "");
    if (flag) {
        EITHER(Recv, in, 1, plain.type, left_of(team), TAG, team->comm, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(team, "Recv", 1);
}

/* --- windows in between --- */

static void look_put(struct team *team, const char *what, const uint64_t *base, size_t words) {
    memcpy(in, base, words * sizeof *in);
    fill(team, wanted, &plain, left_of(team), 0, (int)words);
    look_at(team, what, words);
}

static void in_turns(struct team *team, enum check_flavor flavor) {
    enum { WORDS = 100, ROUNDS = 10 };
    struct check_window window;
    const int right = right_of(team);
    const uint64_t one = 1;
    uint64_t sum = 0;

    check_window_make(&window, flavor, WORDS * sizeof *in, team->comm);
    for (int i = 0; i < ROUNDS; i++) {
        fresh(team, WORDS);
        fill(team, out, &plain, team->rank, 0, WORDS);
        MPI_Win_fence(0, window.win);
        MPI_Put(out, WORDS, plain.type, right, check_disp(&window, right, 0), WORDS, plain.type, window.win);
        MPI_Win_fence(0, window.win);
        look_put(team, "Put and fence", window.base, WORDS);
        MPI_Allreduce(&one, &sum, 1, plain.type, MPI_SUM, team->comm);
        CHECK_SAME(sum, team->size);

        fresh(team, WORDS);
        fill(team, out, &plain, team->rank, 0, WORDS);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window.win);
        MPI_Put(out, WORDS, plain.type, right, check_disp(&window, right, 0), WORDS, plain.type, window.win);
        MPI_Win_unlock(right, window.win);
        MPI_Barrier(team->comm);
        MPI_Win_lock(MPI_LOCK_SHARED, team->rank, 0, window.win);
        look_put(team, "Put and unlock", window.base, WORDS);
        MPI_Win_unlock(team->rank, window.win);
        MPI_Barrier(team->comm);
        bcast(team, &gaps, 10);
        sendrecv(team, &plain, &gaps, 10, true, true);
    }
    check_window_free(&window);
}

static void windows(struct team *team) {
    in_turns(team, CHECK_ALLOCATE);
    in_turns(team, CHECK_CREATE);
    in_turns(team, CHECK_ADOPTED);
}

/* --- communicators --- */

static void all_of_it(const char *name, MPI_Comm comm, int biggest) {
    struct team team = make_team(name, comm);

    collectives(&team, biggest);
    messages(&team, biggest);
    requests(&team);
    if (team.size > 1) {
        progress(&team);
    }
}

static void halves(void) {
    const int side = check_rank < check_ranks / 2 ? 0 : 1;
    MPI_Comm half;
    MPI_Comm inter;
    MPI_Comm merged;

    MPI_Comm_split(MPI_COMM_WORLD, side, check_rank, &half);
    all_of_it("a half", half, LONG);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : check_ranks / 2, TAG, &inter);
    struct team team = make_team("an intercommunicator", inter);
    for (int variant = 0; variant < VARIANTS; variant++) {
        is_large = variant;
        between(&team, side);
    }
    is_large = false;
    MPI_Intercomm_merge(inter, !side, &merged); /* the other half comes first */
    all_of_it("a merged communicator", merged, LONG);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void everything(struct team *world) {
    MPI_Comm duplicate;

    all_of_it("the world", MPI_COMM_WORLD, BIG);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    all_of_it("a duplicate", duplicate, LONG);
    MPI_Comm_free(&duplicate);
    all_of_it("oneself", MPI_COMM_SELF, LONG);
    if (check_ranks > 1) {
        halves();
    }
    errors(truncated, false);
    errors(truncated, true);
    windows(world);
}

static void wrong(struct team *team, bool counts) {
    (void)counts;
    wrong_arguments(team);
    refused_sendrecv(team);
}

/* --- processes that are started later --- */

/* Every call takes long while more ranks than cores spin on the host alone. */
static void few_of_each(const char *name, MPI_Comm comm) {
    const struct reduction composition = {&gaps, compose_op, true};
    struct team team = make_team(name, comm);

    barrier(&team);
    bcast(&team, &gaps, LONG);
    allgather(&team, &plain, &gaps, LONG, false);
    for (int which = 0; which < REDUCTIONS_TO_ALL; which++) {
        reduce_to_all(&team, &composition, 10, true, (enum reduction_to_all)which);
    }
    sendrecv(&team, &plain, &gaps, LONG, true, true);
    to_the_first(&team, &gaps, 10, true, true);
    many(&team, true);
}

/* Both worlds may have decided differently; what reaches into both has to work all the same. */
static void both_worlds(MPI_Comm inter, int side) {
    struct team apart = make_team("an intercommunicator of two worlds", inter);
    int mine[2];
    int failed = 0;
    MPI_Comm merged;
    MPI_Comm part;

    between(&apart, side);
    MPI_Intercomm_merge(inter, side, &merged);
    few_of_each("two worlds, merged", merged);
    few_of_each("the world", MPI_COMM_WORLD);
    /* Of one world each, but made from both. */
    MPI_Comm_split(merged, side, 0, &part);
    few_of_each("one of two worlds", part);
    MPI_Comm_free(&part);
    /* Nobody looks at the children's exit codes. */
    check_counts(mine);
    MPI_Allreduce(&mine[1], &failed, 1, MPI_INT, MPI_SUM, merged);
    CHECK_SAME(failed, 0);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
}

/* The launcher does not know what `truerma run` has set. */
static void spawn(const char *program) {
    const char *preload = getenv("LD_PRELOAD");
    char setting[4096];
    char child[] = "child";
    char own[4096];
    char *arguments[] = {setting, own, child, NULL};
    char command[] = "env";
    int codes[CHILDREN];
    MPI_Comm inter;

    snprintf(setting, sizeof setting, "LD_PRELOAD=%s", preload ? preload : "");
    snprintf(own, sizeof own, "%s", program);
    MPI_Comm_spawn(command, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    both_worlds(inter, 0);
}

static void make_first_window(void) {
    struct check_window window;

    check_window_make(&window, CHECK_ALLOCATE, 8, MPI_COMM_WORLD);
    check_window_free(&window);
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "everything";
    MPI_Comm parent = MPI_COMM_NULL;

    check_begin(&argc, &argv);
    out = calloc(ROOM, sizeof *out);
    in = calloc(ROOM, sizeof *in);
    wanted = calloc(ROOM, sizeof *wanted);
    plain.type = MPI_UINT64_T;
    MPI_Type_contiguous(2, MPI_UINT64_T, &pairs.type);
    MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &gaps.type);
    MPI_Type_commit(&pairs.type);
    MPI_Type_commit(&gaps.type);
    MPI_Op_create(compose_all, 0, &compose_op);
    few_of_each("the world before any window", MPI_COMM_WORLD);
    make_first_window();
    struct team world = make_team("the world", MPI_COMM_WORLD);
    if (strcmp(part, "child") == 0) {
        MPI_Comm_get_parent(&parent);
        both_worlds(parent, 1);
    } else if (strcmp(part, "spawn") == 0) {
        spawn(argv[0]);
    } else if (strcmp(part, "errors") == 0) {
        errors(wrong, true);
    } else if (strcmp(part, "windows") == 0) {
        windows(&world);
    } else {
        everything(&world);
    }
    MPI_Op_free(&compose_op);
    MPI_Type_free(&pairs.type);
    MPI_Type_free(&gaps.type);
    free(out);
    free(in);
    free(wanted);
    return check_finish();
}
