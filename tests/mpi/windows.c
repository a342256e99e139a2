/* SPDX-License-Identifier: BSD-3-Clause */
/* Window constructors: communicators of all kinds, sizes and units that differ, overlapping and many windows,
 * shared memory. */
#include "check.h"

enum { WORDS = 32 };

/* In one fence epoch every rank of `comm` puts a word that tells who it is into the next one's window. */
static void ring(struct check_window *window, MPI_Comm comm, uint64_t salt) {
    int rank;
    int ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int next = (rank + 1) % ranks;
    int before = (rank + ranks - 1) % ranks;
    uint64_t word = check_pattern((uint64_t)rank, salt, 1);

    MPI_Win_fence(MPI_MODE_NOPRECEDE, window->win);
    MPI_Put(&word, 8, MPI_BYTE, next, check_disp(window, next, 8), 8, MPI_BYTE, window->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
    CHECK_SAME(((uint64_t *)window->base)[1], check_pattern((uint64_t)before, salt, 1));
    CHECK_SAME(((uint64_t *)window->base)[0], 0);
    CHECK_SAME(((uint64_t *)window->base)[2], 0);
}

static void on_communicator(MPI_Comm comm, uint64_t salt) {
    for (int flavor = 0; flavor < CHECK_FLAVORS; flavor++) {
        struct check_window window;
        check_window_make(&window, (enum check_flavor)flavor, WORDS * sizeof(uint64_t), comm);
        ring(&window, comm, salt);
        ring(&window, comm, salt + 100);
        check_window_free(&window);
    }
}

static void communicators(void) {
    MPI_Comm dup;
    MPI_Comm parity;
    MPI_Comm backwards;
    MPI_Comm halves;

    on_communicator(MPI_COMM_SELF, 1);
    on_communicator(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    on_communicator(dup, 3);
    MPI_Comm_split(dup, check_rank % 2, check_rank, &parity);
    on_communicator(parity, 4);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &backwards);
    MPI_Comm_free(&dup);
    on_communicator(backwards, 5);
    /* Only some ranks make windows, the others go on. */
    MPI_Comm_split(MPI_COMM_WORLD, check_rank < (check_ranks + 1) / 2 ? 0 : MPI_UNDEFINED, 0, &halves);
    if (halves != MPI_COMM_NULL) {
        on_communicator(halves, 6);
        MPI_Comm_free(&halves);
    }
    MPI_Comm_free(&parity);
    MPI_Comm_free(&backwards);
}

/* The communicator is freed while the window lives. */
static void outlives_communicator(void) {
    MPI_Comm dup;
    struct check_window window;

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    check_window_make(&window, CHECK_ALLOCATE, 64, dup);
    MPI_Comm_free(&dup);
    ring(&window, MPI_COMM_WORLD, 7);
    check_window_free(&window);
}

/* Rank r has r * 64 bytes in units of 1, 2, 4 or 8; rank 0 has nothing. */
static void differing(bool allocate) {
    size_t size = 64 * (size_t)check_rank;
    int unit = 1 << check_rank % 4;
    void *base = NULL;
    MPI_Win win;

    if (allocate) {
        MPI_Win_allocate((MPI_Aint)size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    } else {
        base = size ? malloc(size) : NULL;
        MPI_Win_create(base, (MPI_Aint)size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    if (size) {
        memset(base, 0, size);
    }
    MPI_Win_fence(0, win);
    if (check_rank == 0) {
        for (int target = 1; target < check_ranks; target++) {
            uint64_t word = check_pattern((uint64_t)target, 1, 1);
            MPI_Aint last = (64 * target - 8) / (1 << target % 4);
            MPI_Put(&word, 8, MPI_BYTE, target, last, 8, MPI_BYTE, win);
        }
    }
    MPI_Put(NULL, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (size_t i = 0; i < size / 8; i++) {
        CHECK_SAME(((uint64_t *)base)[i], i + 1 == size / 8 ? check_pattern((uint64_t)check_rank, 1, 1) : 0);
    }
    MPI_Win_free(&win);
    if (!allocate) {
        free(base);
    }
}

/* Two windows over the same memory, one of them over a part of it, at an odd place. */
static void overlapping(void) {
    unsigned char *memory = calloc(4096, 1);
    int next = check_neighbour(1);
    MPI_Win whole;
    MPI_Win part;
    unsigned char got = 0;

    MPI_Win_create(memory, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &whole);
    MPI_Win_create(memory + 1001, 999, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part);
    unsigned char byte = (unsigned char)(check_rank + 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, whole);
    MPI_Put(&byte, 1, MPI_BYTE, next, 1001 + 7, 1, MPI_BYTE, whole);
    MPI_Win_unlock(next, whole);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, part);
    MPI_Get(&got, 1, MPI_BYTE, next, 7, 1, MPI_BYTE, part);
    MPI_Win_unlock(next, part);
    CHECK_SAME(got, byte);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&whole);
    /* The other one still works. */
    byte = (unsigned char)(check_rank + 100);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, part);
    MPI_Put(&byte, 1, MPI_BYTE, next, 998, 1, MPI_BYTE, part);
    MPI_Win_unlock(next, part);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_SAME(memory[1001 + 998], check_neighbour(-1) + 100);
    CHECK_SAME(memory[2000], 0);
    MPI_Win_free(&part);
    free(memory);
}

/* Many windows alive at once, all flavours, freed in another order than made. */
static void many(void) {
    enum { MANY = 60 };
    struct check_window windows[MANY];

    for (int i = 0; i < MANY; i++) {
        check_window_make(&windows[i], (enum check_flavor)(i % CHECK_FLAVORS), WORDS * sizeof(uint64_t),
                          MPI_COMM_WORLD);
    }
    for (int i = 0; i < MANY; i++) {
        int at = i * 7 % MANY;
        ring(&windows[at], MPI_COMM_WORLD, (uint64_t)at);
    }
    for (int i = 0; i < MANY; i++) {
        check_window_free(&windows[i * 11 % MANY]);
    }
}

/* A window on a piece in the middle of memory from MPI_Alloc_mem and from MPI_Win_allocate. */
static void on_mpi_memory(void) {
    char *memory;
    char *allocated;
    MPI_Win outer;
    int next = check_neighbour(1);

    MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory);
    MPI_Win_allocate(100000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &outer);
    memset(memory, 0, 100000);
    memset(allocated, 0, 100000);
    for (int i = 0; i < 2; i++) {
        char *base = (i ? allocated : memory) + 12344;
        int word = check_rank * 3 + i;
        MPI_Win win;
        MPI_Win_create(base, 40000, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&word, 1, MPI_INT, next, 9999, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK_SAME(*(int *)(base + 39996), check_neighbour(-1) * 3 + i);
        CHECK_SAME(base[40000], 0);
        MPI_Win_free(&win);
    }
    MPI_Win_free(&outer);
    MPI_Free_mem(memory);
}

/* Zero-byte allocations give something that can be freed; alignment is good for every type. */
static void alloc_mem(void) {
    static const size_t sizes[] = {1, 8, 100, 4096, 5000, 1 << 20, (3 << 20) + 1};
    char *memory[7];

    for (int i = 0; i < 7; i++) {
        MPI_Alloc_mem((MPI_Aint)sizes[i], MPI_INFO_NULL, &memory[i]);
        CHECK_SAME((uintptr_t)memory[i] % 16, 0);
        memset(memory[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < 7; i++) {
        CHECK_SAME(memory[i][0], i + 1);
        CHECK_SAME(memory[i][sizes[i] - 1], i + 1);
        MPI_Free_mem(memory[i]);
    }
}

/* Everybody reads what everybody stored, through the pointers of MPI_Win_shared_query; sizes differ, the last
 * rank has none. */
static void shared(bool noncontiguous) {
    MPI_Info info;
    MPI_Win win;
    char *base;
    MPI_Aint mine = check_rank + 1 == check_ranks && check_ranks > 1 ? 0 : 40 * (check_rank + 1);
    MPI_Aint size;
    int unit;
    char *at;
    char *expected = NULL;

    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", noncontiguous ? "true" : "false");
    MPI_Win_allocate_shared(mine, 2, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    if (mine) {
        memset(base, check_rank + 1, (size_t)mine);
    }
    MPI_Win_fence(0, win);
    for (int rank = 0; rank < check_ranks; rank++) {
        bool is_empty = rank + 1 == check_ranks && check_ranks > 1;
        at = NULL;
        MPI_Win_shared_query(win, rank, &size, &unit, &at);
        CHECK_SAME(size, is_empty ? 0 : 40 * (rank + 1));
        if (is_empty) {
            continue;
        }
        CHECK_SAME(unit, 2);
        CHECK(at != NULL);
        for (int i = 0; at && i < size; i++) {
            if (at[i] != rank + 1) {
                CHECK_SAME(at[i], rank + 1);
            }
        }
        if (rank && !noncontiguous) {
            CHECK_THAT(at == expected, "segment of rank %d follows its predecessor's", rank);
        }
        expected = at + size;
        if (rank == check_rank) {
            CHECK(at == base);
        }
    }
    MPI_Win_shared_query(win, 0, &size, &unit, &expected);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &at);
    CHECK(at == expected);
    CHECK_SAME(size, 40);
    MPI_Win_fence(0, win);
    /* A store into the neighbour's memory is seen there, and so is a put. */
    int target = check_rank + 2 >= check_ranks ? 0 : check_rank + 1;
    if (check_rank + 1 < check_ranks || check_ranks == 1) {
        short word = (short)(check_rank + 1000);
        MPI_Win_shared_query(win, target, &size, &unit, &at);
        at[0] = 99;
        MPI_Put(&word, 1, MPI_SHORT, target, 5, 1, MPI_SHORT, win);
    }
    MPI_Win_fence(0, win);
    if (mine) {
        short word;
        memcpy(&word, base + 10, 2);
        CHECK_SAME(base[0], 99);
        int origin = check_rank ? check_rank - 1 : check_ranks > 2 ? check_ranks - 2 : 0;
        CHECK_SAME(word, origin + 1000);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    communicators();
    outlives_communicator();
    differing(true);
    differing(false);
    overlapping();
    many();
    on_mpi_memory();
    alloc_mem();
    shared(false);
    shared(true);
    return check_finish();
}
