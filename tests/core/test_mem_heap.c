/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_processes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "mem/mem_backing.h"
#include "mem/mem_heap.h"
#include "mem/mem_huge.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static void *allocate(enum trma_heap heap, size_t size, size_t alignment) {
    void *block = NULL;
    CHECK(trma_mem_heap_allocate(heap, size, alignment, &block) == TRMA_OK);
    CHECK(block != NULL && (uintptr_t)block % (alignment < 64 ? 64 : alignment) == 0);
    return block;
}

static bool is_all(const unsigned char *bytes, unsigned char value, size_t size) {
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void control_blocks_are_zeroed(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        unsigned char *block = allocate(TRMA_HEAP_CONTROL, 5000, 1);
        assert_true(is_all(block, 0, 5000));
        memset(block, 0xa5, 5000);
        assert_true(trma_mem_heap_free(block));
        block = allocate(TRMA_HEAP_CONTROL, 5 * MIB, 1);
        assert_true(is_all(block, 0, 5 * MIB));
        memset(block, 0xa5, 5 * MIB);
        assert_true(trma_mem_heap_free(block));
    }
}

static void alignments_and_empty_blocks(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= 8 * MIB; alignment *= 2) {
        void *small = allocate(TRMA_HEAP_DATA, 1, alignment);
        void *large = allocate(TRMA_HEAP_DATA, 40 * MIB, alignment);
        assert_true(trma_mem_heap_free(small));
        assert_true(trma_mem_heap_free(large));
    }
    void *first = allocate(TRMA_HEAP_DATA, 0, 1);
    void *second = allocate(TRMA_HEAP_DATA, 0, 1);
    assert_ptr_not_equal(first, second);
    assert_true(trma_mem_heap_free(first));
    assert_true(trma_mem_heap_free(second));
    void *block;
    assert_int_equal(trma_mem_heap_allocate(TRMA_HEAP_DATA, 8, 48, &block), TRMA_ERR_ARGUMENT);
    assert_int_equal(trma_mem_heap_allocate(TRMA_HEAP_DATA, SIZE_MAX, 1, &block), TRMA_ERR_NO_MEMORY);
    assert_int_equal(trma_mem_heap_allocate(TRMA_HEAP_DATA, SIZE_MAX / 2, 1, &block), TRMA_ERR_NO_MEMORY);
}

static void foreign_blocks_are_told(void **state) {
    (void)state;
    char on_stack[64];
    void *from_malloc = malloc(64);
    assert_false(trma_mem_heap_free(on_stack));
    assert_false(trma_mem_heap_free(from_malloc));
    assert_false(trma_mem_heap_free(NULL));
    free(from_malloc);
    char *block = allocate(TRMA_HEAP_DATA, 4096, 1);
    assert_false(trma_mem_heap_free(block + 64));
    assert_true(trma_mem_heap_free(block));
    assert_false(trma_mem_heap_free(block));
    char *single = allocate(TRMA_HEAP_DATA, 32 * MIB, 1);
    assert_false(trma_mem_heap_free(single + 4096));
    assert_true(trma_mem_heap_free(single));
    assert_false(trma_mem_heap_free(single));
}

/* Blocks of all sizes live side by side; each holds a pattern of its own that nobody else's write may change.
 */
