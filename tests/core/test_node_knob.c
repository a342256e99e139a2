/* SPDX-License-Identifier: BSD-3-Clause */
/* Knobs: defaults, every kind of value, what is refused and with which words, misspelled names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/node_knob.h"

static struct trma_knobs knobs;
static char err[512];

static int clear_environment(void **state) {
    (void)state;
    return clearenv();
}

static void assert_taken(const char *name, const char *value) {
    assert_int_equal(setenv(name, value, 1), 0);
    enum trma_status status = trma_node_knob_load(&knobs, err, sizeof err);
    assert_string_equal(err, "");
    assert_int_equal(status, TRMA_OK);
}

/* The message must name the knob, the value and each of the words in `says`; the knob must have its default.
 */
static void assert_refused(const char *name, const char *value, const char *says) {
    assert_int_equal(setenv(name, value, 1), 0);
    assert_int_equal(trma_node_knob_load(&knobs, err, sizeof err), TRMA_ERR_ARGUMENT);
    assert_non_null(strstr(err, name));
    assert_non_null(strstr(err, value));
    assert_non_null(strstr(err, says));
    assert_null(strchr(err, '\n'));
    assert_int_equal(unsetenv(name), 0);
}

static void test_defaults(void **state) {
    (void)state;
    memset(&knobs, 0xA5, sizeof knobs);
    assert_int_equal(trma_node_knob_load(&knobs, err, sizeof err), TRMA_OK);
    assert_true(knobs.enabled);
    assert_int_equal(knobs.abi, TRMA_ABI_UNSET);
    assert_int_equal(knobs.log, TRMA_LOG_WARN);
    assert_string_equal(knobs.stats, "");
    assert_int_equal(knobs.adopt, TRMA_ADOPT_AUTO);
    assert_true(knobs.cma);
}

/* A default that its own parser would refuse is a slip in the table. */
static void test_every_default_is_allowed(void **state) {
    (void)state;
    size_t count = 0;
    const struct trma_knob_info *rows = trma_node_knob_rows(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_taken(rows[i].name, rows[i].default_text);
        assert_true(strncmp(rows[i].name, "TRUERMA", 7) == 0);
        assert_true(rows[i].help[0] != '\0');
    }
}

static void test_empty_means_default(void **state) {
    (void)state;
    assert_taken("TRUERMA_ABI", "");
    assert_int_equal(knobs.abi, TRMA_ABI_UNSET);
    assert_taken("TRUERMA", "");
    assert_true(knobs.enabled);
}

static void test_switch(void **state) {
    (void)state;
    static const char *const on[] = {"on", "ON", "1", "yes", "true"};
    static const char *const off[] = {"off", "Off", "0", "no", "false"};
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        assert_taken("TRUERMA", off[i]);
        assert_false(knobs.enabled);
        assert_taken("TRUERMA", on[i]);
        assert_true(knobs.enabled);
    }
    assert_refused("TRUERMA", "perhaps", "on or off");
    assert_true(knobs.enabled);
}

static void test_choice(void **state) {
    (void)state;
    assert_taken("TRUERMA_ABI", "mpich");
    assert_int_equal(knobs.abi, TRMA_ABI_MPICH);
    assert_taken("TRUERMA_ABI", "OpenMPI");
    assert_int_equal(knobs.abi, TRMA_ABI_OPENMPI);
    assert_taken("TRUERMA_ABI", "abi");
    assert_int_equal(knobs.abi, TRMA_ABI_STANDARD);
    assert_refused("TRUERMA_ABI", "mpic", "mpich, openmpi or abi");
    assert_int_equal(knobs.abi, TRMA_ABI_UNSET);
    assert_refused("TRUERMA_ABI", "mpich|openmpi", "mpich, openmpi or abi");
    assert_taken("TRUERMA_LOG", "debug");
    assert_int_equal(knobs.log, TRMA_LOG_DEBUG);
    assert_refused("TRUERMA_LOG", "loud", "error, warn, info or debug");
    assert_taken("TRUERMA_ADOPT", "never");
    assert_int_equal(knobs.adopt, TRMA_ADOPT_NEVER);
}

