/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_CACHES = 8 };

static size_t largest;
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

static void find_largest(void) {
    for (int i = 0; i < MOST_CACHES; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        const size_t bytes = trma_node_cache_read(path);
        largest = bytes > largest ? bytes : largest;
    }
}

size_t trma_node_cache_bytes(void) {
    pthread_once(&once, find_largest);
    return largest;
}
