/* SPDX-License-Identifier: BSD-3-Clause */
/* Adoption while others are at work in the same process or its children: forks, and threads that write. */
#include "test_mem_adopt.h"

static char *forked_memory;
static uint64_t forked_serial;

static void child_of_owner(struct stage *stage) {
    stage_await(stage, 1); /* the parent has written since */
    CHECK(is_filled(forked_memory, 4 * MIB, 12));
    fill(forked_memory, 4 * MIB, 13);
    CHECK(adopted_regions() == 0);
    trma_mem_adopt_release(forked_serial);
    CHECK(is_filled(forked_memory, 4 * MIB, 13));
    /* What the child adopts is its own. */
    struct trma_share share = adopt(forked_memory, 4 * MIB);
    CHECK(is_filled(forked_memory, 4 * MIB, 13));
    trma_mem_adopt_release(share.ticket.serial);
}

static void forked_child_has_its_own(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    size_t size = 4 * MIB;
    forked_memory = map_private(size);
    fill(forked_memory, size, 12);
    struct trma_share share = adopt(forked_memory + 10, size - 20);
    forked_serial = share.ticket.serial;
    size_t mappings = count_mappings();
    pid_t child = child_start(child_of_owner, stage);
    assert_int_equal(adopted_regions(), 1);
    fill(forked_memory, size, 14);
    stage_reach(stage, 1);
    assert_int_equal(child_join(child), 0);
    assert_true(is_filled(forked_memory, size, 14));
    assert_true(TEST_IS_SANITIZED || count_mappings() <= mappings + 1);
    char byte = 0;
    assert_int_equal(pread(share.ticket.descriptor, &byte, 1, (off_t)share.offset), 1);
    assert_int_equal(byte, *(char *)(uintptr_t)share.mapped_low);
    assert_int_equal(system("true"), 0);
    assert_true(is_filled(forked_memory, size, 14));
    trma_mem_adopt_release(share.ticket.serial);
    assert_true(is_filled(forked_memory, size, 14));
    munmap(forked_memory, size);
    stage_close(stage);
}

/* Threads that count in words of a window and beside it, by themselves and by system calls, while it comes
 * and goes. */
struct hammer {
    atomic_bool stop;
    atomic_uint_fast64_t *words;
    uint64_t count;
    size_t step; /* in words */
    size_t n;
    pthread_t thread;
};

static void *hammer_words(void *argument) {
    struct hammer *hammer = argument;
    while (!atomic_load_explicit(&hammer->stop, memory_order_relaxed)) {
        atomic_uint_fast64_t *word = &hammer->words[(hammer->count % hammer->n) * hammer->step];
        /* Nobody else writes this word: a plain increment, as a program does it. */
        atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        hammer->count++;
    }
    return NULL;
}

static void *hammer_calls(void *argument) {
    struct hammer *hammer = argument;
    int ends[2];
    CHECK(pipe(ends) == 0);
    while (!atomic_load_explicit(&hammer->stop, memory_order_relaxed)) {
        uint64_t number = hammer->count + 1;
        CHECK(write(ends[1], &number, sizeof number) == (ssize_t)sizeof number);
        CHECK(read(ends[0], (void *)&hammer->words[0], sizeof number) == (ssize_t)sizeof number);
        CHECK(hammer->words[0] == number);
        hammer->count++;
    }
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    if (TEST_IS_UNDER_TSAN) {
        skip(); /* it does not know that the kernel holds the writers back, and reports each exchange as a
                   race */
    }
    enum { HAMMERS = 4, STRIDE = 512 };
    const size_t cycles = TEST_IS_SANITIZED ? 100 : 1000;
    size_t size = 32 * page;
    char *memory = map_private(size + 2 * page);
    const size_t words = (size + 2 * page) / STRIDE;
    struct hammer hammers[HAMMERS];
    for (size_t i = 0; i < HAMMERS; i++) {
        /* The words of all threads lie interleaved, from the page before the window to the page behind it. */
        hammers[i] = (struct hammer){
            .words = (atomic_uint_fast64_t *)(memory + i * 64), .step = STRIDE / 8, .n = i == 0 ? 1 : words};
        CHECK(pthread_create(&hammers[i].thread, NULL, i == 0 ? hammer_calls : hammer_words, &hammers[i]) ==
              0);
    }
    size_t adopted = 0;
    for (size_t cycle = 0; cycle < cycles; cycle++) {
        struct trma_share share;
        const char *reason;
        /* The first hammer's word lies on the first page: inside the window in every other cycle. */
        char *start = memory + (cycle % 2 == 0 ? 0 : 100);
        enum trma_status status = trma_mem_adopt_range(start, size + page, &share, &reason);
        if (status == TRMA_OK) {
            adopted++;
            trma_mem_adopt_release(share.ticket.serial);
        } else {
            assert_non_null(strstr(reason, "other threads are running"));
        }
    }
    for (size_t i = 0; i < HAMMERS; i++) {
        atomic_store(&hammers[i].stop, true);
        pthread_join(hammers[i].thread, NULL);
        uint64_t sum = 0;
        for (size_t word = 0; word < hammers[i].n; word++) {
            sum += hammers[i].words[word * hammers[i].step];
        }
        assert_int_equal(sum, hammers[i].count);
        assert_true(hammers[i].count > 0);
    }
    print_message("%zu of %zu windows were adopted with four threads writing, the rest refused\n", adopted,
                  cycles);
    assert_true(adopted == 0 || adopted == cycles);
    munmap(memory, size + 2 * page);
}

