/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem_adopt_guard.h"
#include "mem_adopt_pagemap.h"
#include "mem_backing.h"
#include "mem_huge.h"
#include "mem_raw.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/* So much is exchanged at a time. Of what is not larger the mapping is kept (mem_adopt_stash.h); larger
 * blocks have mappings of their own under every allocator. */
#define PIECE ((size_t)32 << 20)

static off_t offset_of(const struct trma_exchange *exchange, uintptr_t address) {
    return (off_t)(exchange->file_offset + (address - exchange->low));
}

static bool write_all(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high) {
    while (low < high) {
        ssize_t put =
            trma_mem_raw_pwrite(exchange->file, (const void *)low, high - low, offset_of(exchange, low));
        if (put > 0) {
            low += (size_t)put;
        } else if (put == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool read_all(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high, char *to) {
    while (low < high) {
        ssize_t got = trma_mem_raw_pread(exchange->file, to, high - low, offset_of(exchange, low));
        if (got > 0) {
            low += (size_t)got;
            to += got;
        } else if (got == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* A page of malloc may hold what a sanitizer does not want to be read. */
__attribute__((no_sanitize("address", "thread"))) static bool is_zero(uintptr_t page, size_t size) {
    for (const uint64_t *word = (const uint64_t *)page; word < (const uint64_t *)(page + size); word++) {
        if (*word != 0) {
            return false;
        }
    }
    return true;
}

/* Must this page be copied? Pages that were never written stay holes of the file. */
static bool has_content(const struct trma_exchange *exchange, uintptr_t page, enum trma_page_state state) {
    if (exchange->kind.is_file_backed) {
        return true; /* what was never touched has the file's content */
    }
    return state == TRMA_PAGE_TOUCHED ||
           (state == TRMA_PAGE_MAYBE_ZERO && !is_zero(page, trma_mem_page_size()));
}

static bool copy_to_file(const struct trma_exchange *exchange, int pagemap, uintptr_t low, uintptr_t high) {
    enum trma_page_state states[TRMA_PAGEMAP_BATCH];
    size_t page = trma_mem_page_size();
    uintptr_t run = low; /* [run, at) is to be copied */
    uintptr_t at = low;
    while (at < high) {
        size_t n = (high - at) / page < TRMA_PAGEMAP_BATCH ? (high - at) / page : TRMA_PAGEMAP_BATCH;
        if (!trma_mem_pagemap_read(pagemap, at, n, states)) {
            return false;
        }
        for (size_t i = 0; i < n; i++, at += page) {
            if (!has_content(exchange, at, states[i])) {
                if (!write_all(exchange, run, at)) {
                    return false;
                }
                run = at + page;
            }
        }
    }
    return write_all(exchange, run, at);
}

static bool map_file(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high) {
    return trma_mem_raw_mmap((void *)low, high - low, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                             exchange->file, offset_of(exchange, low)) != MAP_FAILED;
}

/*
 * Maps the file where it is mapped already: nothing changes, but who watches the program's mappings (to keep
 * pages registered with a device) learns that they are no longer what they were.
 */
static void tell_watchers(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high) {
    (void)mmap((void *)low, high - low, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, exchange->file,
               offset_of(exchange, low));
}

/* Calls `visit` for each stretch of [low, high) that the file holds data for, until it answers false. */
static bool visit_data(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high,
                       bool (*visit)(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high,
                                     void *context),
                       void *context) {
    off_t end = offset_of(exchange, high);
    off_t at = offset_of(exchange, low);
    while (at < end) {
        off_t data = lseek(exchange->file, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            return true;
        }
        off_t hole = data < 0 ? -1 : lseek(exchange->file, data, SEEK_HOLE);
        if (hole < 0) {
            return false;
        }
        if (data >= end) {
            return true;
        }
        off_t stop = hole < end ? hole : end;
        uintptr_t base = exchange->low - exchange->file_offset;
        if (!visit(exchange, base + (uintptr_t)data, base + (uintptr_t)stop, context)) {
            return false;
        }
        at = stop;
    }
    return true;
}

/* Makes the new mapping's page tables in one go, rather than by a fault for each page when the program goes
 * on. */
static bool populate_stretch(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high,
                             void *context) {
    (void)exchange;
    (void)context;
    (void)madvise((void *)low, high - low, MADV_POPULATE_READ);
    return true;
}

static uintptr_t piece_end(uintptr_t at, uintptr_t high) {
    if (high - at <= PIECE) {
        return high;
    }
    uintptr_t end = (at + PIECE) & ~(PIECE - 1);
    return end < high ? end : high;
}

/* The file takes the place of what has been copied to it. */
static bool replace_by_file(struct trma_exchange *exchange, uintptr_t low, uintptr_t high) {
    bool is_stashable = low == exchange->low && high == exchange->high && !exchange->kind.is_file_backed;
    if (is_stashable) {
        (void)trma_mem_stash_take(&exchange->stash, low, high);
    }
    if (map_file(exchange, low, high)) {
        trma_mem_stash_empty(&exchange->stash);
        return true;
    }
    if (exchange->stash.base != NULL) {
        (void)trma_mem_stash_return(&exchange->stash, low, high);
        trma_mem_stash_drop(&exchange->stash);
    }
    return false;
}

static enum trma_status piece_to_file(struct trma_exchange *exchange, struct trma_guard *guard, int pagemap,
                                      uintptr_t low, uintptr_t high, const char **reason) {
    if (!exchange->kind.refuses_huge) {
        trma_mem_huge_prepare(exchange->file, (size_t)offset_of(exchange, low), pagemap, low, high);
    }
    if (!trma_mem_guard_hold(guard, low, high)) {
        *reason = "other threads are running, and userfaultfd cannot hold back writes to this kind of memory";
        return TRMA_ERR_REFUSED;
    }
    bool is_done = copy_to_file(exchange, pagemap, low, high) && replace_by_file(exchange, low, high);
    trma_mem_guard_let_go(guard, low, high);
    if (!is_done) {
        *reason = "there is no memory for a copy";
        return TRMA_ERR_NO_MEMORY;
    }
    return TRMA_OK;
}

/* All pieces; *end is where it stopped. */
static enum trma_status pieces_to_file(struct trma_exchange *exchange, int pagemap, uintptr_t *end,
                                       const char **reason) {
    struct trma_guard guard;
    *end = exchange->low;
    *reason = trma_mem_guard_open(&guard, exchange->has_threads);
    if (*reason != NULL) {
        return TRMA_ERR_REFUSED;
    }
    enum trma_status status = TRMA_OK;
    while (*end < exchange->high && status == TRMA_OK) {
        uintptr_t stop = piece_end(*end, exchange->high);
        status = piece_to_file(exchange, &guard, pagemap, *end, stop, reason);
        *end = status == TRMA_OK ? stop : *end;
    }
    trma_mem_guard_close(&guard);
    return status;
}

enum trma_status trma_mem_pages_to_file(struct trma_exchange *exchange, const char **reason) {
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0) {
        *reason = "/proc/self/pagemap cannot be read";
        return TRMA_ERR_REFUSED;
    }
    uintptr_t end;
    enum trma_status status = pieces_to_file(exchange, pagemap, &end, reason);
    close(pagemap);
    if (status == TRMA_OK) {
        tell_watchers(exchange, exchange->low, exchange->high);
        (void)visit_data(exchange, exchange->low, exchange->high, populate_stretch, NULL);
    } else {
        (void)trma_mem_pages_to_private(exchange, exchange->low, end);
    }
    return status;
}

/* The properties that the memory had; without them it would also never again be one mapping with its
 * neighbours. */
static void restore_kind(const struct trma_memory_kind *kind, void *address, size_t size) {
    const struct {
        bool is_set;
        int advice;
    } advices[] = {{kind->wants_huge, MADV_HUGEPAGE},
                   {kind->refuses_huge, MADV_NOHUGEPAGE},
                   {kind->is_undumped, MADV_DONTDUMP},
                   {kind->is_mergeable, MADV_MERGEABLE}};
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
        if (advices[i].is_set) {
            (void)trma_mem_raw_madvise(address, size, advices[i].advice);
        }
    }
}

static int private_flags(const struct trma_memory_kind *kind) {
    return MAP_PRIVATE | MAP_ANONYMOUS | (kind->is_unreserved ? MAP_NORESERVE : 0);
}

struct destination {
    uintptr_t low; /* of the source */
    char *base;    /* where its first byte goes */
};

static bool read_stretch(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high, void *context) {
    const struct destination *to = context;
    char *base = to->base + (low - to->low);
    if (!exchange->kind.refuses_huge) {
        trma_mem_huge_prepare_private((uintptr_t)base, (uintptr_t)base + (high - low));
    }
    return read_all(exchange, low, high, base);
}

/* Into the mapping that was there before, which then goes back: the kernel joins it to its neighbours. */
static bool piece_from_stash(const struct trma_exchange *exchange, struct trma_guard *guard, uintptr_t low,
                             uintptr_t high) {
    struct destination to = {.low = low, .base = trma_mem_stash_at(&exchange->stash, low)};
    if (!trma_mem_guard_hold(guard, low, high)) {
        return false;
    }
    bool is_done = visit_data(exchange, low, high, read_stretch, &to) &&
                   trma_mem_stash_return(&exchange->stash, low, high);
    trma_mem_guard_let_go(guard, low, high);
    return is_done;
}

/*
 * Alone: fresh memory in place, which the kernel joins to its neighbours, so that the allocator's mremap
 * finds the one mapping that it made. Nobody sees the moment when it is empty.
 */
static bool piece_in_place(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high) {
    void *place = (void *)low;
    /* Without access at first: it must not be joined to a stranger next to it before it has its properties
     * back. */
    if (trma_mem_raw_mmap(place, high - low, PROT_NONE, private_flags(&exchange->kind) | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
        return false;
    }
    restore_kind(&exchange->kind, place, high - low);
    if (trma_mem_raw_mprotect(place, high - low, PROT_READ | PROT_WRITE) != 0) {
        (void)map_file(exchange, low, high);
        return false;
    }
    struct destination to = {.low = low, .base = place};
    if (!visit_data(exchange, low, high, read_stretch, &to)) {
        (void)map_file(exchange, low, high);
        return false;
    }
    return true;
}

/* With other threads: filled elsewhere while writers wait, then moved in at one blow. */
static bool piece_by_move(const struct trma_exchange *exchange, struct trma_guard *guard, uintptr_t low,
                          uintptr_t high) {
    size_t size = high - low;
    size_t lead =
        low & (TRMA_HUGE_PAGE - 1); /* the same place within a huge page: so huge pages survive the move */
    size_t room = size + 2 * TRMA_HUGE_PAGE;
    char *reserved = mmap(NULL, room, PROT_READ | PROT_WRITE, private_flags(&exchange->kind), -1, 0);
    if (reserved == MAP_FAILED) {
        return false;
    }
    char *copy = (char *)((((uintptr_t)reserved + TRMA_HUGE_PAGE - 1) & ~(TRMA_HUGE_PAGE - 1)) + lead);
    restore_kind(&exchange->kind, copy, size);
    struct destination to = {.low = low, .base = copy};
    bool is_done = false;
    if (trma_mem_guard_hold(guard, low, high)) {
        is_done = visit_data(exchange, low, high, read_stretch, &to) &&
                  trma_mem_raw_remap(copy, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)low) != MAP_FAILED;
        trma_mem_guard_let_go(guard, low, high);
    }
    /* The middle has moved away, unless it failed: what is left of the reservation goes in any case. */
    munmap(reserved, (size_t)(copy - reserved));
    if (!is_done) {
        munmap(copy, size);
    }
    munmap(copy + size, (size_t)(reserved + room - (copy + size)));
    return is_done;
}

bool trma_mem_pages_to_private(const struct trma_exchange *exchange, uintptr_t low, uintptr_t high) {
    struct trma_guard guard;
    if (trma_mem_guard_open(&guard, exchange->has_threads) != NULL) {
        return false;
    }
    const struct trma_backing backing = {.descriptor = exchange->file};
    bool is_done = true;
    tell_watchers(exchange, low, high);
    for (uintptr_t at = low, end; at < high && is_done; at = end) {
        end = piece_end(at, high);
        if (exchange->stash.base != NULL) {
            is_done = piece_from_stash(exchange, &guard, at, end);
        } else if (exchange->has_threads) {
            is_done = piece_by_move(exchange, &guard, at, end);
        } else {
            is_done = piece_in_place(exchange, at, end);
        }
        if (is_done) {
            trma_mem_backing_punch(&backing, (size_t)offset_of(exchange, at), end - at);
        }
    }
    trma_mem_guard_close(&guard);
    return is_done;
}

void *trma_mem_pages_snapshot(const struct trma_exchange *exchange) {
    size_t size = exchange->high - exchange->low;
    char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, private_flags(&exchange->kind), -1, 0);
    if (copy != MAP_FAILED) {
        struct destination to = {.low = exchange->low, .base = copy};
        if (visit_data(exchange, exchange->low, exchange->high, read_stretch, &to)) {
            return copy;
        }
        munmap(copy, size);
    }
    copy =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, exchange->file, (off_t)exchange->file_offset);
    return copy != MAP_FAILED ? copy : NULL;
}
