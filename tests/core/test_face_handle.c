/* SPDX-License-Identifier: BSD-3-Clause */
/* The face's table of handles, which needs no MPI: what is found, and what is found no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "face_handle.h"

struct object {
    struct trma_handle handle;
    int number;
};

static struct trma_handle_table table = TRMA_HANDLE_TABLE(struct object);

static struct object *insert(uintptr_t key, int number) {
    struct object *object = (struct object *)trma_handle_take(&table);

    assert_non_null(object);
    assert_int_equal(object->number, 0);
    object->number = number;
    trma_handle_insert(&table, &object->handle, key);
    return object;
}

static struct object *find(uintptr_t key) {
    return (struct object *)trma_handle_find(&table, key);
}

/* More than the cache has places, so that some are found behind it. */
static void test_many(void **state) {
    (void)state;
    enum { MANY = 3 * TRMA_HANDLE_CACHE };
    struct object *objects[MANY];

    for (int i = 0; i < MANY; i++) {
        objects[i] = insert((uintptr_t)i + 1, i + 1);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            assert_ptr_equal(find((uintptr_t)i + 1), objects[i]);
            assert_int_equal(objects[i]->number, i + 1);
        }
    }
    for (int i = 0; i < MANY; i++) {
        trma_handle_give(&table, &objects[i]->handle);
        assert_null(find((uintptr_t)i + 1));
    }
}

/* The last one with a key is the one that is found; the one before is not given back by that. */
static void test_same_key(void **state) {
    (void)state;
    struct object *first = insert(7, 1);
    struct object *second = insert(7, 2);

    assert_ptr_equal(find(7), second);
    trma_handle_give(&table, &first->handle);
    assert_ptr_equal(find(7), second);
    trma_handle_give(&table, &second->handle);
    assert_null(find(7));
}

/* No handle has the value 0: it is not taken for one that is in use no more. */
static void test_zero(void **state) {
    (void)state;
    uintptr_t key = 1;

    while (trma_handle_hash(key, TRMA_HANDLE_CACHE_BITS) != trma_handle_hash(0, TRMA_HANDLE_CACHE_BITS)) {
        key++;
    }
    assert_null(find(0));
    struct object *object = insert(key, 1);
    assert_ptr_equal(find(key), object);
    assert_null(find(0));
    trma_handle_give(&table, &object->handle);
    assert_null(find(0));
    assert_null(find(key));
}

/* What fills the empty places of the cache is found by no key, before objects were in them and after. */
static void test_empty_places(void **state) {
    enum { KEYS = 5000 };
    (void)state;
    for (uintptr_t key = 0; key < KEYS; key++) {
        assert_null(find(key));
    }
    for (uintptr_t key = 1; key < KEYS; key++) {
        struct object *object = insert(key, (int)key);
        assert_ptr_equal(find(key), object);
        trma_handle_give(&table, &object->handle);
        assert_null(find(key));
        assert_null(find(0));
        assert_null(find(1));
    }
}

/* What was found last is recent, unless there may be threads: then it is what was inserted last. Nothing is
 * recent that has been given back. */
static void test_recent(void **state) {
    const bool *may_have_threads = *state;
    struct object *first = insert(100, 1);
    struct object *second = insert(200, 2);
    struct trma_handle *const inserted = &second->handle;

    assert_ptr_equal(atomic_load(&table.recent), inserted);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(find(100), first);
        assert_ptr_equal(atomic_load(&table.recent), *may_have_threads ? inserted : &first->handle);
        assert_ptr_equal(find(100), first);
        assert_ptr_equal(find(200), second);
        assert_ptr_equal(atomic_load(&table.recent), inserted);
        assert_null(find(300));
        assert_ptr_equal(atomic_load(&table.recent), inserted);
    }
    trma_handle_give(&table, &first->handle);
    assert_ptr_equal(find(200), second);
    assert_null(find(100));
    trma_handle_give(&table, &second->handle);
    assert_ptr_equal(atomic_load(&table.recent), &trma_handle_nothing);
    assert_null(find(200));
    assert_null(find(0));
}

int main(void) {
    bool may_have_threads[] = {false, true};
    int failures = 0;

    for (int i = 0; i < 2; i++) {
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_empty_places),
            cmocka_unit_test(test_many),
            cmocka_unit_test(test_same_key),
            cmocka_unit_test(test_zero),
            cmocka_unit_test_prestate(test_recent, &may_have_threads[i]),
        };
        trma_handle_expect_threads(may_have_threads[i]);
        failures += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failures;
}
