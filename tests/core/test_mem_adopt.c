/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_adopt.h"

static void bytes_survive_there_and_back(void **state) {
    (void)state;
    size_t sizes[] = {page, 3 * page, 300 * KIB, 5 * MIB, 70 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        char *memory = map_private(size + 2 * page);
        fill(memory, size + 2 * page, 1);
        /* Ragged: a few bytes of the first and of the last page belong to the window. */
        struct trma_share share = adopt(memory + page - 8, size + 16);
        size_t edge = takes_edges() ? 8 : 0;
        assert_int_equal(share.mapped_low, (uintptr_t)memory + page - edge);
        assert_int_equal(share.mapped_high, (uintptr_t)memory + page + size + edge);
        assert_true(is_filled(memory, size + 2 * page, 1));
        struct stat status;
        assert_int_equal(fstat(share.ticket.descriptor, &status), 0);
        assert_int_equal(status.st_size, share.ticket.size);
        /* Memory and file are one now. */
        memory[page] = 'm';
        char byte;
        assert_int_equal(pread(share.ticket.descriptor, &byte, 1, (off_t)(share.offset + edge)), 1);
        assert_int_equal(byte, 'm');
        assert_int_equal(pwrite(share.ticket.descriptor, "f", 1, (off_t)(share.offset + edge + size - 1)), 1);
        assert_int_equal(memory[page + size - 1], 'f');
        fill(memory, size + 2 * page, 2);
        trma_mem_adopt_release(share.ticket.serial);
        assert_int_equal(adopted_regions(), 0);
        assert_true(is_filled(memory, size + 2 * page, 2));
        assert_int_equal(mappings_within(memory, size + 2 * page), 1);
        munmap(memory, size + 2 * page);
    }
}

static void untouched_pages_stay_untouched(void **state) {
    (void)state;
    size_t size = 40 * MIB;
    char *memory = map_private(size);
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += 64 * page) {
        memory[at] = 'x';
    }
    volatile char seen = memory[10 * page]; /* read only: the kernel's page of zeros */
    assert_int_equal(seen, 0);
    size_t touched = size / (64 * page);
    struct trma_share share = adopt(memory, size);
    struct stat status;
    assert_int_equal(fstat(share.ticket.descriptor, &status), 0);
    assert_int_equal((size_t)status.st_blocks * 512, touched * page);
    assert_int_equal(memory[20 * page], 0);
    trma_mem_adopt_release(share.ticket.serial);
    assert_true(resident_pages(memory, size) <= touched + 1);
    for (size_t at = 0; at < size; at += page) {
        assert_int_equal(memory[at], at % (64 * page) == 0 ? 'x' : 0);
    }
    assert_int_equal(mappings_within(memory, size), 1);
    munmap(memory, size);
}

static void given_back_memory_is_ordinary(void **state) {
    (void)state;
    size_t size = 8 * MIB;
    char *memory = map_private(size);
    fill(memory, size, 3);
    struct trma_share share = adopt(memory + MIB + 100, 4 * MIB);
    assert_true(mappings_within(memory, size) > 1);
    trma_mem_adopt_release(share.ticket.serial);
    assert_int_equal(mappings_within(memory, size), 1);
    char *moved = mremap(memory, size, 2 * size, MREMAP_MAYMOVE);
    assert_ptr_not_equal(moved, MAP_FAILED);
    assert_true(is_filled(moved, size, 3));
    assert_int_equal(madvise(moved + 2 * MIB, MIB, MADV_DONTNEED), 0);
    for (size_t at = 0; at < MIB; at++) {
        assert_int_equal(moved[2 * MIB + at], 0);
    }
    assert_int_equal(mprotect(moved, size, PROT_READ), 0);
    munmap(moved, 2 * size);
}