static void churn(unsigned seed, size_t rounds) {
    enum { BLOCKS = 400 };
    struct held {
        unsigned char *bytes;
        size_t size;
    };
    struct held *held = calloc(BLOCKS, sizeof *held);
    unsigned random = seed;
    for (size_t round = 0; round < rounds; round++) {
        struct held *one = &held[(unsigned)rand_r(&random) % BLOCKS];
        unsigned char mark = (unsigned char)((size_t)(one - held) * 7 + seed);
        if (one->bytes == NULL) {
            size_t magnitude = (unsigned)rand_r(&random) % 16;
            one->size = ((size_t)1 << magnitude) + (unsigned)rand_r(&random) % ((size_t)1 << magnitude);
            if ((unsigned)rand_r(&random) % 1000 == 0) {
                one->size += 17 * MIB;
            }
            enum trma_heap heap = rand_r(&random) % 2 == 0 ? TRMA_HEAP_CONTROL : TRMA_HEAP_DATA;
            one->bytes = allocate(heap, one->size, 1);
            memset(one->bytes, mark, one->size);
        } else {
            CHECK(is_all(one->bytes, mark, one->size));
            CHECK(trma_mem_heap_free(one->bytes));
            one->bytes = NULL;
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (held[i].bytes != NULL) {
            CHECK(is_all(held[i].bytes, (unsigned char)(i * 7 + seed), held[i].size));
            CHECK(trma_mem_heap_free(held[i].bytes));
        }
    }
    free(held);
}

static void random_blocks_keep_their_bytes(void **state) {
    (void)state;
    churn(1, 10000);
    size_t bytes;
    size_t descriptors;
    trma_mem_heap_usage(&bytes, &descriptors);
    size_t bytes_before = bytes;
    size_t mappings = count_mappings();
    for (unsigned seed = 2; seed < 5; seed++) {
        churn(seed, 6000);
    }
    trma_mem_heap_usage(&bytes, &descriptors);
    assert_true(bytes <= bytes_before + 2 * 1024 * MIB); /* at most a larger chunk is kept */
    assert_true(descriptors <= 6);
    assert_true(count_mappings() <= mappings + 4);
}

static void *churn_thread(void *argument) {
    churn(*(unsigned *)argument, 2500);
    return NULL;
}

static void threads_share_the_heaps(void **state) {
    (void)state;
    pthread_t threads[4];
    unsigned seeds[4];
    for (unsigned i = 0; i < 4; i++) {
        seeds[i] = 100 + i;
        assert_int_equal(pthread_create(&threads[i], NULL, churn_thread, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void shares_tell_where_memory_lies(void **state) {
    (void)state;
    struct trma_share share;
    char *block = allocate(TRMA_HEAP_DATA, 100, 1);
    trma_mem_share_describe(block + 10, 50, &share);
    assert_int_equal(share.address, (uintptr_t)block + 10);
    assert_int_equal(share.size, 50);
    assert_int_equal(share.mapped_low, (uintptr_t)block + 10);
    assert_int_equal(share.mapped_high, (uintptr_t)block + 60);
    assert_int_not_equal(share.ticket.serial, 0);
    assert_int_equal(share.ticket.flags, TRMA_TICKET_IS_CHUNK);
    struct stat status;
    assert_int_equal(fstat(share.ticket.descriptor, &status), 0);
    assert_int_equal(status.st_ino, share.ticket.inode);
    assert_int_equal(status.st_size, share.ticket.size);
    strcpy(block + 10, "found");
    char text[6] = "";
    assert_int_equal(pread(share.ticket.descriptor, text, 6, (off_t)share.offset), 6);
    assert_string_equal(text, "found");

    char *single = allocate(TRMA_HEAP_DATA, 40 * MIB, 1);
    struct trma_share large;
    trma_mem_share_describe(single, 40 * MIB, &large);
    assert_int_equal(large.offset, 0);
    assert_int_equal(large.ticket.flags, 0);
    assert_int_not_equal(large.ticket.serial, share.ticket.serial);
    assert_int_equal((uintptr_t)single % TRMA_HUGE_PAGE, 0);
    /* Partly in the region: the part is told. */
    trma_mem_share_describe(single - 100, 300, &large);
    assert_true(large.mapped_low >= (uintptr_t)single - 100 && large.mapped_high == (uintptr_t)single + 200);
    assert_int_equal(large.mapped_high - large.mapped_low, 200);

    int private_word = 0;
    trma_mem_share_describe(&private_word, sizeof private_word, &share);
    assert_int_equal(share.ticket.serial, 0);
    assert_int_equal(share.mapped_low, share.mapped_high);
    trma_mem_share_describe(NULL, 0, &share);
    assert_int_equal(share.ticket.serial, 0);
    trma_mem_share_describe(single, SIZE_MAX, &share); /* a size beyond the address space */
    assert_int_not_equal(share.ticket.serial, 0);
    assert_true(trma_mem_heap_free(block));
    assert_true(trma_mem_heap_free(single));
    trma_mem_share_describe(single, 8, &share);
    assert_int_equal(share.ticket.serial, 0);
}

static size_t pages_of(const struct trma_share *share) {
    struct stat status;
    CHECK(fstat(share->ticket.descriptor, &status) == 0);
    return (size_t)status.st_blocks * 512;
}

static void freed_stretches_give_pages_back(void **state) {
    (void)state;
    enum { BLOCKS = 40 };
    char *blocks[BLOCKS];
    struct trma_share share;
    char *keeper = allocate(TRMA_HEAP_DATA, 64, 1);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = allocate(TRMA_HEAP_DATA, MIB, 1);
        memset(blocks[i], 1, MIB);
    }
    trma_mem_share_describe(blocks[BLOCKS / 2], MIB, &share);
    size_t before = pages_of(&share);
    assert_true(before >= 8 * MIB);
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_true(trma_mem_heap_free(blocks[i]));
    }
    assert_true(pages_of(&share) <= 5 * MIB);
    assert_true(trma_mem_heap_free(keeper));
}

/* In a child: nothing of it may reach the other tests. */
static void run_in_child(void (*run)(struct stage *)) {
    struct stage *stage = stage_open();
    assert_int_equal(child_join(child_start(run, stage)), 0);
    stage_close(stage);
}

static void small_descriptor_limit(struct stage *stage) {
    (void)stage;
    enum { WINDOWS = 2000 };
    static char *blocks[WINDOWS];
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    size_t bytes;
    size_t descriptors;
    /* Small ones share chunks; each of the big ones has a region, whose descriptor goes when all have mapped
     * it. */
    for (size_t i = 0; i < WINDOWS; i++) {
        size_t size = i % 2 == 0 ? 17 * MIB : 100 * KIB;
        blocks[i] = allocate(TRMA_HEAP_DATA, size, 1);
        blocks[i][size - 1] = (char)i;
        struct trma_share share;
        trma_mem_share_describe(blocks[i], size, &share);
        CHECK(share.ticket.descriptor >= 0);
        trma_mem_share_settled(&share);
    }
    trma_mem_heap_usage(&bytes, &descriptors);
    CHECK(descriptors <= 32 && bytes >= WINDOWS / 2 * 17 * MIB);
    for (size_t i = 0; i < WINDOWS; i++) {
        CHECK(blocks[i][(i % 2 == 0 ? 17 * MIB : 100 * KIB) - 1] == (char)i);
        CHECK(trma_mem_heap_free(blocks[i]));
    }
    trma_mem_heap_usage(&bytes, &descriptors);
    CHECK(descriptors <= 4);
}

static void unsettled_regions_meet_the_limit(struct stage *stage) {
    (void)stage;
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    char *blocks[200];
    size_t n = 0;
    while (n < 200 && trma_mem_heap_allocate(TRMA_HEAP_DATA, 17 * MIB, 1, (void **)&blocks[n]) == TRMA_OK) {
        n++;
    }
    CHECK(n > 40 && n < 64);
    /* One settled region makes room for one more. */
    struct trma_share share;
    trma_mem_share_describe(blocks[0], 1, &share);
    trma_mem_share_settled(&share);
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, 17 * MIB, 1, (void **)&blocks[n]) == TRMA_OK);
    trma_mem_share_describe(blocks[0], 1, &share);
    CHECK(share.ticket.serial != 0 && share.ticket.descriptor == -1);
    for (size_t i = 0; i <= n; i++) {
        CHECK(trma_mem_heap_free(blocks[i]));
    }
}

static void many_cycles(struct stage *stage) {
    (void)stage;
    CHECK(trma_mem_heap_free(allocate(TRMA_HEAP_DATA, 64, 1)));
    CHECK(trma_mem_heap_free(allocate(TRMA_HEAP_CONTROL, 64, 1)));
    size_t mappings = count_mappings();
    size_t descriptors = count_descriptors();
    for (size_t i = 0; i < 100000; i++) {
        char *control = allocate(TRMA_HEAP_CONTROL, 500, 1);
        char *data = allocate(TRMA_HEAP_DATA, i % 1000 == 0 ? 20 * MIB : 30000, 1);
        data[0] = 1;
        CHECK(trma_mem_heap_free(control));
        CHECK(trma_mem_heap_free(data));
    }
    CHECK(TEST_IS_SANITIZED || count_mappings() <= mappings + 1); /* malloc may have made one of its own */
    CHECK(count_descriptors() == descriptors);
}

static void small_address_space(struct stage *stage) {
    (void)stage;
    struct rlimit limit = {.rlim_cur = 96 * MIB, .rlim_max = 96 * MIB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    enum { BLOCKS = 4000 };
    static void *blocks[BLOCKS];
    enum trma_status status = TRMA_OK;
    size_t n = 0;
    while (n < BLOCKS &&
           (status = trma_mem_heap_allocate(TRMA_HEAP_DATA, 64 * KIB, 1, &blocks[n])) == TRMA_OK) {
        memset(blocks[n], 1, 64 * KIB);
        n++;
    }
    CHECK(status == TRMA_ERR_NO_MEMORY);
    CHECK(n * 64 * KIB >= 32 * MIB); /* smaller chunks were tried: most of the space was used */
    for (size_t i = 0; i < n; i++) {
        CHECK(trma_mem_heap_free(blocks[i]));
    }
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, 64 * KIB, 1, &blocks[0]) == TRMA_OK);
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_CONTROL, 64 * KIB, 1, &blocks[1]) == TRMA_OK);
}

