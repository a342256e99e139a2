/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts and cursors: random types against lists of bytes, and the promises about compactness, limits and
 * ownership. */
#include "test_move_types.h"

#include <stdio.h>

#include "move/move_cursor.h"

static void check_fields(const struct type *type) {
    const struct trma_layout *layout = type->layout;
    ptrdiff_t low = 0;
    ptrdiff_t high = 0;
    for (size_t i = 0; i < type->n; i++) {
        low = i == 0 || type->bytes[i] < low ? type->bytes[i] : low;
        high = i == 0 || type->bytes[i] >= high ? type->bytes[i] + 1 : high;
    }
    assert_int_equal(layout->size, type->n);
    assert_int_equal(layout->lower_bound, type->lower);
    assert_int_equal(layout->extent, type->upper - type->lower);
    assert_int_equal(layout->true_low, low);
    assert_int_equal(layout->true_high, high);
}

/* Walks `count` elements with random limits and compares every byte's address, and that stretches are as long
 * as can be. */
static void check_walk(const struct type *type, size_t count, uint64_t *state) {
    const uintptr_t base = 1U << 30;
    const ptrdiff_t extent = type->upper - type->lower;
    struct trma_cursor cursor;
    uintptr_t address = 0;
    size_t position = 0;
    bool is_one_stretch = true;
    trma_move_cursor_init(&cursor, type->layout, base, count);
    for (;;) {
        const size_t limit = random_below(state, 3) ? SIZE_MAX : 1 + random_below(state, 20);
        const uintptr_t end = address;
        const size_t n = trma_move_cursor_next(&cursor, limit, &address);
        if (n == 0) {
            break;
        }
        assert_true(n <= limit);
        is_one_stretch = is_one_stretch && (position == 0 || address == end);
        for (size_t i = 0; i < n; i++, position++) {
            assert_true(position < count * type->n);
            const uintptr_t expected =
                base + (uintptr_t)type->bytes[position % type->n] + (position / type->n) * (uintptr_t)extent;
            assert_int_equal(address + i, expected);
        }
        const bool is_end = position == count * type->n;
        if (n < limit && !is_end) {
            const uintptr_t next =
                base + (uintptr_t)type->bytes[position % type->n] + (position / type->n) * (uintptr_t)extent;
            assert_true(next != address + n);
        }
        address += n;
    }
    assert_int_equal(position, count * type->n);
    if (type->layout->is_dense) {
        assert_true(is_one_stretch);
    }
}

static void check_span(const struct type *type, size_t count) {
    const ptrdiff_t extent = type->upper - type->lower;
    ptrdiff_t expected_low = 0;
    ptrdiff_t expected_high = 0;
    ptrdiff_t low;
    ptrdiff_t high;
    for (size_t i = 0; i < count * type->n; i++) {
        const ptrdiff_t at = type->bytes[i % type->n] + (ptrdiff_t)(i / type->n) * extent;
        expected_low = i == 0 || at < expected_low ? at : expected_low;
        expected_high = i == 0 || at >= expected_high ? at + 1 : expected_high;
    }
    trma_move_layout_span(type->layout, count, &low, &high);
    assert_int_equal(low, expected_low);
    assert_int_equal(high, expected_high);
}

static void test_random_types(void **context) {
    (void)context;
    uint64_t state = 20261120;
    size_t dense = 0;
    size_t looped = 0;
    for (unsigned i = 0; i < 6000; i++) {
        struct type type = type_random(&state, 1 + (unsigned)random_below(&state, TYPE_DEPTH_MAX));
        const size_t count = random_below(&state, 5);
        check_fields(&type);
        check_walk(&type, count, &state);
        check_span(&type, count);
        dense += type.layout->is_dense;
        looped += type.layout->depth > 0;
        type_drop(&type);
    }
    /* The generator reaches the interesting sorts. */
    assert_true(dense > 100);
    assert_true(looped > 100);
}

static struct trma_layout *make_element(enum trma_element element) {
    struct trma_layout *layout;
    assert_int_equal(trma_move_layout_make_element(element, &layout), TRMA_OK);
    return layout;
}

