/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer.h"

#include <string.h>

static const char *const names[] = {[TRANSFER_PUT] = "put",
                                    [TRANSFER_GET] = "get",
                                    [TRANSFER_ACCUMULATE] = "accumulate",
                                    [TRANSFER_FETCH_AND_OP] = "fetch_and_op",
                                    [TRANSFER_COMPARE_AND_SWAP] = "compare_and_swap"};

static enum transfer_kind kind_of(const char *op) {
    enum transfer_kind kind = TRANSFER_PUT;
    while (strcmp(names[kind], op) != 0)
        kind++;
    return kind;
}

bool transfer_is_atomic_word(const char *op) {
    return kind_of(op) >= TRANSFER_FETCH_AND_OP;
}

/* The pattern that `rank` sends, or offers to be got. */
static uint64_t seed_of(int rank) {
    return (uint64_t)rank + 17;
}

void transfer_begin(struct transfer *transfer, const char *op, size_t size, struct bench_window *window,
                    uint64_t *buffer, int rank) {
    *transfer = (struct transfer){.kind = kind_of(op),
                                  .size = size,
                                  .window = window,
                                  .rank = rank,
                                  .peer = 1 - rank,
                                  .buffer = buffer};
    transfer->first = bench_word(seed_of(transfer->peer), 0);
    transfer->last = bench_word(seed_of(transfer->peer), transfer_words(transfer) - 1);
    bench_fill(buffer, size, seed_of(rank));
    if (transfer->kind == TRANSFER_GET)
        bench_fill(window->base, size, seed_of(rank));
    MPI_Barrier(MPI_COMM_WORLD);
}

void transfer_copy(struct transfer *transfer, uint64_t *memory) {
    transfer->memory = memory;
    transfer->first = memory[0];
    transfer->last = memory[transfer_words(transfer) - 1];
}

void transfer_issue(struct transfer *transfer) {
    transfer_issue_as(transfer, transfer->kind);
}

void transfer_done(struct transfer *transfer) {
    transfer_done_as(transfer, transfer->kind);
}

enum { WORDS_OF_LINE = 8 };

void transfer_make(struct transfer *transfer) {
    for (size_t i = 0; i < transfer_words(transfer); i += WORDS_OF_LINE)
        transfer->buffer[i] = transfer->issued + 1;
}

/* So that they lie in this rank's caches. Gives their sum. */
static uint64_t read_all(const volatile uint64_t *window, size_t words) {
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i += WORDS_OF_LINE)
        sum += window[i];
    __asm__ volatile("" : : "r"(sum));
    return sum;
}

/* Whether it is one of those by which a put tells its number. */
static bool is_number(const struct transfer *transfer, size_t word) {
    return word == 0 || word == transfer_words(transfer) - 1 ||
           (transfer->makes && word % WORDS_OF_LINE == 0);
}

/* What a put that makes all must have brought, by read_all. */
static uint64_t sum_of_made(const struct transfer *transfer, uint64_t number) {
    return number * ((transfer_words(transfer) + WORDS_OF_LINE - 1) / WORDS_OF_LINE);
}

void transfer_arrived(struct transfer *transfer) {
    const volatile uint64_t *window = (const uint64_t *)transfer->window->base;
    uint64_t number = ++transfer->received;
    size_t last = transfer_words(transfer) - 1;
    switch (transfer->kind) {
    case TRANSFER_GET:
        break; /* leaves no trace at the target */
    case TRANSFER_ACCUMULATE:
        transfer->wrong += window[last] != number * bench_word(seed_of(transfer->peer), last);
        break;
    case TRANSFER_PUT:
        transfer->wrong += window[last] != number;
        transfer->wrong += window[0] != number;
        if (transfer->reads) {
            const uint64_t sum = read_all(window, last + 1);
            transfer->wrong += transfer->makes && sum != sum_of_made(transfer, number);
        }
        break;
    case TRANSFER_FETCH_AND_OP:
    case TRANSFER_COMPARE_AND_SWAP:
        transfer->wrong += window[0] != number;
        break;
    }
}

/* The wrong words in this rank's window after the peer's `arrived` operations. */
static long window_wrong(const struct transfer *transfer, uint64_t arrived) {
    const uint64_t *window = (const uint64_t *)transfer->window->base;
    size_t words = transfer_words(transfer);
    long wrong = 0;
    switch (transfer->kind) {
    case TRANSFER_GET:
        return bench_wrong(window, transfer->size, seed_of(transfer->rank), 0);
    case TRANSFER_PUT:
        if (arrived == 0)
            return 0;
        for (size_t i = 0; i < words; i++)
            wrong += window[i] != (is_number(transfer, i) ? arrived : bench_word(seed_of(transfer->peer), i));
        return wrong;
    case TRANSFER_ACCUMULATE:
        for (size_t i = 0; i < words; i++)
            wrong += window[i] != arrived * bench_word(seed_of(transfer->peer), i);
        return wrong;
    case TRANSFER_FETCH_AND_OP:
    case TRANSFER_COMPARE_AND_SWAP:
        return window[0] != arrived;
    }
    return wrong;
}

long transfer_check(struct transfer *transfer, bool lock) {
    uint64_t arrived = 0;
    MPI_Sendrecv(&transfer->issued, 1, MPI_UINT64_T, transfer->peer, 0, &arrived, 1, MPI_UINT64_T,
                 transfer->peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (lock)
        MPI_Win_lock(MPI_LOCK_SHARED, transfer->rank, 0, transfer->window->win);
    transfer->wrong += window_wrong(transfer, arrived);
    if (lock)
        MPI_Win_unlock(transfer->rank, transfer->window->win);
    if (transfer->kind == TRANSFER_GET && transfer->issued > 0)
        transfer->wrong += bench_wrong(transfer->buffer, transfer->size, seed_of(transfer->peer), 0);
    MPI_Barrier(MPI_COMM_WORLD); /* both have looked before either goes on */
    long wrong = transfer->wrong;
    transfer->wrong = 0;
    return wrong;
}

void transfer_run_copy(void *context, long iterations) {
    struct transfer *transfer = context;
    if (transfer->rank != 0)
        return;
    for (long i = 0; i < iterations; i++) {
        transfer_issue(transfer);
        transfer_done(transfer);
    }
}

long transfer_check_copy(void *context) {
    const struct transfer *transfer = context;
    if (transfer->rank != 0)
        return transfer->wrong;
    /* Sums began with zeros. */
    const uint64_t times = transfer->kind == TRANSFER_ACCUMULATE ? transfer->issued : 1;
    long wrong = transfer->wrong;
    for (size_t i = 0; i < transfer_words(transfer); i++)
        wrong += transfer->memory[i] != times * transfer->buffer[i];
    return wrong;
}
