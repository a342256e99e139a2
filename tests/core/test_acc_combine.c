/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements and kernels: shapes, which operation is allowed on which, every operation on every type against
 * plain arithmetic. */
#include "test_acc_oracle.h"

#include "acc/acc_kernel.h"

#define ELEMENT_BYTES_MAX 32U
#define COUNT_MAX         100U
#define LINED_COUNTS      20U

_Static_assert(TRMA_ACC_LINED_LEAST + LINED_COUNTS * ELEMENT_BYTES_MAX < COUNT_MAX * ELEMENT_BYTES_MAX,
               "they have room");

typedef void combine_function(enum trma_operation operation, enum trma_element element, void *target,
                              const void *origin, size_t n);

/* One operation on one type: 0 to COUNT_MAX elements, and about as many as begin with a line, at every
 * misalignment in turn, with guards around the target. */
static void check_operation(combine_function *combine, enum trma_operation operation,
                            enum trma_element element) {
    const size_t extent = trma_acc_element_extent(element);
    const size_t least = TRMA_ACC_LINED_LEAST / extent;
    char target_room[64 + COUNT_MAX * ELEMENT_BYTES_MAX + 64];
    char expected_room[sizeof(target_room)];
    char origin_room[sizeof(target_room)];

    for (size_t count = 0; count <= COUNT_MAX + LINED_COUNTS; count++) {
        const size_t n = count <= COUNT_MAX ? count : least + count - COUNT_MAX - 2;
        char *target = target_room + 64 + count % 17;
        char *expected = expected_room + 64 + count % 17;
        char *origin = origin_room + count % 13;
        memset(target_room, 0x5A, sizeof(target_room));
        for (size_t i = 0; i < n; i++) {
            random_element(element, target + i * extent);
            random_element(element, origin + i * extent);
        }
        memcpy(expected_room, target_room, sizeof(target_room));
        for (size_t i = 0; i < n; i++) {
            oracle(operation, element, expected + i * extent, origin + i * extent);
        }
        combine(operation, element, target, origin, n);
        assert_memory_equal(target_room, expected_room, (size_t)(target - target_room));
        assert_memory_equal(target + n * extent, expected + n * extent,
                            sizeof(target_room) - (size_t)(target - target_room) - n * extent);
        for (size_t i = 0; i < n; i++) {
            if (!is_same(element, target + i * extent, expected + i * extent)) {
                fail_msg("operation %d, element %d: number %zu of %zu is wrong", (int)operation, (int)element,
                         i, n);
            }
        }
    }
}

static bool is_copy(enum trma_operation operation) {
    return operation == TRMA_OPERATION_REPLACE || operation == TRMA_OPERATION_NO_OP;
}

static void test_combine(void **state) {
    (void)state;
    for (int operation = 0; operation < TRMA_OPERATION_COUNT; operation++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            if (!is_copy((enum trma_operation)operation) &&
                trma_acc_operation_is_allowed((enum trma_operation)operation, (enum trma_element)element)) {
                check_operation(trma_acc_combine, (enum trma_operation)operation, (enum trma_element)element);
            }
        }
    }
}

static trma_acc_kernel_table *table_under_test;

static void combine_by_table(enum trma_operation operation, enum trma_element element, void *target,
                             const void *origin, size_t n) {
    (*table_under_test)[operation][element](target, origin, n);
}

static void check_table(trma_acc_kernel_table *table) {
    table_under_test = table;
    for (int operation = 0; operation < TRMA_OPERATION_COUNT; operation++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            if ((*table)[operation][element] != NULL) {
                check_operation(combine_by_table, (enum trma_operation)operation, (enum trma_element)element);
            }
        }
    }
}

static void test_instruction_sets(void **state) {
    (void)state;
    check_table(&trma_acc_kernels_baseline);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        check_table(&trma_acc_kernels_avx2);
    }
#endif
}

/* Every allowed pair has one kernel, in one family; nothing else has. */
static void test_kernels_are_complete(void **state) {
    trma_acc_kernel_table *const families[] = {&trma_acc_kernels_baseline, &trma_acc_kernels_wide,
                                               &trma_acc_kernels_half, &trma_acc_kernels_pair};
    (void)state;
    for (int operation = 0; operation < TRMA_OPERATION_COUNT; operation++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            const bool allowed =
                trma_acc_operation_is_allowed((enum trma_operation)operation, (enum trma_element)element);
            size_t n = 0;
            for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
                n += (*families[i])[operation][element] != NULL;
            }
            assert_int_equal(n, allowed && !is_copy((enum trma_operation)operation));
        }
    }
}

