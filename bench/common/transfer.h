/* SPDX-License-Identifier: BSD-3-Clause */
/* One checked RMA operation between two ranks, to be repeated under any synchronisation.
 *
 * Every put carries its number in its first and last word, every get's result is spoiled beforehand, sums and
 * counters are followed exactly; so an operation that was lost, late or torn is found. Windows have
 * displacement unit 1, the operation works on the target's first `size` bytes. Not collective unless it says
 * so. */
#ifndef TRUERMA_BENCH_TRANSFER_H
#define TRUERMA_BENCH_TRANSFER_H

#include <string.h>

#include "bench.h"

#define TRANSFER_OPS "put,get,accumulate,fetch_and_op,compare_and_swap"

enum transfer_kind {
    TRANSFER_PUT,
    TRANSFER_GET,
    TRANSFER_ACCUMULATE,
    TRANSFER_FETCH_AND_OP,
    TRANSFER_COMPARE_AND_SWAP
};

struct transfer {
    enum transfer_kind kind;
    size_t size;
    struct bench_window *window;
    int rank, peer;
    uint64_t *buffer; /* what is sent, or where a get's bytes go; the caller's */
    uint64_t *memory; /* not NULL: mapped here, and copied to or from instead, without MPI */
    uint64_t first;   /* what a get must bring in its first and last words */
    uint64_t last;
    uint64_t result;   /* what an atomic operation brought back */
    uint64_t compare;  /* what a compare_and_swap expects */
    uint64_t issued;   /* operations that this rank has issued */
    uint64_t received; /* operations that this rank has seen arrive, where the synchronisation tells */
    bool reads;        /* the target reads all that a put brought, a word of each cache line */
    bool makes;        /* and it can tell that all is new: a put carries its number in each of these words */
    long wrong;        /* words found wrong so far */
};

/* Whether the operation always moves 8 bytes. */
bool transfer_is_atomic_word(const char *op);

/* Prepares operation `op` between the world's ranks 0 and 1, on a fresh window. `buffer`, of `size` bytes,
 * may serve several transfers of the same operation that take turns, a transfer_check after each turn.
 * Collective over both. */
void transfer_begin(struct transfer *transfer, const char *op, size_t size, struct bench_window *window,
                    uint64_t *buffer, int rank);

/* Makes it a copy or a sum without MPI (put, get and accumulate), to or from `memory`, which holds by now
 * what gets will bring: the limit of transfers, with all that they have besides MPI's calls. */
void transfer_copy(struct transfer *transfer, uint64_t *memory);

/* Writes what the next put, of a transfer that makes all that it puts, is to bring. */
void transfer_make(struct transfer *transfer);

/* Issues the next operation towards the peer. */
void transfer_issue(struct transfer *transfer);

/* Looks at the result of the last operation, which the synchronisation has completed. */
void transfer_done(struct transfer *transfer);

/* Looks at what the peer's next operation left in this rank's window, which the synchronisation has
 * announced. */
void transfer_arrived(struct transfer *transfer);

/* Compares everything that was moved so far with what must be there. Returns the number of wrong words since
 * the last call. `lock`: the window's memory is read under a lock on this rank, as passive-target
 * synchronisation needs. Collective over both ranks. */
long transfer_check(struct transfer *transfer, bool lock);

/* A task's run and check of such a copy (transfer_copy), on rank 0 alone; `context`: the transfer. The limit
 * of large transfers, with all that they have besides MPI's calls. */
void transfer_run_copy(void *context, long iterations);
long transfer_check_copy(void *context);

/*
 * Issue and done of a transfer whose kind is a constant, for loops of which there is one for each kind.
 * Measured (AMD EPYC, Zen 3, bench-latency): to find the right branch twice takes some 2 of the 17 ns of a
 * put of 8 bytes under a lock.
 */

static inline size_t transfer_words(const struct transfer *transfer) {
    return transfer->size / sizeof(uint64_t);
}

/* In the place of MPI_Put and MPI_Get. */
static inline void transfer_copy_bytes(const struct transfer *transfer, void *to, const void *from) {
    memmove(to, from, transfer->size);
    __asm__ volatile("" ::: "memory"); /* every copy is made */
}

/* In the place of MPI_Accumulate. */
static inline void transfer_add_words(const struct transfer *transfer, uint64_t *restrict to,
                                      const uint64_t *restrict from) {
    for (size_t i = 0; i < transfer_words(transfer); i++)
        to[i] += from[i];
    __asm__ volatile("" ::: "memory"); /* every sum is made */
}

static inline __attribute__((always_inline)) void transfer_issue_as(struct transfer *transfer,
                                                                    enum transfer_kind kind) {
    uint64_t *buffer = transfer->buffer;
    size_t last = transfer_words(transfer) - 1;
    int bytes = (int)transfer->size, peer = transfer->peer;
    MPI_Win win = transfer->window->win;
    switch (kind) {
    case TRANSFER_PUT:
        buffer[0] = transfer->issued + 1;
        buffer[last] = transfer->issued + 1;
        if (transfer->memory)
            transfer_copy_bytes(transfer, transfer->memory, buffer);
        else
            MPI_Put(buffer, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, win);
        break;
    case TRANSFER_GET:
        buffer[0] = 0;
        buffer[last] = 0;
        if (transfer->memory)
            transfer_copy_bytes(transfer, buffer, transfer->memory);
        else
            MPI_Get(buffer, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, win);
        break;
    case TRANSFER_ACCUMULATE:
        if (transfer->memory)
            transfer_add_words(transfer, transfer->memory, buffer);
        else
            MPI_Accumulate(buffer, (int)last + 1, MPI_UINT64_T, peer, 0, (int)last + 1, MPI_UINT64_T, MPI_SUM,
                           win);
        break;
    case TRANSFER_FETCH_AND_OP:
        buffer[0] = 1;
        transfer->result = ~transfer->issued;
        MPI_Fetch_and_op(buffer, &transfer->result, MPI_UINT64_T, peer, 0, MPI_SUM, win);
        break;
    case TRANSFER_COMPARE_AND_SWAP:
        buffer[0] = transfer->issued + 1;
        transfer->compare = transfer->issued;
        transfer->result = ~transfer->issued;
        MPI_Compare_and_swap(buffer, &transfer->compare, &transfer->result, MPI_UINT64_T, peer, 0, win);
        break;
    }
    transfer->issued++;
}

static inline __attribute__((always_inline)) void transfer_done_as(struct transfer *transfer,
                                                                   enum transfer_kind kind) {
    size_t last = transfer_words(transfer) - 1;
    switch (kind) {
    case TRANSFER_PUT:
    case TRANSFER_ACCUMULATE:
        break; /* only the target can see them */
    case TRANSFER_GET:
        transfer->wrong += transfer->buffer[0] != transfer->first;
        transfer->wrong += transfer->buffer[last] != transfer->last;
        break;
    case TRANSFER_FETCH_AND_OP:
    case TRANSFER_COMPARE_AND_SWAP:
        transfer->wrong += transfer->result != transfer->issued - 1;
        break;
    }
}

#endif
