/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets between differing layouts, along mapped, CMA and mixed paths and to the process itself, byte
 * by byte. */
#include "test_move_types.h"

#include <stdio.h>
#include <sys/mman.h>

#include "move/move_copy.h"
#include "test_move_target.h"

/* The target's memory: private pages, pages that both processes have mapped, private pages. In the origin the
 * first and last part are not accessible, so that a wrong address is seen at once. */
#define REGION       ((size_t)96 * 1024)
#define SHARED_START ((size_t)32 * 1024)
#define SHARED_END   ((size_t)64 * 1024)

struct fixture {
    struct target target;
    char *remote; /* the region, the target's address */
    char *local;  /* where the shared part lies in this process */
    char *model;  /* what the region must hold */
    char *origin;
    char *origin_model;
    char *scratch;
};

static int fixture_start(void **context) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const int descriptor = memfd_create("test", MFD_CLOEXEC);
    const size_t shared = SHARED_END - SHARED_START;
    assert_non_null(fixture);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)shared), 0);
    fixture->remote = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fixture->remote != MAP_FAILED);
    assert_true(mmap(fixture->remote + SHARED_START, shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                     descriptor, 0) != MAP_FAILED);
    target_start(&fixture->target, NULL, NULL);
    assert_int_equal(mprotect(fixture->remote, REGION, PROT_NONE), 0);
    /* A mapping with inaccessible pages on both sides. */
    char *guarded = mmap(NULL, shared + 2 * SHARED_START, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(guarded != MAP_FAILED);
    fixture->local = guarded + SHARED_START;
    assert_true(mmap(fixture->local, shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) !=
                MAP_FAILED);
    close(descriptor);
    fixture->model = malloc(REGION);
    fixture->origin = malloc(REGION);
    fixture->origin_model = malloc(REGION);
    fixture->scratch = malloc(REGION);
    assert_true(fixture->model != NULL && fixture->origin != NULL && fixture->origin_model != NULL &&
                fixture->scratch != NULL);
    *context = fixture;
    return 0;
}

static int fixture_stop(void **context) {
    struct fixture *fixture = *context;
    target_stop(&fixture->target);
    munmap(fixture->local - SHARED_START, SHARED_END + SHARED_START);
    munmap(fixture->remote, REGION);
    free(fixture->model);
    free(fixture->origin);
    free(fixture->origin_model);
    free(fixture->scratch);
    free(fixture);
    return 0;
}

static struct trma_path fixture_path(struct fixture *fixture, size_t mapped_start, size_t mapped_end) {
    return (struct trma_path){.mapped_low = (uintptr_t)fixture->remote + mapped_start,
                              .mapped_high = (uintptr_t)fixture->remote + mapped_end,
                              .local = fixture->local + (mapped_start - SHARED_START),
                              .peer = &fixture->target.peer};
}

static void fill(char *bytes, uint64_t *state) {
    for (size_t i = 0; i < REGION; i += sizeof(uint64_t)) {
        const uint64_t value = random_next(state);
        memcpy(bytes + i, &value, sizeof value);
    }
}

/* Gives region and origin random content, known to the models. `with_private`: also the part that needs CMA.
 */
static void fixture_fill(struct fixture *fixture, bool with_private, uint64_t *state) {
    fill(fixture->model, state);
    fill(fixture->origin, state);
    memcpy(fixture->origin_model, fixture->origin, REGION);
    if (with_private) {
        assert_true(target_write(&fixture->target, fixture->model, fixture->remote, REGION));
    } else {
        memcpy(fixture->local, fixture->model + SHARED_START, SHARED_END - SHARED_START);
    }
}

static void fixture_check(const struct fixture *fixture, bool with_private) {
    assert_memory_equal(fixture->origin, fixture->origin_model, REGION);
    if (with_private) {
        assert_true(target_read(&fixture->target, fixture->scratch, fixture->remote, REGION));
        assert_memory_equal(fixture->scratch, fixture->model, REGION);
    } else {
        assert_memory_equal(fixture->local, fixture->model + SHARED_START, SHARED_END - SHARED_START);
    }
}

