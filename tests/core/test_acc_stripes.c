/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long arrays take one stripe after the other, from anywhere on and also where the stripes begin again. The
 * right ones are taken, each once, none stays taken when the next one is not to be had, and origins that take
 * several wait in no circle.
 */
#include "move/move_bytes.h"
#include "move/move_turn.h"
#include "test_acc_hammer.h"

#define STRIPE TRMA_ACC_STRIPE_BYTES

enum { ARRAY_BYTES = 5 * STRIPE, ELEMENTS = MEMORY_BYTES / sizeof(int64_t), ROUNDS = 2000 };

static int64_t ones[ARRAY_BYTES / sizeof(int64_t)];

/* Target addresses choose stripes; where the bytes are does not matter. The first half of the memory is put
 * beneath the last stripes, the second beneath the first ones. */
static uintptr_t target_of(size_t offset) {
    return (uintptr_t)TRMA_ACC_STRIPES * STRIPE - MEMORY_BYTES / 2 + offset;
}

static char *memory_of(struct arena *arena) {
    return arena->memory + MEMORY_EDGE;
}

static enum trma_status add_ones(struct origin *origin, size_t offset, size_t n) {
    return trma_acc_update_array(&origin->context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, ones,
                                 memory_of(origin->arena) + offset, target_of(offset), n * sizeof ones[0]);
}

static int setup(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++) {
        ones[i] = 1;
    }
    return 0;
}

static unsigned version_of(struct arena *arena, unsigned stripe) {
    return atomic_load(&arena->domain.stripes[stripe].version);
}

/* The next update by the ones begins with their last end, or goes through them at once (move_turn.h). */
static void begin_at_end(bool is_at_end) {
    const size_t before = is_at_end ? 128 : 64; /* it does not, or does, go on where this one ends */

    (void)trma_move_turn_take((const char *)ones - before, 64, 0);
}

/* A stripe's version tells how often it was taken. */
static void check_taken(struct arena *arena, struct origin *origin, size_t offset, size_t n) {
    const uintptr_t first = target_of(offset);
    const uintptr_t last = first + n * sizeof(int64_t) - 1;
    unsigned before[TRMA_ACC_STRIPES];

    for (unsigned i = 0; i < TRMA_ACC_STRIPES; i++) {
        before[i] = version_of(arena, i);
    }
    assert_int_equal(add_ones(origin, offset, n), TRMA_OK);
    for (unsigned i = 0; i < TRMA_ACC_STRIPES; i++) {
        bool is_touched = false;
        for (uintptr_t stripe = first / STRIPE; stripe <= last / STRIPE; stripe++) {
            is_touched = is_touched || stripe % TRMA_ACC_STRIPES == i;
        }
        assert_int_equal(version_of(arena, i) - before[i], is_touched);
    }
}

static void test_taken_stripes(void **state) {
    struct arena *arena = arena_open();
    struct origin origin;
    int64_t sums[ELEMENTS] = {0};
    (void)state;

    origin_init(&origin, arena, 0);
    for (size_t stripe = 0; stripe < 3; stripe++) {
        for (size_t beside = 0; beside <= STRIPE - 8; beside += STRIPE / 2 - 4 * sizeof(int64_t)) {
            for (size_t bytes = 8; bytes <= ARRAY_BYTES; bytes += STRIPE / 2) {
                const size_t offset = stripe * STRIPE + beside;
                for (int is_at_end = 0; is_at_end <= 1; is_at_end++) {
                    begin_at_end(is_at_end);
                    check_taken(arena, &origin, offset, bytes / sizeof(int64_t));
                }
                for (size_t i = 0; i < bytes / sizeof(int64_t); i++) {
                    sums[offset / sizeof(int64_t) + i] += 2;
                }
            }
        }
    }
    assert_memory_equal(memory_of(arena), sums, sizeof sums);
    arena_close(arena);
}

static enum trma_status find_dead(void *argument, uint32_t owner, unsigned tries) {
    (void)tries;
    *(uint32_t *)argument = owner;
    return TRMA_ERR_PEER_DEAD;
}

enum {
    TOUCHED = 4,
    WORDS_PER_STRIPE = STRIPE / sizeof(int64_t),
    TWO_STRIPES_EARLIER = MEMORY_BYTES / 2 - 2 * STRIPE /* than the first, which follows the last */
};

/* The elements of the touched stripe, of an array that begins one element after the first of them and ends
 * one element after the beginning of the last. */
static void expect_ones(int64_t *expected, unsigned touched) {
    const size_t begin = TWO_STRIPES_EARLIER / sizeof(int64_t);
    const size_t first = touched == 0 ? begin + 1 : begin + touched * (size_t)WORDS_PER_STRIPE;
    const size_t end = begin + (touched < TOUCHED - 1 ? (touched + 1) * (size_t)WORDS_PER_STRIPE
                                                      : touched * (size_t)WORDS_PER_STRIPE + 1);

    for (size_t i = first; i < end; i++) {
        expected[i] = 1;
    }
}

