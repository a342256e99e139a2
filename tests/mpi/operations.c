/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get of all sizes and alignments, R-operations with the whole Wait and Test family, MPI_PROC_NULL,
 * absolute addresses. */
#include "check.h"

enum { BIG = 1 << 20, ROOM = BIG + 4096 };

static unsigned char *sent;
static unsigned char *received;

static bool holds(const unsigned char *data, size_t size, uint64_t seed) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] != (unsigned char)check_pattern(seed, i, 0)) {
            return false;
        }
    }
    return true;
}

static void fill(unsigned char *data, size_t size, uint64_t seed) {
    for (size_t i = 0; i < size; i++) {
        data[i] = (unsigned char)check_pattern(seed, i, 0);
    }
}

/* Puts `size` bytes at `offset`, gets them and their surroundings back, and looks at all of them. */
static void there_and_back(struct check_window *window, size_t size, size_t offset, uint64_t seed) {
    enum { MARGIN = 16 };
    int target = check_neighbour(1);
    unsigned char *base = received + 64;
    unsigned char *from = sent + seed % 9;

    fill(from, size, seed);
    memset(received, 0xee, size + 2 * MARGIN + 128);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    memset(base, 0x11, size + 2 * MARGIN);
    MPI_Put(base, (int)(size + 2 * MARGIN), MPI_BYTE, target, check_disp(window, target, offset),
            (int)(size + 2 * MARGIN), MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Put(from, (int)size, MPI_BYTE, target, check_disp(window, target, offset + MARGIN), (int)size,
            MPI_BYTE, window->win);
    MPI_Win_flush(target, window->win);
    memset(base, 0xee, size + 2 * MARGIN);
    MPI_Get(base, (int)(size + 2 * MARGIN), MPI_BYTE, target, check_disp(window, target, offset),
            (int)(size + 2 * MARGIN), MPI_BYTE, window->win);
    MPI_Win_unlock(target, window->win);
    CHECK_THAT(holds(base + MARGIN, size, seed), "%zu bytes at %zu (%s)", size, offset,
               check_flavor_name(window->flavor));
    bool clean = true;
    for (int i = 0; i < MARGIN; i++) {
        clean = clean && base[i] == 0x11 && base[MARGIN + size + (size_t)i] == 0x11 && base[-1 - i] == 0xee &&
                base[size + 2 * MARGIN + (size_t)i] == 0xee;
    }
    CHECK_THAT(clean, "around %zu bytes at %zu nothing changes (%s)", size, offset,
               check_flavor_name(window->flavor));
}

static void sizes(struct check_window *window) {
    uint64_t seed = 1;

    for (size_t size = 0; size <= 80; size++, seed++) {
        there_and_back(window, size, seed * 5 % 67, seed);
    }
    for (size_t size = 128; size <= BIG; size *= 2, seed++) {
        there_and_back(window, size - 1, seed % 64, seed);
        there_and_back(window, size, 0, seed);
        if (size < BIG) {
            there_and_back(window, size + 3, seed % 7, seed);
        }
    }
}

enum completion {
    WAIT,
    TEST,
    WAIT_ALL,
    WAIT_ANY,
    WAIT_SOME,
    TEST_SOME,
    TEST_ALL,
    TEST_ANY,
    REQUEST_FREE,
    COMPLETIONS
};

static void finish(MPI_Request *requests, int n, enum completion how) {
    int indices[16];
    int flag = 0;
    int index;
    int done = 0;

    switch (how) {
    case WAIT:
        for (int i = 0; i < n; i++) {
            MPI_Status status;
            MPI_Wait(&requests[i], &status);
        }
        break;
    case TEST:
        for (int i = 0; i < n; i++) {
            do {
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            } while (!flag);
        }
        break;
    case WAIT_ALL:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        break;
    case WAIT_ANY:
        for (int i = 0; i < n; i++) {
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
            CHECK(index >= 0 && index < n);
        }
        break;
    case WAIT_SOME:
    case TEST_SOME:
        while (done < n) {
            int count = 0;
            if (how == WAIT_SOME) {
                MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
            } else {
                MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
            }
            CHECK(count != MPI_UNDEFINED);
            done += count == MPI_UNDEFINED ? n : count;
        }
        break;
    case TEST_ALL:
        do {
            MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
        } while (!flag);
        break;
    case TEST_ANY:
        do {
            MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
        } while (!flag || index != MPI_UNDEFINED);
        break;
    case REQUEST_FREE:
        for (int i = 0; i < n; i++) {
            MPI_Request_free(&requests[i]);
        }
        break;
    case COMPLETIONS:
        break;
    }
    for (int i = 0; i < n; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* One of each R-operation, finished in every way that MPI has. */
static void requests(struct check_window *window) {
    int target = check_neighbour(1);

    for (int how = 0; how < COMPLETIONS; how++) {
        int64_t put[4] = {how + 1, how + 2, how + 3, how + 4};
        int64_t add[4] = {10, 20, 30, 40};
        int64_t old[4] = {0};
        int64_t got[4] = {0};
        MPI_Request request[4];

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
        MPI_Rput(put, 4, MPI_INT64_T, target, check_disp(window, target, 0), 4, MPI_INT64_T, window->win,
                 &request[0]);
        finish(request, 1, (enum completion)how);
        MPI_Win_flush(target, window->win);
        MPI_Raccumulate(add, 4, MPI_INT64_T, target, check_disp(window, target, 0), 4, MPI_INT64_T, MPI_SUM,
                        window->win, &request[0]);
        MPI_Rget_accumulate(add, 4, MPI_INT64_T, old, 4, MPI_INT64_T, target, check_disp(window, target, 0),
                            4, MPI_INT64_T, MPI_SUM, window->win, &request[1]);
        finish(request, 2, (enum completion)how);
        MPI_Win_flush(target, window->win);
        MPI_Rget(got, 4, MPI_INT64_T, target, check_disp(window, target, 0), 4, MPI_INT64_T, window->win,
                 &request[0]);
        finish(request, 1, (enum completion)how);
        MPI_Win_unlock(target, window->win);
        for (int i = 0; i < 4; i++) {
            CHECK_SAME(old[i], put[i] + add[i]);
            CHECK_SAME(got[i], put[i] + 2 * add[i]);
        }
        /* Several at once, together with requests of messages. */
        char byte = 0;
        char in = 0;
        MPI_Barrier(MPI_COMM_WORLD); /* nobody waits for a lock any more while others wait for its message */
        MPI_Win_lock_all(0, window->win);
        for (int i = 0; i < 2; i++) {
            MPI_Rput(&put[i], 1, MPI_INT64_T, target, check_disp(window, target, 64 + 8 * (size_t)i), 1,
                     MPI_INT64_T, window->win, &request[i]);
        }
        MPI_Irecv(&in, 1, MPI_BYTE, check_neighbour(-1), 3, MPI_COMM_WORLD, &request[2]);
        MPI_Isend(&byte, 1, MPI_BYTE, target, 3, MPI_COMM_WORLD, &request[3]);
        finish(request, 4, how == REQUEST_FREE ? WAIT_ALL : (enum completion)how);
        MPI_Win_flush(target, window->win);
        MPI_Rget(got, 2, MPI_INT64_T, target, check_disp(window, target, 64), 2, MPI_INT64_T, window->win,
                 &request[0]);
        finish(request, 1, WAIT);
        CHECK_SAME(got[0], put[0]);
        CHECK_SAME(got[1], put[1]);
        MPI_Win_unlock_all(window->win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Nothing happens, nothing is touched, all calls succeed. */
static void nobody(struct check_window *window) {
    int64_t value = 5;
    int64_t result = 77;
    MPI_Request request;
    MPI_Win win = window->win;

    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win);
    MPI_Get(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win);
    MPI_Accumulate(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Get_accumulate(&value, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T,
                       MPI_SUM, win);
    MPI_Fetch_and_op(&value, &result, MPI_INT64_T, MPI_PROC_NULL, 0, MPI_SUM, win);
    MPI_Compare_and_swap(&value, &value, &result, MPI_INT64_T, MPI_PROC_NULL, 0, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
    MPI_Rput(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Raccumulate(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget_accumulate(&value, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T,
                        MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(check_rank, win);
    CHECK_SAME(value, 5);
    CHECK_SAME(result, 77);
}

/* MPI_BOTTOM with a type that holds absolute addresses, on the origin's side. */
static void absolute(struct check_window *window) {
    int target = check_neighbour(1);
    int from[2] = {check_rank + 1, check_rank + 2};
    int to[2] = {0, 0};
    MPI_Aint places[2];
    int lengths[2] = {1, 1};
    MPI_Datatype out;
    MPI_Datatype in;

    MPI_Get_address(&from[1], &places[0]); /* the second one first */
    MPI_Get_address(&from[0], &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &out);
    MPI_Get_address(&to[0], &places[0]);
    MPI_Get_address(&to[1], &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &in);
    MPI_Type_commit(&out);
    MPI_Type_commit(&in);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    MPI_Put(MPI_BOTTOM, 1, out, target, check_disp(window, target, 128), 2, MPI_INT, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Get(MPI_BOTTOM, 1, in, target, check_disp(window, target, 128), 2, MPI_INT, window->win);
    MPI_Win_unlock(target, window->win);
    CHECK_SAME(to[0], check_rank + 2);
    CHECK_SAME(to[1], check_rank + 1);
    MPI_Type_free(&out);
    MPI_Type_free(&in);
}

/* A rank's operations on itself, source and destination within one window. */
static void itself(struct check_window *window) {
    unsigned char *base = window->base;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, window->win);
    fill(base, 1000, 5);
    MPI_Put(base, 1000, MPI_BYTE, check_rank, check_disp(window, check_rank, 2000), 1000, MPI_BYTE,
            window->win);
    MPI_Win_flush(check_rank, window->win);
    MPI_Get(base + 4000, 1000, MPI_BYTE, check_rank, check_disp(window, check_rank, 2000), 1000, MPI_BYTE,
            window->win);
    MPI_Win_unlock(check_rank, window->win);
    CHECK(holds(base + 2000, 1000, 5));
    CHECK(holds(base + 4000, 1000, 5));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_of_it(struct check_window *window) {
    sizes(window);
    MPI_Barrier(MPI_COMM_WORLD);
    requests(window);
    nobody(window);
    absolute(window);
    itself(window);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    sent = malloc(ROOM);
    received = malloc(ROOM);
    check_each_flavor(ROOM, all_of_it);
    free(sent);
    free(received);
    return check_finish();
}
