/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of every kind, with data checked, in whatever place this runs. Knows nothing of TrueRMA.
 *
 *   place_windows [kind...]      2 ranks; the kinds named must be truly one-sided: their target makes no MPI
 *                                call until the data is there
 */
#include "../mpi/check.h"

#include <time.h>

enum kind { ALIGNED, MALLOC, SMALL, ALLOCATE, SHARED, ALLOC_MEM, DYNAMIC, KINDS };

static const char *const names[KINDS] = {"aligned", "malloc",    "small",  "allocate",
                                         "shared",  "alloc_mem", "dynamic"};
static bool must_be_onesided[KINDS];

/* WORDS is a whole number of pages. HAMMER is for windows that need no help from the target. */
enum { WORDS = 200192, SMALL_WORDS = 10, HAMMER = 4000, SLOW = 50, ORIGIN = 0, TARGET = 1 };

struct place_window {
    enum kind kind;
    size_t words;
    long *memory;
    MPI_Win win;
    MPI_Aint origin; /* displacement of the target's first word */
};

static void make(struct place_window *window, enum kind kind) {
    MPI_Aint address = 0;
    void *memory = NULL;

    *window = (struct place_window){.kind = kind, .words = kind == SMALL ? SMALL_WORDS : WORDS};
    MPI_Aint size = (MPI_Aint)(window->words * sizeof(long));
    switch (kind) {
    case ALLOCATE:
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window->win);
        break;
    case SHARED:
        MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window->win);
        break;
    case ALIGNED:
        CHECK(posix_memalign(&memory, 4096, (size_t)size) == 0);
        break;
    case ALLOC_MEM:
        MPI_Alloc_mem(size, MPI_INFO_NULL, &memory);
        break;
    default:
        memory = malloc((size_t)size);
        break;
    }
    window->memory = memory;
    for (size_t i = 0; i < window->words; i++) {
        window->memory[i] = 0;
    }
    if (kind == DYNAMIC) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
        MPI_Win_attach(window->win, memory, size);
        MPI_Get_address(memory, &address);
    } else if (kind != ALLOCATE && kind != SHARED) {
        MPI_Win_create(memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
    }
    MPI_Bcast(&address, 1, MPI_AINT, TARGET, MPI_COMM_WORLD);
    window->origin = address;
}

static void release(struct place_window *window) {
    if (window->kind == DYNAMIC) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(window->win, window->memory);
    }
    MPI_Win_free(&window->win);
    if (window->kind == ALLOC_MEM) {
        MPI_Free_mem(window->memory);
    } else if (window->kind != ALLOCATE && window->kind != SHARED) {
        free(window->memory);
    }
}

static MPI_Aint disp(const struct place_window *window, size_t word) {
    return window->origin + (MPI_Aint)(word * sizeof(long));
}

/* False after a time in which any message gets through. */
static bool arrives(const volatile long *word, long value) {
    enum { DEADLINE_S = 20 };
    time_t end = time(NULL) + DEADLINE_S;

    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        if (time(NULL) > end) {
            return false;
        }
    }
    return true;
}

static void put_without_the_target(struct place_window *window) {
    size_t last = window->words - 1;
    long values[2] = {41, 42};

    if (check_rank == ORIGIN) {
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window->win);
        MPI_Put(&values[0], 1, MPI_LONG, TARGET, disp(window, 0), 1, MPI_LONG, window->win);
        MPI_Win_flush(TARGET, window->win);
        MPI_Put(&values[1], 1, MPI_LONG, TARGET, disp(window, last), 1, MPI_LONG, window->win);
        MPI_Win_unlock(TARGET, window->win);
    } else if (must_be_onesided[window->kind]) {
        CHECK_THAT(arrives(&window->memory[last], 42), "a put into a window (%s) waits for its target",
                   names[window->kind]);
        CHECK_SAME(window->memory[0], 41);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Enough traffic that an adoption would be earned, in one epoch and in several. */
static void hammer(struct place_window *window) {
    long one = 1;
    long before = -1;
    long read = -1;
    long n = must_be_onesided[window->kind] ? HAMMER : SLOW;

    for (int round = 0; round < 3; round++) {
        if (check_rank == ORIGIN) {
            MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window->win);
            for (long i = 0; i < n; i++) {
                size_t word = 2 + (size_t)i % (window->words - 3);
                long value = i + round;
                MPI_Put(&value, 1, MPI_LONG, TARGET, disp(window, word), 1, MPI_LONG, window->win);
                MPI_Fetch_and_op(&one, &before, MPI_LONG, TARGET, disp(window, 1), MPI_SUM, window->win);
                MPI_Get(&read, 1, MPI_LONG, TARGET, disp(window, word), 1, MPI_LONG, window->win);
                MPI_Win_flush(TARGET, window->win);
                if (before != round * n + i || read != value) {
                    CHECK_SAME(before, round * n + i);
                    CHECK_SAME(read, value);
                    break;
                }
            }
            MPI_Win_unlock(TARGET, window->win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (check_rank == TARGET) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window->win);
        CHECK_SAME(window->memory[1], 3 * n);
        MPI_Win_unlock(TARGET, window->win);
    }
}

static void exchange_all(struct place_window *window) {
    size_t n = window->words;
    long *buffer = malloc(n * sizeof *buffer);

    for (size_t i = 0; i < n; i++) {
        buffer[i] = (long)check_pattern(i, 3, window->kind);
    }
    MPI_Win_fence(0, window->win);
    if (check_rank == ORIGIN) {
        MPI_Put(buffer, (int)n, MPI_LONG, TARGET, disp(window, 0), (int)n, MPI_LONG, window->win);
    }
    MPI_Win_fence(0, window->win);
    if (check_rank == ORIGIN) {
        MPI_Accumulate(buffer, (int)n, MPI_LONG, TARGET, disp(window, 0), (int)n, MPI_LONG, MPI_BXOR,
                       window->win);
    }
    MPI_Win_fence(0, window->win);
    size_t wrong = 0;
    for (size_t i = 0; i < n && check_rank == TARGET; i++) {
        wrong += window->memory[i] != 0;
        window->memory[i] = (long)(i + 5);
    }
    MPI_Win_fence(0, window->win);
    if (check_rank == ORIGIN) {
        MPI_Get(buffer, (int)n, MPI_LONG, TARGET, disp(window, 0), (int)n, MPI_LONG, window->win);
    }
    MPI_Win_fence(0, window->win);
    for (size_t i = 0; i < n && check_rank == ORIGIN; i++) {
        wrong += buffer[i] != (long)(i + 5);
    }
    CHECK_SAME(wrong, 0);
    free(buffer);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            must_be_onesided[kind] |= strcmp(argv[i], names[kind]) == 0;
        }
    }
    CHECK_SAME(check_ranks, 2);
    for (int kind = 0; kind < KINDS && check_ranks == 2; kind++) {
        struct place_window window;
        make(&window, (enum kind)kind);
        put_without_the_target(&window);
        hammer(&window);
        exchange_all(&window);
        release(&window);
    }
    return check_finish();
}
