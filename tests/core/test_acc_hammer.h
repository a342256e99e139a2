/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ACC_HAMMER_H
#define TEST_ACC_HAMMER_H

/*
 * For tests of atomicity: a target's memory with its domain, and eight origins, processes or threads, that
 * work on it at once along mapped and CMA paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/mman.h>

#include "acc/acc_lock.h"
#include "acc/acc_update.h"
#include "node/node_doorbell.h"
#include "test_mem_processes.h"

#define ORIGINS      8U
#define MEMORY_BYTES (8U * TRMA_ACC_STRIPE_BYTES)
#define MEMORY_EDGE  64U /* guards on both sides */

/* One target and all that its origins share. */
struct arena {
    void *mapping; /* what munmap wants: the arena begins where a stripe does */
    struct trma_acc_domain domain;
    struct trma_acc_presence presences[ORIGINS];
    pid_t target;
    atomic_uint ready;
    atomic_uint done[ORIGINS];
    atomic_uint satisfied;
    bool hardware_atomics;
    bool mixes_paths; /* every second origin uses CMA, the others the mapping */
    bool only_cma;
    bool has_singles;   /* origins may change to singles mode */
    bool mixes_singles; /* but every third one may not, as if it had threads */
    uint64_t tickets[ORIGINS * MEMORY_BYTES / sizeof(uint64_t)];
    _Alignas(TRMA_ACC_STRIPE_BYTES) char memory[MEMORY_EDGE + MEMORY_BYTES + MEMORY_EDGE];
};

/* One origin's view. */
struct origin {
    struct arena *arena;
    unsigned index;
    struct trma_acc_context context;
    struct trma_acc_presence *presences[ORIGINS];
    struct trma_peer peer;
    struct trma_path path;
    uint64_t random;
};

static inline uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline enum trma_status wait_politely(void *argument, uint32_t owner, unsigned tries) {
    (void)argument;
    (void)tries;
    CHECK(owner < ORIGINS);
    sched_yield();
    return TRMA_OK;
}

static inline void origin_init(struct origin *origin, struct arena *arena, unsigned index) {
    const uintptr_t low = (uintptr_t)arena->memory;
    const bool is_mapped = !arena->only_cma && (!arena->mixes_paths || index % 2 == 0);
    *origin = (struct origin){.arena = arena, .index = index, .random = UINT64_C(77) + index};
    origin->context = (struct trma_acc_context){.domain = &arena->domain,
                                                .me = index,
                                                .hardware_atomics = arena->hardware_atomics,
                                                .presences = origin->presences,
                                                .n_members = ORIGINS,
                                                .wait = wait_politely};
    for (unsigned i = 0; i < ORIGINS; i++) {
        origin->presences[i] = &arena->presences[i];
    }
    if (arena->has_singles && trma_node_doorbell_register() && !(arena->mixes_singles && index % 3 == 2)) {
        origin->context.presence = &arena->presences[index];
    }
    origin->peer.pid = arena->target;
    atomic_init(&origin->peer.has_cma, true);
    origin->path = (struct trma_path){.mapped_low = low,
                                      .mapped_high = is_mapped ? low + sizeof arena->memory : low,
                                      .local = arena->memory,
                                      .peer = &origin->peer};
}

typedef void origin_body(struct origin *origin);

/* All origins begin at once, so that they do get into each other's way. */
static inline void await_all(struct arena *arena) {
    atomic_fetch_add(&arena->ready, 1);
    while (atomic_load(&arena->ready) < ORIGINS) {
        sched_yield();
    }
}

static inline void hammer_by_processes(struct arena *arena, origin_body *body) {
    pid_t children[ORIGINS];
    for (unsigned i = 0; i < ORIGINS; i++) {
        fflush(NULL);
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct origin origin;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            origin_init(&origin, arena, i);
            await_all(arena);
            body(&origin);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < ORIGINS; i++) {
        assert_int_equal(child_join(children[i]), 0);
    }
}

struct thread {
    pthread_t thread;
    struct origin origin;
    origin_body *body;
};

static inline void *thread_run(void *argument) {
    struct thread *thread = argument;
    await_all(thread->origin.arena);
    thread->body(&thread->origin);
    return NULL;
}

static inline void hammer_by_threads(struct arena *arena, origin_body *body) {
    struct thread threads[ORIGINS];
    for (unsigned i = 0; i < ORIGINS; i++) {
        origin_init(&threads[i].origin, arena, i);
        threads[i].body = body;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, thread_run, &threads[i]), 0);
    }
    for (unsigned i = 0; i < ORIGINS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    }
}

enum { MAPPING_BYTES = sizeof(struct arena) + TRMA_ACC_STRIPE_BYTES };

static inline struct arena *arena_open(void) {
    void *mapping = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(mapping != MAP_FAILED && mapping != NULL);
    const size_t padding = -(uintptr_t)mapping % TRMA_ACC_STRIPE_BYTES;
    struct arena *arena = (struct arena *)((char *)mapping + padding);
    arena->mapping = mapping;
    arena->target = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* fails where no Yama forbids CMA */
    return arena;
}

static inline void arena_close(struct arena *arena) {
    for (unsigned i = 0; i < TRMA_ACC_STRIPES; i++) {
        assert_int_equal(atomic_load(&arena->domain.stripes[i].owner), 0);
    }
    for (unsigned i = 0; i < ORIGINS; i++) {
        assert_int_equal(atomic_load(&arena->presences[i].inside) % 2, 0);
    }
    munmap(arena->mapping, MAPPING_BYTES);
}

/* Whether this machine lets a child read its parent. */
static inline bool cma_works(void) {
    struct arena *arena = arena_open();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct origin origin;
        char byte;
        arena->only_cma = true;
        origin_init(&origin, arena, 0);
        _exit(trma_move_read(&origin.path, &byte, (uintptr_t)arena->memory, 1) != TRMA_OK);
    }
    const bool works = child_join(child) == 0;
    arena_close(arena);
    return works;
}

/* Runs one experiment on processes along each kind of path, and on threads; `check` looks at what came out.
 */
static inline void run_everywhere(origin_body *body, void (*check)(struct arena *), bool hardware_too) {
    enum {
        MAPPED,
        MIXED,
        CMA,
        SINGLES,
        MIXED_SINGLES,
        CMA_AND_SINGLES,
        THREADS,
        HARDWARE,
        HARDWARE_THREADS,
        N_WAYS
    };
    const bool has_cma = cma_works();
    for (int way = 0; way < (hardware_too ? (int)N_WAYS : (int)HARDWARE); way++) {
        if (!has_cma && (way == MIXED || way == CMA || way == CMA_AND_SINGLES)) {
            print_message("left out: this machine refuses CMA\n");
            continue;
        }
        struct arena *arena = arena_open();
        arena->mixes_paths = way == MIXED || way == CMA_AND_SINGLES;
        arena->has_singles = way >= SINGLES && way <= CMA_AND_SINGLES;
        arena->mixes_singles = way == MIXED_SINGLES;
        arena->only_cma = way == CMA;
        arena->hardware_atomics = way >= HARDWARE;
        if (way == THREADS || way == HARDWARE_THREADS) {
            hammer_by_threads(arena, body);
        } else {
            hammer_by_processes(arena, body);
        }
        check(arena);
        arena_close(arena);
    }
}

#endif