static void test_count(void **state) {
    (void)state;
    assert_taken("TRUERMA_SPIN", "0");
    assert_true(knobs.spin_us == 0);
    assert_taken("TRUERMA_SPIN", "1000000");
    assert_true(knobs.spin_us == 1000000);
    static const char *const wrong[] = {
        "1000001", "-1", "+1", " 1", "1 ", "1K", "0x10", "many", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_refused("TRUERMA_SPIN", wrong[i], "microseconds");
}

static void test_size(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = {{"65536", 65536}, {"65536B", 65536}, {"64K", 65536},
                 {"64kb", 65536},  {"2MiB", 2 << 20}, {"1G", 1 << 30}};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_taken("TRUERMA_HEAP_CHUNK", right[i].text);
        assert_true(knobs.heap_chunk == right[i].bytes);
    }
    /* The last one is 2^64 + 64 KiB when it is multiplied without care. */
    static const char *const wrong[] = {"1", "2G", "64X", "64KK", "K", "17179869184G", "18014398509482048K"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_refused("TRUERMA_HEAP_CHUNK", wrong[i], "64K to 1G");
}

static void test_text(void **state) {
    (void)state;
    assert_taken("TRUERMA_STATS", "/tmp/a b.json");
    assert_string_equal(knobs.stats, "/tmp/a b.json");
    char longest[TRMA_KNOB_TEXT];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_taken("TRUERMA_STATS", longest);
    assert_string_equal(knobs.stats, longest);
    char too_long[TRMA_KNOB_TEXT + 1];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    assert_int_equal(setenv("TRUERMA_STATS", too_long, 1), 0);
    assert_int_equal(trma_node_knob_load(&knobs, err, sizeof err), TRMA_ERR_ARGUMENT);
    assert_string_equal(knobs.stats, "");
}

static void test_message_is_cut_to_its_room(void **state) {
    (void)state;
    char small[16];
    memset(small, 'y', sizeof small);
    assert_int_equal(setenv("TRUERMA_ABI", "wrong", 1), 0);
    assert_int_equal(trma_node_knob_load(&knobs, small, sizeof small), TRMA_ERR_ARGUMENT);
    assert_int_equal(strlen(small), sizeof small - 1);
}

static void test_unknown_names(void **state) {
    (void)state;
    size_t cursor = 0;
    char name[64];
    assert_int_equal(setenv("HOME", "/", 1), 0);
    assert_int_equal(setenv("TRUERMA_ABI", "mpich", 1), 0);
    assert_false(trma_node_knob_next_unknown(&cursor, name, sizeof name));
    assert_int_equal(setenv("TRUERMA_STAT", "1", 1), 0);
    assert_int_equal(setenv("TRUERMA_LOGS", "info", 1), 0);
    cursor = 0;
    assert_true(trma_node_knob_next_unknown(&cursor, name, sizeof name));
    assert_string_equal(name, "TRUERMA_STAT");
    assert_true(trma_node_knob_next_unknown(&cursor, name, sizeof name));
    assert_string_equal(name, "TRUERMA_LOGS");
    assert_false(trma_node_knob_next_unknown(&cursor, name, sizeof name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, clear_environment),
        cmocka_unit_test_setup(test_every_default_is_allowed, clear_environment),
        cmocka_unit_test_setup(test_empty_means_default, clear_environment),
        cmocka_unit_test_setup(test_switch, clear_environment),
        cmocka_unit_test_setup(test_choice, clear_environment),
        cmocka_unit_test_setup(test_count, clear_environment),
        cmocka_unit_test_setup(test_size, clear_environment),
        cmocka_unit_test_setup(test_text, clear_environment),
        cmocka_unit_test_setup(test_message_is_cut_to_its_room, clear_environment),
        cmocka_unit_test_setup(test_unknown_names, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
