/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers that complete later: one that a thread of its own drives, one that goes on only when trma_move_test
 * calls it. Both are held back by a gate, so that "not finished yet" is certain, not likely.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "move/move_copy.h"
#include "move/move_mover.h"

#define JOBS_MAX 64U
#define LEAST    ((size_t)4096)

struct job {
    bool is_put;
    struct trma_pair pair;
    struct trma_outstanding *outstanding;
    enum trma_status status;
};

/* Jobs that wait, protected by `lock`; carried while the gate is open. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job jobs[JOBS_MAX];
    unsigned n;
    bool is_open;
    bool is_over;
    enum trma_status status; /* with which jobs end */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void job_carry(const struct job *job) {
    if (job->status == TRMA_OK) {
        (job->is_put ? trma_move_mover_map.put : trma_move_mover_map.get)(NULL, &job->pair, 1, NULL);
    }
    trma_move_end(job->outstanding, job->status);
}

static enum trma_status queue_add(const struct trma_pair *pairs, size_t n, bool is_put,
                                  struct trma_outstanding *outstanding) {
    pthread_mutex_lock(&queue.lock);
    for (size_t i = 0; i < n; i++) {
        if (queue.n == JOBS_MAX) {
            pthread_mutex_unlock(&queue.lock);
            return TRMA_ERR_NO_MEMORY;
        }
        trma_move_begin(outstanding);
        queue.jobs[queue.n++] = (struct job){
            .is_put = is_put, .pair = pairs[i], .outstanding = outstanding, .status = queue.status};
    }
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return TRMA_OK;
}

static enum trma_status deferred_put(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                     struct trma_outstanding *outstanding) {
    (void)path;
    return queue_add(pairs, n, true, outstanding);
}

static enum trma_status deferred_get(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                     struct trma_outstanding *outstanding) {
    (void)path;
    return queue_add(pairs, n, false, outstanding);
}

