/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_processes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "mem/mem_backing.h"
#include "mem/mem_door.h"
#include "mem/mem_heap.h"
#include "mem/mem_map.h"
#include "mem/mem_tracker.h"

#define MIB ((size_t)1 << 20)

/* The owner's side of a test: what the stage's shares tell of. */
enum share_index { SMALL, BIG, GONE, SHARES };

static size_t size_of(enum share_index index) {
    return index == BIG ? 40 * MIB : 10000;
}

static bool is_all(const char *bytes, char value, size_t size) {
    return bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static void own(struct stage *stage) {
    CHECK(trma_node_identity_self(&stage->identities[0]) == TRMA_OK);
    char *blocks[SHARES];
    for (enum share_index i = 0; i < SHARES; i++) {
        CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, i == GONE ? 20 * MIB : size_of(i), 1,
                                     (void **)&blocks[i]) == TRMA_OK);
        trma_mem_share_describe(blocks[i], size_of(i), &stage->shares[i]);
        memset(blocks[i], 'a' + (int)i, size_of(i));
    }
    /* A region that is gone when the peer asks, and whose descriptor's number belongs to another file by
     * then. */
    CHECK(trma_mem_heap_free(blocks[GONE]));
    int reused = open("/dev/zero", O_RDWR);
    CHECK(reused == stage->shares[GONE].ticket.descriptor);
    trma_mem_door_serve_if_needed(&stage->identities[0], &stage->identities[0]);
    stage_reach(stage, 1);
    stage_await(stage, 2);
    for (enum share_index i = SMALL; i <= BIG; i++) {
        CHECK(is_all(blocks[i], (char)('A' + (int)i), size_of(i)));
        CHECK(trma_mem_heap_free(blocks[i]));
    }
    trma_mem_door_serve_stop();
    trma_mem_tracker_stop();
}

static char *map_share(struct trma_peer *peer, const struct trma_share *share) {
    void *base = NULL;
    CHECK(trma_mem_map_acquire(peer, &share->ticket, &base) == TRMA_OK);
    return (char *)base + share->offset;
}

/* The peer's side: reads what the owner wrote and writes back. `reason` is the door that must have been
 * taken. */
static void use(struct stage *stage, const char *reason) {
    stage_await(stage, 1);
    struct trma_peer *peer;
    CHECK(trma_node_peer_acquire(&stage->identities[0], &peer) == TRMA_OK);
    if (!peer->is_mapped || strcmp(peer->map_reason, reason) != 0) {
        fprintf(stderr, "wanted \"%s\", got \"%s\"\n", reason, peer->map_reason);
        _exit(1);
    }
    for (enum share_index i = SMALL; i <= BIG; i++) {
        char *bytes = map_share(peer, &stage->shares[i]);
        CHECK(is_all(bytes, (char)('a' + (int)i), size_of(i)));
        memset(bytes, 'A' + (int)i, size_of(i));
        CHECK(map_share(peer, &stage->shares[i]) == bytes); /* one mapping, counted */
        trma_mem_map_release(peer, stage->shares[i].ticket.serial);
        CHECK(bytes[0] == (char)('A' + (int)i));
    }
    CHECK(trma_mem_map_count() == 3); /* the beacon, the chunk, the big one */
    void *base;
    CHECK(trma_mem_map_acquire(peer, &stage->shares[GONE].ticket, &base) == TRMA_ERR_REFUSED);
    trma_mem_map_release(peer, stage->shares[BIG].ticket.serial);
    CHECK(trma_mem_map_count() == 2);
    trma_mem_map_release(peer, stage->shares[SMALL].ticket.serial);
    CHECK(trma_mem_map_count() == 2);                               /* a chunk is kept for the next window */
    trma_mem_map_release(peer, stage->shares[SMALL].ticket.serial); /* once too often: nothing happens */
    trma_node_peer_release(peer);
    CHECK(trma_mem_map_count() == 0);
    stage_reach(stage, 2);
    trma_mem_door_serve_stop();
}

static void disable(const char *first, const char *second, const char *third) {
    const char *names[] = {first, second, third};
    for (size_t i = 0; i < 3; i++) {
        CHECK(names[i] == NULL || trma_mem_door_disable(names[i]));
    }
}

static void use_proc(struct stage *stage) {
    use(stage, "mapped through /proc/<pid>/fd");
}

static void own_without_proc(struct stage *stage) {
    disable("proc", NULL, NULL);
    own(stage);
}