/* Makes a vector of the layout and releases that. */
static struct trma_layout *make_vector(size_t count, size_t blocklength, ptrdiff_t stride,
                                       struct trma_layout *child) {
    struct trma_layout *layout;
    assert_int_equal(trma_move_layout_make_vector(count, blocklength, stride, child, &layout), TRMA_OK);
    trma_move_layout_release(child);
    return layout;
}

static void test_regular_types_are_compact(void **context) {
    (void)context;
    /* A column of a million rows. */
    struct trma_layout *layout = make_vector(1000000, 1, 8000, make_element(TRMA_ELEMENT_FLOAT64));
    assert_int_equal(layout->n_runs, 1);
    assert_int_equal(layout->runs[0].count, 1000000);
    assert_int_equal(layout->runs[0].stride, 8000);
    /* Planes of it whose rows go on regularly: still one run. */
    layout = make_vector(100, 1, (ptrdiff_t)8000 * 1000000, layout);
    assert_int_equal(layout->n_runs, 1);
    assert_int_equal(layout->runs[0].count, 100000000);
    trma_move_layout_release(layout);

    /* The inner part of a 5-dimensional array: a nest of loops, not 10^8 runs. */
    const size_t sizes[] = {102, 102, 102, 102, 102};
    const size_t subsizes[] = {100, 100, 100, 100, 100};
    const size_t starts[] = {1, 1, 1, 1, 1};
    struct trma_layout *element = make_element(TRMA_ELEMENT_FLOAT64);
    assert_int_equal(trma_move_layout_make_subarray(5, sizes, subsizes, starts, true, element, &layout),
                     TRMA_OK);
    assert_true(layout->n_runs <= 4);
    assert_int_equal(layout->size, (size_t)8 * 100 * 100 * 100 * 100 * 100);
    trma_move_layout_release(layout);
    trma_move_layout_release(element);

    /* Contiguous is dense, however it was said. */
    layout = make_vector(3, 4, 4 * 8, make_vector(1, 1, 0, make_element(TRMA_ELEMENT_INT64)));
    assert_true(layout->is_dense);
    assert_int_equal(layout->size, 96);
    layout = make_vector(1000, 1, 96, layout);
    assert_true(layout->is_dense);
    assert_int_equal(layout->element, TRMA_ELEMENT_INT64);
    trma_move_layout_release(layout);
}

static void test_adjacent_blocks_merge(void **context) {
    (void)context;
    struct trma_layout *element = make_element(TRMA_ELEMENT_INT64);
    const struct trma_layout *children[] = {element, element, element, element, element, element};
    const size_t ones[] = {1, 1, 1, 1, 1, 1};
    struct trma_layout *layout;

    /* Pairs of neighbours at a regular distance: one run of 16-byte blocks. */
    const ptrdiff_t pairs[] = {0, 8, 100, 108, 200, 208};
    assert_int_equal(trma_move_layout_make_struct(6, ones, pairs, children, &layout), TRMA_OK);
    assert_int_equal(layout->n_runs, 1);
    assert_int_equal(layout->runs[0].length, 16);
    assert_int_equal(layout->runs[0].count, 3);
    trma_move_layout_release(layout);

    /* Neighbours in descending order must not be merged: order matters. */
    const ptrdiff_t descending[] = {40, 32, 24, 16, 8, 0};
    assert_int_equal(trma_move_layout_make_struct(6, ones, descending, children, &layout), TRMA_OK);
    assert_int_equal(layout->n_runs, 1);
    assert_int_equal(layout->runs[0].length, 8);
    assert_int_equal(layout->runs[0].stride, -8);
    assert_false(layout->is_dense);
    trma_move_layout_release(layout);

    /* A run that starts where another ends, at another stride, is another run. */
    struct trma_layout *near = make_vector(3, 1, 24, make_element(TRMA_ELEMENT_INT64));
    struct trma_layout *far = make_vector(3, 1, 40, make_element(TRMA_ELEMENT_INT64));
    const struct trma_layout *both[] = {near, far, near};
    const ptrdiff_t behind[] = {0, 72, 72 + 120};
    assert_int_equal(trma_move_layout_make_struct(3, ones, behind, both, &layout), TRMA_OK);
    assert_int_equal(layout->n_runs, 3);
    trma_move_layout_release(layout);
    assert_int_equal(trma_move_layout_make_struct(2, ones, behind, both, &layout), TRMA_OK);
    assert_int_equal(layout->n_runs, 2);
    assert_int_equal(layout->runs[1].stride, 40);
    trma_move_layout_release(layout);
    trma_move_layout_release(near);
    trma_move_layout_release(far);
    trma_move_layout_release(element);
}