/* One side of a random operation: a type and where in [0, REGION) its first element lies. */
struct operand {
    struct type type;
    size_t count;
    size_t at;
};

static ptrdiff_t operand_offset(const struct operand *operand, size_t i) {
    const size_t n = operand->type.n;
    return (ptrdiff_t)operand->at + operand->type.bytes[i % n] +
           (ptrdiff_t)(i / n) * (operand->type.upper - operand->type.lower);
}

/* Places the operand at random with all bytes in [low, high), preferably across `border` (0: anywhere). */
static bool operand_place(struct operand *operand, size_t low, size_t high, size_t border, uint64_t *state) {
    ptrdiff_t first;
    ptrdiff_t end;
    trma_move_layout_span(operand->type.layout, operand->count, &first, &end);
    const size_t span = (size_t)(end - first);
    if (span > high - low) {
        return false;
    }
    size_t start = low + random_below(state, high - low - span + 1);
    if (border != 0 && span > 0) {
        const size_t shift = random_below(state, span);
        start = border > low + shift ? border - shift : low;
        start = start < high - span ? start : high - span;
    }
    operand->at = start - (size_t)first;
    return true;
}

static bool operand_overlaps(const struct operand *operand, char *marks) {
    bool overlaps = false;
    memset(marks, 0, REGION);
    for (size_t i = 0; i < operand->count * operand->type.n; i++) {
        char *mark = &marks[operand_offset(operand, i)];
        overlaps = overlaps || *mark != 0;
        *mark = 1;
    }
    return overlaps;
}

