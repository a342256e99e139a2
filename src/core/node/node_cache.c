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

static struct {
    size_t largest;
    size_t second; /* of level 2 */
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

static size_t number_of(int index, const char *file) {
    char path[64];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    return trma_node_cache_read(path);
}

static void find_caches(void) {
    for (int i = 0; i < MOST_CACHES; i++) {
        const size_t bytes = number_of(i, "size");
        caches.largest = bytes > caches.largest ? bytes : caches.largest;
        if (number_of(i, "level") == 2) {
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