static void *sleep_until_stopped(void *argument) {
    struct stage *stage = argument;
    stage_await(stage, 1);
    return NULL;
}

static void without_userfaultfd(struct stage *stage) {
    refuse_call(SYS_userfaultfd, EPERM);
    CHECK(setresuid(65534, 65534, 65534) == 0 || getuid() != 0); /* nor by the device */
    CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
    pthread_t thread;
    char *memory = map_private(8 * page);
    CHECK(pthread_create(&thread, NULL, sleep_until_stopped, stage) == 0);
    struct trma_share share;
    const char *reason;
    CHECK(trma_mem_adopt_range(memory, 8 * page, &share, &reason) == TRMA_ERR_REFUSED);
    CHECK(strstr(reason, "other threads are running") != NULL);
    stage_reach(stage, 1);
    pthread_join(thread, NULL);
    share = adopt(memory, 8 * page); /* alone again */
    trma_mem_adopt_release(share.ticket.serial);
}

static void without_userfaultfd_but_trust(struct stage *stage) {
    refuse_call(SYS_userfaultfd, EPERM);
    CHECK(setresuid(65534, 65534, 65534) == 0 || getuid() != 0);
    CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
    pthread_t thread;
    trma_mem_adopt_trust_begin();
    CHECK(pthread_create(&thread, NULL, sleep_until_stopped, stage) == 0);
    trma_mem_adopt_trust_end();
    char *memory = map_private(8 * page);
    fill(memory, 8 * page, 15);
    struct trma_share share = adopt(memory, 8 * page);
    trma_mem_adopt_release(share.ticket.serial);
    CHECK(is_filled(memory, 8 * page, 15));
    stage_reach(stage, 1);
    pthread_join(thread, NULL);
}

static void in_child(void (*run)(struct stage *)) {
    struct stage *stage = stage_open();
    assert_int_equal(child_join(child_start(run, stage)), 0);
    stage_close(stage);
}

static void threads_that_cannot_be_held_mean_refusal(void **state) {
    (void)state;
    if (TEST_IS_SANITIZED) {
        skip(); /* a sanitizer has a thread of its own in every child */
    }
    in_child(without_userfaultfd);
    in_child(without_userfaultfd_but_trust);
}

/* Forks in one thread while another adopts and gives back: each child finds what its parent had. */
static void *cycle_until_stopped(void *argument) {
    struct stage *stage = argument;
    while (atomic_load(&stage->step) < 1) {
        struct trma_share share;
        const char *reason;
        if (trma_mem_adopt_range(forked_memory, 64 * page, &share, &reason) == TRMA_OK) {
            trma_mem_adopt_release(share.ticket.serial);
        }
        atomic_fetch_add(&stage->words[0], 1);
    }
    return NULL;
}

static void look_at_memory(struct stage *stage) {
    (void)stage;
    CHECK(is_filled(forked_memory, 64 * page, 16));
    fill(forked_memory, 64 * page, 17);
    CHECK(is_filled(forked_memory, 64 * page, 17));
}

static void forks_and_adoptions_mix(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    forked_memory = map_private(64 * page);
    fill(forked_memory, 64 * page, 16);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cycle_until_stopped, stage), 0);
    for (int round = 0; round < 100; round++) {
        uint64_t before = atomic_load(&stage->words[0]);
        assert_int_equal(child_join(child_start(look_at_memory, stage)), 0);
        while (atomic_load(&stage->words[0]) == before) {
            sched_yield();
        }
    }
    stage_reach(stage, 1);
    pthread_join(thread, NULL);
    assert_true(is_filled(forked_memory, 64 * page, 16));
    munmap(forked_memory, 64 * page);
    stage_close(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forked_child_has_its_own),
        cmocka_unit_test(threads_that_cannot_be_held_mean_refusal),
        cmocka_unit_test(forks_and_adoptions_mix),
        cmocka_unit_test(threads_lose_nothing),
    };
    return cmocka_run_group_tests_name("mem_adopt_threads", tests, set_page, NULL);
}
