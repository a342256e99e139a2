/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last rank kills itself at a chosen moment, while the others wait for it or go on: faults.sh looks at
 * how they end.
 *
 *   faults MOMENT
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { WORDS = 4096 };

static MPI_Win win;
static uint64_t *base;
static int victim;

static void die(void) {
    struct timespec now;

    /* The others have come to their wait, or are about to. */
    usleep(100000);
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(stderr, "dead at %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    kill(getpid(), SIGKILL);
}

static MPI_Group group_of(int rank) {
    MPI_Group world;
    MPI_Group one;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &one);
    MPI_Group_free(&world);
    return one;
}

/* The dead holds the lock that the others ask for. */
static void locked(void) {
    if (check_rank == victim) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        die();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(check_rank % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Win_unlock(0, win);
}

/* The targets wait for the complete of an origin that is no more. */
static void exposed(void) {
    if (check_rank == victim) {
        die();
    }
    MPI_Win_post(group_of(victim), 0, win);
    MPI_Win_wait(win);
}

/* The origins' puts wait for a post that never comes. */
static void accessing(void) {
    uint64_t word = 1;

    if (check_rank == victim) {
        die();
    }
    MPI_Win_start(group_of(victim), 0, win);
    MPI_Put(&word, 8, MPI_BYTE, victim, 0, 8, MPI_BYTE, win);
    MPI_Win_complete(win);
}

static void fenced(void) {
    MPI_Win_fence(0, win);
    if (check_rank == victim) {
        die();
    }
    MPI_Win_fence(0, win);
}

static void meeting(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == victim) {
        die();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void making(void) {
    MPI_Win other;
    void *memory;

    if (check_rank == victim) {
        die();
    }
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &other);
}

static void freeing(void) {
    if (check_rank == victim) {
        die();
    }
    MPI_Win_free(&win);
}

/* Nobody waits for the dead: the others work on its memory, again and again, until somebody notices. */
static void working(void) {
    static uint64_t data[WORDS];

    MPI_Win_lock_all(0, win);
    if (check_rank == victim) {
        die();
    }
    for (;;) {
        MPI_Put(data, WORDS, MPI_UINT64_T, victim, 0, WORDS, MPI_UINT64_T, win);
        MPI_Accumulate(data, WORDS, MPI_UINT64_T, victim, 0, WORDS, MPI_UINT64_T, MPI_SUM, win);
        MPI_Win_flush(victim, win);
    }
}

/* On memory that is mapped, which stays there when its owner has died. */
static MPI_Win make_mapped(void) {
    void *memory;
    MPI_Win mapped;

    MPI_Win_allocate(WORDS * sizeof(uint64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &mapped);
    if (check_rank == victim) {
        die();
    }
    return mapped;
}

/* As working, there. */
static void storing(void) {
    static uint64_t data[WORDS];
    MPI_Win mapped = make_mapped();

    MPI_Win_lock_all(0, mapped);
    for (size_t i = 0;; i++) {
        MPI_Put(data, i % WORDS, MPI_UINT64_T, victim, 0, i % WORDS, MPI_UINT64_T, mapped);
        MPI_Win_flush(victim, mapped);
    }
}

/* The same with a lock for each, alone. */
static void locking(void) {
    const uint64_t one = 1;
    MPI_Win mapped = make_mapped();

    for (;;) {
        MPI_Win_lock(check_rank ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, victim, 0, mapped);
        MPI_Accumulate(&one, 1, MPI_UINT64_T, victim, 0, 1, MPI_UINT64_T, MPI_SUM, mapped);
        MPI_Win_unlock(victim, mapped);
    }
}

/* As working, and the dead was in the middle of the same. */
static void hammering(void) {
    static uint64_t data[WORDS];
    struct timespec end;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 1;
    MPI_Win_lock_all(0, win);
    /* The victim may die while it holds nothing: then the others are free to go on, until they need it for
     * the fence. */
    do {
        MPI_Accumulate(data, WORDS, MPI_UINT64_T, 0, 0, WORDS, MPI_UINT64_T, MPI_SUM, win);
        MPI_Win_flush(0, win);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (check_rank == victim && now.tv_sec >= end.tv_sec) {
            /* A child ends its parent at some moment of the parent's work. */
            if (fork() == 0) {
                clock_gettime(CLOCK_REALTIME, &now);
                fprintf(stderr, "dead at %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
                usleep((useconds_t)(now.tv_nsec / 1000 % 20000));
                kill(getppid(), SIGKILL);
                _exit(0);
            }
            end.tv_sec += 1000;
        }
    } while (now.tv_sec < end.tv_sec + 2);
    MPI_Win_unlock_all(win);
    MPI_Win_fence(0, win);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(void);
    } moments[] = {{"locked", locked},   {"exposed", exposed}, {"accessing", accessing}, {"fenced", fenced},
                   {"meeting", meeting}, {"making", making},   {"freeing", freeing},     {"working", working},
                   {"storing", storing}, {"locking", locking}, {"hammering", hammering}};

    check_begin(&argc, &argv);
    victim = check_ranks - 1;
    /* Private memory of 32 KiB: peers reach it by process_vm_writev. */
    base = calloc(WORDS, sizeof *base);
    MPI_Win_create(base, WORDS * sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        if (argc > 1 && strcmp(argv[1], moments[i].name) == 0) {
            moments[i].run();
            fprintf(stderr, "rank %d goes on\n", check_rank);
        }
    }
    return 0; /* without MPI_Finalize, which would wait for the dead */
}