/* A file that is too large would raise SIGXFSZ and end the program: smaller chunks are made instead. */
static void small_file_limit(struct stage *stage) {
    (void)stage;
    struct rlimit limit = {.rlim_cur = MIB, .rlim_max = MIB};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    char *control = allocate(TRMA_HEAP_CONTROL, 4096, 1);
    char *data = allocate(TRMA_HEAP_DATA, 300 * KIB, 1);
    memset(control, 1, 4096);
    memset(data, 1, 300 * KIB);
    void *block;
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, 2 * MIB, 1, &block) == TRMA_ERR_NO_MEMORY);
    CHECK(trma_mem_heap_free(control) && trma_mem_heap_free(data));
}

static void huge_pages_keep_the_content(void **state) {
    (void)state;
    size_t size = 20 * MIB;
    unsigned char *block = allocate(TRMA_HEAP_DATA, size, 1);
    memset(block + MIB, 7, 6 * MIB);
    assert_int_equal(trma_mem_huge_populate(block, size, 0), 0);
    size_t huge = trma_mem_huge_populate(block, size, UINT64_MAX);
    assert_int_equal(huge % TRMA_HUGE_PAGE, 0);
    assert_true(huge <= size);
    assert_true(is_all(block, 0, MIB));
    assert_true(is_all(block + MIB, 7, 6 * MIB));
    assert_true(is_all(block + 7 * MIB, 0, 13 * MIB));
    assert_int_equal(trma_mem_huge_populate(block + 1, TRMA_HUGE_PAGE, UINT64_MAX),
                     0); /* no whole one inside */
    assert_true(trma_mem_heap_free(block));
}

