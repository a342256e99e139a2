/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of operation as the first of an epoch in which the target takes part, and as the second: these
 * go different ways. By fence and by post, start, complete, wait; the target changes its memory before each
 * epoch, and looks at all of it afterwards. */
#include "check.h"

enum { WORDS = 2048, EPOCHS_OF_WORDS = 150 };

enum kind { PUT, GET, SUM, REPLACE, FETCH_SUM, FETCH_AND_SUM, SWAP, SWAP_IN_VAIN, KINDS };

/* One operation of `count` words, from the word `first` of the target on. */
struct operation {
    enum kind kind;
    int first;
    int count;
};

static MPI_Group left;
static MPI_Group right;
static uint64_t sent[2][WORDS];
static uint64_t result[2][WORDS];
static uint64_t compared[2];
static uint64_t epoch;

/* What `rank` has in its window when the epoch begins, and what it sends. */
static uint64_t held(int rank, int word) {
    return check_pattern(epoch, (uint64_t)rank, (uint64_t)word);
}

static uint64_t given(int rank, int word) {
    return check_pattern(epoch, (uint64_t)rank + 1000, (uint64_t)word);
}

static bool is_of_one(enum kind kind) {
    return kind == FETCH_AND_SUM || kind == SWAP || kind == SWAP_IN_VAIN;
}

static void issue(struct check_window *window, const struct operation *operation, int slot) {
    const int target = check_neighbour(1);
    const MPI_Aint disp = check_disp(window, target, 8 * (size_t)operation->first);
    const int n = operation->count;
    MPI_Win win = window->win;

    for (int i = 0; i < n; i++) {
        sent[slot][i] = given(check_rank, operation->first + i);
        result[slot][i] = 0;
    }
    switch (operation->kind) {
    case PUT:
        MPI_Put(sent[slot], n, MPI_UINT64_T, target, disp, n, MPI_UINT64_T, win);
        break;
    case GET:
        MPI_Get(result[slot], n, MPI_UINT64_T, target, disp, n, MPI_UINT64_T, win);
        break;
    case SUM:
        MPI_Accumulate(sent[slot], n, MPI_UINT64_T, target, disp, n, MPI_UINT64_T, MPI_SUM, win);
        break;
    case REPLACE:
        MPI_Accumulate(sent[slot], n, MPI_UINT64_T, target, disp, n, MPI_UINT64_T, MPI_REPLACE, win);
        break;
    case FETCH_SUM:
        MPI_Get_accumulate(sent[slot], n, MPI_UINT64_T, result[slot], n, MPI_UINT64_T, target, disp, n,
                           MPI_UINT64_T, MPI_SUM, win);
        break;
    case FETCH_AND_SUM:
        MPI_Fetch_and_op(sent[slot], result[slot], MPI_UINT64_T, target, disp, MPI_SUM, win);
        break;
    case SWAP:
    case SWAP_IN_VAIN:
        compared[slot] = held(target, operation->first) + (operation->kind == SWAP_IN_VAIN);
        MPI_Compare_and_swap(sent[slot], &compared[slot], result[slot], MPI_UINT64_T, target, disp, win);
        break;
    case KINDS:
        break;
    }
}

/* What comes back to the origin: the target's words as they were, or nothing. */
static void check_result(const struct operation *operation, int slot) {
    const bool fetches = operation->kind == GET || operation->kind >= FETCH_SUM;
    int wrong = 0;

    for (int i = 0; i < operation->count; i++) {
        wrong += result[slot][i] != (fetches ? held(check_neighbour(1), operation->first + i) : 0);
    }
    CHECK_THAT(wrong == 0, "kind %d, %d words: %d wrong at the origin", operation->kind, operation->count,
               wrong);
}

/* What the left neighbour's operation makes of a word of this rank's. */
static uint64_t changed(enum kind kind, int word) {
    const uint64_t mine = held(check_rank, word);
    const uint64_t its = given(check_neighbour(-1), word);

    switch (kind) {
    case PUT:
    case REPLACE:
    case SWAP:
        return its;
    case SUM:
    case FETCH_SUM:
    case FETCH_AND_SUM:
        return mine + its;
    default:
        return mine;
    }
}