static void queue_set(bool is_open, bool is_over, enum trma_status status) {
    pthread_mutex_lock(&queue.lock);
    queue.is_open = is_open;
    queue.is_over = is_over;
    queue.status = status;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

/* The engine of the first mover. */
static void *engine_run(void *argument) {
    (void)argument;
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (!queue.is_over && !(queue.is_open && queue.n > 0)) {
            pthread_cond_wait(&queue.changed, &queue.lock);
        }
        if (queue.is_over) {
            break;
        }
        const struct job job = queue.jobs[--queue.n];
        pthread_mutex_unlock(&queue.lock);
        job_carry(&job);
        pthread_mutex_lock(&queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* The second mover's: one job per call. */
static void polled_progress(struct trma_outstanding *outstanding) {
    (void)outstanding;
    struct job job;
    pthread_mutex_lock(&queue.lock);
    const bool has_job = queue.is_open && queue.n > 0;
    if (has_job) {
        job = queue.jobs[--queue.n];
    }
    pthread_mutex_unlock(&queue.lock);
    if (has_job) {
        job_carry(&job);
    }
}

static const struct trma_mover threaded = {.name = "threaded", .put = deferred_put, .get = deferred_get};
static const struct trma_mover polled = {
    .name = "polled", .put = deferred_put, .get = deferred_get, .progress = polled_progress};

/* A target of this process's own, reached as a mapped one: its addresses are another process's. */
#define ROOM ((size_t)64 * 1024)
static char memory[ROOM];
static char origin[ROOM];
static struct trma_peer peer;
static const struct trma_path path = {
    .mapped_low = 0x100000, .mapped_high = 0x100000 + ROOM, .local = memory, .peer = &peer};

static struct trma_extent extent(struct trma_layout *layout, uintptr_t address, size_t count) {
    return (struct trma_extent){layout, address, count};
}

static void check_deferred(const struct trma_mover *mover) {
    struct trma_outstanding outstanding = {0};
    struct trma_outstanding other = {0};
    struct trma_layout *byte;
    struct trma_layout *real;
    struct trma_layout *column;
    queue_set(false, false, TRMA_OK);
    trma_move_mover_set(mover, LEAST);
    memset(memory, 0, ROOM);
    for (size_t i = 0; i < ROOM; i++) {
        origin[i] = (char)(1 + i % 101);
    }
    assert_int_equal(trma_move_layout_make_bytes(1, &byte), TRMA_OK);
    assert_int_equal(trma_move_layout_make_element(TRMA_ELEMENT_FLOAT64, &real), TRMA_OK);
    assert_int_equal(trma_move_layout_make_vector(LEAST / 8, 1, 32, real, &column), TRMA_OK);

    /* Small ones are done at once, by load/store. */
    const struct trma_extent small_here = extent(byte, (uintptr_t)origin, LEAST - 1);
    const struct trma_extent small_there = extent(byte, path.mapped_low, LEAST - 1);
    assert_int_equal(trma_move_put(&path, &small_here, &small_there, &outstanding), TRMA_OK);
    assert_true(trma_move_test(&outstanding));
    assert_memory_equal(memory, origin, LEAST - 1);
    memset(memory, 0, LEAST);

    /* Large ones are not, neither dense nor strided, and the layouts may go meanwhile. */
    const struct trma_extent here = extent(byte, (uintptr_t)origin, LEAST);
    const struct trma_extent there = extent(column, path.mapped_low + 64, 1);
    const struct trma_extent dense_there = extent(byte, path.mapped_low + 32768, LEAST);
    assert_int_equal(trma_move_put(&path, &here, &there, &outstanding), TRMA_OK);
    assert_int_equal(trma_move_put(&path, &here, &dense_there, &outstanding), TRMA_OK);
    trma_move_layout_release(column);
    trma_move_layout_release(real);
    assert_false(trma_move_test(&outstanding));
    assert_true(trma_move_test(&other));
    /* Plain reads and writes never wait for anybody. */
    assert_int_equal(trma_move_write(&path, origin, path.mapped_low + 48 * 1024, 2 * LEAST), TRMA_OK);
    assert_memory_equal(memory + 48 * 1024, origin, 2 * LEAST);

    queue_set(true, false, TRMA_OK);
    while (!trma_move_test(&outstanding)) {
    }
    assert_int_equal(trma_move_failure(&outstanding), TRMA_OK);
    for (size_t i = 0; i < LEAST; i++) {
        assert_int_equal(memory[64 + i / 8 * 32 + i % 8], origin[i]);
        assert_int_equal(memory[32768 + i], origin[i]);
    }

    /* Gets as well. */
    memset(origin, 0, ROOM);
    assert_int_equal(trma_move_get(&path, &here, &dense_there, &outstanding), TRMA_OK);
    while (!trma_move_test(&outstanding)) {
    }
    assert_memory_equal(origin, memory + 32768, LEAST);

    /* A failure that comes late is kept until it is asked for, once. */
    queue_set(false, false, TRMA_ERR_PEER_DEAD);
    assert_int_equal(trma_move_put(&path, &here, &dense_there, &outstanding), TRMA_OK);
    queue_set(true, false, TRMA_OK);
    while (!trma_move_test(&outstanding)) {
    }
    assert_int_equal(trma_move_failure(&outstanding), TRMA_ERR_PEER_DEAD);
    assert_int_equal(trma_move_failure(&outstanding), TRMA_OK);

    trma_move_mover_set(NULL, 0);
    queue_set(false, false, TRMA_OK);
    assert_int_equal(trma_move_put(&path, &here, &dense_there, &outstanding), TRMA_OK);
    assert_true(trma_move_test(&outstanding));
    trma_move_layout_release(byte);
}

static void test_mover_with_a_thread(void **context) {
    (void)context;
    pthread_t engine;
    assert_int_equal(pthread_create(&engine, NULL, engine_run, NULL), 0);
    check_deferred(&threaded);
    queue_set(false, true, TRMA_OK);
    pthread_join(engine, NULL);
}

static void test_mover_that_is_polled(void **context) {
    (void)context;
    check_deferred(&polled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mover_with_a_thread),
        cmocka_unit_test(test_mover_that_is_polled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
