/* SPDX-License-Identifier: BSD-3-Clause */
/* The two pinned processes of the limit program, what they share, and the words by which they tell each
 * other.
 *
 * Process 0 measures; process 1 does what it is ordered to, and sleeps in between so that it disturbs nobody.
 * Each has a buffer of its own and a window that the other may read and write. Nothing here is thread-safe.
 */
#ifndef TRUERMA_BENCH_LIMIT_PROCESS_H
#define TRUERMA_BENCH_LIMIT_PROCESS_H

#include "../common/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LIMIT_LINE = 128, /* two cache lines: neighbours are fetched in pairs */
    LIMIT_PLACES = 64 /* where words and data may lie */
};

enum limit_operation { LIMIT_PUT, LIMIT_GET, LIMIT_ACCUMULATE, LIMIT_FETCH_AND_OP, LIMIT_COMPARE_AND_SWAP };

enum limit_task { LIMIT_END, LIMIT_EXCHANGE, LIMIT_SKEW, LIMIT_OVERLAP };

/* What process 1 is to do. */
struct limit_order {
    enum limit_task task;
    enum limit_operation operation; /* of an exchange */
    size_t size;
    long iterations;   /* of an exchange or of epochs; n of skew */
    bool communicates; /* of overlap */
    double compute_us; /* of overlap: what process 1 computes in each epoch */
    int place;         /* of the flags and the data */
};

struct limit_control {
    /* [place][who waits for it][0] */
    _Alignas(LIMIT_LINE) _Atomic uint64_t flag[LIMIT_PLACES][2][LIMIT_LINE / sizeof(uint64_t)];
    _Alignas(LIMIT_LINE) atomic_int orders; /* given so far */
    struct limit_order order;
    atomic_long wrong;     /* words that process 1 found wrong */
    double us;             /* what an iteration of the last order took process 1, by its own clock */
    atomic_uintptr_t lent; /* private memory of process 1, for cma */
};

struct limit_process {
    struct limit_control *control;
    int me;
    pid_t other;               /* process 1, in process 0 */
    char *shared[2];           /* each process's shared part */
    char *window[2];           /* where the data lies in it */
    int place;                 /* likewise, and the flags */
    char *buffer;              /* private */
    uint64_t sequence;         /* of the flags: both count the same steps */
    uint64_t issued, received; /* operations since the data was prepared */
    uint64_t result;           /* what the last atomic operation brought back */
};

/* Makes both processes, with windows and buffers of `bytes`; in process 1 does not return before `serve` has
 * ended it. Ends the process, after a message, when the machine refuses. `pin` as bench_pin takes it. */
void limit_processes_begin(struct limit_process *process, size_t bytes, const char *pin,
                           void (*serve)(struct limit_process *process));

/* Process 0: tells process 1 to end, and waits for that. */
void limit_processes_end(struct limit_process *process);

/* Process 0: has process 1 begin. What the order writes is to be waited for by flags. */
void limit_order_give(struct limit_process *process, const struct limit_order *order);

/* Process 1: the next order, `done` being those that were carried out. */
const struct limit_order *limit_order_wait(struct limit_process *process, int done);

/* Both processes, each for itself: where flags and data lie from now on, one of LIMIT_PLACES. Other cache
 * lines are at home elsewhere in the machine, and take another time from one core to the other. */
void limit_place_choose(struct limit_process *process, int place);

/* Tells process `whose` that this one has come to its current step. Orders what was written before. */
static inline void limit_flag_raise(struct limit_process *process, int whose) {
    atomic_store_explicit(&process->control->flag[process->place][whose][0], process->sequence,
                          memory_order_release);
}

/* Polls until the other process has come to this one's current step. */
static inline void limit_flag_wait(struct limit_process *process) {
    while (atomic_load_explicit(&process->control->flag[process->place][process->me][0],
                                memory_order_acquire) < process->sequence)
        ;
}

/* Both processes: none returns before the other has come here. */
void limit_meet(struct limit_process *process);

/* The last word of `size` bytes. */
static inline uint64_t *limit_last_word(char *memory, size_t size) {
    return (uint64_t *)(memory + size) - 1;
}

/* Ends the program if process 1, or this one by `wrong`, found words wrong in `what`. */
void limit_verify(struct limit_process *process, const char *what, long wrong);

#endif
