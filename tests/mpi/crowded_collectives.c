/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowded.h"

#include <time.h>

/* Words for each member, where `total` is large. */
static int share(const struct team *team, int total) {
    return total <= BIG / MAX_RANKS ? total : total / team->size & ~1;
}

/* Where the blocks of the members lie: one behind the other and alike, or backwards, with holes, some of them
 * empty. */
struct spread {
    const struct layout *layout;
    int words[MAX_RANKS];
    int counts[MAX_RANKS];
    int places[MAX_RANKS];
    MPI_Count large_counts[MAX_RANKS];
    MPI_Aint large_places[MAX_RANKS];
    int members;
    size_t room; /* words that all of them span */
};

/* Blocks that vary are as long for member r and `other` as the other way round: alltoallv with MPI_IN_PLACE
 * needs that. */
static void spread_out(struct spread *spread, const struct team *team, const struct layout *layout, int words,
                       int other, bool varies) {
    int place = 0;

    spread->layout = layout;
    spread->members = team->size;
    for (int i = 0; i < spread->members; i++) {
        const int r = varies ? spread->members - 1 - i : i;
        spread->words[r] = varies ? words * ((int)((unsigned)(r + other) + team->round) % 3) : words;
        spread->counts[r] = spread->words[r] / layout->words;
        spread->large_counts[r] = spread->counts[r];
        spread->large_places[r] = spread->places[r] = place;
        place += spread->counts[r] + varies;
    }
    spread->room = (size_t)(place * layout->extent);
}

static void *counts(struct spread *spread) {
    return crowded_is_large ? (void *)spread->large_counts : spread->counts;
}

static void *places(struct spread *spread) {
    return crowded_is_large ? (void *)spread->large_places : spread->places;
}

/* A member's data from the word `first` on, in the block of `owner`. */
static void fill_block(const struct team *team, uint64_t *buffer, const struct spread *spread, int owner,
                       int member, size_t first) {
    uint64_t *block = buffer + (size_t)(spread->places[owner] * spread->layout->extent);

    crowded_fill(team, block, spread->layout, member, first, spread->words[owner]);
}

/* Each member's data in its own block. */
static void fill_blocks(const struct team *team, uint64_t *buffer, const struct spread *spread) {
    for (int r = 0; r < spread->members; r++) {
        fill_block(team, buffer, spread, r, r, 0);
    }
}

void crowded_bcast(struct team *team, const struct layout *layout, int words) {
    const size_t room = crowded_span(layout, words);

    for (int root = 0; root < team->size; root++) {
        const bool is_root = team->rank == root;
        crowded_fresh(team, room);
        crowded_fill(team, crowded_wanted, layout, root, 0, words);
        if (is_root) {
            memcpy(crowded_in, crowded_wanted, room * sizeof *crowded_in);
        }
        EITHER(Bcast, crowded_in, words / layout->words, layout->type, root, team->comm);
        crowded_look(team, "Bcast", room);
    }
}

/* In what follows `varies` takes the call whose blocks differ in length. */

static void gather(struct team *team, const struct layout *from, const struct layout *to, int total,
                   bool in_place, bool varies) {
    const int words = share(team, total);
    struct spread spread;

    for (int root = 0; root < team->size; root++) {
        const bool is_root = team->rank == root;
        const void *sent = is_root && in_place ? MPI_IN_PLACE : crowded_out;
        spread_out(&spread, team, to, words, 0, varies);
        const int mine = spread.words[team->rank];
        crowded_fresh(team, spread.room);
        crowded_fill(team, crowded_out, from, team->rank, 0, mine);
        if (is_root) {
            fill_blocks(team, crowded_wanted, &spread);
        }
        if (is_root && in_place) {
            fill_block(team, crowded_in, &spread, root, root, 0);
        }
        if (varies) {
            EITHER(Gatherv, sent, mine / from->words, from->type, crowded_in, counts(&spread),
                   places(&spread), to->type, root, team->comm);
        } else {
            EITHER(Gather, sent, words / from->words, from->type, crowded_in, words / to->words, to->type,
                   root, team->comm);
        }
        crowded_look(team, varies ? "Gatherv" : "Gather", spread.room);
    }
}

