/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel may answer to process_vm_*: limits, missing memory, an ended target, a refusal. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "move/move_copy.h"
#include "test_move_target.h"

static struct trma_layout *make_vector(size_t count, size_t length, ptrdiff_t stride) {
    struct trma_layout *block;
    struct trma_layout *layout;
    assert_int_equal(trma_move_layout_make_bytes(length, &block), TRMA_OK);
    assert_int_equal(trma_move_layout_make_vector(count, 1, stride, block, &layout), TRMA_OK);
    trma_move_layout_release(block);
    return layout;
}

/* Private memory of a forked process, of which the parent's copy is inaccessible from then on. */
static char *map_private(size_t size) {
    char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* 5000 blocks of 3 bytes: several calls of IOV_MAX stretches each, with both sides strided and with one
 * dense. */
static void test_many_stretches(void **context) {
    (void)context;
    enum { COUNT = 5000, LENGTH = 3, ROOM = COUNT * 8 };
    char *remote = map_private(ROOM);
    static char origin[ROOM];
    static char model[ROOM];
    static char copy[ROOM];
    static const ptrdiff_t strides[][2] = {{5, 8}, {3, 7}, {6, 3}, {3, 3}};
    struct target target;
    target_start(&target, NULL, NULL);
    target_need_cma(&target);
    mprotect(remote, ROOM, PROT_NONE);
    const struct trma_path path = {.peer = &target.peer};
    for (size_t i = 0; i < ROOM; i++) {
        origin[i] = (char)(i * 31 + i / 127);
    }
    for (size_t way = 0; way < sizeof strides / sizeof *strides; way++) {
        struct trma_outstanding outstanding = {0};
        struct trma_layout *here = make_vector(COUNT, LENGTH, strides[way][0]);
        struct trma_layout *there = make_vector(COUNT, LENGTH, strides[way][1]);
        const struct trma_extent from = {here, (uintptr_t)origin, 1};
        const struct trma_extent to = {there, (uintptr_t)remote, 1};
        memset(model, 0, ROOM);
        assert_true(target_write(&target, model, remote, ROOM));
        for (size_t i = 0; i < COUNT; i++) {
            memcpy(model + i * (size_t)strides[way][1], origin + i * (size_t)strides[way][0], LENGTH);
        }
        assert_int_equal(trma_move_put(&path, &from, &to, &outstanding), TRMA_OK);
        assert_true(target_read(&target, copy, remote, ROOM));
        assert_memory_equal(copy, model, ROOM);

        /* And back into a cleared buffer. */
        static char back[ROOM];
        memset(back, 0, ROOM);
        const struct trma_extent into = {here, (uintptr_t)back, 1};
        assert_int_equal(trma_move_get(&path, &into, &to, &outstanding), TRMA_OK);
        for (size_t i = 0; i < COUNT * (size_t)strides[way][0]; i++) {
            assert_int_equal(back[i], i % (size_t)strides[way][0] < LENGTH ? origin[i] : 0);
        }
        trma_move_layout_release(here);
        trma_move_layout_release(there);
    }
    target_stop(&target);
    munmap(remote, ROOM);
}

#if defined(__has_feature) /* clang */
#define TEST_HAS_THREAD_SANITIZER __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__) /* gcc */
#define TEST_HAS_THREAD_SANITIZER 1
#else
#define TEST_HAS_THREAD_SANITIZER 0
#endif

#define BIG_BLOCK ((size_t)4 << 20)
#define BIG_COUNT ((size_t)640) /* 2.5 GiB: beyond what the kernel carries in one call */

/* Marks the end of a sparse stretch of BIG_COUNT blocks. */
static void mark_end(void *memory) {
    memcpy((char *)memory + BIG_BLOCK * BIG_COUNT - 8, "the end", 8);
}

/*
 * More than 2 GiB in one operation. One side is a sparse stretch, the other the same block again and again,
 * so that neither takes memory; the last block that arrives is the one that stays.
 */
static void test_more_than_two_gigabytes(void **context) {
    (void)context;
    if (TEST_HAS_THREAD_SANITIZER) {
        skip(); /* it would note every byte of them */
    }
    char *sparse = map_private(BIG_BLOCK * BIG_COUNT);
    char *block = map_private(BIG_BLOCK);
    struct target target;
    target_start(&target, mark_end, sparse);
    target_need_cma(&target);
    const struct trma_path path = {.peer = &target.peer};
    struct trma_outstanding outstanding = {0};
    struct trma_layout *all = make_vector(1, BIG_BLOCK * BIG_COUNT, 0);
    struct trma_layout *again = make_vector(BIG_COUNT, BIG_BLOCK, 0);
    const struct trma_extent repeated = {again, (uintptr_t)block, 1};
    const struct trma_extent dense = {all, (uintptr_t)sparse, 1};
    memset(block, 1, BIG_BLOCK);
    assert_int_equal(trma_move_get(&path, &repeated, &dense, &outstanding), TRMA_OK);
    for (size_t i = 0; i < BIG_BLOCK - 8; i++) {
        assert_true(block[i] == 0);
    }
    assert_string_equal(block + BIG_BLOCK - 8, "the end");

    char end[8];
    memcpy(sparse + BIG_BLOCK * BIG_COUNT - 8, "its end", 8);
    assert_int_equal(trma_move_put(&path, &dense, &repeated, &outstanding), TRMA_OK);
    assert_true(target_read(&target, end, block + BIG_BLOCK - 8, sizeof end));
    assert_string_equal(end, "its end");
    trma_move_layout_release(all);
    trma_move_layout_release(again);
    target_stop(&target);
    munmap(sparse, BIG_BLOCK * BIG_COUNT);
    munmap(block, BIG_BLOCK);
}

#define PAGE ((size_t)4096)

static void unmap_second_page(void *memory) {
    munmap((char *)memory + PAGE, PAGE);
}

static void test_missing_memory(void **context) {
    (void)context;
    char *remote = map_private(3 * PAGE);
    static char origin[12288];
    struct target target;
    target_start(&target, unmap_second_page, remote);
    target_need_cma(&target);
    const struct trma_path path = {.peer = &target.peer};
    struct trma_outstanding outstanding = {0};
    struct trma_layout *dense = make_vector(1, 3 * PAGE, 0);
    struct trma_layout *strided = make_vector(48, 64, 256);
    struct trma_layout *packed = make_vector(1, 48 * 64, 0);
    const struct trma_extent here = {dense, (uintptr_t)origin, 1};
    const struct trma_extent there = {dense, (uintptr_t)remote, 1};
    const struct trma_extent packed_here = {packed, (uintptr_t)origin, 1};
    const struct trma_extent strided_there = {strided, (uintptr_t)remote, 1};
    assert_int_equal(trma_move_put(&path, &here, &there, &outstanding), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_get(&path, &here, &there, &outstanding), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_put(&path, &packed_here, &strided_there, &outstanding), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_get(&path, &packed_here, &strided_there, &outstanding), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_read(&path, origin, (uintptr_t)remote + PAGE, 1), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_write(&path, origin, (uintptr_t)remote + PAGE, 1), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_write(&path, origin, 0, 8), TRMA_ERR_RANGE);
    /* The rest of the memory is still reachable. */
    char byte = 0;
    origin[0] = 42;
    assert_int_equal(trma_move_write(&path, origin, (uintptr_t)remote + 2 * PAGE, 1), TRMA_OK);
    assert_int_equal(trma_move_read(&path, &byte, (uintptr_t)remote + 2 * PAGE, 1), TRMA_OK);
    assert_int_equal(byte, 42);
    assert_true(atomic_load(&target.peer.has_cma));
    trma_move_layout_release(dense);
    trma_move_layout_release(strided);
    trma_move_layout_release(packed);
    target_stop(&target);
    munmap(remote, 3 * PAGE);
}

static void test_ended_target(void **context) {
    (void)context;
    static uint64_t word;
    uint64_t copy = 1;
    struct target target;
    target_start(&target, NULL, NULL);
    target_need_cma(&target);
    const struct trma_path path = {.peer = &target.peer};
    assert_int_equal(trma_move_read(&path, &copy, (uintptr_t)&word, sizeof word), TRMA_OK);
    kill(target.peer.pid, SIGKILL);
    /* As a zombie, and as nobody. */
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)target.peer.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(trma_move_read(&path, &copy, (uintptr_t)&word, sizeof word), TRMA_ERR_PEER_DEAD);
    target_stop(&target);
    assert_int_equal(trma_move_write(&path, &copy, (uintptr_t)&word, sizeof word), TRMA_ERR_PEER_DEAD);
}