static void windows_overlap_nest_and_come_again(void **state) {
    (void)state;
    size_t size = 64 * page;
    char *memory = map_private(size);
    fill(memory, size, 4);
    struct trma_share whole = adopt(memory, size);
    struct trma_share again = adopt(memory, size);
    struct trma_share inner = adopt(memory + 10 * page + 5, 20 * page);
    assert_int_equal(again.ticket.serial, whole.ticket.serial);
    assert_int_equal(inner.ticket.serial, whole.ticket.serial);
    assert_int_equal(inner.mapped_low, (uintptr_t)memory + 10 * page + 5); /* mapped to the byte here */
    assert_int_equal(inner.offset - whole.offset, 10 * page + 5);
    trma_mem_adopt_release(whole.ticket.serial);
    trma_mem_adopt_release(again.ticket.serial);
    assert_int_equal(adopted_regions(), 1);
    assert_true(is_filled(memory, size, 4));
    trma_mem_adopt_release(inner.ticket.serial);
    assert_int_equal(adopted_regions(), 0);
    assert_true(is_filled(memory, size, 4));

    /* Two neighbours that share a page, then one across both: it gets the larger part. */
    struct trma_share left = adopt(memory, 20 * page + 100);
    struct trma_share right = adopt(memory + 20 * page + 100, 43 * page);
    assert_int_equal(left.mapped_high, (uintptr_t)memory + 20 * page + (takes_edges() ? 100 : 0));
    assert_int_equal(right.mapped_low, (uintptr_t)memory + 21 * page);
    struct trma_share across = adopt(memory + page, 60 * page);
    assert_int_equal(across.ticket.serial, right.ticket.serial);
    assert_int_equal(across.mapped_low, right.mapped_low);
    trma_mem_adopt_release(right.ticket.serial);
    fill(memory, size, 5);
    trma_mem_adopt_release(left.ticket.serial);
    trma_mem_adopt_release(across.ticket.serial);
    assert_int_equal(adopted_regions(), 0);
    assert_true(is_filled(memory, size, 5));
    trma_mem_adopt_release(across.ticket.serial); /* once too often: nothing happens */
    assert_true(is_filled(memory, size, 5));

    /* In between and around: the gap on the larger side is adopted. */
    struct trma_share small = adopt(memory + 10 * page, 2 * page);
    struct trma_share around = adopt(memory, size);
    assert_int_equal(around.mapped_low, (uintptr_t)memory + 12 * page);
    assert_int_equal(around.mapped_high, (uintptr_t)memory + size);
    trma_mem_adopt_release(small.ticket.serial);
    trma_mem_adopt_release(around.ticket.serial);
    assert_true(is_filled(memory, size, 5));
    assert_int_equal(mappings_within(memory, size), 1);
    munmap(memory, size);
}

static void *do_nothing(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

static void windows_smaller_than_a_page(void **state) {
    (void)state;
    char *memory = map_private(4 * page);
    struct trma_share share;
    const char *reason;
    fill(memory, 4 * page, 8);
    if (takes_edges()) {
        share = adopt(memory + page + 40, 8);
        assert_int_equal(share.mapped_low, (uintptr_t)memory + page + 40);
        assert_int_equal(share.mapped_high, (uintptr_t)memory + page + 48);
        struct trma_share next = adopt(memory + page + 48, page); /* on that page and the next */
        fill(memory, 4 * page, 9);
        trma_mem_adopt_release(share.ticket.serial);
        trma_mem_adopt_release(next.ticket.serial);
        assert_true(is_filled(memory, 4 * page, 9));
        assert_int_equal(mappings_within(memory, 4 * page), 1);
    }
    /* Another thread may have something beside the window; not beside a big block of malloc (a sanitizer has
     * blocks of its own). */
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&gate);
    assert_int_equal(pthread_create(&thread, NULL, do_nothing, &gate), 0);
    assert_int_equal(trma_mem_adopt_range(memory + 1, page, &share, &reason), TRMA_ERR_REFUSED);
    size_t size = 40 * MIB + 100;
    char *block = malloc(size);
    if (!TEST_IS_SANITIZED && trma_mem_adopt_range(block, size, &share, &reason) == TRMA_OK) {
        assert_int_equal(share.mapped_low, (uintptr_t)block);
        assert_int_equal(share.mapped_high, (uintptr_t)block + size);
        trma_mem_adopt_release(share.ticket.serial);
    }
    free(block);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    munmap(memory, 4 * page);
}

static char static_data[256 * 1024] = {1};
static char static_zero[256 * 1024];

static void heap_and_static_data_are_adopted(void **state) {
    (void)state;
    size_t size = 100 * KIB; /* below the size for which malloc asks the system directly */
    char *block = malloc(size);
    char *memories[] = {block, static_data, static_zero};
    for (size_t i = 0; i < 3; i++) {
        if (TEST_IS_SANITIZED && i > 0) {
            continue; /* a sanitizer's globals have red zones of their own kind */
        }
        fill(memories[i], size, 6);
        struct trma_share share = adopt(memories[i], size);
        assert_true(is_filled(memories[i], size, 6));
        fill(memories[i], size, 7);
        trma_mem_adopt_release(share.ticket.serial);
        assert_true(is_filled(memories[i], size, 7));
    }
    block = realloc(block, 10 * size);
    assert_true(is_filled(block, size, 7));
    free(block);
}

