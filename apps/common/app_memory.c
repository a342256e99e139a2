/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_memory.h"

#include "app_check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t app_memory_whole_pages(size_t bytes) {
    const size_t page = page_size();
    return (bytes + page - 1) / page * page;
}

void *app_memory_allocate(size_t count, size_t size) {
    const size_t page = page_size();
    if (size != 0 && count > (SIZE_MAX - page) / size)
        app_abort("%zu elements of %zu bytes are more than memory can hold", count, size);
    /* whole pages: a window on them shares no page with anything else of the program */
    const size_t bytes = count * size > 0 ? app_memory_whole_pages(count * size) : page;
    void *memory = aligned_alloc(page, bytes);
    if (memory == NULL)
        app_abort("no memory for %zu bytes", bytes);
    memset(memory, 0, bytes);
    return memory;
}