/* One of the stripes is held by somebody who never gives it: what comes before it in this order is updated,
 * it and what follows is not. */
static void check_dead_owner(const unsigned *order, bool is_at_end, unsigned held) {
    struct arena *arena = arena_open();
    struct origin origin;
    uint32_t dead = 0;
    int64_t expected[ELEMENTS] = {0};
    atomic_uint *owner = &arena->domain.stripes[(TRMA_ACC_STRIPES - 2 + held) % TRMA_ACC_STRIPES].owner;

    origin_init(&origin, arena, 0);
    origin.context.wait = find_dead;
    origin.context.argument = &dead;
    atomic_store(owner, 6);
    begin_at_end(is_at_end);
    assert_int_equal(add_ones(&origin, TWO_STRIPES_EARLIER + sizeof(int64_t), 3 * WORDS_PER_STRIPE),
                     TRMA_ERR_PEER_DEAD);
    assert_int_equal(dead, 5);
    assert_int_equal(atomic_load(owner), 6);
    for (unsigned i = 0; order[i] != held; i++) {
        expect_ones(expected, order[i]);
    }
    assert_memory_equal(memory_of(arena), expected, sizeof expected);
    atomic_store(owner, 0); /* no other may be held: see arena_close */
    arena_close(arena);
}

static void test_dead_owner(void **state) {
    static const unsigned onward[TOUCHED] = {0, 1, 2, 3};
    static const unsigned in_parts[TOUCHED] = {2, 3, 0, 1};
    static const unsigned backwards[TOUCHED] = {3, 2, 1, 0};
    (void)state;

    for (unsigned held = 0; held < TOUCHED; held++) {
        check_dead_owner(onward, false, held);
        check_dead_owner(trma_move_goes_there_and_back() ? backwards : in_parts, true, held);
    }
}

/* As who changes the domain's mode does. */
static void take_all(struct origin *origin) {
    for (unsigned stripe = 0; stripe < TRMA_ACC_STRIPES; stripe++) {
        CHECK(!trma_acc_lock_take(&origin->context, stripe));
    }
    for (unsigned stripe = 0; stripe < TRMA_ACC_STRIPES; stripe++) {
        trma_acc_lock_give(&origin->context, stripe);
    }
}

/* As an element does that lies in two: in the last and the first as well. */
static void take_two(struct origin *origin) {
    const unsigned first = TRMA_ACC_STRIPES - 1 - random_next(&origin->random) % 3;

    CHECK(!trma_acc_lock_take_both(&origin->context, first));
    trma_acc_lock_give_both(&origin->context, first);
}

/* Counts in `tickets` what it has added to which element. */
static void add_anywhere(struct origin *origin) {
    uint64_t *added = origin->arena->tickets + (size_t)origin->index * ELEMENTS;

    for (unsigned round = 0; round < ROUNDS; round++) {
        if (origin->index % 2 == 1) {
            take_all(origin);
        } else {
            take_two(origin);
        }
        const size_t first = random_next(&origin->random) % ELEMENTS;
        const size_t most =
            ELEMENTS - first < sizeof ones / sizeof ones[0] ? ELEMENTS - first : sizeof ones / sizeof ones[0];
        const size_t n = 1 + random_next(&origin->random) % most;
        CHECK(!add_ones(origin, first * sizeof(int64_t), n));
        for (size_t i = first; i < first + n; i++) {
            added[i]++;
        }
    }
}

static void check_sums(struct arena *arena) {
    for (size_t i = 0; i < ELEMENTS; i++) {
        uint64_t expected = 0;
        uint64_t sum;
        for (size_t origin = 0; origin < ORIGINS; origin++) {
            expected += arena->tickets[origin * ELEMENTS + i];
        }
        memcpy(&sum, memory_of(arena) + i * sizeof sum, sizeof sum);
        assert_int_equal(sum, expected);
    }
}

static void test_circles(void **state) {
    (void)state;
    for (int by_threads = 0; by_threads < 2; by_threads++) {
        struct arena *arena = arena_open();
        (by_threads ? hammer_by_threads : hammer_by_processes)(arena, add_anywhere);
        check_sums(arena);
        arena_close(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken_stripes),
                                       cmocka_unit_test(test_dead_owner), cmocka_unit_test(test_circles)};
    /* As any processor does it, and as AMD's do. */
    trma_move_library_most = TRMA_MOVE_FIRST_CACHE;
    int failed = cmocka_run_group_tests_name("acc_stripes", tests, setup, NULL);
    trma_move_library_most = TRMA_MOVE_MIDDLE_MORE_THAN;
    failed += cmocka_run_group_tests_name("acc_stripes, there and back", tests, setup, NULL);
    return failed;
}