static void refuse(void *memory, size_t size, const char *part_of_reason) {
    struct trma_share share;
    const char *reason = NULL;
    CHECK(trma_mem_adopt_range(memory, size, &share, &reason) == TRMA_ERR_REFUSED);
    if (strstr(reason, part_of_reason) == NULL) {
        fprintf(stderr, "wanted \"%s\", got \"%s\"\n", part_of_reason, reason);
        _exit(1);
    }
    CHECK(adopted_regions() == 0);
}

/* Writers of other processes, and what they were told. */
static bool writers_stay;
static unsigned holds;
static bool is_held;

static bool hold_writers(void) {
    CHECK(!is_held);
    holds++;
    is_held = !writers_stay;
    return is_held;
}

static void let_writers(void) {
    CHECK(is_held);
    is_held = false;
}

static void other_writers_are_kept_out(void **state) {
    (void)state;
    static const struct trma_adopt_writers writers = {.hold = hold_writers, .let = let_writers};
    size_t size = 4 * page;
    char *memory = map_private(size);
    fill(memory, size, 13);
    trma_mem_adopt_keep_out(&writers);
    /* Not for what is only looked at. */
    assert_int_equal(mprotect(memory, size, PROT_READ), 0);
    refuse(memory, size, "not readable and writable");
    assert_int_equal(holds, 0);
    assert_int_equal(mprotect(memory, size, PROT_READ | PROT_WRITE), 0);
    writers_stay = true;
    refuse(memory, size, "a peer that ended");
    assert_true(holds > 0);
    writers_stay = false;
    holds = 0;
    struct trma_share share = adopt(memory, size);
    assert_int_equal(holds, 1);
    assert_false(is_held);
    /* What cannot be given back now is, later. */
    writers_stay = true;
    trma_mem_adopt_release(share.ticket.serial);
    assert_int_equal(holds, 2);
    assert_int_equal(adopted_regions(), 1);
    writers_stay = false;
    trma_mem_adopt_release(0);
    assert_int_equal(holds, 3);
    assert_false(is_held);
    assert_int_equal(adopted_regions(), 0);
    trma_mem_adopt_keep_out(NULL);
    assert_true(is_filled(memory, size, 13));
    munmap(memory, size);
}

