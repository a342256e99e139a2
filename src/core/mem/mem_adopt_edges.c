/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_edges.h"

#include <stdbool.h>
#include <unistd.h>

#include "mem_adopt_guard.h"
#include "mem_adopt_maps.h"
#include "mem_adopt_threads.h"
#include "mem_backing.h"

#define ARENA_ALIGNMENT ((uintptr_t)64 << 20)

/* What glibc's malloc (2.0 to 2.40) has in front of every block: the size, with flags in its lowest bits. Of
 * a block with pages of its own `before` is the distance to the first of them. */
struct block_header {
    size_t before;
    size_t size_and_flags;
};

enum { BLOCK_FLAGS = 7, BLOCK_HAS_PAGES = 2 };

static struct trma_page_range range_of(uintptr_t low, uintptr_t high) {
    return (struct trma_page_range){.low = low, .high = high > low ? high : low};
}

struct trma_page_range trma_mem_edges_inner(uintptr_t address, size_t size) {
    size_t page = trma_mem_page_size();
    uintptr_t low = trma_mem_round_up(address, page);
    if (low < address || size > UINTPTR_MAX - address) {
        return range_of(0, 0);
    }
    return range_of(low, (address + size) & ~(page - 1));
}

/* True when the range is a block of malloc with pages of its own, from the block's start on. */
static bool is_block_with_pages(uintptr_t address, size_t size) {
    size_t page = trma_mem_page_size();
    uintptr_t place = address - sizeof(struct block_header);
    if (address % sizeof(struct block_header) != 0 || address < 2 * page) {
        return false;
    }
    uintptr_t place_page = place & ~(page - 1);
    struct trma_memory_kind kind;
    /* The page before an aligned block need not be memory at all. */
    if (place_page != (address & ~(page - 1)) &&
        trma_mem_maps_judge(place_page, place_page + page, &kind) != NULL) {
        return false;
    }
    const struct block_header *header = (const struct block_header *)place;
    size_t whole = header->size_and_flags & ~(size_t)BLOCK_FLAGS;
    return (header->size_and_flags & BLOCK_FLAGS) == BLOCK_HAS_PAGES && header->before <= place &&
           (place - header->before) % page == 0 && whole <= UINTPTR_MAX - place &&
           (place + whole) % page == 0 && size <= whole - sizeof *header &&
           trma_mem_edges_inner(address, size).low <= place + whole;
}

struct trma_page_range trma_mem_edges_choose(uintptr_t address, size_t size) {
    size_t page = trma_mem_page_size();
    struct trma_page_range inner = trma_mem_edges_inner(address, size);
    if (size == 0 || size > UINTPTR_MAX - address - page) {
        return inner;
    }
    uintptr_t low = address & ~(page - 1);
    uintptr_t high = trma_mem_round_up(address + size, page);
    if (low == inner.low && high == inner.high) {
        return inner;
    }
    if (trma_mem_maps_is_static_data(low, high)) {
        return inner;
    }
    bool is_alone = !trma_mem_threads_exist();
    bool is_block = !is_alone && inner.low != inner.high && is_block_with_pages(address, size);
    if (!is_alone && !is_block && (trma_mem_threads_may_write() || !trma_mem_guard_is_possible(true))) {
        return inner;
    }
    if (low != inner.low && low % ARENA_ALIGNMENT == 0) {
        low = inner.low;
    }
    if (high != inner.high && (high - page) % ARENA_ALIGNMENT == 0) {
        high = inner.high;
    }
    struct trma_page_range chosen = range_of(low, high);
    chosen.has_strangers = !is_block;
    return chosen;
}
