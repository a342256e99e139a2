/* SPDX-License-Identifier: BSD-3-Clause */
#include "turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARRIVED = 'a' };

static int turns = -1, said = -1; /* pipes: a byte per turn and rank, and what all programs say */
static int told = -1;             /* a file: a `saying` of each program */
static int number;

/* What a program has told. */
struct saying {
    long time; /* the first, the second ... one */
    long count;
    long numbers[BENCH_TURN_NUMBERS];
};

static long times; /* calls of bench_turn_tell */

static int open_in(const char *folder, const char *name, int flags) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC, 0600);
}

/* All at once, as pipes take so little: others say something, too. */
static bool say(char what) {
    char words[8];
    int length = snprintf(words, sizeof words, "%03d%c", number % 1000, what);
    return write(said, words, (size_t)length) == length;
}

static bool await_turn(void) {
    char turn;
    ssize_t got;
    do {
        got = read(turns, &turn, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1;
}

int bench_turn_begin(const char *place) {
    if (place == NULL)
        return 0;
    char folder[200], name[16];
    const char *comma = strrchr(place, ',');
    size_t length = comma != NULL ? (size_t)(comma - place) : sizeof folder;
    if (length < sizeof folder) {
        memcpy(folder, place, length);
        folder[length] = '\0';
        number = atoi(comma + 1);
        snprintf(name, sizeof name, "turn-%03d", number % 1000);
        turns = open_in(folder, name, O_RDONLY);
        said = open_in(folder, "said", O_WRONLY);
        told = open_in(folder, "told", O_RDWR | O_CREAT);
    }
    if (turns >= 0 && said >= 0 && told >= 0 && say(ARRIVED) && await_turn())
        return 0;
    fprintf(stderr, "--turns: '%s' is not FOLDER,NUMBER with the pipes of bench/turns.py\n", place);
    return -1;
}

bool bench_turn_is_taken(void) {
    return said >= 0;
}

void bench_turn_give(enum bench_turn_end end, bool speaks) {
    if ((speaks && !say((char)end)) || !await_turn()) {
        fprintf(stderr, "nobody hands out turns any more\n");
        exit(1);
    }
}

void bench_turn_tell(const long *numbers, int count, bool speaks) {
    struct saying saying = {.time = ++times, .count = count};
    memcpy(saying.numbers, numbers, (size_t)count * sizeof *numbers);
    if (speaks && pwrite(told, &saying, sizeof saying, number * (off_t)sizeof saying) != sizeof saying) {
        perror("what a turn tells");
        exit(1);
    }
}

int bench_turn_hear(int other, long *numbers) {
    struct saying saying;
    if (pread(told, &saying, sizeof saying, other * (off_t)sizeof saying) != sizeof saying)
        return -1;
    if (saying.time != times)
        return 0;
    memcpy(numbers, saying.numbers, sizeof saying.numbers);
    return (int)saying.count;
}