static void test_allowed(void **state) {
    /* The table of MPI-4.1 section 6.9.2, by class: integer, floating, complex, logical, byte, character,
     * pair. */
    const struct {
        enum trma_operation operation;
        const char *classes;
    } rows[] = {
        {TRMA_OPERATION_REPLACE, "ifclbxp"}, {TRMA_OPERATION_NO_OP, "ifclbxp"}, {TRMA_OPERATION_SUM, "ifc"},
        {TRMA_OPERATION_PROD, "ifc"},        {TRMA_OPERATION_MAX, "if"},        {TRMA_OPERATION_MIN, "if"},
        {TRMA_OPERATION_LAND, "il"},         {TRMA_OPERATION_LOR, "il"},        {TRMA_OPERATION_LXOR, "il"},
        {TRMA_OPERATION_BAND, "ib"},         {TRMA_OPERATION_BOR, "ib"},        {TRMA_OPERATION_BXOR, "ib"},
        {TRMA_OPERATION_MAXLOC, "p"},        {TRMA_OPERATION_MINLOC, "p"},
    };
    const char *class_of_element = "iiiii"  /* signed */
                                   "iiii"   /* unsigned */
                                   "ffffff" /* float16 to float128 */
                                   "ccccc"  /* complex */
                                   "lllll"  /* bool, logical */
                                   "bxx"    /* byte, characters */
                                   "pppppppp" /* pairs */;
    (void)state;
    assert_int_equal(strlen(class_of_element), TRMA_ELEMENT_COUNT);
    assert_int_equal(sizeof(rows) / sizeof(rows[0]), TRMA_OPERATION_COUNT);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
            assert_int_equal(trma_acc_operation_is_allowed(rows[r].operation, (enum trma_element)element),
                             strchr(rows[r].classes, class_of_element[element]) != NULL);
        }
        assert_false(trma_acc_operation_is_allowed(rows[r].operation, TRMA_ELEMENT_MIXED));
    }
    assert_false(trma_acc_operation_is_allowed(TRMA_OPERATION_COUNT, TRMA_ELEMENT_INT32));
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        assert_int_equal(trma_acc_compare_is_allowed((enum trma_element)element),
                         strchr("ilb", class_of_element[element]) != NULL);
    }
}

static void test_shapes(void **state) {
    (void)state;
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        const struct trma_element_shape *shape = trma_acc_element_shape((enum trma_element)element);
        size_t size = 0;
        size_t end = 0;
        assert_in_range(shape->n_blocks, 1, 2);
        assert_in_range(shape->extent, 1, ELEMENT_BYTES_MAX);
        for (size_t b = 0; b < shape->n_blocks; b++) {
            assert_true(b == 0 ? shape->blocks[b].offset == 0 : shape->blocks[b].offset > end);
            end = shape->blocks[b].offset + shape->blocks[b].length;
            size += shape->blocks[b].length;
        }
        assert_int_equal(shape->size, size);
        assert_int_equal(shape->span, end);
        assert_true(end <= shape->extent);
        assert_int_equal(trma_acc_element_size((enum trma_element)element), size);
        assert_int_equal(trma_acc_element_extent((enum trma_element)element), shape->extent);
    }
    assert_int_equal(trma_acc_element_extent(TRMA_ELEMENT_PAIR_DOUBLE_INT), 16);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_PAIR_DOUBLE_INT), 12);
    assert_int_equal(trma_acc_element_extent(TRMA_ELEMENT_PAIR_SHORT_INT), 8);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_PAIR_SHORT_INT), 6);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_COMPLEX64), 16);
    assert_int_equal(trma_acc_element_size(TRMA_ELEMENT_LOGICAL128), 16);
}

/* Copies move data bytes, and only those. */
static void test_copies(void **state) {
    char to[COUNT_MAX * ELEMENT_BYTES_MAX];
    char from[sizeof(to)];
    (void)state;
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        const struct trma_element_shape *shape = trma_acc_element_shape((enum trma_element)element);
        memset(to, 0x11, sizeof(to));
        memset(from, 0x22, sizeof(from));
        trma_acc_combine(TRMA_OPERATION_NO_OP, (enum trma_element)element, to, from, COUNT_MAX);
        for (size_t i = 0; i < sizeof(to); i++) {
            assert_int_equal(to[i], 0x11);
        }
        trma_acc_combine(TRMA_OPERATION_REPLACE, (enum trma_element)element, to, from, COUNT_MAX - 1);
        for (size_t i = 0; i < sizeof(to); i++) {
            bool is_data = false;
            for (size_t b = 0; b < shape->n_blocks; b++) {
                is_data |= i % shape->extent - shape->blocks[b].offset < shape->blocks[b].length;
            }
            is_data &= i / shape->extent < COUNT_MAX - 1;
            assert_int_equal(to[i], is_data ? 0x22 : 0x11);
        }
    }
}

/* Of equal values the lower index wins, whichever side it is on; so it does for both operations. */
static void test_ties(void **state) {
    const struct trma_pair_int_int cases[][3] = {
        {{7, 3}, {7, 1}, {7, 1}}, {{7, 1}, {7, 3}, {7, 1}}, {{7, -2}, {7, -1}, {7, -2}}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trma_pair_int_int target = cases[i][0];
        trma_acc_combine(TRMA_OPERATION_MAXLOC, TRMA_ELEMENT_PAIR_INT_INT, &target, &cases[i][1], 1);
        assert_memory_equal(&target, &cases[i][2], sizeof(target));
        target = cases[i][0];
        trma_acc_combine(TRMA_OPERATION_MINLOC, TRMA_ELEMENT_PAIR_INT_INT, &target, &cases[i][1], 1);
        assert_memory_equal(&target, &cases[i][2], sizeof(target));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_kernels_are_complete),
        cmocka_unit_test(test_combine),
        cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