static bool is_resident(const void *address, size_t size) {
    static unsigned char pages[MIB];
    uintptr_t low = (uintptr_t)address & ~(uintptr_t)4095;
    size_t n = ((uintptr_t)address + size - low + 4095) / 4096;
    assert_int_equal(mincore((void *)low, n * 4096, pages), 0);
    for (size_t i = 0; i < n; i++) {
        if ((pages[i] & 1) == 0) {
            return false;
        }
    }
    return true;
}

/* Smaller blocks get the huge page that they lie in, whatever else lies there; small ones get none. */
static void new_blocks_share_huge_pages(void **state) {
    (void)state;
    void *probe = allocate(TRMA_HEAP_DATA, 2 * TRMA_HUGE_PAGE, 1);
    bool there_are_any = trma_mem_huge_populate(probe, 2 * TRMA_HUGE_PAGE, UINT64_MAX) != 0;
    assert_true(trma_mem_heap_free(probe));
    unsigned char *neighbours[8];
    for (size_t i = 0; i < 8; i++) {
        neighbours[i] = allocate(TRMA_HEAP_DATA, MIB / 2, 1);
        memset(neighbours[i], (int)(i + 1), MIB / 2 - i);
    }
    unsigned char *block = allocate(TRMA_HEAP_DATA, MIB, 1);
    unsigned char *small = allocate(TRMA_HEAP_DATA, MIB / 4, 1);
    trma_mem_huge_populate_new(small, MIB / 4);
    assert_false(is_resident(small, MIB / 4));
    trma_mem_huge_populate_new(block, MIB);
    assert_true(!there_are_any || is_resident(block, MIB));
    for (size_t i = 0; i < 8; i++) {
        trma_mem_huge_populate_new(neighbours[i], MIB / 2);
        for (size_t other = 0; other < 8; other++) {
            assert_true(is_all(neighbours[other], (unsigned char)(other + 1), MIB / 2 - other));
        }
    }
    for (size_t i = 0; i < 8; i++) {
        assert_true(trma_mem_heap_free(neighbours[i]));
    }
    assert_true(trma_mem_heap_free(block) && trma_mem_heap_free(small));
}

