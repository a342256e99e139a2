/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large counts, where the host has the calls: every _c version with small counts, and with more than 2^31
 * elements of zero distance, more than 2 GiB of data on request. usage: counts [huge]
 */
#include "check.h"

#if MPI_VERSION >= 4 && !defined OPEN_MPI

#include <sys/mman.h>

static void every_call(struct check_window *window) {
    int target = check_neighbour(1);
    MPI_Win win = window->win;
    MPI_Aint place = check_disp(window, target, 0);
    MPI_Count n = 4;
    int64_t values[4] = {1, 2, 3, 4};
    int64_t got[4] = {0};
    int64_t old[4] = {0};
    MPI_Request request;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put_c(values, n, MPI_INT64_T, target, place, n, MPI_INT64_T, win);
    MPI_Win_flush(target, win);
    MPI_Accumulate_c(values, n, MPI_INT64_T, target, place, n, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(target, win);
    MPI_Get_accumulate_c(values, n, MPI_INT64_T, old, n, MPI_INT64_T, target, place, n, MPI_INT64_T, MPI_SUM,
                         win);
    MPI_Win_flush(target, win);
    MPI_Raccumulate_c(values, n, MPI_INT64_T, target, place, n, MPI_INT64_T, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget_accumulate_c(values, n, MPI_INT64_T, got, n, MPI_INT64_T, target, place, n, MPI_INT64_T, MPI_SUM,
                          win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) {
        CHECK_SAME(old[i], 2 * values[i]);
        CHECK_SAME(got[i], 4 * values[i]);
    }
    MPI_Win_flush(target, win);
    MPI_Get_c(got, n, MPI_INT64_T, target, place, n, MPI_INT64_T, win);
    MPI_Win_flush(target, win);
    for (int i = 0; i < 4; i++) {
        CHECK_SAME(got[i], 5 * values[i]);
    }
    MPI_Rput_c(values, n, MPI_INT64_T, target, place, n, MPI_INT64_T, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(target, win);
    MPI_Rget_c(got, n, MPI_INT64_T, target, place, n, MPI_INT64_T, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(target, win);
    CHECK_SAME(memcmp(got, values, sizeof got), 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void constructors(void) {
    int64_t memory[4] = {0};
    int64_t *base;
    MPI_Win win;
    MPI_Aint size;
    MPI_Aint unit;
    int target = check_neighbour(1);
    int64_t mine = check_rank + 1;

    for (int i = 0; i < 3; i++) {
        base = memory;
        if (i == 0) {
            MPI_Win_create_c(memory, sizeof memory, (MPI_Aint)8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        } else if (i == 1) {
            MPI_Win_allocate_c(32, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        } else {
            MPI_Win_allocate_shared_c(32, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
            int64_t *at;
            MPI_Win_shared_query_c(win, check_rank, &size, &unit, &at);
            CHECK_SAME(size, 32);
            CHECK_SAME(unit, 8);
            CHECK(at == base);
        }
        MPI_Win_fence(0, win);
        MPI_Put_c(&mine, 1, MPI_INT64_T, target, 3, 1, MPI_INT64_T, win);
        MPI_Win_fence(0, win);
        CHECK_SAME(base[3], check_neighbour(-1) + 1);
        MPI_Win_free(&win);
    }
}

/* A type made with large counts, of more elements than an int holds, used with a count of zero and of one
 * element's worth. */
static void large_types(struct check_window *window) {
    MPI_Datatype type;
    int target = check_neighbour(1);
    MPI_Count lengths[2] = {1, 2};
    MPI_Count places[2] = {16, 0};
    int values[3] = {check_rank + 5, check_rank + 6, check_rank + 7};
    int got[6] = {0};

    MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->win);
    MPI_Put_c(values, 3, MPI_INT, target, check_disp(window, target, 64), 1, type, window->win);
    MPI_Win_flush(target, window->win);
    MPI_Get_c(got, 6, MPI_INT, target, check_disp(window, target, 64), 6, MPI_INT, window->win);
    MPI_Win_unlock(target, window->win);
    CHECK_SAME(got[4], values[0]);
    CHECK_SAME(got[0], values[1]);
    CHECK_SAME(got[1], values[2]);
    MPI_Type_free(&type);
    MPI_Type_vector_c(2, 1, (MPI_Count)1 << 33, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->win);
    CHECK_CLASS(MPI_Put_c(values, 2, MPI_BYTE, target, check_disp(window, target, 0), 1, type, window->win),
                MPI_ERR_RMA_RANGE);
    MPI_Win_unlock(target, window->win);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* More than 2^31 bytes in one call. The origin's and the target's memory are one file's page many times, so
 * it costs little. */
static void huge(void) {
    size_t bytes = (size_t)2200 << 20;
    char *origin =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MPI_Win win;

    CHECK(origin != MAP_FAILED && memory != MAP_FAILED);
    MPI_Win_create(memory, check_rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (check_rank + 1 == check_ranks) {
        for (size_t at = 0; at < bytes; at += 4096) {
            origin[at] = (char)check_pattern(at, 1, 2);
        }
        MPI_Put_c(origin, (MPI_Count)bytes, MPI_BYTE, 0, 0, (MPI_Count)bytes, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
    if (check_rank == 0) {
        size_t wrong = 0;
        for (size_t at = 0; at < bytes; at += 4096) {
            wrong += memory[at] != (char)check_pattern(at, 1, 2);
        }
        CHECK_SAME(wrong, 0);
    }
    MPI_Win_free(&win);
    munmap(origin, bytes);
    munmap(memory, bytes);
}

static void all_of_it(struct check_window *window) {
    every_call(window);
    large_types(window);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(4096, all_of_it);
    constructors();
    if (argc > 1 && strcmp(argv[1], "huge") == 0) {
        huge();
    }
    return check_finish();
}

#else

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    CHECK_THAT(true, "this host has no large-count calls");
    return check_finish();
}

#endif