static void scatter(struct team *team, const struct layout *from, const struct layout *to, int total,
                    bool in_place, bool varies) {
    const int words = share(team, total);
    struct spread spread;

    for (int root = 0; root < team->size; root++) {
        const bool keeps = team->rank == root && in_place;
        void *received = keeps ? MPI_IN_PLACE : crowded_in;
        spread_out(&spread, team, from, words, 0, varies);
        const int mine = spread.words[team->rank];
        const size_t room = crowded_span(to, mine);
        crowded_fresh(team, room);
        fill_blocks(team, crowded_out, &spread);
        if (!keeps) {
            crowded_fill(team, crowded_wanted, to, team->rank, 0, mine);
        }
        if (varies) {
            EITHER(Scatterv, crowded_out, counts(&spread), places(&spread), from->type, received,
                   mine / to->words, to->type, root, team->comm);
        } else {
            EITHER(Scatter, crowded_out, words / from->words, from->type, received, words / to->words,
                   to->type, root, team->comm);
        }
        crowded_look(team, varies ? "Scatterv" : "Scatter", room);
    }
}

static void allgather(struct team *team, const struct layout *from, const struct layout *to, int total,
                      bool in_place, bool varies) {
    const void *sent = in_place ? MPI_IN_PLACE : crowded_out;
    const int words = share(team, total);
    struct spread spread;

    spread_out(&spread, team, to, words, 0, varies);
    const int mine = spread.words[team->rank];
    crowded_fresh(team, spread.room);
    crowded_fill(team, crowded_out, from, team->rank, 0, mine);
    fill_blocks(team, crowded_wanted, &spread);
    if (in_place) {
        fill_block(team, crowded_in, &spread, team->rank, team->rank, 0);
    }
    if (varies) {
        EITHER(Allgatherv, sent, mine / from->words, from->type, crowded_in, counts(&spread), places(&spread),
               to->type, team->comm);
    } else {
        EITHER(Allgather, sent, words / from->words, from->type, crowded_in, words / to->words, to->type,
               team->comm);
    }
    crowded_look(team, varies ? "Allgatherv" : "Allgather", spread.room);
}

static void alltoall(struct team *team, const struct layout *from, const struct layout *to, int total,
                     bool in_place, bool varies) {
    const void *source = in_place ? MPI_IN_PLACE : crowded_out;
    const int words = share(team, total);
    struct spread sent;
    struct spread received;

    spread_out(&sent, team, from, words, team->rank, varies);
    spread_out(&received, team, to, words, team->rank, varies);
    crowded_fresh(team, received.room);
    for (int r = 0; r < team->size; r++) {
        fill_block(team, crowded_out, &sent, r, team->rank, (size_t)r * BIG);
        fill_block(team, crowded_wanted, &received, r, r, (size_t)team->rank * BIG);
        if (in_place) {
            fill_block(team, crowded_in, &received, r, team->rank, (size_t)r * BIG);
        }
    }
    if (varies) {
        EITHER(Alltoallv, source, counts(&sent), places(&sent), from->type, crowded_in, counts(&received),
               places(&received), to->type, team->comm);
    } else {
        EITHER(Alltoall, source, words / from->words, from->type, crowded_in, words / to->words, to->type,
               team->comm);
    }
    crowded_look(team, varies ? "Alltoallv" : "Alltoall", received.room);
}

static void reduce(struct team *team, const struct reduction *how, int words, bool in_place) {
    const struct layout *layout = how->layout;
    const size_t room = crowded_span(layout, words);

    for (int root = 0; root < team->size; root++) {
        const bool is_root = team->rank == root;
        /* MPICH 4.0 alone takes MPI_IN_PLACE for an address in long ones to another root than the first. */
        const bool keeps = is_root && in_place && (root == 0 || words < LONG);
        crowded_fresh(team, room);
        crowded_fill(team, keeps ? crowded_in : crowded_out, layout, team->rank, 0, words);
        if (is_root) {
            crowded_reduced(team, crowded_wanted, how, team->size - 1, 0, words);
        }
        EITHER(Reduce, keeps ? MPI_IN_PLACE : crowded_out, crowded_in, words / layout->words, layout->type,
               how->op, root, team->comm);
        crowded_look(team, "Reduce", room);
    }
}

