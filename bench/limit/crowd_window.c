/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowd.h"

#include "fork.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of created windows: the parts one after the other, and where they were told to lie. */
static struct {
    char *parts;
    char *_Atomic *told;
} given;

/* The shared memory of process `place`, by name: `parent` is the process that all come from. */
struct name {
    char text[64];
};

static struct name name_of(pid_t parent, int place) {
    struct name name;
    snprintf(name.text, sizeof name.text, "/truerma-limit-%d-%d", (int)parent, place);
    return name;
}

void crowd_window_prepare(int processes, size_t bytes) {
    static size_t told_bytes, parts_bytes;
    if (given.parts != NULL) {
        munmap(given.parts, parts_bytes);
        munmap(given.told, told_bytes);
    }
    parts_bytes = (size_t)processes * bytes;
    told_bytes = (size_t)processes * sizeof *given.told;
    given.parts = limit_memory_share(parts_bytes);
    given.told = limit_memory_share(told_bytes);
}

/* The memory of process `place`, made by it or by another one. */
static char *map_part(int place, size_t bytes, bool own) {
    const int file = shm_open(name_of(getppid(), place).text, own ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
    if (file < 0 || (own && ftruncate(file, (off_t)bytes) != 0)) {
        perror("limit-crowd: shm_open");
        exit(1);
    }
    char *part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (part == MAP_FAILED) {
        perror("limit-crowd: mmap");
        exit(1);
    }
    close(file);
    return part;
}

static void make(struct crowd *crowd, bool created, size_t bytes, char **part) {
    const int processes = crowd->others + 1;
    if (created)
        given.told[crowd->place] = given.parts + (size_t)crowd->place * bytes;
    else
        part[crowd->place] = map_part(crowd->place, bytes, true);
    crowd_meet(crowd);
    for (int i = 0; i < processes; i++) {
        if (created)
            part[i] = given.told[i];
        else if (i != crowd->place)
            part[i] = map_part(i, bytes, false);
    }
    if (created)
        return;
    crowd_meet(crowd);
    shm_unlink(name_of(getppid(), crowd->place).text);
}

static void release(struct crowd *crowd, bool created, size_t bytes, char **part) {
    for (int i = 0; i <= crowd->others && !created; i++)
        munmap(part[i], bytes);
    crowd_meet(crowd);
}

/* The last word of a part. */
static uint64_t *word_of(char *part, size_t bytes) {
    return (uint64_t *)(part + bytes) - 1;
}

long crowd_window_use(struct crowd *crowd, bool created, size_t bytes, double *make_us, double *free_us) {
    const int processes = crowd->others + 1;
    char *part[CROWD_MOST + 1];
    crowd_meet(crowd);
    double begin = bench_now_us();
    make(crowd, created, bytes, part);
    *make_us = bench_now_us() - begin;
    crowd_meet(crowd);
    const uint64_t number = crowd->step;
    *word_of(part[(crowd->place + 1) % processes], bytes) = bench_word(number, (size_t)crowd->place);
    crowd_meet(crowd);
    const size_t previous = (size_t)((crowd->place + processes - 1) % processes);
    const long wrong = *word_of(part[crowd->place], bytes) != bench_word(number, previous);
    crowd_meet(crowd);
    begin = bench_now_us();
    release(crowd, created, bytes, part);
    *free_us = bench_now_us() - begin;
    return wrong;
}
