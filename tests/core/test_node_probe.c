/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "node/node_peer_process.h"
#include "node/node_probe.h"
#include "node/node_probe_yield.h"

static const struct trma_door *find_door(const struct trma_probe *probe, const char *name) {
    for (size_t i = 0; i < probe->n_doors; i++) {
        if (strcmp(probe->doors[i].name, name) == 0) {
            return &probe->doors[i];
        }
    }
    return NULL;
}

static void the_node_is_described(void **state) {
    (void)state;
    struct trma_probe probe;
    size_t descriptors = count_descriptors();
    trma_node_probe_run(&probe, true);
    assert_int_equal(count_descriptors(), descriptors);
    assert_true(probe.cores_online >= 1);
    assert_true(probe.cores_allowed >= 1 && probe.cores_allowed <= probe.cores_online);
    assert_true(probe.descriptor_limit > 0);
    assert_true(strlen(probe.huge_pages) > 0);
    assert_true(strlen(probe.yields) > 0);
    assert_non_null(strstr(probe.topology, "cores"));
    const char *const names[] = {"memfd",       "CMA",        "/proc/<pid>/mem", "/proc/<pid>/fd",
                                 "pidfd_getfd", "SCM_RIGHTS", "POSIX shm",       "pidfd",
                                 "userfaultfd", "XPMEM"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct trma_door *door = find_door(&probe, names[i]);
        assert_non_null(door);
        assert_true(strlen(door->detail) > 0);
    }
    assert_int_equal(probe.n_doors, sizeof names / sizeof names[0]);
    assert_int_equal(find_door(&probe, "XPMEM")->is_open, access("/dev/xpmem", R_OK | W_OK) == 0);
    assert_int_equal(count_entries("/dev/shm", "truerma"), 0);
}

static void describe_for_test(char *text, size_t room) {
    snprintf(text, room, "described by the test");
}

static void topology_comes_from_who_can_tell(void **state) {
    (void)state;
    struct trma_probe probe;
    trma_node_probe_set_topology(describe_for_test);
    trma_node_probe_run(&probe, true);
    assert_string_equal(probe.topology, "described by the test");
    trma_node_probe_run(&probe, false);
    assert_string_equal(probe.topology, "");
    trma_node_probe_set_topology(NULL);
}

/* Every door is open, then one system call is refused: exactly its doors close, with the reason. */
struct refusal {
    int number;
    int error;
    const char *closed[4];
};

static const struct refusal refusals[] = {
    {SYS_process_vm_readv, EPERM, {"CMA"}},
    {SYS_memfd_create, ENOSYS, {"memfd"}},
    {SYS_pidfd_open, ENOSYS, {"pidfd", "pidfd_getfd"}},
    {SYS_pidfd_getfd, EPERM, {"pidfd_getfd"}},
    {SYS_socketpair, EACCES, {"SCM_RIGHTS"}},
    {SYS_openat, EACCES, {"/proc/<pid>/mem", "/proc/<pid>/fd", "POSIX shm", "userfaultfd"}},
};

static size_t current_refusal;

static void compare_under_refusal(struct stage *stage) {
    (void)stage;
    const struct refusal *refusal = &refusals[current_refusal];
    struct trma_probe before;
    struct trma_probe after;
    trma_node_probe_run(&before, false);
    refuse_call(refusal->number, refusal->error);
    trma_node_probe_run(&after, false);
    for (size_t i = 0; i < before.n_doors; i++) {
        bool must_be_closed = false;
        for (size_t k = 0; k < 4 && refusal->closed[k] != NULL; k++) {
            must_be_closed = must_be_closed || strcmp(before.doors[i].name, refusal->closed[k]) == 0;
        }
        bool is_userfaultfd = strcmp(before.doors[i].name, "userfaultfd") == 0; /* has two ways in */
        if (must_be_closed && !is_userfaultfd) {
            CHECK(!after.doors[i].is_open);
            CHECK(strstr(after.doors[i].detail, strerror(refusal->error)) != NULL);
        } else if (!must_be_closed) {
            CHECK(after.doors[i].is_open == before.doors[i].is_open);
        }
    }
}

