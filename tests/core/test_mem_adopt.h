/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_MEM_ADOPT_H
#define TEST_MEM_ADOPT_H

/* For tests of adoption: private memory with known content, and what the kernel says of it. */
#include "test_mem_processes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "mem/mem_adopt.h"
#include "mem/mem_heap.h"
#include "mem/mem_map.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static size_t page;

static inline char *map_private(size_t size) {
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* Every byte depends on where it lies. */
static inline void fill(char *memory, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = (i + seed) * 0x9e3779b97f4a7c15U;
        memcpy(memory + i, &word, size - i < 8 ? size - i : 8);
    }
}

static inline bool is_filled(const char *memory, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = (i + seed) * 0x9e3779b97f4a7c15U;
        if (memcmp(memory + i, &word, size - i < 8 ? size - i : 8) != 0) {
            return false;
        }
    }
    return true;
}

static inline struct trma_share adopt(void *memory, size_t size) {
    struct trma_share share;
    const char *reason;
    enum trma_status status = trma_mem_adopt_range(memory, size, &share, &reason);
    if (status != TRMA_OK) {
        fprintf(stderr, "not adopted: %s\n", reason);
    }
    CHECK(status == TRMA_OK && share.ticket.serial != 0 && reason == NULL);
    return share;
}

static inline size_t adopted_regions(void) {
    size_t regions;
    size_t bytes;
    trma_mem_adopt_usage(&regions, &bytes);
    return regions;
}

/* What smaps says about the mapping at an address: one of its numbers in KiB. */
static inline size_t smaps_number(const void *address, const char *name) {
    FILE *stream = fopen("/proc/self/smaps", "r");
    CHECK(stream != NULL);
    char line[512];
    bool is_inside = false;
    size_t number = 0;
    while (fgets(line, sizeof line, stream) != NULL) {
        unsigned long low;
        unsigned long high;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) {
            is_inside = (uintptr_t)address >= low && (uintptr_t)address < high;
        } else if (is_inside && strncmp(line, name, strlen(name)) == 0) {
            number = strtoul(line + strlen(name) + 1, NULL, 10);
        }
    }
    fclose(stream);
    return number;
}

static inline size_t resident_pages(const char *memory, size_t size) {
    unsigned char *states = malloc(size / page);
    CHECK(states != NULL && mincore((void *)memory, size, states) == 0);
    size_t resident = 0;
    for (size_t i = 0; i < size / page; i++) {
        resident += states[i] & 1;
    }
    free(states);
    return resident;
}

/* Edges, whose pages hold other data too, are adopted when nobody else is there to use it (a sanitizer may
 * have a thread). */
static inline bool takes_edges(void) {
    struct stat tasks;
    CHECK(stat("/proc/self/task", &tasks) == 0);
    return tasks.st_nlink == 3;
}

static inline int set_page(void **state) {
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    return 0;
}

#endif
