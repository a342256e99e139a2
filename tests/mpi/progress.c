/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that waits in one of our calls keeps the host MPI's messages and collectives going: every part would
 * hang if it did not. And the other way round: operations finish while their target sits in other MPI calls
 * or in none at all.
 */
#include "check.h"

enum { BIG = 1 << 20, TAG = 5 };

static unsigned char *out;
static unsigned char *in;

static void fill(uint64_t seed) {
    for (size_t i = 0; i < BIG; i += 8) {
        uint64_t word = check_pattern(seed, i, 2);
        memcpy(out + i, &word, 8);
    }
}

static void look(uint64_t seed) {
    size_t wrong = 0;

    for (size_t i = 0; i < BIG; i += 8) {
        uint64_t word = check_pattern(seed, i, 2);
        wrong += memcmp(in + i, &word, 8) != 0;
    }
    CHECK_SAME(wrong, 0);
}

/*
 * Rank 0 starts a large send and waits in our call; rank 1 receives all of it before it does what ends that
 * wait. Without progress in our wait the message never arrives.
 */
enum waits { IN_FENCE, IN_WAIT, IN_COMPLETE, IN_LOCK, IN_BARRIER, WAITS };

static void big_message(struct check_window *window, enum waits where) {
    MPI_Request request;
    MPI_Group world;
    MPI_Group other;
    int peer = 1 - check_rank;
    uint64_t word = 4;
    uint64_t seed = (uint64_t)where + 10;

    if (check_rank > 1) {
        if (where == IN_FENCE) {
            MPI_Win_fence(0, window->win);
        } else if (where == IN_BARRIER) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        return;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    fill(seed);
    if (check_rank == 0) {
        if (where == IN_LOCK) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* rank 1 has the lock */
        }
        MPI_Isend(out, BIG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        switch (where) {
        case IN_FENCE:
            MPI_Win_fence(0, window->win);
            break;
        case IN_WAIT:
            MPI_Win_post(other, 0, window->win);
            MPI_Win_wait(window->win);
            break;
        case IN_COMPLETE:
            MPI_Win_start(other, 0, window->win);
            MPI_Put(&word, 8, MPI_BYTE, 1, check_disp(window, 1, 0), 8, MPI_BYTE, window->win);
            MPI_Win_complete(window->win);
            break;
        case IN_BARRIER:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case IN_LOCK:
        case WAITS:
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window->win);
            MPI_Win_unlock(1, window->win);
            break;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (where == IN_LOCK) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window->win);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
        memset(in, 0, BIG);
        MPI_Recv(in, BIG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look(seed);
        switch (where) {
        case IN_FENCE:
            MPI_Win_fence(0, window->win);
            break;
        case IN_WAIT:
            MPI_Win_start(other, 0, window->win);
            MPI_Win_complete(window->win);
            break;
        case IN_COMPLETE:
            MPI_Win_post(other, 0, window->win);
            MPI_Win_wait(window->win);
            CHECK_SAME(*(uint64_t *)window->base, 4);
            break;
        case IN_BARRIER:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case IN_LOCK:
        case WAITS:
            MPI_Win_unlock(1, window->win);
            break;
        }
    }
    MPI_Group_free(&world);
    MPI_Group_free(&other);
}

/* A collective that is under way goes on while we wait for a post that comes only when the collective is over
 * elsewhere. */
static void collective_under_way(struct check_window *window) {
    MPI_Request request;
    MPI_Group world;
    MPI_Group other;
    int peer = 1 - check_rank;
    uint64_t word = 6;

    if (check_rank > 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (check_rank == 0) {
        MPI_Win_start(other, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, 1, check_disp(window, 1, 16), 8, MPI_BYTE, window->win);
        MPI_Win_complete(window->win);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_post(other, 0, window->win);
        MPI_Win_wait(window->win);
        CHECK_SAME(((uint64_t *)window->base)[2], 6);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&other);
}

/*
 * MPI-4.1 section 12.7.3, the example with post/start/complete/wait beside a send: rank 0's start and put
 * must not keep it from sending, rank 1 posts only after it has received.
 */
static void post_after_receive(struct check_window *window) {
    MPI_Group world;
    MPI_Group other;
    int peer = 1 - check_rank;
    uint64_t word = 8;

    if (check_rank > 1) {
        return;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    if (check_rank == 0) {
        MPI_Win_start(other, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, 1, check_disp(window, 1, 24), 8, MPI_BYTE, window->win);
        MPI_Ssend(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Win_complete(window->win);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_post(other, 0, window->win);
        MPI_Win_wait(window->win);
        CHECK_SAME(((uint64_t *)window->base)[3], 8);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&other);
}

/* Both send before their targets post, the dead-lock example of section 12.7.3 that must not be one: complete
 * before wait. */
static void both_ways(struct check_window *window) {
    MPI_Group world;
    uint64_t word = (uint64_t)check_rank + 1;
    int right = check_neighbour(1);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < 20; i++) {
        MPI_Win_post(world, 0, window->win);
        MPI_Win_start(world, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, right, check_disp(window, right, 32), 8, MPI_BYTE, window->win);
        MPI_Win_complete(window->win);
        MPI_Sendrecv(NULL, 0, MPI_BYTE, right, TAG, NULL, 0, MPI_BYTE, check_neighbour(-1), TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_wait(window->win);
        CHECK_SAME(((uint64_t *)window->base)[4], check_neighbour(-1) + 1);
    }
    MPI_Group_free(&world);
}

/*
 * The target makes no MPI call at all until it sees the data in its own memory: passive target operations
 * finish without it. Only where the memory model lets a polling load see a put (the separate model would need
 * MPI_Win_sync, which is called).
 */
static void silent_target(struct check_window *window) {
    volatile uint64_t *words = window->base;
    uint64_t word = 77;
    int64_t one = 1;
    int64_t old = -1;

    if (check_rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
        MPI_Put(&word, 8, MPI_BYTE, 0, check_disp(window, 0, 48), 8, MPI_BYTE, window->win);
        MPI_Win_flush(0, window->win);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, check_disp(window, 0, 56), MPI_SUM, window->win);
        MPI_Win_flush(0, window->win);
        CHECK_SAME(old, 0);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, check_disp(window, 0, 64), 1, MPI_INT64_T, MPI_REPLACE,
                       window->win);
        MPI_Win_unlock(0, window->win);
    } else if (check_rank == 0) {
        while (words[8] == 0) {
            MPI_Win_sync(window->win);
        }
        CHECK_SAME(words[6], 77);
        CHECK_SAME(words[7], 1);
    }
}

static void all_of_it(struct check_window *window) {
    if (check_ranks > 1) {
        for (int where = 0; where < WAITS; where++) {
            MPI_Barrier(MPI_COMM_WORLD);
            big_message(window, (enum waits)where);
        }
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
        MPI_Barrier(MPI_COMM_WORLD);
        collective_under_way(window);
        MPI_Barrier(MPI_COMM_WORLD);
        post_after_receive(window);
        MPI_Barrier(MPI_COMM_WORLD);
        silent_target(window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    both_ways(window);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    out = malloc(BIG);
    in = malloc(BIG);
    check_each_flavor(256, all_of_it);
    free(out);
    free(in);
    return check_finish();
}
