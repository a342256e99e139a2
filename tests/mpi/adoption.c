/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows on ordinary memory that comes to be shared and private again: threads that go on writing into it
 * and beside it, an owner that waits in a barrier, and windows that overlap, nest and share pages, freed in
 * any order. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 4, CYCLES = 1000, PAGES = 8, LEAD = 64, PAGE = 4096 };

static MPI_Win make(void *base, size_t size, const char *policy) {
    MPI_Info info;
    MPI_Win win;

    MPI_Info_create(&info);
    MPI_Info_set(info, "truerma_adopt", policy);
    MPI_Win_create(base, (MPI_Aint)size, 1, info, MPI_COMM_WORLD, &win);
    MPI_Info_free(&info);
    return win;
}

struct incrementer {
    pthread_t thread;
    volatile long *inside;
    volatile long *beside;
    long count;
    atomic_int *running;
    atomic_bool *stop;
};

static void *increment(void *argument) {
    struct incrementer *me = argument;

    atomic_fetch_add(me->running, 1);
    while (!atomic_load_explicit(me->stop, memory_order_relaxed)) {
        (*me->inside)++;
        (*me->beside)++;
        me->count++;
    }
    return NULL;
}

/* What became of a cycle's window, as its origin sees it. */
struct fates {
    int mapped;
    int part;
    int private;
};

static void note(struct fates *fates, const char *path) {
    fates->mapped += strcmp(path, "mapped") == 0;
    fates->part += strcmp(path, "mapped + cma") == 0;
    fates->private += strcmp(path, "cma") == 0;
}

/* Rank 1's threads increment words inside and beside a window that comes and goes; rank 0 puts into it. */
static void hammer(const char *policy, int windows) {
    struct incrementer crew[THREADS];
    struct fates fates = {0, 0, 0};
    atomic_bool stop = false;
    atomic_int running = 0;
    char *memory = NULL;
    bool is_target = check_rank == 1;
    /* The hosts alone need the threads' cores for their own progress, and take a second for a window. */
    int cycles = check_is_truerma() ? windows : windows / 50;

    CHECK(posix_memalign((void **)&memory, PAGE, PAGES * PAGE) == 0);
    memset(memory, 0, PAGES * PAGE);
    for (int t = 0; t < THREADS && is_target; t++) {
        crew[t] = (struct incrementer){.inside = (volatile long *)(memory + (t + 1) * PAGE) + t,
                                       .beside = (volatile long *)memory + t,
                                       .running = &running,
                                       .stop = &stop};
        pthread_create(&crew[t].thread, NULL, increment, &crew[t]);
    }
    while (is_target && atomic_load(&running) < THREADS) {
        sched_yield();
    }
    long lost = 0;
    for (int i = 0; i < cycles; i++) {
        MPI_Win win = make(memory + LEAD, (PAGES - 1) * PAGE, policy);
        uint64_t word = check_pattern((uint64_t)i, 1, 2);
        MPI_Win_fence(0, win);
        if (check_rank == 0) {
            note(&fates, check_path(win, 1));
            MPI_Put(&word, 8, MPI_BYTE, 1, (PAGES - 2) * PAGE, 8, MPI_BYTE, win);
        }
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        lost += is_target && memcmp(memory + LEAD + (PAGES - 2) * PAGE, &word, 8) != 0;
        MPI_Win_free(&win);
    }
    atomic_store(&stop, true);
    for (int t = 0; t < THREADS && is_target; t++) {
        pthread_join(crew[t].thread, NULL);
        CHECK_SAME(*crew[t].inside, crew[t].count);
        CHECK_SAME(*crew[t].beside, crew[t].count);
    }
    CHECK_SAME(lost, 0);
    if (check_rank == 0 && check_is_truerma()) {
        printf("%d windows among %d writing threads, policy %s: %d adopted whole, %d without their edges, %d "
               "left "
               "private\n",
               cycles, THREADS, policy, fates.mapped, fates.part, fates.private);
        CHECK_SAME(fates.mapped + fates.part + fates.private, cycles);
    }
    free(memory);
}

/* Windows over one block of memory, by offset and size. */
static const struct span {
    size_t offset;
    size_t size;
} spans[] = {
    {0, PAGES *PAGE},           /* all of it */
    {2 * PAGE, 3 * PAGE},       /* within */
    {4 * PAGE + 100, 2 * PAGE}, /* across the end of the one before */
    {100, 1000},                /* in one page */
    {1100, PAGE},               /* its neighbour in that page */
    {7 * PAGE, PAGE},           /* the last page */
};

