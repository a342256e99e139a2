/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs (random_programs.c): what they consist of. Every rank draws the same program, plays all of
 * it in a model of all windows, and runs its own part. */
#ifndef TRMA_TEST_RANDOM_PROGRAMS_H
#define TRMA_TEST_RANDOM_PROGRAMS_H

#include "check.h"

enum {
    RANDOM_RANKS = 8, /* at most */
    RANDOM_EACH = 40, /* operations of one rank in one phase, at most */
    RANDOM_OPERATIONS = RANDOM_RANKS * RANDOM_EACH
};

enum random_call {
    RANDOM_PUT,
    RANDOM_GET,
    RANDOM_ACCUMULATE,
    RANDOM_GET_ACCUMULATE,
    RANDOM_FETCH_AND_OP,
    RANDOM_COMPARE_AND_SWAP,
    RANDOM_STORE, /* by the target itself, without MPI */
    RANDOM_FLUSH  /* of all that the origin has sent to the target */
};

enum random_epoch { RANDOM_FENCE, RANDOM_PSCW, RANDOM_LOCK, RANDOM_LOCK_ALL, RANDOM_EPOCHS };

struct random_op {
    MPI_Op op;
    uint64_t (*combine)(uint64_t held, uint64_t given);
};

struct random_operation {
    enum random_call call;
    int origin;
    int target;
    unsigned unit; /* bytes of an element, of an unsigned type */
    size_t at;     /* bytes from the window's begin to the first element */
    size_t count;  /* elements */
    size_t stride; /* elements from one to the next in the window */
    size_t step;   /* the same in the origin's buffers */
    struct random_op op;
    uint64_t seed;    /* of what the origin gives */
    uint64_t compare; /* of compare_and_swap; of common numbers what they are before */
    bool is_common;   /* of numbers that several origins count on at the same time */
    bool by_request;
    /* Of the origin's own: what it gives, what it gets, and what it should get; buffers with room around. */
    unsigned char *given;
    unsigned char *got;
    unsigned char *expected;
};

/* A window, and what every rank's part of it should hold. Ranks are those in MPI_COMM_WORLD, here as below.
 */
struct random_window {
    struct check_window window;
    bool is_reversed; /* its communicator has the ranks the other way round */
    unsigned char *model[RANDOM_RANKS];
};

struct random_phase {
    struct random_window *random;
    enum random_epoch epoch;
    bool reaches[RANDOM_RANKS][RANDOM_RANKS]; /* origin, target: in its group, or it takes its lock */
    bool is_exclusive[RANDOM_RANKS];          /* the origin's locks */
    bool is_updated[RANDOM_RANKS];            /* the target's part, by calls */
    int fence_asserts;                        /* of the closing one */
    bool is_posted_before;                    /* all posts before all starts, which say so */
    bool has_messages;                        /* between the ranks while the epoch is open */
    bool is_tested;                           /* by MPI_Win_test instead of wait */
    struct random_phase *inner;               /* of another window, while this one's epoch is open; or NULL */
    unsigned busy_us[RANDOM_RANKS];           /* what a rank computes while its epoch is open */
    uint64_t seed;
    int count;
    struct random_operation operations[RANDOM_OPERATIONS];
};

/* Whether its epochs are of passive target: with flushes, and requests. */
bool random_is_passive(const struct random_phase *phase);
/* A rank's number in the window. */
int random_rank(const struct random_window *random, int rank);
uint64_t random_element(const unsigned char *place, unsigned unit);
void random_set_element(unsigned char *place, unsigned unit, uint64_t value);
/* What the origin gives as its element i. */
uint64_t random_given(const struct random_operation *operation, size_t i);
/* Bytes of a buffer of the origin's, the room around included, and where element i lies in it. */
size_t random_buffer_size(const struct random_operation *operation);
unsigned char *random_in_buffer(const struct random_operation *operation, unsigned char *buffer, size_t i);

/* Runs this rank's part, looks at all results, and compares its part of the window with the model. */
void random_run(struct random_phase *phase);

#endif