enum { MET_OFTEN = 100 };

/* The target as a peer that was met often, known by `word`, which lies in both processes. */
static void meet_often(struct target *target, uint64_t *word) {
    const struct trma_path path = {.peer = &target->peer};
    target->peer.proc_pid = target->peer.pid;
    target->peer.identity.probe_address = (uintptr_t)word;
    target->peer.identity.probe_value = *word;
    for (uint64_t i = 0; i < MET_OFTEN; i++) {
        uint64_t copy = 0;
        assert_int_equal(trma_move_read(&path, &copy, (uintptr_t)word, sizeof copy), TRMA_OK);
        assert_int_equal(copy, *word);
    }
}

static void forget(struct target *target) {
    if (target->peer.memory_file != 0) {
        close(target->peer.memory_file - 1);
    }
    target_stop(target);
}

/* Of a peer that was met often small stretches go by file; all sizes, across pages, alone and in lists. */
static void test_met_often(void **context) {
    (void)context;
    static uint64_t word = 77;
    enum { ROOM = 5 * 4096 };
    char *remote = map_private(ROOM);
    static char origin[ROOM], model[ROOM], copy[ROOM];
    static const size_t sizes[] = {1, 7, 8, 63, 4095, 4096, 4097, 3 * 4096};
    struct target target;
    target_start(&target, NULL, NULL);
    target_need_cma(&target);
    mprotect(remote, ROOM, PROT_NONE);
    assert_int_equal(target.peer.memory_file, 0);
    meet_often(&target, &word);
    assert_int_not_equal(target.peer.memory_file, 0);
    assert_false(target.peer.is_file_only);
    const struct trma_path path = {.peer = &target.peer};
    struct trma_outstanding outstanding = {0};
    for (size_t i = 0; i < ROOM; i++) {
        origin[i] = (char)(i * 29 + i / 113);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t at = 4090; at < 4100; at++) {
            memset(model + at, 0, sizes[i]);
            memcpy(model + at, origin + i, sizes[i]);
            assert_int_equal(trma_move_write(&path, origin + i, (uintptr_t)remote + at, sizes[i]), TRMA_OK);
            assert_true(target_read(&target, copy, remote, ROOM));
            assert_memory_equal(copy, model, ROOM);
            memset(copy, 0, sizes[i]);
            assert_int_equal(trma_move_read(&path, copy, (uintptr_t)remote + at, sizes[i]), TRMA_OK);
            assert_memory_equal(copy, origin + i, sizes[i]);
        }
    }
    struct trma_layout *strided = make_vector(16, 64, 256);
    struct trma_layout *dense = make_vector(1, 16UL * 64, 0);
    const struct trma_extent here = {dense, (uintptr_t)copy, 1};
    const struct trma_extent there = {strided, (uintptr_t)remote, 1};
    assert_int_equal(trma_move_get(&path, &here, &there, &outstanding), TRMA_OK);
    for (size_t i = 0; i < 16; i++) {
        assert_memory_equal(copy + i * 64, model + i * 256, 64);
    }
    trma_move_layout_release(strided);
    trma_move_layout_release(dense);
    forget(&target);
    munmap(remote, ROOM);
}