static void use_pidfd(struct stage *stage) {
    disable("proc", NULL, NULL);
    use(stage, "mapped through pidfd_getfd");
}

/* As container profiles do: no pidfd_getfd; and no /proc. */
static void own_refused(struct stage *stage) {
    disable("proc", NULL, NULL);
    refuse_call(SYS_pidfd_getfd, EPERM);
    own(stage);
}

static void use_scm(struct stage *stage) {
    disable("proc", NULL, NULL);
    refuse_call(SYS_pidfd_getfd, EPERM);
    use(stage, "mapped through SCM_RIGHTS");
}

static void own_named(struct stage *stage) {
    disable("proc", "pidfd", "scm");
    own(stage);
}

static void use_shm(struct stage *stage) {
    disable("proc", "pidfd", "scm");
    use(stage, "mapped through a POSIX shared memory object");
}

static void own_without_memfd(struct stage *stage) {
    refuse_call(SYS_memfd_create, ENOSYS);
    own(stage);
}

static void pair(void (*owner)(struct stage *), void (*user)(struct stage *)) {
    struct stage *stage = stage_open();
    pid_t first = child_start(owner, stage);
    pid_t second = child_start(user, stage);
    int status = child_join(second);
    if (status != 0) {
        kill(first, SIGKILL);
    }
    int other = child_join(first);
    assert_int_equal(status, 0);
    assert_int_equal(other, 0);
    assert_int_equal(count_entries("/dev/shm", "truerma"), 0);
    stage_close(stage);
}

static void each_door_opens_when_those_before_it_are_closed(void **state) {
    (void)state;
    pair(own, use_proc);
    pair(own_without_proc, use_pidfd);
    pair(own_refused, use_scm);
    pair(own_named, use_shm);
    pair(own_without_memfd, use_proc);
}

static void use_nothing(struct stage *stage) {
    disable("proc", "pidfd", "scm");
    stage_await(stage, 1);
    struct trma_peer *peer;
    CHECK(trma_node_peer_acquire(&stage->identities[0], &peer) == TRMA_OK);
    CHECK(!peer->is_mapped && strstr(peer->map_reason, "no door is open") != NULL);
    CHECK(peer->has_cma);
    void *base;
    CHECK(trma_mem_map_acquire(peer, &stage->shares[SMALL].ticket, &base) == TRMA_ERR_REFUSED);
    CHECK(trma_mem_map_acquire(peer, &(struct trma_ticket){0}, &base) == TRMA_ERR_ARGUMENT);
    trma_node_peer_release(peer);
}

/* Lives until it is killed. */
static void own_until_killed(struct stage *stage) {
    own(stage);
}

static void own_named_until_killed(struct stage *stage) {
    own_named(stage);
}

static void no_door_is_told(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    pid_t owner = child_start(own_until_killed, stage);
    int status = child_join(child_start(use_nothing, stage));
    kill(owner, SIGKILL);
    child_join(owner);
    assert_int_equal(status, 0);
    assert_false(trma_mem_door_disable("window"));
    stage_close(stage);
}

/* kill -9 of the owner: the peer's mapping stays good, nothing is left behind, and the end is seen. */
static void owner_is_killed(void (*owner)(struct stage *), bool named) {
    struct stage *stage = stage_open();
    pid_t pid = child_start(owner, stage);
    stage_await(stage, 1);
    if (named) {
        assert_true(count_entries("/dev/shm", "truerma") > 0);
    }
    struct trma_peer *peer;
    assert_int_equal(trma_node_peer_acquire(&stage->identities[0], &peer), TRMA_OK);
    assert_true(peer->is_mapped);
    char *bytes = map_share(peer, &stage->shares[BIG]);
    kill(pid, SIGKILL);
    child_join(pid);
    assert_false(trma_node_peer_is_alive(peer));
    assert_int_equal(bytes[size_of(BIG) - 1], 'b');
    memset(bytes, 'x', size_of(BIG));
    void *base;
    assert_int_not_equal(trma_mem_map_acquire(peer, &stage->shares[SMALL].ticket, &base), TRMA_OK);
    trma_mem_map_release(peer, stage->shares[BIG].ticket.serial);
    trma_node_peer_release(peer);
    time_t deadline = time(NULL) + TEST_DEADLINE_S;
    while (count_entries("/dev/shm", "truerma") > 0) { /* the tracker needs a moment */
        assert_true(time(NULL) < deadline);
        sched_yield();
    }
    stage_close(stage);
}

