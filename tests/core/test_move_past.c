/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies that are written past the caches: all that is asked for, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "move/move_past.h"

enum { LINE = 64, MOST = 5 * LINE, EDGE = LINE };

static unsigned char byte_of(size_t at) {
    return (unsigned char)(at % 251 + 1);
}

/* From and to anywhere in a line. */
static void check(size_t to, size_t from, size_t size) {
    _Alignas(LINE) unsigned char source[2 * EDGE + LINE + MOST];
    _Alignas(LINE) unsigned char target[sizeof source] = {0};

    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = byte_of(i);
    }
    trma_move_past_copy(target + EDGE + to, source + EDGE + from, size);
    for (size_t i = 0; i < sizeof target; i++) {
        const bool is_inside = i >= EDGE + to && i < EDGE + to + size;
        assert_int_equal(target[i], is_inside ? byte_of(i - to + from) : 0);
    }
}

static void test_any_place_and_size(void **state) {
    (void)state;
    for (size_t to = 0; to < LINE; to += 7) {
        for (size_t from = 0; from < LINE; from += 9) {
            for (size_t size = 0; size <= MOST; size++) {
                check(to, from, size);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_place_and_size)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