enum { SPANS = sizeof spans / sizeof spans[0] };

/* Every rank puts a mark to the next one through a window, at its begin and end. */
static void put_marks(MPI_Win win, const struct span *span, const char *memory, unsigned round) {
    int next = check_neighbour(1);
    int previous = check_neighbour(-1);
    uint64_t mine[2] = {check_pattern((uint64_t)check_rank, round, 0),
                        check_pattern((uint64_t)check_rank, round, 1)};
    uint64_t came[2];

    MPI_Win_fence(0, win);
    MPI_Put(&mine[0], 8, MPI_BYTE, next, 0, 8, MPI_BYTE, win);
    MPI_Put(&mine[1], 8, MPI_BYTE, next, (MPI_Aint)span->size - 8, 8, MPI_BYTE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    memcpy(&came[0], memory + span->offset, 8);
    memcpy(&came[1], memory + span->offset + span->size - 8, 8);
    CHECK(came[0] == check_pattern((uint64_t)previous, round, 0));
    CHECK(came[1] == check_pattern((uint64_t)previous, round, 1));
}

/* All windows at once, made in one random order and freed in another; what is between the marks stays. */
static void overlap(const char *policy) {
    uint64_t state = 4711; /* the same on all ranks: windows are made and freed collectively */
    enum { ROUNDS = 24 };
    size_t bytes = (PAGES + 1) * PAGE;
    unsigned char *memory = malloc(bytes);

    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned char *aligned = memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE;
        if (round % 2) {
            aligned = memory; /* as malloc gives it */
        }
        MPI_Win windows[SPANS];
        int order[SPANS];
        memset(memory, (int)(round + 1), bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < SPANS; i++) {
            int at = (int)check_random(&state, (unsigned)i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (int i = 0; i < SPANS; i++) {
            const struct span *span = &spans[order[i]];
            windows[order[i]] = make(aligned + span->offset, span->size, policy);
            put_marks(windows[order[i]], span, (char *)aligned, round * SPANS + (unsigned)i);
        }
        for (int left = SPANS; left > 0; left--) {
            int at = (int)check_random(&state, (unsigned)left);
            put_marks(windows[order[at]], &spans[order[at]], (char *)aligned, round * SPANS + (unsigned)left);
            MPI_Win_free(&windows[order[at]]);
            order[at] = order[left - 1];
        }
        long changed = 0;
        for (size_t i = 0; i < bytes; i++) {
            changed += memory[i] != round + 1;
        }
        CHECK_THAT(changed <= 2 * 8 * SPANS, "%ld bytes changed, the marks are %d", changed, 2 * 8 * SPANS);
        /* Ordinary memory again: it may move. */
        bytes += PAGE;
        memory = realloc(memory, bytes);
        CHECK(memory[0] != 0);
    }
    free(memory);
}

/* An owner that waits in a barrier adopts there what its window has earned meanwhile. */
static void in_barrier(void) {
    enum { BYTES = 64 * PAGE, MOST = 1000000 };
    char *memory = malloc(BYTES);
    MPI_Win win = make(memory, BYTES, "auto");
    uint64_t word = 0;

    memset(memory, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (check_rank == 0) {
        /* On the host alone nothing changes. */
        const uint64_t most = check_is_truerma() ? MOST : 100;
        while (word < most && strncmp(check_path(win, 1), "mapped", strlen("mapped")) != 0) {
            word++;
            MPI_Put(&word, 8, MPI_BYTE, 1, (MPI_Aint)(word * 8 % BYTES), 8, MPI_BYTE, win);
            MPI_Win_flush(1, win);
        }
        CHECK_THAT(word < MOST, "after %d puts the window is not adopted", MOST);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Bcast(&word, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (check_rank == 1) {
        uint64_t wrong = 0;
        for (uint64_t written = 1; written <= word; written++) {
            wrong +=
                word - written < BYTES / 8 && ((uint64_t *)(void *)memory)[written % (BYTES / 8)] != written;
        }
        CHECK_SAME(wrong, 0);
    }
    MPI_Win_free(&win);
    free(memory);
}

int main(int argc, char **argv) {
    static const char *const policies[] = {"always", "auto", "never"};

    check_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        overlap(policies[i]);
    }
    if (check_ranks > 1) {
        in_barrier();
        hammer("always", CYCLES);
        hammer("auto", CYCLES / 10);
    }
    return check_finish();
}