/* A program that makes and frees big windows all the time pays for huge pages once, and then a small share of
 * its time. */
static void new_memory_has_an_allowance(void **state) {
    (void)state;
    const uint64_t ms = 1000000;
    assert_int_equal(trma_mem_huge_allowance(0, 0), 50 * ms);
    assert_int_equal(trma_mem_huge_allowance(0, 30 * ms), 20 * ms);
    assert_int_equal(trma_mem_huge_allowance(0, 51 * ms), 0);
    assert_int_equal(trma_mem_huge_allowance(320 * ms, 51 * ms), 9 * ms);
    assert_int_equal(trma_mem_huge_allowance(320 * ms, 60 * ms), 0);
}

static void without_memfd(struct stage *stage) {
    (void)stage;
    refuse_call(SYS_memfd_create, EPERM);
    char *block = allocate(TRMA_HEAP_DATA, 4096, 1);
    block[4095] = 1;
    struct trma_share share;
    trma_mem_share_describe(block, 4096, &share);
    CHECK(share.ticket.descriptor >= 0);
    CHECK(count_entries("/dev/shm", "truerma") == 0);
    char *words = allocate(TRMA_HEAP_CONTROL, 4096, 1);
    CHECK(is_all((unsigned char *)words, 0, 4096));
}

/* Without memfd, on a /dev/shm of 1 MiB: what is given can be written, the rest is refused; never SIGBUS. */
static void full_shared_memory(struct stage *stage) {
    (void)stage;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
        _exit(77);
    }
    refuse_call(SYS_memfd_create, ENOSYS);
    void *blocks[64];
    size_t n = 0;
    enum trma_status status = TRMA_OK;
    while (n < 64 && (status = trma_mem_heap_allocate(TRMA_HEAP_DATA, 64 * KIB, 1, &blocks[n])) == TRMA_OK) {
        memset(blocks[n++], 1, 64 * KIB);
    }
    CHECK(status == TRMA_ERR_NO_MEMORY && n >= 8 && n <= 16);
    void *words;
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_CONTROL, 256 * KIB, 1, &words) == TRMA_ERR_NO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        CHECK(is_all(blocks[i], 1, 64 * KIB));
        CHECK(trma_mem_heap_free(blocks[i]));
    }
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, 64 * KIB, 1, &blocks[0]) == TRMA_OK);
}