static void nothing_is_left_by_a_killed_owner(void **state) {
    (void)state;
    owner_is_killed(own_until_killed, false);
    owner_is_killed(own_named_until_killed, true);
}

/* Many windows come and go: big regions are unmapped with them, chunks stay mapped once. */
static void own_many(struct stage *stage) {
    CHECK(trma_node_identity_self(&stage->identities[0]) == TRMA_OK);
    for (int round = 1; round < 1000; round++) {
        void *block;
        CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, round % 2 == 0 ? 5000 : 17 * MIB, 1, &block) == TRMA_OK);
        memset(block, round, 64);
        trma_mem_share_describe(block, 64, &stage->shares[0]);
        stage_reach(stage, 2 * round);
        stage_await(stage, 2 * round + 1);
        CHECK(trma_mem_heap_free(block));
    }
}

static void windows_come_and_go(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    pid_t owner = child_start(own_many, stage);
    struct trma_peer *peer = NULL;
    size_t mappings = 0;
    size_t descriptors = 0;
    for (int round = 1; round < 1000; round++) {
        stage_await(stage, 2 * round);
        if (round == 1) {
            assert_int_equal(trma_node_peer_acquire(&stage->identities[0], &peer), TRMA_OK);
        }
        char *bytes = map_share(peer, &stage->shares[0]);
        assert_int_equal(bytes[63], (char)round);
        trma_mem_map_release(peer, stage->shares[0].ticket.serial);
        stage_reach(stage, 2 * round + 1);
        if (round == 10) {
            mappings = count_mappings();
            descriptors = count_descriptors();
        }
    }
    assert_true(count_mappings() <= mappings + 1);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(trma_mem_map_count(), 2);
    assert_int_equal(child_join(owner), 0);
    trma_node_peer_release(peer);
    stage_close(stage);
}

static void use_in_small_space(struct stage *stage) {
    stage_await(stage, 1);
    struct trma_peer *peer;
    CHECK(trma_node_peer_acquire(&stage->identities[0], &peer) == TRMA_OK);
    struct rlimit limit = {.rlim_cur = 64 * MIB, .rlim_max = 64 * MIB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    void *base;
    CHECK(trma_mem_map_acquire(peer, &stage->shares[SMALL].ticket, &base) == TRMA_ERR_NO_MEMORY);
    trma_node_peer_release(peer);
}

static void small_address_space_is_told(void **state) {
    (void)state;
    if (TEST_IS_SANITIZED) {
        skip(); /* a sanitizer needs more addresses than the test leaves */
    }
    struct stage *stage = stage_open();
    pid_t owner = child_start(own_until_killed, stage);
    int status = child_join(child_start(use_in_small_space, stage));
    kill(owner, SIGKILL);
    child_join(owner);
    assert_int_equal(status, 0);
    stage_close(stage);
}

struct thread_work {
    struct trma_peer *peer;
    const struct trma_share *shares;
};

static void *map_and_release(void *argument) {
    const struct thread_work *work = argument;
    for (int round = 0; round < 500; round++) {
        for (enum share_index i = SMALL; i <= BIG; i++) {
            const char *bytes = map_share(work->peer, &work->shares[i]);
            CHECK(bytes[100] == (char)('a' + (int)i));
            trma_mem_map_release(work->peer, work->shares[i].ticket.serial);
        }
        struct trma_peer *again;
        CHECK(trma_node_peer_acquire(&work->peer->identity, &again) == TRMA_OK && again == work->peer);
        trma_node_peer_release(again);
    }
    return NULL;
}

static void threads_map_and_release(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    pid_t owner = child_start(own_until_killed, stage);
    stage_await(stage, 1);
    struct thread_work work = {.shares = stage->shares};
    assert_int_equal(trma_node_peer_acquire(&stage->identities[0], &work.peer), TRMA_OK);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, map_and_release, &work), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    trma_node_peer_release(work.peer);
    assert_int_equal(trma_mem_map_count(), 0);
    kill(owner, SIGKILL);
    child_join(owner);
    stage_close(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_door_opens_when_those_before_it_are_closed),
        cmocka_unit_test(no_door_is_told),
        cmocka_unit_test(nothing_is_left_by_a_killed_owner),
        cmocka_unit_test(windows_come_and_go),
        cmocka_unit_test(small_address_space_is_told),
        cmocka_unit_test(threads_map_and_release),
    };
    return cmocka_run_group_tests_name("mem_map", tests, NULL, NULL);
}
