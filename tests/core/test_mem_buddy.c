/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem/mem_buddy.h"

#define UNIT  ((size_t)64)
#define UNITS ((size_t)4096)
#define SPACE (UNIT * UNITS)

/* Who owns each unit: 0 nobody, else the number of a block. What the allocator says is compared with this. */
struct shadow {
    unsigned owner[UNITS];
};

static void shadow_take(struct shadow *shadow, size_t offset, size_t size, unsigned owner) {
    assert_int_equal(offset % UNIT, 0);
    assert_true(offset + size <= SPACE);
    for (size_t unit = offset / UNIT; unit < (offset + size + UNIT - 1) / UNIT; unit++) {
        assert_int_equal(shadow->owner[unit], 0);
        shadow->owner[unit] = owner;
    }
}

static void shadow_drop(struct shadow *shadow, size_t offset, size_t size, unsigned owner) {
    for (size_t unit = offset / UNIT; unit < (offset + size) / UNIT; unit++) {
        assert_true(shadow->owner[unit] == owner || shadow->owner[unit] == 0);
        shadow->owner[unit] = 0;
    }
}

static void visit_is_unowned(void *context, size_t offset, size_t size) {
    const struct shadow *shadow = context;
    for (size_t unit = offset / UNIT; unit < (offset + size) / UNIT; unit++) {
        assert_int_equal(shadow->owner[unit], 0);
    }
}

static void random_blocks_never_overlap(void **state) {
    (void)state;
    enum { BLOCKS = 300, ROUNDS = 60000 };
    static struct shadow shadow;
    static struct {
        size_t offset;
        size_t size;
    } blocks[BLOCKS];
    struct trma_buddy *buddy = trma_mem_buddy_create(SPACE, UNIT);
    assert_non_null(buddy);
    srandom(1);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i].offset = SIZE_MAX;
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t i = (size_t)random() % BLOCKS;
        if (blocks[i].offset == SIZE_MAX) {
            size_t size = (size_t)1 << ((size_t)random() % 15);
            size += (size_t)random() % size;
            size_t offset = trma_mem_buddy_allocate(buddy, size);
            if (offset != SIZE_MAX) {
                shadow_take(&shadow, offset, size, (unsigned)i + 1);
                blocks[i].offset = offset;
                blocks[i].size = size;
            }
        } else {
            size_t freed = trma_mem_buddy_free(buddy, blocks[i].offset);
            assert_true(freed >= blocks[i].size);
            assert_int_equal(blocks[i].offset % freed, 0); /* aligned to its own size */
            shadow_drop(&shadow, blocks[i].offset, freed, (unsigned)i + 1);
            blocks[i].offset = SIZE_MAX;
        }
        if (round % 1000 == 0) {
            trma_mem_buddy_visit_free(buddy, UNIT, visit_is_unowned, &shadow);
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].offset != SIZE_MAX) {
            assert_false(trma_mem_buddy_is_empty(buddy));
            assert_true(trma_mem_buddy_free(buddy, blocks[i].offset) > 0);
        }
    }
    assert_true(trma_mem_buddy_is_empty(buddy));
    assert_int_equal(trma_mem_buddy_allocate(buddy, SPACE), 0); /* all has grown together again */
    trma_mem_buddy_destroy(buddy);
}

static void wrong_frees_do_nothing(void **state) {
    (void)state;
    struct trma_buddy *buddy = trma_mem_buddy_create(SPACE, UNIT);
    assert_int_equal(trma_mem_buddy_free(buddy, 0), 0);
    size_t small = trma_mem_buddy_allocate(buddy, 1);
    size_t large = trma_mem_buddy_allocate(buddy, 16 * UNIT);
    assert_int_equal(small, 0);
    assert_int_equal(large, 16 * UNIT);
    assert_int_equal(trma_mem_buddy_free(buddy, large + UNIT), 0);
    assert_int_equal(trma_mem_buddy_free(buddy, large + 8 * UNIT), 0);
    assert_int_equal(trma_mem_buddy_free(buddy, small + 1), 0);
    assert_int_equal(trma_mem_buddy_free(buddy, SPACE), 0);
    assert_int_equal(trma_mem_buddy_free(buddy, SPACE / 2), 0);
    assert_int_equal(trma_mem_buddy_free(buddy, large), 16 * UNIT);
    assert_int_equal(trma_mem_buddy_free(buddy, large), 0);
    assert_int_equal(trma_mem_buddy_free(buddy, small), UNIT);
    assert_true(trma_mem_buddy_is_empty(buddy));
    trma_mem_buddy_destroy(buddy);
}

static void full_space_is_refused(void **state) {
    (void)state;
    struct trma_buddy *buddy = trma_mem_buddy_create(SPACE, UNIT);
    assert_int_equal(trma_mem_buddy_allocate(buddy, SPACE + 1), SIZE_MAX);
    for (size_t unit = 0; unit < UNITS; unit++) {
        assert_int_equal(trma_mem_buddy_allocate(buddy, UNIT), unit * UNIT);
    }
    assert_int_equal(trma_mem_buddy_allocate(buddy, 1), SIZE_MAX);
    assert_int_equal(trma_mem_buddy_free(buddy, 77 * UNIT), UNIT);
    assert_int_equal(trma_mem_buddy_allocate(buddy, UNIT + 1), SIZE_MAX);
    assert_int_equal(trma_mem_buddy_allocate(buddy, UNIT), 77 * UNIT);
    trma_mem_buddy_destroy(buddy);
}

static void add_size(void *context, size_t offset, size_t size) {
    (void)offset;
    *(size_t *)context += size;
}

static void free_stretches_are_found(void **state) {
    (void)state;
    struct trma_buddy *buddy = trma_mem_buddy_create(SPACE, UNIT);
    size_t found = 0;
    trma_mem_buddy_visit_free(buddy, UNIT, add_size, &found);
    assert_int_equal(found, SPACE);
    assert_int_equal(trma_mem_buddy_allocate(buddy, UNIT), 0);
    found = 0;
    trma_mem_buddy_visit_free(buddy, UNIT, add_size, &found);
    assert_int_equal(found, SPACE - UNIT);
    found = 0;
    trma_mem_buddy_visit_free(buddy, 4 * UNIT, add_size, &found);
    assert_int_equal(found, SPACE - 4 * UNIT);
    trma_mem_buddy_destroy(buddy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_never_overlap),
        cmocka_unit_test(wrong_frees_do_nothing),
        cmocka_unit_test(full_space_is_refused),
        cmocka_unit_test(free_stretches_are_found),
    };
    return cmocka_run_group_tests_name("mem_buddy", tests, NULL, NULL);
}