static void what_cannot_be_adopted_is_refused(void **state) {
    (void)state;
    size_t size = 8 * page;
    char on_stack[16 * 4096];
    memset(on_stack, 1, sizeof on_stack);
    refuse(on_stack, sizeof on_stack, "stack");
    assert_int_equal(on_stack[100], 1);
    char *memory = map_private(size);
    refuse(memory, 0, "no whole page");
    refuse(memory, SIZE_MAX, "no whole page");
    assert_int_equal(mprotect(memory + page, page, PROT_READ), 0);
    refuse(memory, size, "not readable and writable");
    assert_int_equal(mprotect(memory + page, page, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    refuse(memory, size, "executable");
    assert_int_equal(mprotect(memory + page, page, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(syscall(SYS_mlock, memory, page), 0); /* sanitizers make mlock() do nothing */
    refuse(memory, size, "locked");
    assert_int_equal(syscall(SYS_munlock, memory, page), 0);
    assert_int_equal(madvise(memory, size, MADV_DONTFORK), 0);
    refuse(memory, size, "registered with a device");
    assert_int_equal(madvise(memory, size, MADV_DOFORK), 0);
    assert_int_equal(madvise(memory, 2 * page, MADV_DONTDUMP), 0);
    refuse(memory, size, "different kinds");
    assert_int_equal(munmap(memory + 2 * page, page), 0);
    refuse(memory, size, "not all of it is mapped");
    munmap(memory, size);

    char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    refuse(shared, size, "shared mapping");
    munmap(shared, size);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)size), 0);
    char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    refuse(mapped, size, "mapped file");
    munmap(mapped, size);
    fclose(file);
}

static void huge_pages_stay_huge(void **state) {
    (void)state;
    size_t size = 16 * MIB;
    char *reserved = map_private(size + 2 * MIB);
    char *memory = (char *)(((uintptr_t)reserved + 2 * MIB - 1) & ~(2 * MIB - 1));
    assert_int_equal(madvise(memory, size, MADV_HUGEPAGE), 0);
    fill(memory, size, 8);
    size_t before = smaps_number(memory, "AnonHugePages:");
    if (before < 14 * KIB) {
        munmap(reserved, size + 2 * MIB);
        skip(); /* this node has no huge pages to give */
    }
    struct trma_share share = adopt(memory, size);
    assert_true(is_filled(memory, size, 8));
    assert_true(smaps_number(memory, "ShmemPmdMapped:") >= before - 2 * KIB);
    trma_mem_adopt_release(share.ticket.serial);
    assert_true(is_filled(memory, size, 8));
    assert_true(smaps_number(memory, "AnonHugePages:") >= before - 2 * KIB);
    munmap(reserved, size + 2 * MIB);
}

/* As malloc gives it: from the middle of a huge page to the middle of another. Peers map the file from end to
 * end. */
static void ragged_ends_are_huge_for_peers(void **state) {
    (void)state;
    size_t size = 4 * MIB;
    char *reserved = map_private(size + 4 * MIB);
    char *memory = (char *)(((uintptr_t)reserved + 2 * MIB - 1) & ~(2 * MIB - 1)) + MIB;
    fill(memory, size, 8);
    struct trma_share share = adopt(memory, size);
    size_t file = share.ticket.size;
    assert_int_equal(file, 6 * MIB);
    char *room = map_private(file + 2 * MIB);
    char *peers = (char *)(((uintptr_t)room + 2 * MIB - 1) & ~(2 * MIB - 1));
    assert_ptr_equal(
        mmap(peers, file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, share.ticket.descriptor, 0), peers);
    assert_true(is_filled(peers + share.offset, size, 8));
    fill(peers + share.offset, size, 9);
    size_t huge = smaps_number(peers, "ShmemPmdMapped:");
    munmap(room, file + 2 * MIB);
    assert_true(is_filled(memory, size, 9));
    trma_mem_adopt_release(share.ticket.serial);
    assert_true(is_filled(memory, size, 9));
    munmap(reserved, size + 4 * MIB);
    if (huge < 2 * KIB) {
        skip(); /* this node has no huge pages to give */
    }
    assert_int_equal(huge, 6 * KIB);
}

static void peer_writes(struct stage *stage) {
    stage_await(stage, 1);
    struct trma_peer *peer;
    CHECK(trma_node_peer_acquire(&stage->identities[0], &peer) == TRMA_OK);
    void *base;
    const struct trma_share *share = &stage->shares[0];
    CHECK(trma_mem_map_acquire(peer, &share->ticket, &base) == TRMA_OK);
    char *bytes = (char *)base + share->offset;
    size_t size = share->mapped_high - share->mapped_low;
    CHECK(is_filled(bytes, size, 9));
    fill(bytes, size, 10);
    stage_reach(stage, 2);
    stage_await(stage, 3);
    /* The owner has given the memory back, or died: the mapping must still be harmless. */
    bytes[0] = 'p';
    trma_mem_map_release(peer, share->ticket.serial);
    trma_node_peer_release(peer);
}

static void peers_reach_adopted_memory(void **state) {
    (void)state;
    for (int buggy = 0; buggy < 2; buggy++) {
        struct stage *stage = stage_open();
        pid_t peer = child_start(peer_writes, stage);
        assert_int_equal(trma_node_identity_self(&stage->identities[0]), TRMA_OK);
        size_t size = 3 * MIB;
        char *memory = map_private(size);
        fill(memory, size, 9);
        stage->shares[0] = adopt(memory, size);
        stage_reach(stage, 1);
        stage_await(stage, 2);
        assert_true(is_filled(memory, size, 10));
        if (buggy) {
            /* The program frees the memory under its window, and something else comes to lie there. */
            munmap(memory, size);
            char *other = mmap(memory, MIB, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            assert_ptr_equal(other, memory);
            fill(other, MIB, 11);
        }
        trma_mem_adopt_release(stage->shares[0].ticket.serial);
        assert_true(buggy ? is_filled(memory, MIB, 11) : is_filled(memory, size, 10));
        stage_reach(stage, 3);
        assert_int_equal(child_join(peer), 0);
        assert_true(buggy ? is_filled(memory, MIB, 11) : is_filled(memory, size, 10));
        munmap(memory, buggy ? MIB : size);
        stage_close(stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_survive_there_and_back),
        cmocka_unit_test(untouched_pages_stay_untouched),
        cmocka_unit_test(given_back_memory_is_ordinary),
        cmocka_unit_test(windows_overlap_nest_and_come_again),
        cmocka_unit_test(windows_smaller_than_a_page),
        cmocka_unit_test(heap_and_static_data_are_adopted),
        cmocka_unit_test(other_writers_are_kept_out),
        cmocka_unit_test(what_cannot_be_adopted_is_refused),
        cmocka_unit_test(huge_pages_stay_huge),
        cmocka_unit_test(ragged_ends_are_huge_for_peers),
        cmocka_unit_test(peers_reach_adopted_memory),
    };
    return cmocka_run_group_tests_name("mem_adopt", tests, set_page, NULL);
}
