/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowded.h"

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

/* Before a wait for less than comes. */
static void start_cut(const struct team *team, int words, MPI_Request requests[2]) {
    MPI_Irecv(crowded_in, 1, MPI_UINT64_T, crowded_left(team), TAG, team->comm, &requests[0]);
    MPI_Isend(crowded_out, words, MPI_UINT64_T, crowded_right(team), TAG, team->comm, &requests[1]);
}

static void truncated(struct team *team, bool counts) {
    const int left = crowded_left(team);
    const int right = crowded_right(team);
    MPI_Comm comm = team->comm;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int class = -1;

    crowded_fresh(team, BIG);
    for (int words = 4; words <= BIG; words *= 32) {
        MPI_Isend(crowded_out, words, MPI_UINT64_T, right, TAG, comm, &requests[1]);
        EXPECT_CUT(MPI_ERR_TRUNCATE, comm,
                   EITHER(Recv, crowded_in, 1, MPI_UINT64_T, left, TAG, comm, &statuses[0]));
        CHECK_SAME(statuses[0].MPI_SOURCE, left);
        CHECK_SAME(statuses[0].MPI_TAG, TAG);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (team->size == 1) {
            continue; /* Open MPI alone cuts what one sends to oneself without a word, if the receive came
                         first */
        }

        EXPECT_CUT(MPI_ERR_TRUNCATE, comm,
                   EITHER(Sendrecv, crowded_out, words, MPI_UINT64_T, right, TAG, crowded_in, 1, MPI_UINT64_T,
                          left, TAG, comm, MPI_STATUS_IGNORE));

        /* MPICH alone goes to the handler of another communicator. */
        start_cut(team, words, requests);
        EXPECT_CUT(MPI_ERR_TRUNCATE, MPI_COMM_NULL, MPI_Wait(&requests[0], &statuses[0]));
        CHECK(requests[0] == MPI_REQUEST_NULL);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);

        start_cut(team, words, requests);
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

static void wrong_arguments(struct team *team) {
    static const int roots[] = {MAX_RANKS, -77};
    int one[MAX_RANKS];
    int zero[MAX_RANKS] = {0};
    MPI_Count large_one[MAX_RANKS];
    MPI_Aint large_zero[MAX_RANKS] = {0};
    MPI_Comm comm = team->comm;

    for (int r = 0; r < MAX_RANKS; r++) {
        large_one[r] = one[r] = 1;
    }
    void *ones = crowded_is_large ? (void *)large_one : one;
    void *zeros = crowded_is_large ? (void *)large_zero : zero;
    for (int i = 0; i < 2; i++) {
        EXPECT(MPI_ERR_ROOT, EITHER(Bcast, crowded_in, 1, MPI_UINT64_T, roots[i], comm));
        EXPECT(MPI_ERR_ROOT,
               EITHER(Reduce, crowded_out, crowded_in, 1, MPI_UINT64_T, MPI_SUM, roots[i], comm));
        EXPECT(MPI_ERR_ROOT,
               EITHER(Gather, crowded_out, 1, MPI_UINT64_T, crowded_in, 1, MPI_UINT64_T, roots[i], comm));
        EXPECT(MPI_ERR_ROOT,
               EITHER(Scatter, crowded_out, 1, MPI_UINT64_T, crowded_in, 1, MPI_UINT64_T, roots[i], comm));
        EXPECT(MPI_ERR_ROOT, EITHER(Gatherv, crowded_out, 1, MPI_UINT64_T, crowded_in, ones, zeros,
                                    MPI_UINT64_T, roots[i], comm));
        EXPECT(MPI_ERR_ROOT, EITHER(Scatterv, crowded_out, ones, zeros, MPI_UINT64_T, crowded_in, 1,
                                    MPI_UINT64_T, roots[i], comm));

        EXPECT(MPI_ERR_RANK, EITHER(Send, crowded_out, 1, MPI_UINT64_T, roots[i], TAG, comm));
        EXPECT(MPI_ERR_RANK, EITHER(Ssend, crowded_out, 1, MPI_UINT64_T, roots[i], TAG, comm));
        EXPECT(MPI_ERR_RANK,
               EITHER(Recv, crowded_in, 1, MPI_UINT64_T, roots[i], TAG, comm, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_RANK, MPI_Probe(roots[i], TAG, comm, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_RANK, EITHER(Sendrecv, crowded_out, 1, MPI_UINT64_T, roots[i], TAG, crowded_in, 1,
                                    MPI_UINT64_T, 0, TAG, comm, MPI_STATUS_IGNORE));
        EXPECT(MPI_ERR_RANK, EITHER(Sendrecv, crowded_out, 1, MPI_UINT64_T, 0, TAG, crowded_in, 1,
                                    MPI_UINT64_T, roots[i], TAG, comm, MPI_STATUS_IGNORE));
    }
    EXPECT(MPI_ERR_COUNT, EITHER(Bcast, crowded_in, -1, MPI_UINT64_T, 0, comm));
    EXPECT(MPI_ERR_COUNT,
           EITHER(Allgather, crowded_out, -1, MPI_UINT64_T, crowded_in, -1, MPI_UINT64_T, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Send, crowded_out, -1, MPI_UINT64_T, 0, TAG, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Ssend, crowded_out, -1, MPI_UINT64_T, 0, TAG, comm));
    EXPECT(MPI_ERR_COUNT, EITHER(Recv, crowded_in, -1, MPI_UINT64_T, 0, TAG, comm, MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_COUNT, EITHER(Sendrecv, crowded_out, -1, MPI_UINT64_T, 0, TAG, crowded_in, 1, MPI_UINT64_T,
                                 0, TAG, comm, MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_TAG, EITHER(Send, crowded_out, 1, MPI_UINT64_T, 0, -77, comm));
    EXPECT(MPI_ERR_TYPE, EITHER(Bcast, crowded_in, 1, MPI_DATATYPE_NULL, 0, comm));
}

/* A message that waits for its receive is still there after a Sendrecv that was refused. */
static void refused_sendrecv(struct team *team) {
    MPI_Request request;
    int flag = 0;

    MPI_Barrier(team->comm); /* none of the calls before may take it either */
    crowded_fresh_message(team, team->rank, crowded_left(team), 1);
    MPI_Isend(crowded_out, 1, MPI_UINT64_T, crowded_right(team), TAG, team->comm, &request);
    MPI_Probe(crowded_left(team), TAG, team->comm, MPI_STATUS_IGNORE);
    EXPECT(MPI_ERR_RANK, EITHER(Sendrecv, crowded_out, 1, MPI_UINT64_T, MAX_RANKS, TAG, crowded_in, 1,
                                MPI_UINT64_T, crowded_left(team), TAG, team->comm, MPI_STATUS_IGNORE));
    MPI_Iprobe(crowded_left(team), TAG, team->comm, &flag, MPI_STATUS_IGNORE);
    CHECK_THAT(flag && crowded_in[0] == crowded_blank, "%s: Sendrecv%s was refused, but has taken a message",
               team->name, crowded_is_large ? "_c" : "");
    if (flag) {
        EITHER(Recv, crowded_in, 1, MPI_UINT64_T, crowded_left(team), TAG, team->comm, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    crowded_look(team, "Recv", 1);
}

static void wrong(struct team *team, bool counts) {
    (void)counts;
    wrong_arguments(team);
    refused_sendrecv(team);
}

/* On a duplicate of its own. */
static void with_handler(MPI_Comm comm, const char *name, MPI_Errhandler handler,
                         void (*body)(struct team *team, bool counts), bool counts) {
    MPI_Comm own;

    MPI_Comm_dup(comm, &own);
    MPI_Comm_set_errhandler(own, handler);
    struct team team = crowded_make_team(name, own);
    handled = 0;
    for (int variant = 0; crowded_use_variant(variant); variant++) {
        body(&team, counts);
    }
    /* And then all goes on. */
    crowded_collectives_of_size(&team, 10);
    crowded_messages(&team, 10);
    CHECK_SAME(handled, 0);
    MPI_Comm_free(&own);
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

void crowded_truncated(void) {
    errors(truncated, false);
    errors(truncated, true);
}

void crowded_wrong(void) {
    errors(wrong, true);
}
