/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowded.h"

static void look_empty(const MPI_Status *status) {
    crowded_look_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_BYTE, 0);
}

enum { MANY = 100, MANY_WORDS = 20000 };

/* Words of one of the many messages. */
static int words_of(int message) {
    return message % 10 == 3 ? MANY_WORDS : message;
}

void crowded_many(struct team *team, bool with_statuses) {
    enum { ALL = 2 * MANY + 10 };
    MPI_Request requests[ALL];
    MPI_Status statuses[ALL];
    size_t places[MANY];
    size_t used = 0;
    const int left = crowded_left(team);

    crowded_fresh(team, ROOM - MARGIN);
    for (int i = 0; i < ALL; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; i < MANY; i++) {
        const int words = words_of(i);
        places[i] = used;
        crowded_fill(team, crowded_out + used, &crowded_plain, team->rank, used, words);
        crowded_fill(team, crowded_wanted + used, &crowded_plain, left, used, words);
        used += (size_t)words + 1;
    }
    for (int i = 0; i < MANY; i++) {
        const int tag = i * 37 % MANY;
        MPI_Irecv(crowded_in + places[tag], MANY_WORDS, MPI_UINT64_T, left, tag, team->comm,
                  &requests[2 * i]);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(crowded_out + places[i], words_of(i), MPI_UINT64_T, crowded_right(team), i, team->comm,
                  &requests[2 * i + 1]);
    }
    MPI_Waitall(ALL, requests, with_statuses ? statuses : MPI_STATUSES_IGNORE);
    crowded_look_at(team, "Waitall", used);
    for (int i = 0; i < ALL; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    for (int i = 0; with_statuses && i < MANY; i++) {
        const int tag = i * 37 % MANY;
        crowded_look_status(&statuses[2 * i], left, tag, MPI_UINT64_T, words_of(tag));
    }
    for (int i = 2 * MANY; with_statuses && i < ALL; i++) {
        look_empty(&statuses[i]);
    }
}

static void one_of_several(struct team *team) {
    enum { MESSAGES = 6, ALL = 2 * MESSAGES + 1 };
    MPI_Request requests[ALL];
    MPI_Status status;
    bool seen[ALL] = {false};
    int which;

    crowded_fresh_message(team, team->rank, crowded_left(team), MESSAGES);
    requests[MESSAGES] = MPI_REQUEST_NULL;
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Irecv(crowded_in + i, 1, MPI_UINT64_T, crowded_left(team), TAG + i, team->comm, &requests[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Isend(crowded_out + i, 1, MPI_UINT64_T, crowded_right(team), TAG + i, team->comm,
                  &requests[ALL - 1 - i]);
    }
    for (int i = 0; i < 2 * MESSAGES; i++) {
        which = -1;
        MPI_Waitany(ALL, requests, &which, i % 3 == 2 ? MPI_STATUS_IGNORE : &status);
        CHECK_THAT(which >= 0 && which < ALL && which != MESSAGES && !seen[which], "Waitany gives %d", which);
        CHECK(requests[which] == MPI_REQUEST_NULL);
        seen[which] = true;
        if (i % 3 != 2 && which < MESSAGES) {
            crowded_look_status(&status, crowded_left(team), TAG + which, MPI_UINT64_T, 1);
        }
    }
    MPI_Waitany(ALL, requests, &which, &status);
    CHECK_SAME(which, MPI_UNDEFINED);
    look_empty(&status);
    crowded_look(team, "Waitany", MESSAGES);
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

    MPI_Recv_init(crowded_in, WORDS, MPI_UINT64_T, crowded_left(team), TAG, team->comm, &requests[0]);
    MPI_Send_init(crowded_out, WORDS, MPI_UINT64_T, crowded_right(team), TAG, team->comm, &requests[1]);
    for (int i = 0; i < 6; i++) {
        crowded_fresh_message(team, team->rank, crowded_left(team), WORDS);
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
        crowded_look_status(&statuses[0], crowded_left(team), TAG, MPI_UINT64_T, WORDS);
        crowded_look(team, "Start", WORDS);
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

    crowded_fresh(team, 1);
    MPI_Irecv(crowded_in, 1, MPI_UINT64_T, team->rank, TAG, team->comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    CHECK(request == MPI_REQUEST_NULL);
    crowded_look(team, "a cancelled receive", 1);
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
    crowded_look_status(&status, MPI_UNDEFINED, TAG, MPI_INT, 5);
    CHECK_SAME(queries, 1);
    CHECK_SAME(elements, -1);

    crowded_fresh(team, 100);
    crowded_fill(team, crowded_out, &crowded_plain, team->rank, 0, 100);
    crowded_reduced(team, crowded_wanted, &crowded_sum, team->size - 1, 0, 100);
    MPI_Iallreduce(crowded_out, crowded_in, 100, MPI_UINT64_T, MPI_SUM, team->comm, &requests[0]);
    MPI_Ibarrier(team->comm, &requests[1]);
    MPI_Barrier(team->comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    crowded_look(team, "Iallreduce", 100);
}

void crowded_requests(struct team *team) {
    crowded_many(team, true);
    crowded_many(team, false);
    one_of_several(team);
    persistent(team);
    cancelled(team);
    other_requests(team);
}

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
        MPI_Bcast(&got, 1, MPI_UINT64_T, 1, team->comm);
        CHECK_SAME(got, 1);
        return;
    case IN_ALLREDUCE:
        MPI_Allreduce(&one, &got, 1, MPI_UINT64_T, MPI_SUM, team->comm);
        CHECK_SAME(got, team->size);
        return;
    case IN_SENDRECV:
        if (team->rank < 2) {
            MPI_Sendrecv(&one, 1, MPI_UINT64_T, peer, TAG, &got, 1, MPI_UINT64_T, peer, TAG, team->comm,
                         MPI_STATUS_IGNORE);
            CHECK_SAME(got, 1);
        }
        return;
    case IN_SSEND:
        if (team->rank == 0) {
            MPI_Ssend(&one, 1, MPI_UINT64_T, 1, TAG, team->comm);
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
        MPI_Send(&one, 1, MPI_UINT64_T, 0, TAG, team->comm);
    } else if (team->rank < 2) {
        if (where >= IN_WAIT) {
            MPI_Irecv(&got, 1, MPI_UINT64_T, peer, TAG, team->comm, &requests[1]);
        } else {
            MPI_Recv(&got, 1, MPI_UINT64_T, peer, TAG, team->comm, MPI_STATUS_IGNORE);
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

void crowded_progress(struct team *team) {
    for (int where = 0; where < WAITS; where++) {
        MPI_Request request = MPI_REQUEST_NULL;
        crowded_fresh(team, BIG);
        if (team->rank == 0) {
            crowded_fill(team, crowded_out, &crowded_plain, 0, 0, BIG);
            MPI_Isend(crowded_out, BIG, MPI_UINT64_T, 1, TAG + 1, team->comm, &request);
        } else if (team->rank == 1) {
            crowded_fill(team, crowded_wanted, &crowded_plain, 0, 0, BIG);
            MPI_Recv(crowded_in, BIG, MPI_UINT64_T, 0, TAG + 1, team->comm, MPI_STATUS_IGNORE);
            crowded_look(team, "a large message", BIG);
        }
        wait_in(team, (enum waits)where, 1 - team->rank);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}
