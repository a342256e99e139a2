/* SPDX-License-Identifier: BSD-3-Clause */
/* Dynamic windows: thousands of attachments, all kinds of memory, detaching in another order, ranges that
 * touch. */
#include "check.h"

static MPI_Win win;
static int next;
static int before;

static MPI_Aint address_of(const void *place) {
    MPI_Aint address;

    MPI_Get_address(place, &address);
    return address;
}

/* Tells the rank before us, which writes to us, where our memory lies; learns it from the next. */
static MPI_Aint swap_address(const void *mine) {
    MPI_Aint address = address_of(mine);
    MPI_Aint there = 0;

    MPI_Sendrecv(&address, 1, MPI_AINT, before, 1, &there, 1, MPI_AINT, next, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return there;
}

static void put_int(int value, MPI_Aint there) {
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Put(&value, 1, MPI_INT, next, there, 1, MPI_INT, win);
    MPI_Win_unlock(next, win);
}

static void thousands(int n) {
    enum { STEP = 64 };
    char *memory = calloc((size_t)n, STEP);
    MPI_Aint there = swap_address(memory);

    for (int i = 0; i < n; i++) {
        MPI_Win_attach(win, memory + (size_t)i * STEP, 8);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    for (int i = 0; i < n; i += n / 50) {
        int value = i + check_rank;
        MPI_Put(&value, 1, MPI_INT, next, there + (MPI_Aint)i * STEP, 1, MPI_INT, win);
        MPI_Win_flush(next, win);
    }
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i += n / 50) {
        CHECK_SAME(*(int *)(memory + (size_t)i * STEP), i + before);
    }
    /* Every second one goes, in a scattered order; the others still work. */
    for (int i = 0; i < n; i += 2) {
        MPI_Win_detach(win, memory + (size_t)((long)i * 7919 % n & ~1L) * STEP);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    put_int(check_rank + 5, there + STEP);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_SAME(*(int *)(memory + STEP), before + 5);
    for (int i = 1; i < n; i += 2) {
        MPI_Win_detach(win, memory + (size_t)i * STEP);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(memory);
}

/* Memory of MPI_Alloc_mem, of a window, on the stack, static, from malloc. */
static void kinds_of_memory(void) {
    static int fixed[16];
    int stack[16] = {0};
    int *from_mpi;
    int *from_malloc = calloc(16, sizeof(int));
    int *from_window;
    MPI_Win other;

    MPI_Alloc_mem(64, MPI_INFO_NULL, &from_mpi);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &from_window, &other);
    int *memory[] = {fixed, stack, from_mpi, from_malloc, from_window};
    for (int i = 0; i < 5; i++) {
        memset(memory[i], 0, 64);
        MPI_Win_attach(win, memory[i], 64);
        MPI_Aint there = swap_address(memory[i]);
        put_int(check_rank * 10 + i, there + 60);
        /* To oneself as well. */
        int value = i;
        MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
        MPI_Put(&value, 1, MPI_INT, check_rank, address_of(memory[i]) + 4, 1, MPI_INT, win);
        MPI_Win_unlock(check_rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_SAME(memory[i][15], before * 10 + i);
        CHECK_SAME(memory[i][1], i);
        CHECK_SAME(memory[i][14], 0);
    }
    for (int i = 0; i < 5; i++) {
        MPI_Win_detach(win, memory[i]);
    }
    MPI_Win_free(&other);
    MPI_Free_mem(from_mpi);
    free(from_malloc);
}

/* Attached, detached and attached again at the same place, with another size: origins see the new one. */
static void again(void) {
    char *memory = calloc(65536, 1);
    MPI_Aint there = swap_address(memory);

    for (int i = 1; i <= 20; i++) {
        MPI_Win_attach(win, memory, 1000 * i);
        MPI_Barrier(MPI_COMM_WORLD);
        put_int(check_rank + i, there + 1000 * i - 4);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_SAME(*(int *)(memory + 1000 * i - 4), before + i);
        MPI_Win_detach(win, memory);
    }
    free(memory);
}

/* An accumulate and a derived type go to attached memory too. */
static void operations(void) {
    int memory[100] = {0};
    int ones[10];
    MPI_Datatype spread;

    MPI_Type_vector(10, 1, 10, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < 10; i++) {
        ones[i] = i + 1;
    }
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Aint there = swap_address(memory);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 3; i++) {
        MPI_Accumulate(ones, 10, MPI_INT, next, there, 1, spread, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++) {
        CHECK_SAME(memory[i], i % 10 ? 0 : 3 * (i / 10 + 1));
    }
    MPI_Type_free(&spread);
    MPI_Win_detach(win, memory);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    next = check_neighbour(1);
    before = check_neighbour(-1);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    kinds_of_memory();
    again();
    operations();
    thousands(10000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    return check_finish();
}
