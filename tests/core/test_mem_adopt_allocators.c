/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_mem_processes.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "mem/mem_adopt.h"

/*
 * Memory of several allocators, adopted and given back in the midst of their life. The test runs itself again
 * with each allocator preloaded; the program of that run is live_with_adoption.
 */

#define BLOCKS 24
#define ROUNDS 40

struct block {
    unsigned char *bytes;
    size_t size;
    unsigned char mark;
    uint64_t serial; /* of an adopted region; 0: not adopted */
};

static unsigned random_state = 1;

static size_t random_below(size_t limit) {
    return (size_t)rand_r(&random_state) % limit;
}

static void check(const struct block *block, size_t size) {
    CHECK(block->bytes[0] == block->mark && memcmp(block->bytes, block->bytes + 1, size - 1) == 0);
}

static void adopt(struct block *block) {
    struct trma_share share;
    const char *reason;
    if (trma_mem_adopt_range(block->bytes, block->size, &share, &reason) != TRMA_OK) {
        fprintf(stderr, "not adopted: %s\n", reason);
        _exit(1);
    }
    block->serial = share.ticket.serial;
}

static void make(struct block *block, bool zeroed) {
    block->size = 16384 + random_below((size_t)1 << (14 + random_below(9)));
    block->mark = (unsigned char)(1 + random_below(255));
    block->bytes = zeroed ? calloc(1, block->size) : malloc(block->size);
    CHECK(block->bytes != NULL);
    /* What was given back must not look like fresh memory when it is not. */
    CHECK(!zeroed || (block->bytes[0] == 0 && memcmp(block->bytes, block->bytes + 1, block->size - 1) == 0));
    memset(block->bytes, block->mark, block->size);
    block->serial = 0;
}

static void grow_or_shrink(struct block *block) {
    size_t size = 16384 + random_below(3 * block->size);
    unsigned char *bytes = realloc(block->bytes, size);
    CHECK(bytes != NULL);
    block->bytes = bytes;
    check(block, size < block->size ? size : block->size);
    block->size = size;
    memset(block->bytes, block->mark, size);
}

static int live_with_adoption(void) {
    static struct block blocks[BLOCKS];
    size_t regions = 0;
    size_t bytes;
    for (size_t i = 0; i < BLOCKS; i++) {
        make(&blocks[i], false);
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            struct block *block = &blocks[i];
            size_t what = random_below(4);
            if (block->serial != 0) {
                memset(block->bytes, ++block->mark, block->size);
                trma_mem_adopt_release(block->serial);
                block->serial = 0;
                check(block, block->size);
            } else if (what == 0) {
                grow_or_shrink(block);
            } else if (what == 1) {
                check(block, block->size);
                free(block->bytes);
                make(block, random_below(2) == 0);
            } else {
                adopt(block);
            }
        }
        if (round % 4 == 0) {
            malloc_trim(0);
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            check(&blocks[i], blocks[i].size);
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        trma_mem_adopt_release(blocks[i].serial);
        check(&blocks[i], blocks[i].size);
        free(blocks[i].bytes);
    }
    trma_mem_adopt_usage(&regions, &bytes);
    CHECK(regions == 0 && bytes == 0);
    puts("lived");
    return 0;
}

/* Runs this program again on another allocator, and wants it to say that it lived; 77: the allocator is not
 * installed. */
static int run_on(const char *library) {
    char self[4096];
    char command[8192];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = '\0';
    /* The loader tells on stderr of a library that it does not find, and goes on without it. */
    snprintf(command, sizeof command, "LD_PRELOAD=%s %s live 2>&1", library, self);
    FILE *stream = popen(command, "r");
    CHECK(stream != NULL);
    char line[512];
    bool has_lived = false;
    bool is_missing = false;
    while (fgets(line, sizeof line, stream) != NULL) {
        has_lived = has_lived || strcmp(line, "lived\n") == 0;
        is_missing = is_missing || strstr(line, "cannot be preloaded") != NULL;
        if (strcmp(line, "lived\n") != 0) {
            fputs(line, stderr);
        }
    }
    int status = pclose(stream);
    if (is_missing) {
        return 77;
    }
    return status == 0 && has_lived ? 0 : 1;
}

static void test_on(const char *library) {
    if (TEST_IS_SANITIZED && library[0] != '\0') {
        skip(); /* a sanitizer is an allocator itself */
    }
    int result = run_on(library);
    if (result == 77) {
        skip(); /* this machine has no such allocator that can be preloaded */
    }
    assert_int_equal(result, 0);
}

static void glibc(void **state) {
    (void)state;
    test_on("");
}

static void jemalloc(void **state) {
    (void)state;
    test_on("libjemalloc.so.2");
}

static void tcmalloc(void **state) {
    (void)state;
    test_on("libtcmalloc_minimal.so.4");
}

static void mimalloc(void **state) {
    (void)state;
    test_on("libmimalloc.so.2");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "live") == 0) {
        return live_with_adoption();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glibc),
        cmocka_unit_test(jemalloc),
        cmocka_unit_test(tcmalloc),
        cmocka_unit_test(mimalloc),
    };
    return cmocka_run_group_tests_name("mem_adopt_allocators", tests, NULL, NULL);
}
