/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs that take turns tell one another (bench/common/turn.h): this one is number 1, a child 0. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/turn.h"

static char folder[] = "/tmp/truerma-test-turn-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A pipe that never ends, as bench/turns.py makes them; so many turns lie in it. */
static void make_pipe(const char *name, const char *turns) {
    assert_int_equal(mkfifo(in_folder(name), 0600), 0);
    const int both_ends = open(in_folder(name), O_RDWR);
    assert_true(both_ends >= 0);
    assert_int_equal(write(both_ends, turns, strlen(turns)), strlen(turns));
}

static int set_up(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_pipe("said", "");
    make_pipe("turn-000", ".");
    make_pipe("turn-001", ".");
    return 0;
}

static int tear_down(void **state) {
    static const char *const names[] = {"said", "turn-000", "turn-001", "told"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i]));
    return rmdir(folder);
}

static void begin_as(int number) {
    char place[256];
    snprintf(place, sizeof place, "%s,%d", folder, number);
    assert_int_equal(bench_turn_begin(place), 0);
    assert_true(bench_turn_is_taken());
}

/* The other program: tells once. */
static void let_other_tell(void) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        begin_as(0);
        bench_turn_tell((const long[]){10, 11}, 2, true);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_all_hear_what_is_told(void **state) {
    long numbers[BENCH_TURN_NUMBERS];

    (void)state;
    let_other_tell();
    begin_as(1);
    bench_turn_tell((const long[]){7, 8, 9}, 3, true);
    assert_int_equal(bench_turn_hear(0, numbers), 2);
    assert_int_equal(numbers[0], 10);
    assert_int_equal(numbers[1], 11);
    assert_int_equal(bench_turn_hear(1, numbers), 3);
    assert_int_equal(numbers[0], 7);
    assert_int_equal(numbers[2], 9);
    assert_int_equal(bench_turn_hear(2, numbers), -1);

    /* The other one is no more: what it told is of a call before. */
    bench_turn_tell((const long[]){5}, 1, true);
    assert_int_equal(bench_turn_hear(0, numbers), 0);
    assert_int_equal(bench_turn_hear(1, numbers), 1);
    assert_int_equal(numbers[0], 5);

    /* Of several ranks one speaks; the others count along. */
    bench_turn_tell((const long[]){6}, 1, false);
    assert_int_equal(bench_turn_hear(1, numbers), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_hear_what_is_told)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
