/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "mem/mem_door.h"
#include "mem/mem_heap.h"
#include "mem/mem_map.h"
#include "move/move_copy.h"
#include "node/node_peer.h"
#include "node/node_peer_process.h"

static struct trma_peer *acquire(const struct trma_identity *identity) {
    struct trma_peer *peer = NULL;
    CHECK(trma_node_peer_acquire(identity, &peer) == TRMA_OK);
    return peer;
}

static void identity_is_stable_and_near_itself(void **state) {
    (void)state;
    struct trma_identity first;
    struct trma_identity second;
    assert_int_equal(trma_node_identity_self(&first), TRMA_OK);
    assert_int_equal(trma_node_identity_self(&second), TRMA_OK);
    assert_memory_equal(&first, &second, sizeof first);
    assert_int_equal(first.pid, getpid());
    assert_int_not_equal(first.host, 0);
    assert_int_not_equal(first.start_time, 0);
    assert_int_not_equal(first.pid_namespace, 0);
    assert_int_not_equal(first.beacon.serial, 0);
    assert_int_equal(*(const uint64_t *)(uintptr_t)first.probe_address, first.probe_value);
    assert_true(trma_node_identity_is_near(&first, &second));
    second.host++;
    assert_false(trma_node_identity_is_near(&first, &second));
    second = first;
    second.layout_version++;
    assert_false(trma_node_identity_is_near(&first, &second));
}

static void a_process_is_its_own_peer(void **state) {
    (void)state;
    struct trma_identity identity;
    assert_int_equal(trma_node_identity_self(&identity), TRMA_OK);
    struct trma_peer *peer = acquire(&identity);
    assert_true(peer->is_self && peer->is_mapped && peer->has_cma);
    assert_null(peer->cma_reason);
    assert_true(trma_node_peer_is_alive(peer));
    void *base;
    assert_int_equal(trma_mem_map_acquire(peer, &identity.beacon, &base), TRMA_OK);
    struct trma_share share;
    trma_mem_share_describe(base, 8, &share);
    assert_int_equal(share.ticket.serial, identity.beacon.serial);
    assert_int_equal(share.offset, 0);
    trma_mem_map_release(peer, identity.beacon.serial);
    assert_ptr_equal(acquire(&identity), peer); /* one object, counted */
    trma_node_peer_release(peer);
    trma_node_peer_release(peer);
}

/* A process that publishes its identity, then lives until step 2. */
static void live(struct stage *stage) {
    CHECK(trma_node_identity_self(&stage->identities[0]) == TRMA_OK);
    stage_reach(stage, 1);
    stage_await(stage, 2);
}

static void a_sibling_is_reached_and_seen_to_end(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    struct trma_identity self;
    assert_int_equal(trma_node_identity_self(&self), TRMA_OK);
    pid_t child = child_start(live, stage);
    stage_await(stage, 1);
    assert_int_not_equal(stage->identities[0].probe_value, self.probe_value); /* a fork is another process */
    assert_true(trma_node_identity_is_near(&self, &stage->identities[0]));
    size_t descriptors = count_descriptors();
    struct trma_peer *peer = acquire(&stage->identities[0]);
    assert_false(peer->is_self);
    assert_true(peer->is_mapped);
    assert_string_equal(peer->map_reason, "mapped through /proc/<pid>/fd");
    assert_true(peer->has_cma);
    assert_int_equal(peer->pid, child);
    assert_true(trma_node_peer_is_alive(peer));
    assert_int_equal(count_descriptors(), descriptors); /* nothing is kept open */
    stage_reach(stage, 2);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_false(trma_node_peer_is_alive(peer)); /* a zombie has ended */
    assert_int_equal(child_join(child), 0);
    assert_false(trma_node_peer_is_alive(peer));
    trma_node_peer_release(peer);
    assert_int_equal(trma_mem_map_count(), 0);
    stage_close(stage);
}

static void a_reused_pid_is_not_the_peer(void **state) {
    (void)state;
    pid_t pid = getpid();
    uint64_t started = trma_node_process_start_time(0);
    assert_int_equal(trma_node_process_start_time(pid), started);
    assert_true(trma_node_process_owns_proc());
    assert_true(trma_node_process_is_alive(pid, pid, started));
    assert_true(trma_node_process_is_alive(pid, pid, 0));
    assert_true(trma_node_process_is_alive(pid, 0, started + 1));
    assert_false(trma_node_process_is_alive(pid, pid, started + 1));
    assert_false(trma_node_process_is_alive(0x3ffffffe, 0x3ffffffe, 0));
    assert_int_equal(trma_node_process_start_time(0x3ffffffe), 0);

    /* An identity whose pid belongs to somebody else by now: nothing of that process is touched. */
    struct trma_identity other;
    assert_int_equal(trma_node_identity_self(&other), TRMA_OK);
    other.probe_value ^= 0x100;
    struct trma_peer *peer = acquire(&other);
    assert_false(peer->is_self);
    assert_false(peer->has_cma);
    assert_non_null(peer->cma_reason);
    trma_node_peer_release(peer);
}

