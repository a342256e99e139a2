/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowded.h"

const uint64_t crowded_blank = UINT64_C(0xeeeeeeeeeeeeeeee);
bool crowded_is_large;
const struct layout crowded_plain = {MPI_UINT64_T, 1, 1, 1};
struct layout crowded_pairs = {MPI_DATATYPE_NULL, 2, 2, 1};
struct layout crowded_gaps = {MPI_DATATYPE_NULL, 2, 3, 2};
const struct reduction crowded_sum = {&crowded_plain, MPI_SUM, false};
MPI_Op crowded_compose;
uint64_t *crowded_out;
uint64_t *crowded_in;
uint64_t *crowded_wanted;

static uint64_t *word(uint64_t *buffer, const struct layout *layout, size_t k) {
    const size_t words = (size_t)layout->words;

    return &buffer[k / words * (size_t)layout->extent + k % words * (size_t)layout->step];
}

/* Maps x -> left[0] * x + left[1], one after the other: associative, not commutative. */
static void compose(const uint64_t left[2], uint64_t right[2]) {
    right[1] = left[0] * right[1] + left[1];
    right[0] = left[0] * right[0];
}

static void compose_all(void *left, void *right, int *count, MPI_Datatype *type) {
    const struct layout *layout = *type == crowded_gaps.type ? &crowded_gaps : &crowded_pairs;

    for (size_t k = 0; k < 2 * (size_t)*count; k += 2) {
        const uint64_t first[2] = {*word(left, layout, k), *word(left, layout, k + 1)};
        uint64_t second[2] = {*word(right, layout, k), *word(right, layout, k + 1)};
        compose(first, second);
        *word(right, layout, k) = second[0];
        *word(right, layout, k + 1) = second[1];
    }
}

void crowded_begin(void) {
    crowded_out = calloc(ROOM, sizeof *crowded_out);
    crowded_in = calloc(ROOM, sizeof *crowded_in);
    crowded_wanted = calloc(ROOM, sizeof *crowded_wanted);
    MPI_Type_contiguous(2, MPI_UINT64_T, &crowded_pairs.type);
    MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &crowded_gaps.type);
    MPI_Type_commit(&crowded_pairs.type);
    MPI_Type_commit(&crowded_gaps.type);
    MPI_Op_create(compose_all, 0, &crowded_compose);
}

void crowded_end(void) {
    MPI_Op_free(&crowded_compose);
    MPI_Type_free(&crowded_pairs.type);
    MPI_Type_free(&crowded_gaps.type);
    free(crowded_out);
    free(crowded_in);
    free(crowded_wanted);
}

bool crowded_use_variant(int variant) {
    const bool exists = variant < VARIANTS;

    crowded_is_large = exists && variant > 0;
    return exists;
}

struct team crowded_make_team(const char *name, MPI_Comm comm) {
    struct team team = {.name = name, .comm = comm};

    MPI_Comm_rank(comm, &team.rank);
    MPI_Comm_size(comm, &team.size);
    return team;
}

int crowded_right(const struct team *team) {
    return (team->rank + 1) % team->size;
}

int crowded_left(const struct team *team) {
    return (team->rank + team->size - 1) % team->size;
}

uint64_t crowded_datum(const struct team *team, int member, size_t k) {
    return check_pattern(team->round, (uint64_t)member, k);
}

size_t crowded_span(const struct layout *layout, int words) {
    return (size_t)(words / layout->words * layout->extent);
}

void crowded_fill(const struct team *team, uint64_t *buffer, const struct layout *layout, int member,
                  size_t first, int words) {
    for (size_t k = 0; k < (size_t)words; k++) {
        *word(buffer, layout, k) = crowded_datum(team, member, first + k);
    }
}

void crowded_fresh(struct team *team, size_t words) {
    team->round++;
    for (size_t i = 0; i < words + MARGIN; i++) {
        crowded_in[i] = crowded_wanted[i] = crowded_blank;
    }
}

void crowded_fresh_message(struct team *team, int member, int source, int words) {
    crowded_fresh(team, (size_t)words);
    crowded_fill(team, crowded_out, &crowded_plain, member, 0, words);
    crowded_fill(team, crowded_wanted, &crowded_plain, source, 0, words);
}

void crowded_look_at(const struct team *team, const char *what, size_t words) {
    size_t wrong = 0;

    while (wrong < words && crowded_in[wrong] == crowded_wanted[wrong]) {
        wrong++;
    }
    CHECK_THAT(wrong == words, "%s%s on %s, member %d, round %llu: word %zu of %zu is wrong", what,
               crowded_is_large ? "_c" : "", team->name, team->rank, (unsigned long long)team->round, wrong,
               words);
}

void crowded_look(const struct team *team, const char *what, size_t words) {
    crowded_look_at(team, what, words + MARGIN);
}

void crowded_reduced(const struct team *team, uint64_t *result, const struct reduction *how, int last,
                     size_t first, int words) {
    const struct layout *layout = how->layout;

    for (size_t k = first; k < first + (size_t)words; k += (size_t)layout->words) {
        uint64_t sum[2] = {crowded_datum(team, last, k), crowded_datum(team, last, k + 1)};
        for (int member = last - 1; member >= 0; member--) {
            const uint64_t theirs[2] = {crowded_datum(team, member, k), crowded_datum(team, member, k + 1)};
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
