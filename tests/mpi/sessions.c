/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows in a program that never calls MPI_Init: it has a session, and neither MPI_COMM_WORLD nor
 * MPI_COMM_SELF. Twice, since sessions may follow each other. Needs MPI 4.
 */
#include "check.h"

enum { WORDS = 64, TAG = 5 };

static MPI_Comm make_world(MPI_Session session) {
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "truerma.test.sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Each kind of synchronisation, and requests that the host has to complete. */
static void work(MPI_Comm comm, int64_t *base, MPI_Win win) {
    int next = (check_rank + 1) % check_ranks;
    int64_t one = 1;
    int64_t got = -1;
    MPI_Request request;
    MPI_Status status;
    MPI_Group group;

    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK_SAME(base[0], check_rank == 0 ? check_ranks : 0);

    MPI_Comm_group(comm, &group);
    int64_t word = check_rank + 100;
    MPI_Win_post(group, 0, win);
    MPI_Win_start(group, 0, win);
    MPI_Put(&word, 1, MPI_INT64_T, next, 1, 1, MPI_INT64_T, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&group);
    CHECK_SAME(base[1], (check_rank + check_ranks - 1) % check_ranks + 100);

    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Rget(&got, 1, MPI_INT64_T, next, 1, 1, MPI_INT64_T, win, &request);
    MPI_Wait(&request, &status);
    MPI_Win_unlock(next, win);
    CHECK_SAME(got, check_rank + 100);
    CHECK(request == MPI_REQUEST_NULL);
}

/* A large message is under way while its receiver waits in a window's call: the sender posts only when the
 * message has gone, so that whoever waits without the host's progress waits for ever. */
static void progress(MPI_Comm comm, MPI_Win win) {
    enum { COUNT = 1 << 20 };
    int *data = calloc(COUNT, sizeof *data);
    MPI_Group all;
    MPI_Group other;
    int peer = 1 - check_rank;

    if (check_ranks < 2 || check_rank > 1) {
        free(data);
        return;
    }
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    if (check_rank == 0) {
        MPI_Send(data, COUNT, MPI_INT, 1, TAG, comm);
        MPI_Win_start(other, 0, win);
        MPI_Win_complete(win);
    } else {
        MPI_Request request;
        MPI_Irecv(data, COUNT, MPI_INT, 0, TAG, comm, &request);
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(data[COUNT - 1] == 0);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    free(data);
}

static void in_session(int last) {
    MPI_Session session;
    int mine[2] = {0, 0};
    int all[2] = {0, 0};
    MPI_Win win;
    int64_t *base;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm comm = make_world(session);
    MPI_Comm_rank(comm, &check_rank);
    MPI_Comm_size(comm, &check_ranks);

    MPI_Win_allocate(WORDS * sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &base, &win);
    memset(base, 0, WORDS * sizeof *base);
    MPI_Barrier(comm);
    work(comm, base, win);
    progress(comm, win);
    MPI_Win_free(&win);

    base = calloc(WORDS, sizeof *base);
    MPI_Win_create(base, WORDS * sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &win);
    work(comm, base, win);
    MPI_Win_free(&win);
    free(base);

    if (last) {
        check_counts(mine);
        MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, comm);
        if (check_rank == 0) {
            printf("%d passed, %d failed\n", all[0], all[1]);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (last && (all[1] || !all[0])) {
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "twice") == 0) {
        in_session(0);
    }
    in_session(1);
    return 0;
}
