/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "mem/mem_backing.h"
#include "mem/mem_heap.h"
#include "mem/mem_hot.h"
#include "mem/mem_huge.h"

/*
 * Memory that is copied again and again is moved to huge pages. What the kernel is asked for is seen here,
 * and done or not as a test says: whether there are huge pages to be had is the node's matter.
 */

enum { EXTENTS = 4, PASSES = TRMA_HOT_ENOUGH / (2 << 20) };

static const char *moved[2 * EXTENTS]; /* the kernel was asked to */
static int n_moved;
static bool is_real;        /* it is asked */
static uint64_t move_takes; /* ns */
static uint64_t clock_ns = 1;

uint64_t __wrap_trma_node_clock_ns(void);
int __real_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice);

uint64_t __wrap_trma_node_clock_ns(void) {
    return clock_ns;
}

int __wrap_madvise(void *address, size_t size, int advice) {
    if (advice != MADV_COLLAPSE) {
        return __real_madvise(address, size, advice);
    }
    assert_in_range(n_moved, 0, 2 * EXTENTS - 1);
    assert_int_equal(size, TRMA_HUGE_PAGE);
    moved[n_moved++] = address;
    clock_ns += move_takes;
    return is_real ? __real_madvise(address, size, advice) : -1;
}

static size_t pages_of_extent(void) {
    return TRMA_HUGE_PAGE / trma_mem_page_size();
}

/* Aligned memory of so many extents of which so many pages each are there. It stays: the next test's is
 * other memory. */
static char *pages(size_t pages) {
    const size_t size = EXTENTS * TRMA_HUGE_PAGE;
    char *memory =
        mmap(NULL, size + TRMA_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    memory += -(uintptr_t)memory % TRMA_HUGE_PAGE;
    /* Refused where the kernel knows no huge pages: then it gives none either. */
    (void)__real_madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < EXTENTS * pages_of_extent(); i++) {
        if (i % pages_of_extent() < pages) {
            memset(memory + i * trma_mem_page_size(), (int)(i % 251) + 1, trma_mem_page_size());
        }
    }
    return memory;
}

static void copy_often(const char *memory, size_t size, int times) {
    for (int i = 0; i < times; i++) {
        trma_mem_hot_note(memory, size);
    }
}

static int set_up(void **state) {
    (void)state;
    n_moved = 0;
    is_real = false;
    move_takes = 0;
    return 0;
}

/* After so many passes, and that extent alone. */
static void test_moves(void **state) {
    (void)state;
    const size_t page = trma_mem_page_size();
    char *memory = pages(pages_of_extent());

    copy_often(memory, 2 * TRMA_HUGE_PAGE, PASSES - 1);
    assert_int_equal(n_moved, 0);
    copy_often(memory, 2 * TRMA_HUGE_PAGE, 1);
    assert_int_equal(n_moved, 2);
    assert_ptr_equal(moved[0], memory);
    assert_ptr_equal(moved[1], memory + TRMA_HUGE_PAGE);
    /* A half of one, as often as it takes, and a page of its neighbour. */
    copy_often(memory + 3 * TRMA_HUGE_PAGE - page, TRMA_HUGE_PAGE / 2 + page, 2 * PASSES - 1);
    assert_int_equal(n_moved, 2);
    copy_often(memory + 3 * TRMA_HUGE_PAGE - page, TRMA_HUGE_PAGE / 2 + page, 1);
    assert_int_equal(n_moved, 3);
    assert_ptr_equal(moved[2], memory + 3 * TRMA_HUGE_PAGE);
}

/* Whatever the kernel makes of it. */
static void test_keeps_content(void **state) {
    (void)state;
    char *memory = pages(pages_of_extent());

    (void)__real_madvise(memory, EXTENTS * TRMA_HUGE_PAGE, MADV_HUGEPAGE); /* else it refuses to move it */
    is_real = true;
    copy_often(memory, EXTENTS * TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, EXTENTS);
    for (size_t i = 0; i < EXTENTS * TRMA_HUGE_PAGE; i++) {
        assert_int_equal(memory[i], (char)(i / trma_mem_page_size() % 251 + 1));
    }
}

/* No memory is made that was not there, or was only read, and the knob is heeded. */
static void test_leaves_alone(void **state) {
    (void)state;
    char *sparse = pages(pages_of_extent() - 1);
    char *forbidden = pages(pages_of_extent());

    copy_often(sparse, TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(sparse[2 * TRMA_HUGE_PAGE - 1], 0);
    copy_often(sparse + TRMA_HUGE_PAGE, TRMA_HUGE_PAGE, PASSES);
    trma_mem_hot_allow(false);
    copy_often(forbidden, EXTENTS * TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, 0);
    trma_mem_hot_allow(true);
    copy_often(forbidden, EXTENTS * TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, EXTENTS);
}

/* What is shared already. */
static void test_leaves_regions(void **state) {
    (void)state;
    void *block = NULL;

    assert_int_equal(trma_mem_heap_allocate(TRMA_HEAP_DATA, EXTENTS * TRMA_HUGE_PAGE, TRMA_HUGE_PAGE, &block),
                     TRMA_OK);
    memset(block, 1, EXTENTS * TRMA_HUGE_PAGE);
    copy_often(block, EXTENTS * TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, 0);
    assert_true(trma_mem_heap_free(block));
}

/* Again after much longer, since other memory may have come there. */
static void test_looks_again(void **state) {
    (void)state;
    char *memory = pages(pages_of_extent());

    copy_often(memory, TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, 1);
    copy_often(memory, TRMA_HUGE_PAGE, TRMA_HOT_AGAIN * PASSES - 1);
    assert_int_equal(n_moved, 1);
    copy_often(memory, TRMA_HUGE_PAGE, 1);
    assert_int_equal(n_moved, 2);
}

/* Where moving takes long, no more than its allowance (mem_huge.h). */
static void test_takes_its_time(void **state) {
    (void)state;
    char *memory = pages(pages_of_extent());

    move_takes = 2 * trma_mem_huge_allowance(clock_ns, 0);
    copy_often(memory, 2 * TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, 1);
    clock_ns += 100 * move_takes;
    copy_often(memory + 2 * TRMA_HUGE_PAGE, TRMA_HUGE_PAGE, PASSES);
    assert_int_equal(n_moved, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_moves, set_up),
        cmocka_unit_test_setup(test_keeps_content, set_up),
        cmocka_unit_test_setup(test_leaves_alone, set_up),
        cmocka_unit_test_setup(test_looks_again, set_up),
        cmocka_unit_test_setup(test_takes_its_time, set_up),
        cmocka_unit_test_setup(test_leaves_regions, set_up), /* the last: its memory is given back */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