/* Missing memory and an ended target are found by file as by the system calls. */
static void test_met_often_fails(void **context) {
    (void)context;
    static uint64_t word = 78;
    char *remote = map_private(3 * PAGE);
    static char origin[2 * 4096];
    char byte = 0;
    struct target target;
    target_start(&target, unmap_second_page, remote);
    target_need_cma(&target);
    meet_often(&target, &word);
    assert_int_not_equal(target.peer.memory_file, 0);
    const struct trma_path path = {.peer = &target.peer};
    const uintptr_t second = (uintptr_t)remote + PAGE;
    assert_int_equal(trma_move_read(&path, origin, second, 1), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_write(&path, origin, second, 1), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_read(&path, origin, second - 8, 16), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_write(&path, origin, second - 8, 16), TRMA_ERR_RANGE);
    assert_int_equal(trma_move_write(&path, origin, 0, 8), TRMA_ERR_RANGE);
    origin[0] = 43;
    assert_int_equal(trma_move_write(&path, origin, second + PAGE, 1), TRMA_OK);
    assert_int_equal(trma_move_read(&path, &byte, second + PAGE, 1), TRMA_OK);
    assert_int_equal(byte, 43);

    kill(target.peer.pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)target.peer.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(trma_move_read(&path, &byte, second + PAGE, 1), TRMA_ERR_PEER_DEAD);
    assert_int_equal(trma_move_write(&path, &byte, second + PAGE, 1), TRMA_ERR_PEER_DEAD);
    forget(&target);
    munmap(remote, 3 * PAGE);
}