static void test_mixed_elements(void **context) {
    (void)context;
    struct trma_layout *real = make_element(TRMA_ELEMENT_FLOAT64);
    struct trma_layout *integer = make_element(TRMA_ELEMENT_INT64);
    struct trma_layout *empty;
    struct trma_layout *layout;
    assert_int_equal(trma_move_layout_make_bytes(0, &empty), TRMA_OK);
    const struct trma_layout *children[] = {empty, real, integer};
    const size_t both[] = {1, 1, 1};
    const size_t real_only[] = {1, 1, 0};
    const ptrdiff_t at[] = {0, 0, 8};
    assert_int_equal(trma_move_layout_make_struct(3, both, at, children, &layout), TRMA_OK);
    assert_int_equal(layout->element, TRMA_ELEMENT_MIXED);
    assert_true(layout->is_dense);
    trma_move_layout_release(layout);
    assert_int_equal(trma_move_layout_make_struct(3, real_only, at, children, &layout), TRMA_OK);
    assert_int_equal(layout->element, TRMA_ELEMENT_FLOAT64);
    trma_move_layout_release(layout);
    trma_move_layout_release(empty);
    trma_move_layout_release(real);
    trma_move_layout_release(integer);
}

static void test_huge_types(void **context) {
    (void)context;
    /* 2^33 elements with holes inside: 2^33 * 9 bytes. */
    struct trma_layout *byte = make_element(TRMA_ELEMENT_INT8);
    struct trma_layout *real = make_element(TRMA_ELEMENT_FLOAT64);
    const struct trma_layout *children[] = {byte, real};
    const size_t ones[] = {1, 1};
    const ptrdiff_t at[] = {0, 8};
    const size_t count = (size_t)1 << 33;
    struct trma_layout *layout;
    struct trma_cursor cursor;
    uintptr_t address;
    assert_int_equal(trma_move_layout_make_struct(2, ones, at, children, &layout), TRMA_OK);
    layout = make_vector(count, 1, 16, layout);
    assert_int_equal(layout->size, count * 9);
    assert_int_equal(layout->true_high, (ptrdiff_t)(count * 16));
    assert_true(layout->n_runs <= 3);
    trma_move_cursor_init(&cursor, layout, 4096, 1);
    assert_int_equal(trma_move_cursor_next(&cursor, SIZE_MAX, &address), 1);
    assert_int_equal(trma_move_cursor_next(&cursor, SIZE_MAX, &address), 9);
    assert_int_equal(address, 4096 + 8);
    trma_move_layout_release(layout);

    /* What no address space holds is refused, in size and in bounds, and saturates in a span. */
    struct trma_layout *untouched = NULL;
    assert_int_equal(trma_move_layout_make_vector(SIZE_MAX / 4, 1, 8, real, &untouched), TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_vector(SIZE_MAX, SIZE_MAX, 0, real, &untouched),
                     TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_vector(3, 1, PTRDIFF_MAX / 2, real, &untouched),
                     TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_vector(2, 1, PTRDIFF_MIN, real, &untouched), TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_resized(real, PTRDIFF_MAX, 1, &untouched), TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_bytes(SIZE_MAX, &untouched), TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_element(TRMA_ELEMENT_MIXED, &untouched), TRMA_ERR_ARGUMENT);
    assert_null(untouched);
    ptrdiff_t low;
    ptrdiff_t high;
    trma_move_layout_span(real, SIZE_MAX, &low, &high);
    assert_true(low == PTRDIFF_MIN && high == PTRDIFF_MAX);
    trma_move_layout_release(byte);
    trma_move_layout_release(real);
}