static size_t gcd(size_t a, size_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

/* What a round of random operations runs on. */
struct round {
    struct trma_path path;
    size_t low; /* where targets may lie */
    size_t high;
    size_t border;
    bool with_private;
};

/* Two random types made to match in bytes by their counts, carried in a random direction. False when they did
 * not fit. */
static bool carry_random(struct fixture *fixture, const struct round *round, uint64_t *state) {
    struct operand origin = {.type = type_random(state, (unsigned)random_below(state, TYPE_DEPTH_MAX))};
    struct operand target = {0};
    const bool are_same = random_below(state, 4) == 0;
    target.type = are_same ? type_share(&origin.type)
                           : type_random(state, (unsigned)random_below(state, TYPE_DEPTH_MAX));
    const bool is_put = random_below(state, 2);
    bool done = false;
    if (origin.type.n > 0 && target.type.n > 0) {
        const size_t common = gcd(origin.type.n, target.type.n);
        const size_t times =
            random_below(state, are_same ? 300 : 4); /* many: see carry_twins in move_copy.c */
        origin.count = target.type.n / common * times;
        target.count = origin.type.n / common * times;
    } else {
        origin.count = origin.type.n > 0 ? 0 : random_below(state, 3);
        target.count = target.type.n > 0 ? 0 : random_below(state, 3);
    }
    if (operand_place(&origin, 0, REGION, 0, state) &&
        operand_place(&target, round->low, round->high, round->border, state) &&
        (is_put || round->border == 0 || !operand_overlaps(&origin, fixture->scratch))) {
        struct trma_outstanding outstanding = {0};
        const struct trma_extent here = {origin.type.layout, (uintptr_t)fixture->origin + origin.at,
                                         origin.count};
        const struct trma_extent there = {target.type.layout, (uintptr_t)fixture->remote + target.at,
                                          target.count};
        fixture_fill(fixture, round->with_private, state);
        for (size_t i = 0; i < origin.count * origin.type.n; i++) {
            char *origin_byte = &fixture->origin_model[operand_offset(&origin, i)];
            char *target_byte = &fixture->model[operand_offset(&target, i)];
            *(is_put ? target_byte : origin_byte) = *(is_put ? origin_byte : target_byte);
        }
        assert_int_equal((is_put ? trma_move_put : trma_move_get)(&round->path, &here, &there, &outstanding),
                         TRMA_OK);
        assert_true(trma_move_test(&outstanding));
        fixture_check(fixture, round->with_private);
        done = true;
    }
    type_drop(&origin.type);
    type_drop(&target.type);
    return done;
}

static void carry_many(struct fixture *fixture, const struct round *round, unsigned rounds, uint64_t seed) {
    unsigned done = 0;
    for (unsigned i = 0; i < rounds; i++) {
        done += carry_random(fixture, round, &seed);
    }
    assert_true(done > rounds / 5);
}

static void test_mapped(void **context) {
    struct fixture *fixture = *context;
    const struct round round = {
        .path = fixture_path(fixture, SHARED_START, SHARED_END), .low = SHARED_START, .high = SHARED_END};
    /* No way but the mapped one. */
    atomic_store(&fixture->target.peer.has_cma, false);
    carry_many(fixture, &round, 2000, 1);
    atomic_store(&fixture->target.peer.has_cma, true);
}

static void test_cma(void **context) {
    struct fixture *fixture = *context;
    target_need_cma(&fixture->target);
    struct round round = {.path = {.peer = &fixture->target.peer}, .high = REGION, .with_private = true};
    carry_many(fixture, &round, 700, 2);
    /* A mapped part that no operation touches, on either side. */
    round.path = fixture_path(fixture, SHARED_START, SHARED_END);
    round.high = SHARED_START;
    carry_many(fixture, &round, 100, 3);
    round.low = SHARED_END;
    round.high = REGION;
    carry_many(fixture, &round, 100, 4);
}

static void test_mixed(void **context) {
    struct fixture *fixture = *context;
    target_need_cma(&fixture->target);
    struct round round = {
        .path = fixture_path(fixture, SHARED_START, SHARED_END), .high = REGION, .with_private = true};
    round.border = SHARED_START;
    carry_many(fixture, &round, 500, 5);
    round.border = SHARED_END;
    carry_many(fixture, &round, 500, 6);
    /* Mapped parts so small that they lie within single blocks, and at odd addresses. */
    for (unsigned i = 0; i < 20; i++) {
        const size_t start = SHARED_START + 1 + 37 * i;
        round.path = fixture_path(fixture, start, start + 1 + i * i);
        round.border = start + i;
        carry_many(fixture, &round, 20, 7 + i);
    }
}

/* A whole window in one operation, as a program with an adopted window does it: ragged edge, middle, ragged
 * edge. */
static void test_mixed_dense(void **context) {
    struct fixture *fixture = *context;
    target_need_cma(&fixture->target);
    const struct trma_path path = fixture_path(fixture, SHARED_START, SHARED_END);
    struct trma_outstanding outstanding = {0};
    struct trma_layout *byte;
    uint64_t state = 8;
    assert_int_equal(trma_move_layout_make_bytes(1, &byte), TRMA_OK);
    const struct trma_extent here = {byte, (uintptr_t)fixture->origin, REGION};
    const struct trma_extent there = {byte, (uintptr_t)fixture->remote, REGION};
    fixture_fill(fixture, true, &state);
    assert_int_equal(trma_move_put(&path, &here, &there, &outstanding), TRMA_OK);
    memcpy(fixture->model, fixture->origin, REGION);
    fixture_check(fixture, true);

    /* The plain stretches of accumulate, with both borders inside. */
    fixture_fill(fixture, true, &state);
    assert_int_equal(trma_move_write(&path, fixture->origin + 5, (uintptr_t)fixture->remote + 3, REGION - 9),
                     TRMA_OK);
    memcpy(fixture->model + 3, fixture->origin + 5, REGION - 9);
    fixture_check(fixture, true);
    assert_int_equal(trma_move_read(&path, fixture->origin, (uintptr_t)fixture->remote, REGION), TRMA_OK);
    memcpy(fixture->origin_model, fixture->model, REGION);
    fixture_check(fixture, true);
    trma_move_layout_release(byte);
}

/* The process itself needs no mapping, and may move within one buffer. */
static void test_self(void **context) {
    (void)context;
    struct trma_peer self = {.is_self = true, .pid = getpid()};
    const struct trma_path bare = {.peer = &self};
    const struct trma_path whole = {
        .mapped_low = 0, .mapped_high = UINTPTR_MAX, .local = NULL, .peer = &self};
    struct trma_outstanding outstanding = {0};
    char buffer[400];
    char model[400];
    struct trma_layout *byte;
    assert_int_equal(trma_move_layout_make_bytes(1, &byte), TRMA_OK);
    for (size_t i = 0; i < sizeof buffer; i++) {
        model[i] = (char)(i * 7);
    }
    memcpy(buffer, model, sizeof buffer);
    const struct trma_extent here = {byte, (uintptr_t)buffer, 300};
    const struct trma_extent there = {byte, (uintptr_t)buffer + 50, 300};
    assert_int_equal(trma_move_put(&bare, &here, &there, &outstanding), TRMA_OK);
    memmove(model + 50, model, 300);
    assert_memory_equal(buffer, model, sizeof buffer);
    assert_int_equal(trma_move_get(&bare, &here, &there, &outstanding), TRMA_OK);
    memmove(model, model + 50, 300);
    assert_memory_equal(buffer, model, sizeof buffer);
    assert_int_equal(trma_move_write(&bare, buffer, (uintptr_t)buffer + 10, 100), TRMA_OK);
    memmove(model + 10, model, 100);
    assert_int_equal(trma_move_read(&bare, buffer, (uintptr_t)buffer + 200, 100), TRMA_OK);
    memmove(model, model + 200, 100);
    assert_int_equal(trma_move_put(&whole, &there, &here, &outstanding), TRMA_OK);
    memmove(model, model + 50, 300);
    assert_memory_equal(buffer, model, sizeof buffer);
    trma_move_layout_release(byte);
}

/* Every block length that has a loop of its own, and its neighbours, in all combinations of strided and
 * dense. */
static void test_block_lengths(void **context) {
    (void)context;
    struct trma_peer self = {.is_self = true};
    const struct trma_path path = {.peer = &self};
    enum { COUNT = 37, ROOM = 16384 };
    static unsigned char from[ROOM];
    static unsigned char to[ROOM];
    static unsigned char model[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (unsigned char)(i * 13 + i / 251);
    }
    for (size_t length = 1; length < 140; length++) {
        for (unsigned way = 0; way < 3; way++) {
            const size_t from_stride = way == 0 ? length : length + 5;
            const size_t to_stride = way == 1 ? length : length + 3;
            struct trma_layout *block;
            struct trma_layout *here;
            struct trma_layout *there;
            struct trma_outstanding outstanding = {0};
            assert_int_equal(trma_move_layout_make_bytes(length, &block), TRMA_OK);
            assert_int_equal(trma_move_layout_make_vector(COUNT, 1, (ptrdiff_t)from_stride, block, &here),
                             TRMA_OK);
            assert_int_equal(trma_move_layout_make_vector(COUNT, 1, (ptrdiff_t)to_stride, block, &there),
                             TRMA_OK);
            memset(to, 0, ROOM);
            memset(model, 0, ROOM);
            for (size_t i = 0; i < COUNT; i++) {
                memcpy(model + i * to_stride, from + i * from_stride, length);
            }
            const struct trma_extent origin = {here, (uintptr_t)from, 1};
            const struct trma_extent target = {there, (uintptr_t)to, 1};
            assert_int_equal(trma_move_put(&path, &origin, &target, &outstanding), TRMA_OK);
            assert_memory_equal(to, model, ROOM);
            memset(to, 0, ROOM);
            const struct trma_extent get_origin = {there, (uintptr_t)to, 1};
            const struct trma_extent get_target = {here, (uintptr_t)from, 1};
            assert_int_equal(trma_move_get(&path, &get_origin, &get_target, &outstanding), TRMA_OK);
            assert_memory_equal(to, model, ROOM);
            trma_move_layout_release(here);
            trma_move_layout_release(there);
            trma_move_layout_release(block);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mapped),      cmocka_unit_test(test_cma),  cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_mixed_dense), cmocka_unit_test(test_self), cmocka_unit_test(test_block_lengths),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_stop);
}
