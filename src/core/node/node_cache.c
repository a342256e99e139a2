/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_CACHES = 8, MOST_CORES = 1024 };

static struct {
    size_t largest;
    size_t second; /* of level 2 */
    int index;     /* of the largest one */
} caches;
static pthread_once_t once = PTHREAD_ONCE_INIT;

size_t trma_node_cache_read(const char *path) {
    char text[32];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    char *unit;
    errno = 0;
    const unsigned long number = strtoul(text, &unit, 10);
    const unsigned shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
    return errno == 0 && text[0] != '-' && number <= SIZE_MAX >> shift ? (size_t)number << shift : 0;
}

static size_t number_of(int core, int index, const char *file) {
    char path[80];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", core, index, file);
    return trma_node_cache_read(path);
}

static void find_caches(void) {
    for (int i = 0; i < MOST_CACHES; i++) {
        const size_t bytes = number_of(0, i, "size");
        if (bytes > caches.largest) {
            caches.largest = bytes;
            caches.index = i;
        }
        if (number_of(0, i, "level") == 2) {
            caches.second = bytes;
        }
    }
}

size_t trma_node_cache_bytes(void) {
    pthread_once(&once, find_caches);
    return caches.largest;
}

size_t trma_node_cache_second_bytes(void) {
    pthread_once(&once, find_caches);
    return caches.second;
}

unsigned trma_node_cache_number(void) {
    static atomic_uint numbers[MOST_CORES]; /* plus one; 0: not read yet */
    const int core = sched_getcpu();

    if (core < 0 || core >= MOST_CORES) {
        return 0;
    }
    /* Relaxed: who reads it a second time finds the same. */
    unsigned number = atomic_load_explicit(&numbers[core], memory_order_relaxed);
    if (number == 0) {
        pthread_once(&once, find_caches);
        number = (unsigned)number_of(core, caches.index, "id") + 1;
        atomic_store_explicit(&numbers[core], number, memory_order_relaxed);
    }
    return number - 1;
}
