/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of the last cache, and what is made of what a file says. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/node_cache.h"

static size_t read_from(const char *text) {
    char path[] = "/tmp/test_node_cache.XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
    const size_t bytes = trma_node_cache_read(path);
    assert_int_equal(unlink(path), 0);
    return bytes;
}

static void test_what_files_say(void **state) {
    (void)state;
    assert_int_equal(read_from("32768K\n"), 32 << 20);
    assert_int_equal(read_from("2M\n"), 2 << 20);
    assert_int_equal(read_from("512\n"), 512);
    assert_int_equal(read_from(""), 0);
    assert_int_equal(read_from("unknown\n"), 0);
    assert_int_equal(read_from("-1K\n"), 0);
    assert_int_equal(read_from("99999999999999999999K\n"), 0);
    assert_int_equal(read_from("18446744073709551615K\n"), 0);
    assert_int_equal(trma_node_cache_read("/nonexistent/size"), 0);
}

/* As large as the largest of those that the kernel tells of, whatever their order. */
static void test_the_largest(void **state) {
    const size_t bytes = trma_node_cache_bytes();
    size_t largest = 0;
    (void)state;
    for (int i = 7; i >= 0; i--) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        const size_t one = trma_node_cache_read(path);
        assert_true(one <= bytes);
        largest = one > largest ? one : largest;
    }
    assert_int_equal(bytes, largest);
    assert_int_equal(trma_node_cache_bytes(), bytes);
}

static void test_the_second(void **state) {
    const size_t bytes = trma_node_cache_second_bytes();
    bool is_told = false;
    (void)state;
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (trma_node_cache_read(path) == 2) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
            assert_int_equal(trma_node_cache_read(path), bytes);
            is_told = true;
        }
    }
    assert_int_equal(is_told, bytes > 0);
    assert_true(bytes <= trma_node_cache_bytes());
}

/* The same for whoever is on that core, as the kernel tells it. */
static void test_the_number(void **state) {
    const int cores = (int)sysconf(_SC_NPROCESSORS_CONF);
    unsigned told = 0;
    (void)state;
    for (int core = 0; core < cores; core++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) {
            continue;
        }
        const unsigned number = trma_node_cache_number();
        bool is_told = false;
        for (int i = 0; i < 8; i++) {
            char path[80];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", core, i);
            if (trma_node_cache_read(path) == trma_node_cache_bytes()) {
                snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/id", core, i);
                is_told = is_told || trma_node_cache_read(path) == number;
            }
        }
        assert_true(is_told || trma_node_cache_bytes() == 0);
        assert_int_equal(trma_node_cache_number(), number);
        told++;
    }
    assert_true(told > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_files_say),
        cmocka_unit_test(test_the_largest),
        cmocka_unit_test(test_the_second),
        cmocka_unit_test(test_the_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