/* The calls of CMA alone are refused: its memory is reached as a file. */
static void judge_without_calls(struct stage *stage) {
    refuse_call(SYS_process_vm_readv, EPERM);
    refuse_call(SYS_process_vm_writev, EPERM);
    struct trma_peer *peer = acquire(&stage->identities[0]);
    CHECK(peer->has_cma && peer->cma_reason == NULL && peer->memory_file != 0 && peer->is_file_only);
    const struct trma_path path = {.peer = peer};
    uintptr_t place = (uintptr_t)stage->identities[0].probe_address;
    uint64_t words[2] = {0, 5};
    CHECK(trma_move_read(&path, &words[0], place, 8) == TRMA_OK &&
          words[0] == stage->identities[0].probe_value);
    CHECK(trma_move_write(&path, &words[1], place, 8) == TRMA_OK);
    CHECK(trma_move_read(&path, &words[0], place, 8) == TRMA_OK && words[0] == 5);
    CHECK(trma_move_read(&path, &words[0], 8, 8) == TRMA_ERR_RANGE);
    size_t descriptors = count_descriptors();
    trma_node_peer_release(peer);
    CHECK(count_descriptors() == descriptors - 1);
}

static void judge_without_cma(struct stage *stage) {
    refuse_call(SYS_process_vm_readv, EPERM);
    refuse_call(SYS_pread64, EPERM);
    struct trma_peer *peer = acquire(&stage->identities[0]);
    CHECK(!peer->has_cma && strstr(peer->cma_reason, "refused") != NULL);
    CHECK(peer->is_mapped && trma_node_peer_is_alive(peer));
    trma_node_peer_release(peer);
}

static void judge_without_pidfd(struct stage *stage) {
    refuse_call(SYS_pidfd_open, ENOSYS);
    struct trma_peer *peer = acquire(&stage->identities[0]);
    CHECK(peer->has_cma && peer->is_mapped && trma_node_peer_is_alive(peer));
    CHECK(!trma_node_process_is_alive(0x3ffffffe, 0, 0));
    trma_node_peer_release(peer);
}

static void judge_switched_off(struct stage *stage) {
    trma_node_peer_allow_cma(false);
    struct trma_peer *peer = acquire(&stage->identities[0]);
    CHECK(!peer->has_cma && strcmp(peer->cma_reason, "switched off") == 0 && peer->is_mapped);
    trma_node_peer_release(peer);
}

static void judge_without_descriptors(struct stage *stage) {
    CHECK(trma_node_identity_self(&stage->identities[1]) == TRMA_OK);
    struct rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct trma_peer *peer = acquire(&stage->identities[0]);
    CHECK(!peer->is_mapped && strstr(peer->map_reason, "exhausted") != NULL);
    CHECK(peer->has_cma && trma_node_peer_is_alive(peer));
    trma_node_peer_release(peer);
}

static void what_is_refused_is_told(void **state) {
    (void)state;
    void (*const judges[])(struct stage *) = {judge_without_calls, judge_without_cma, judge_without_pidfd,
                                              judge_switched_off, judge_without_descriptors};
    for (size_t i = 0; i < sizeof judges / sizeof judges[0]; i++) {
        struct stage *stage = stage_open();
        pid_t owner = child_start(live, stage);
        stage_await(stage, 1);
        assert_int_equal(child_join(child_start(judges[i], stage)), 0);
        stage_reach(stage, 2);
        assert_int_equal(child_join(owner), 0);
        stage_close(stage);
    }
}

static void live_without_memory(struct stage *stage) {
    refuse_call(SYS_memfd_create, ENOSYS);
    CHECK(trma_mem_door_disable("shm"));
    refuse_call(SYS_openat, EACCES);
    live(stage);
}