static void check_target(const uint64_t *words, const struct operation *operations, int n) {
    int wrong = 0;

    for (int word = 0; word < 2 * WORDS; word++) {
        uint64_t expected = held(check_rank, word);
        for (int i = 0; i < n; i++) {
            if (word >= operations[i].first && word < operations[i].first + operations[i].count) {
                expected = changed(operations[i].kind, word);
            }
        }
        wrong += words[word] != expected;
    }
    CHECK_THAT(wrong == 0, "kind %d, %d words: %d wrong at the target", operations[0].kind,
               operations[0].count, wrong);
}

static void in_one_epoch(struct check_window *window, bool by_fence, const struct operation *operations,
                         int n) {
    uint64_t *words = window->base;

    epoch++;
    for (int word = 0; word < 2 * WORDS; word++) {
        words[word] = held(check_rank, word);
    }
    if (by_fence) {
        MPI_Win_fence(0, window->win);
    } else {
        MPI_Win_post(left, 0, window->win);
        MPI_Win_start(right, 0, window->win);
    }
    for (int i = 0; i < n; i++) {
        issue(window, &operations[i], i);
    }
    if (by_fence) {
        MPI_Win_fence(0, window->win);
    } else {
        MPI_Win_complete(window->win);
        MPI_Win_wait(window->win);
    }
    for (int i = 0; i < n; i++) {
        check_result(&operations[i], i);
    }
    check_target(words, operations, n);
    if (by_fence) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
    }
}

/* Alone in its epoch, then after each other kind. */
static void each_kind(struct check_window *window) {
    static const int counts[] = {1, 2, 7, 8, 9, 64, 512, 1023, 1024, 1025, WORDS};

    for (int by_fence = 0; by_fence < 2; by_fence++) {
        for (enum kind kind = PUT; kind < KINDS; kind++) {
            for (size_t i = 0; i < (is_of_one(kind) ? 1 : sizeof counts / sizeof counts[0]); i++) {
                /* At both ends of its half, so that it begins and ends in the midst of lines. */
                const struct operation low = {kind, 3, counts[i] < WORDS - 3 ? counts[i] : WORDS - 3};
                const struct operation high = {kind, WORDS - counts[i], counts[i]};
                in_one_epoch(window, by_fence, &low, 1);
                in_one_epoch(window, by_fence, &high, 1);
            }
            for (enum kind before = PUT; before < KINDS; before++) {
                const struct operation pair[] = {{before, 5, is_of_one(before) ? 1 : 100},
                                                 {kind, WORDS + 5, is_of_one(kind) ? 1 : 100}};
                in_one_epoch(window, by_fence, pair, 2);
            }
        }
    }
}

/* So many updates of single words that TrueRMA goes over to atomic instructions. */
static void many_words(struct check_window *window) {
    for (int i = 0; i < EPOCHS_OF_WORDS; i++) {
        const struct operation operations[] = {{FETCH_AND_SUM, i % 50, 1}, {SWAP, 50 + i % 50, 1}};
        const struct operation sum = {i % 10 ? SUM : FETCH_SUM, i, 1};
        in_one_epoch(window, i % 2, operations, 2);
        in_one_epoch(window, i % 2, &sum, 1);
    }
    each_kind(window);
}

int main(int argc, char **argv) {
    MPI_Group world;
    int neighbours[2];

    check_begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    neighbours[0] = check_neighbour(-1);
    neighbours[1] = check_neighbour(1);
    MPI_Group_incl(world, 1, &neighbours[0], &left);
    MPI_Group_incl(world, 1, &neighbours[1], &right);
    check_each_flavor(2 * WORDS * sizeof(uint64_t), each_kind);
    check_one_flavor(CHECK_ALLOCATE, 2 * WORDS * sizeof(uint64_t), many_words);
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    MPI_Group_free(&world);
    return check_finish();
}