/* Allreduce, Scan and Exscan. */
static void reduce_to_all(struct team *team, const struct reduction *how, int words, bool in_place) {
    enum { ALLREDUCE, SCAN, EXSCAN, REDUCTIONS };
    static const char *const names[] = {"Allreduce", "Scan", "Exscan"};
    const struct layout *layout = how->layout;
    const size_t room = crowded_span(layout, words);
    const int items = words / layout->words;
    const void *from = in_place ? MPI_IN_PLACE : crowded_out;

    for (int which = 0; which < REDUCTIONS; which++) {
        const int last = which == ALLREDUCE ? team->size - 1 : team->rank - (which == EXSCAN);
        crowded_fresh(team, room);
        crowded_fill(team, in_place ? crowded_in : crowded_out, layout, team->rank, 0, words);
        if (which == ALLREDUCE) {
            EITHER(Allreduce, from, crowded_in, items, layout->type, how->op, team->comm);
        } else if (which == SCAN) {
            EITHER(Scan, from, crowded_in, items, layout->type, how->op, team->comm);
        } else {
            EITHER(Exscan, from, crowded_in, items, layout->type, how->op, team->comm);
        }
        if (last >= 0) { /* else the first member's buffer is undefined */
            crowded_reduced(team, crowded_wanted, how, last, 0, words);
            crowded_look(team, names[which], room);
        }
    }
}

static void reduce_scatter(struct team *team, const struct reduction *how, int total, bool in_place,
                           bool varies) {
    const struct layout *layout = how->layout;
    const void *from = in_place ? MPI_IN_PLACE : crowded_out;
    const int words = share(team, total);
    struct spread spread;
    int first = 0;
    int all = 0;

    spread_out(&spread, team, layout, words, 0, varies);
    for (int r = 0; r < team->size; r++) {
        first += r < team->rank ? spread.words[r] : 0;
        all += spread.words[r];
    }
    const int mine = spread.words[team->rank];
    crowded_fresh(team, crowded_span(layout, all));
    crowded_fill(team, in_place ? crowded_in : crowded_out, layout, team->rank, 0, all);
    crowded_reduced(team, crowded_wanted, how, team->size - 1, (size_t)first, mine);
    if (varies) {
        EITHER(Reduce_scatter, from, crowded_in, counts(&spread), layout->type, how->op, team->comm);
    } else {
        EITHER(Reduce_scatter_block, from, crowded_in, words / layout->words, layout->type, how->op,
               team->comm);
    }
    crowded_look_at(team, varies ? "Reduce_scatter" : "Reduce_scatter_block",
                    crowded_span(layout, mine) + (in_place ? 0 : MARGIN));
}

void crowded_collectives_of_size(struct team *team, int words) {
    const struct layout *layouts[] = {&crowded_plain, &crowded_gaps};
    const struct reduction reductions[] = {
        crowded_sum, {&crowded_pairs, crowded_compose, true}, {&crowded_gaps, crowded_compose, true}};

    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            const struct layout *sent = layouts[from];
            const struct layout *received = layouts[to];
            const bool in_place = from != to;
            if (words % sent->words != 0 || words % received->words != 0) {
                continue; /* one word, which has no gaps */
            }
            for (int varies = 0; varies < 2; varies++) {
                gather(team, sent, received, words, in_place, varies);
                scatter(team, sent, received, words, in_place, varies);
                allgather(team, sent, received, words, in_place, varies);
                alltoall(team, sent, received, words, in_place, varies);
            }
            if (from == to) {
                crowded_bcast(team, sent, words);
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
            reduce_to_all(team, how, words, in_place);
            /* In place MPICH alone copies long ones onto themselves, which it forbids itself. */
            reduce_scatter(team, how, words, in_place && words < LONG, true);
            reduce_scatter(team, how, words, in_place && words < LONG, false);
        }
    }
}

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time); /* one clock for all ranks of a node */
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void crowded_barrier(struct team *team) {
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

void crowded_collectives(struct team *team, int biggest) {
    static const int sizes[] = {0, 1, 2, 10, LONG, BIG};

    for (int variant = 0; crowded_use_variant(variant); variant++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (sizes[i] <= (crowded_is_large ? LONG : biggest)) {
                crowded_collectives_of_size(team, sizes[i]);
            }
        }
    }
    crowded_barrier(team);
}

void crowded_few_collectives(struct team *team) {
    const struct reduction composition = {&crowded_gaps, crowded_compose, true};

    crowded_barrier(team);
    crowded_bcast(team, &crowded_gaps, LONG);
    allgather(team, &crowded_plain, &crowded_gaps, LONG, false, false);
    reduce_to_all(team, &composition, 10, true);
}
