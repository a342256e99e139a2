/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows smaller than a page, while threads of the host MPI write beside them. */
#include "test_mem_processes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "mem/mem_adopt.h"

enum { PAGES = 8, CYCLES = 500, WINDOW_BYTES = 64 };

static size_t page;

/* A helper thread of the host, whose counters lie beside the window, on its pages and on the next ones. */
struct helper {
    atomic_bool stop;
    atomic_uint_fast64_t rounds;
    char *memory;
    uint64_t counts[PAGES];
};

static volatile uint64_t *counter_of(struct helper *helper, size_t i) {
    return (volatile uint64_t *)(helper->memory + i * page + page / 2);
}

static void *count_beside(void *argument) {
    struct helper *helper = argument;
    while (!atomic_load_explicit(&helper->stop, memory_order_relaxed)) {
        for (size_t i = 0; i < PAGES; i++) {
            (*counter_of(helper, i))++;
            helper->counts[i]++;
        }
        atomic_fetch_add_explicit(&helper->rounds, 1, memory_order_relaxed);
    }
    return NULL;
}

static void await_a_round(struct helper *helper) {
    uint64_t before = atomic_load(&helper->rounds);
    while (atomic_load(&helper->rounds) == before) {
        sched_yield();
    }
}

static void trusted_threads_lose_nothing_and_the_heap_stays_whole(void **state) {
    (void)state;
    if (TEST_IS_UNDER_TSAN) {
        skip(); /* it does not know that the kernel holds the writer back, and reports each exchange as a race
                 */
    }
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 0, PAGES * page);
    struct helper helper = {.memory = memory};
    pthread_t thread;
    trma_mem_adopt_trust_begin();
    assert_int_equal(pthread_create(&thread, NULL, count_beside, &helper), 0);
    trma_mem_adopt_trust_end();
    size_t adopted = 0;
    for (size_t cycle = 0; cycle < CYCLES; cycle++) {
        char *window = memory + (1 + cycle % (PAGES - 2)) * page + 128;
        struct trma_share share;
        const char *reason;
        memset(window, (int)(cycle & 0x7f), WINDOW_BYTES);
        if (trma_mem_adopt_range(window, WINDOW_BYTES, &share, &reason) != TRMA_OK) {
            assert_non_null(reason);
            continue;
        }
        adopted++;
        assert_int_equal(share.mapped_low, (uintptr_t)window);
        assert_int_equal(share.mapped_high, (uintptr_t)window + WINDOW_BYTES);
        assert_int_equal(mappings_within(memory, PAGES * page), 3);
        await_a_round(&helper);
        trma_mem_adopt_release(share.ticket.serial);
        await_a_round(&helper);
        for (size_t i = 0; i < WINDOW_BYTES; i++) {
            assert_int_equal(window[i], (int)(cycle & 0x7f));
        }
        assert_int_equal(mappings_within(memory, PAGES * page), 1);
    }
    atomic_store(&helper.stop, true);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < PAGES; i++) {
        assert_int_equal(*counter_of(&helper, i), helper.counts[i]);
    }
    print_message("%zu of %d small windows were adopted beside a trusted thread, the rest refused\n", adopted,
                  CYCLES);
    assert_true(adopted == 0 || adopted == CYCLES);
    munmap(memory, PAGES * page);
}

/* What the child of a fork finds on the page, and that the address space of the stash does not pile up. */
static void look_and_scribble(struct stage *stage) {
    char *window = (char *)(uintptr_t)atomic_load(&stage->words[0]);
    CHECK(window[0] == 42 && window[-1] == 17);
    window[0] = 1;
    window[-1] = 2;
    CHECK(window[0] == 1 && window[-1] == 2);
}

static void a_fork_in_between_leaves_one_mapping(void **state) {
    (void)state;
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 17, PAGES * page);
    struct stage *stage = stage_open();
    char *window = memory + 3 * page; /* whole pages */
    struct trma_share share;
    const char *reason;
    assert_int_equal(trma_mem_adopt_range(window, 2 * page, &share, &reason), TRMA_OK);
    window[0] = 42;
    atomic_store(&stage->words[0], (uintptr_t)window);
    assert_int_equal(child_join(child_start(look_and_scribble, stage)), 0);
    assert_int_equal(window[0], 42);
    assert_int_equal(window[-1], 17);
    trma_mem_adopt_release(share.ticket.serial);
    assert_int_equal(window[0], 42);
    assert_int_equal(window[1], 17);
    assert_int_equal(mappings_within(memory, PAGES * page), 1);
    munmap(memory, PAGES * page);
    stage_close(stage);
}

/* The program unmaps half of a window under our hands: the other half is given back, nothing else is lost. */
static void half_of_a_window_is_given_back(void **state) {
    (void)state;
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 23, PAGES * page);
    struct trma_share share;
    const char *reason;
    assert_int_equal(trma_mem_adopt_range(memory + page, 4 * page, &share, &reason), TRMA_OK);
    munmap(memory + 3 * page, 2 * page);
    trma_mem_adopt_release(share.ticket.serial);
    for (size_t i = 0; i < 3 * page; i++) {
        assert_int_equal(memory[i], 23);
    }
    assert_int_equal(mappings_within(memory, 3 * page), 1);
    munmap(memory, PAGES * page);
}

static int set_page(void **state) {
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusted_threads_lose_nothing_and_the_heap_stays_whole),
        cmocka_unit_test(a_fork_in_between_leaves_one_mapping),
        cmocka_unit_test(half_of_a_window_is_given_back),
    };
    return cmocka_run_group_tests_name("mem_adopt_edges", tests, set_page, NULL);
}