static void limited_shared_memory_is_told(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    int status = child_join(child_start(full_shared_memory, stage));
    stage_close(stage);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip(); /* no right to mount */
    }
    assert_int_equal(status, 0);
}

static void without_shared_memory(struct stage *stage) {
    (void)stage;
    refuse_call(SYS_memfd_create, ENOSYS);
    refuse_call(SYS_openat, EACCES);
    void *block;
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, 4096, 1, &block) == TRMA_ERR_REFUSED);
    CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, 100 * MIB, 1, &block) == TRMA_ERR_REFUSED);
}

/* A forked child frees and allocates; parent's blocks and allocator stay as they are. */
static char *parents_block;

static void child_of_owner(struct stage *stage) {
    (void)stage;
    CHECK(parents_block[0] == 'p');
    CHECK(trma_mem_heap_free(parents_block));
    char *mine = allocate(TRMA_HEAP_DATA, 4096, 1);
    memset(mine, 'c', 4096);
    struct trma_share share;
    trma_mem_share_describe(parents_block, 1, &share);
    CHECK(share.ticket.serial == 0); /* not the child's to share */
    trma_mem_share_describe(mine, 1, &share);
    CHECK(share.ticket.serial != 0);
    CHECK(trma_mem_heap_free(mine));
}

static void forked_child_leaves_the_parent_alone(void **state) {
    (void)state;
    parents_block = allocate(TRMA_HEAP_DATA, 4096, 1);
    memset(parents_block, 'p', 4096);
    run_in_child(child_of_owner);
    char *next = allocate(TRMA_HEAP_DATA, 4096, 1);
    assert_ptr_not_equal(next, parents_block);
    memset(next, 'n', 4096);
    assert_true(is_all((unsigned char *)parents_block, 'p', 4096));
    assert_true(trma_mem_heap_free(next));
    assert_true(trma_mem_heap_free(parents_block));
}

static void limits(void **state) {
    (void)state;
    run_in_child(small_descriptor_limit);
    run_in_child(unsettled_regions_meet_the_limit);
    run_in_child(small_file_limit);
    if (!TEST_IS_SANITIZED) { /* a sanitizer's shadow needs the address space */
        run_in_child(small_address_space);
    }
}

static void cycles_do_not_grow(void **state) {
    (void)state;
    run_in_child(many_cycles);
}

static void refused_shared_memory(void **state) {
    (void)state;
    run_in_child(without_memfd);
    run_in_child(without_shared_memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_shared_memory), /* first: its children must have no chunks to inherit */
        cmocka_unit_test(limited_shared_memory_is_told),
        cmocka_unit_test(limits),
        cmocka_unit_test(cycles_do_not_grow),
        cmocka_unit_test(control_blocks_are_zeroed),
        cmocka_unit_test(alignments_and_empty_blocks),
        cmocka_unit_test(foreign_blocks_are_told),
        cmocka_unit_test(shares_tell_where_memory_lies),
        cmocka_unit_test(freed_stretches_give_pages_back),
        cmocka_unit_test(huge_pages_keep_the_content),
        cmocka_unit_test(new_blocks_share_huge_pages),
        cmocka_unit_test(new_memory_has_an_allowance),
        cmocka_unit_test(random_blocks_keep_their_bytes),
        cmocka_unit_test(threads_share_the_heaps),
        cmocka_unit_test(forked_child_leaves_the_parent_alone),
    };
    return cmocka_run_group_tests_name("mem_heap", tests, NULL, NULL);
}