static void a_peer_without_shared_memory_still_has_cma(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    pid_t child = child_start(live_without_memory, stage);
    stage_await(stage, 1);
    assert_int_equal(stage->identities[0].beacon.serial, 0);
    struct trma_peer *peer = acquire(&stage->identities[0]);
    assert_false(peer->is_mapped);
    assert_non_null(strstr(peer->map_reason, "cannot make shared memory"));
    assert_true(peer->has_cma);
    trma_node_peer_release(peer);
    stage_reach(stage, 2);
    assert_int_equal(child_join(child), 0);
    stage_close(stage);
}

/* Forks a process that leaves a grandchild behind, which inherits all: the dead must be seen as dead. */
static void live_and_fork(struct stage *stage) {
    CHECK(trma_node_identity_self(&stage->identities[0]) == TRMA_OK);
    pid_t heir = fork();
    CHECK(heir >= 0);
    if (heir == 0) {
        stage_await(stage, 4);
        _exit(0);
    }
    trma_mem_door_serve();
    stage_reach(stage, 1);
    stage_await(stage, 9); /* until it is killed */
}

/* In a pid namespace of its own: its first child cannot be named from its siblings' namespaces, nor can it
 * name them. */
static void run_in_pid_namespace(void (*run)(struct stage *), struct stage *stage) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
        _exit(77);
    }
    int status = child_join(child_start(run, stage));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void live_in_namespace(struct stage *stage) {
    run_in_pid_namespace(live_and_fork, stage);
}

static void judge_in_namespace_inner(struct stage *stage) {
    stage_await(stage, 1);
    /* /proc is still that of the outer namespace: it leads to the peer's files, under a pid that is of no use
     * here. */
    struct trma_peer *peer = acquire(&stage->identities[0]);
    CHECK(peer->has_cma && peer->is_file_only && peer->memory_file != 0 && peer->pid == 0 &&
          peer->proc_pid != 0);
    CHECK(peer->is_mapped && strcmp(peer->map_reason, "mapped through /proc/<pid>/fd") == 0);
    CHECK(trma_node_peer_is_alive(peer));
    trma_node_peer_release(peer);
    /* With a /proc of its own namespace it does not see the peer at all. */
    CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
          mount("proc", "/proc", "proc", 0, NULL) == 0);
    peer = acquire(&stage->identities[0]);
    CHECK(!peer->has_cma && peer->pid == 0 && peer->proc_pid == 0);
    CHECK(peer->is_mapped && strcmp(peer->map_reason, "mapped through SCM_RIGHTS") == 0);
    CHECK(trma_node_peer_is_alive(peer));
    stage_reach(stage, 2);
    stage_await(stage, 3); /* the owner has been killed, its heir lives */
    CHECK(!trma_node_peer_is_alive(peer));
    trma_node_peer_release(peer);
}

static void judge_in_namespace(struct stage *stage) {
    run_in_pid_namespace(judge_in_namespace_inner, stage);
}

static void other_pid_namespaces_are_served(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    pid_t owner = child_start(live_in_namespace, stage);
    pid_t judge = child_start(judge_in_namespace, stage);
    int status;
    for (;;) {
        if (atomic_load(&stage->step) >= 2) {
            break;
        }
        if (waitpid(owner, &status, WNOHANG) == owner) {
            kill(judge, SIGKILL);
            child_join(judge);
            assert_int_equal(WEXITSTATUS(status), 77);
            skip(); /* no right to make a pid namespace */
        }
        if (waitpid(judge, &status, WNOHANG) == judge) {
            kill(owner, SIGKILL);
            child_join(owner);
            fail_msg("the judge ended early with %d", status);
        }
        sched_yield();
    }
    /* From the outer namespace it can be named. */
    struct trma_peer *peer = acquire(&stage->identities[0]);
    assert_int_not_equal(peer->pid, 0);
    assert_true(peer->has_cma && peer->is_mapped);
    assert_true(trma_node_peer_is_alive(peer));
    pid_t real = peer->pid;
    kill(real, SIGKILL);
    child_join(owner);
    assert_false(trma_node_peer_is_alive(peer));
    trma_node_peer_release(peer);
    stage_reach(stage, 3);
    assert_int_equal(child_join(judge), 0);
    stage_reach(stage, 4);
    stage_close(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_without_shared_memory_still_has_cma),
        cmocka_unit_test(identity_is_stable_and_near_itself),
        cmocka_unit_test(a_process_is_its_own_peer),
        cmocka_unit_test(a_sibling_is_reached_and_seen_to_end),
        cmocka_unit_test(a_reused_pid_is_not_the_peer),
        cmocka_unit_test(what_is_refused_is_told),
        cmocka_unit_test(other_pid_namespaces_are_served),
    };
    return cmocka_run_group_tests_name("node_peer", tests, NULL, NULL);
}