/* A process that has few descriptors left keeps them. */
static void test_met_often_without_descriptors(void **context) {
    (void)context;
    static uint64_t word = 79;
    struct rlimit before;
    struct target target;
    target_start(&target, NULL, NULL);
    target_need_cma(&target);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {.rlim_cur = 16, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    meet_often(&target, &word);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(target.peer.memory_file, 0);
    forget(&target);
}

/* From now on process_vm_* fail in this process with `error`, as container profiles have it. */
static bool forbid_cma(int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Runs in a process of its own. 0: all as promised; else the number of the step that was not. */
static int use_refused_cma(struct trma_peer *peer, int error) {
    static uint64_t word = 7;
    uint64_t copy = 1;
    const struct trma_path path = {.peer = peer};
    struct trma_layout *layout;
    struct trma_outstanding outstanding = {0};
    if (!forbid_cma(error)) {
        return 1;
    }
    if (trma_move_read(&path, &copy, (uintptr_t)&word, sizeof word) != TRMA_ERR_REFUSED || copy != 1) {
        return 2;
    }
    if (atomic_load(&peer->has_cma) || peer->cma_reason == NULL) {
        return 3;
    }
    /* Refused once, it is not tried again: a pid that would give another error is not looked at. */
    peer->pid = 0;
    if (trma_move_write(&path, &copy, (uintptr_t)&word, sizeof word) != TRMA_ERR_REFUSED) {
        return 4;
    }
    if (trma_move_layout_make_bytes(8, &layout) != TRMA_OK) {
        return 5;
    }
    const struct trma_extent here = {layout, (uintptr_t)&copy, 1};
    const struct trma_extent there = {layout, (uintptr_t)&word, 1};
    const enum trma_status put = trma_move_put(&path, &here, &there, &outstanding);
    const enum trma_status get = trma_move_get(&path, &here, &there, &outstanding);
    trma_move_layout_release(layout);
    return put != TRMA_ERR_REFUSED || get != TRMA_ERR_REFUSED ? 6 : 0;
}

static void test_refused(void **context) {
    (void)context;
    static const int errors[] = {EPERM, EACCES, ENOSYS};
    struct target target;
    target_start(&target, NULL, NULL);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        int status;
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            _exit(use_refused_cma(&target.peer, errors[i]));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    target_stop(&target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_stretches), cmocka_unit_test(test_more_than_two_gigabytes),
        cmocka_unit_test(test_missing_memory), cmocka_unit_test(test_ended_target),
        cmocka_unit_test(test_met_often),      cmocka_unit_test(test_met_often_fails),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_met_often_without_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