static void test_deep_nests(void **context) {
    (void)context;
    /* More levels than the cursor has, none of which can be merged: 2^20 elements of 1 byte. */
    struct trma_layout *layout = make_element(TRMA_ELEMENT_INT8);
    ptrdiff_t stride = 3;
    for (unsigned level = 0; level < 20; level++, stride = 2 * stride + 1) {
        layout = make_vector(2, 1, stride, layout);
    }
    assert_int_equal(layout->size, 1 << 20);
    assert_true(layout->depth <= TRMA_MOVE_LOOP_DEPTH);
    struct trma_cursor cursor;
    size_t n = 0;
    trma_move_cursor_init(&cursor, layout, 0, 1);
    for (uintptr_t address; trma_move_cursor_next(&cursor, 1, &address) == 1; n++) {
        uintptr_t expected = 0;
        uintptr_t step = 3;
        for (size_t bits = n; bits != 0; bits >>= 1, step = 2 * step + 1) {
            expected += (bits & 1) * step;
        }
        assert_int_equal(address, expected);
    }
    assert_int_equal(n, 1 << 20);
    trma_move_layout_release(layout);

    /* Loops too long to be written out nest up to the limit; beyond it, what would take forever is refused.
     */
    layout = make_vector(2, 1, 3, make_element(TRMA_ELEMENT_INT8));
    for (unsigned level = 0; level < TRMA_MOVE_LOOP_DEPTH; level++) {
        layout = make_vector(16 / layout->n_runs + 1, 1, 1, layout);
    }
    assert_int_equal(layout->depth, TRMA_MOVE_LOOP_DEPTH);
    struct trma_layout *more = NULL;
    assert_int_equal(trma_move_layout_make_vector((size_t)1 << 24, 1, 1, layout, &more), TRMA_ERR_NO_MEMORY);
    assert_null(more);
    trma_move_layout_release(layout);
}

static void test_bad_arrays_are_refused(void **context) {
    (void)context;
    struct trma_layout *element = make_element(TRMA_ELEMENT_INT32);
    struct trma_layout *layout = NULL;
    const size_t four[] = {4};
    const size_t three[] = {3};
    const size_t two[] = {2};
    assert_int_equal(trma_move_layout_make_subarray(0, four, two, two, true, element, &layout),
                     TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_move_layout_make_subarray(1, four, two, three, true, element, &layout),
                     TRMA_ERR_ARGUMENT);
    struct trma_darray_dimension dimension = {
        .size = 10, .processes = 3, .distribution = TRMA_DISTRIBUTION_BLOCK, .argument = 3};
    assert_int_equal(trma_move_layout_make_darray(0, 1, &dimension, true, element, &layout),
                     TRMA_ERR_ARGUMENT);
    dimension.argument = 4;
    assert_int_equal(trma_move_layout_make_darray(3, 1, &dimension, true, element, &layout),
                     TRMA_ERR_ARGUMENT);
    dimension.distribution = TRMA_DISTRIBUTION_NONE;
    assert_int_equal(trma_move_layout_make_darray(0, 1, &dimension, true, element, &layout),
                     TRMA_ERR_ARGUMENT);
    assert_null(layout);
    trma_move_layout_release(element);
}

static void test_layout_outlives_its_maker(void **context) {
    (void)context;
    struct trma_layout *layout = make_vector(5, 1, 24, make_element(TRMA_ELEMENT_FLOAT32));
    trma_move_layout_retain(layout);
    trma_move_layout_release(layout);
    assert_int_equal(layout->size, 20);
    trma_move_layout_release(layout);
    trma_move_layout_release(NULL);
}

/* Released more often than there are references; the sanitizers see it if that frees it. */
static void test_kept_layout_stays(void **state) {
    static struct trma_layout *kept;
    (void)state;
    assert_int_equal(trma_move_layout_make_bytes(12, &kept), TRMA_OK);
    trma_move_layout_keep(kept);
    for (int time = 0; time < 3; time++) {
        trma_move_layout_retain(kept);
        trma_move_layout_release(kept);
        trma_move_layout_release(kept);
        assert_int_equal(atomic_load(&kept->references), 1);
        assert_int_equal(kept->size, 12);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_types),
        cmocka_unit_test(test_regular_types_are_compact),
        cmocka_unit_test(test_adjacent_blocks_merge),
        cmocka_unit_test(test_mixed_elements),
        cmocka_unit_test(test_huge_types),
        cmocka_unit_test(test_deep_nests),
        cmocka_unit_test(test_bad_arrays_are_refused),
        cmocka_unit_test(test_layout_outlives_its_maker),
        cmocka_unit_test(test_kept_layout_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