static void refused_doors_are_told(void **state) {
    (void)state;
    for (current_refusal = 0; current_refusal < sizeof refusals / sizeof refusals[0]; current_refusal++) {
        struct stage *stage = stage_open();
        assert_int_equal(child_join(child_start(compare_under_refusal, stage)), 0);
        stage_close(stage);
    }
}

static void probe_without_descriptors(struct stage *stage) {
    (void)stage;
    struct rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct trma_probe probe;
    trma_node_probe_run(&probe, false);
    CHECK(!find_door(&probe, "memfd")->is_open && probe.descriptor_limit == 3);
    CHECK(find_door(&probe, "CMA")->is_open);
}

static void exhaustion_is_survived(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    assert_int_equal(child_join(child_start(probe_without_descriptors, stage)), 0);
    stage_close(stage);
}

static const char *yields_of(double in_one_session, double in_own_sessions, bool has_autogroups) {
    static char text[sizeof((struct trma_probe *)0)->yields];
    trma_node_probe_yield_describe(in_one_session, in_own_sessions, has_autogroups, text, sizeof text);
    return text;
}

static void yields_are_described(void **state) {
    (void)state;
    assert_string_equal(yields_of(0.001, 0.001, true), "hand the core over");
    assert_non_null(strstr(yields_of(0.001, 1.02, true),
                           "(cure: truerma launch, or sysctl kernel.sched_autogroup_enabled=0)"));
    assert_non_null(strstr(yields_of(0.001, 1.02, false), "within a session only"));
    assert_null(strstr(yields_of(0.001, 1.02, false), "sysctl"));
    assert_non_null(strstr(yields_of(0.9, 1, true), "keep the core"));
    assert_string_equal(yields_of(-1, 0.001, true), "could not be tried");
    assert_string_equal(yields_of(0.001, -1, true), "could not be tried");
}

/* How the kernel divides the core is its own affair, but there is one: the two had it one after the other. */
static double yield_share_of_one_core(bool has_own_sessions) {
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    double share = trma_node_probe_yield_share(has_own_sessions);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double elapsed_ns = 1e9 * (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec);
    assert_true(share > 0);
    assert_true((1 + share) * TRMA_PROBE_YIELD_COMPUTING_NS <= 1.01 * elapsed_ns); /* two clocks */
    return share;
}

/* Without autogroups sessions change nothing: an unprivileged test cannot know more of the kernel's mind. */
static void yields_are_tried(void **state) {
    (void)state;
    double in_one_session = yield_share_of_one_core(false);
    double in_own_sessions = yield_share_of_one_core(true);
    print_message("who yields takes %.3f of the other's time in one session, %.3f in two\n", in_one_session,
                  in_own_sessions);
    if (!trma_node_process_has_autogroups()) {
        assert_true((in_one_session < 0.25) == (in_own_sessions < 0.25));
    }
}

static void yield_without_a_choice_of_cores(struct stage *stage) {
    (void)stage;
    refuse_call(SYS_sched_setaffinity, EPERM);
    CHECK(trma_node_probe_yield_share(false) < 0);
    CHECK(trma_node_probe_yield_share(true) < 0);
    refuse_call(SYS_clone, EAGAIN);
    refuse_call(SYS_clone3, EAGAIN);
    CHECK(trma_node_probe_yield_share(true) < 0);
}

static void yields_that_cannot_be_tried_are_told(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    assert_int_equal(child_join(child_start(yield_without_a_choice_of_cores, stage)), 0);
    stage_close(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yields_are_described),
        cmocka_unit_test(yields_are_tried),
        cmocka_unit_test(yields_that_cannot_be_tried_are_told),
        cmocka_unit_test(the_node_is_described),
        cmocka_unit_test(topology_comes_from_who_can_tell),
        cmocka_unit_test(refused_doors_are_told),
        cmocka_unit_test(exhaustion_is_survived),
    };
    return cmocka_run_group_tests_name("node_probe", tests, NULL, NULL);
}
