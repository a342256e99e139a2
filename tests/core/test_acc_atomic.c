/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomicity between origins: eight of them, processes or threads, hammer the same memory along mapped and CMA
 * paths, and the outcome must add up. And a process that is killed while it holds a stripe.
 */
#include "test_acc_hammer.h"

/* ---- tickets: what fetch_and_op and compare_and_swap return is never returned twice ---- */

enum { TICKETS = 4000 };

static char *counter_address(struct arena *arena) {
    return arena->memory + MEMORY_EDGE + TRMA_ACC_STRIPE_BYTES + 8;
}

static void draw_tickets(struct origin *origin) {
    struct arena *arena = origin->arena;
    const uintptr_t target = (uintptr_t)counter_address(arena);
    const int64_t one = 1;
    for (unsigned i = 0; i < TICKETS; i++) {
        int64_t ticket = -1;
        if (i % 2) {
            CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_SUM,
                                         TRMA_ELEMENT_INT64, &one, &ticket, target));
        } else {
            int64_t seen;
            int64_t wanted;
            CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_NO_OP,
                                         TRMA_ELEMENT_INT64, NULL, &ticket, target));
            do {
                seen = ticket;
                wanted = seen + 1;
                CHECK(!trma_acc_compare_and_swap(&origin->context, &origin->path, TRMA_ELEMENT_INT64, &wanted,
                                                 &seen, &ticket, target));
            } while (ticket != seen);
        }
        arena->tickets[origin->index * TICKETS + i] = (uint64_t)ticket;
    }
}

static void check_tickets(struct arena *arena) {
    static bool is_drawn[ORIGINS * TICKETS];
    int64_t counter;
    memset(is_drawn, 0, sizeof is_drawn);
    memcpy(&counter, counter_address(arena), sizeof counter);
    assert_int_equal(counter, ORIGINS * TICKETS);
    for (unsigned i = 0; i < ORIGINS * TICKETS; i++) {
        assert_in_range(arena->tickets[i], 0, ORIGINS * TICKETS - 1);
        assert_false(is_drawn[arena->tickets[i]]);
        is_drawn[arena->tickets[i]] = true;
    }
}

static void test_tickets(void **state) {
    (void)state;
    run_everywhere(draw_tickets, check_tickets, true);
}

/* ---- maxima: updates that change nothing look without a lock, and must not see half a change ---- */

enum { CLIMBS = 4000, PEAKS = 16, PEAK_STEP = 20 };

/* Some of them lie across two cache lines. */
static char *peak_address(struct arena *arena, unsigned peak) {
    return arena->memory + MEMORY_EDGE + 24 + (size_t)peak * PEAK_STEP;
}

/* Both halves of a word are the same number, so that a torn word shows. */
static int64_t twice(int64_t number) {
    return number << 32 | number;
}

static bool is_twice(int64_t word) {
    return (word >> 32) == (word & UINT32_MAX);
}

static void climb(struct origin *origin) {
    int64_t known[PEAKS] = {0};
    for (unsigned i = 1; i <= CLIMBS; i++) {
        const unsigned peak = (unsigned)(random_next(&origin->random) % PEAKS);
        const uintptr_t target = (uintptr_t)peak_address(origin->arena, peak);
        /* Mostly lower than what others have reached. */
        const int64_t mine = twice((int64_t)(random_next(&origin->random) % i + 1));
        int64_t seen = -1;
        CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_MAX, TRMA_ELEMENT_INT64,
                                     &mine, &seen, target));
        CHECK(is_twice(seen) && seen >= known[peak]);
        known[peak] = seen > mine ? seen : mine;
        CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_NO_OP,
                                     TRMA_ELEMENT_INT64, NULL, &seen, target));
        CHECK(is_twice(seen) && seen >= known[peak]);
        known[peak] = seen;
    }
}

static void check_climbs(struct arena *arena) {
    int64_t highest[PEAKS] = {0};
    for (unsigned origin = 0; origin < ORIGINS; origin++) {
        uint64_t random = UINT64_C(77) + origin;
        for (unsigned i = 1; i <= CLIMBS; i++) {
            const unsigned peak = (unsigned)(random_next(&random) % PEAKS);
            const int64_t mine = twice((int64_t)(random_next(&random) % i + 1));
            highest[peak] = highest[peak] > mine ? highest[peak] : mine;
        }
    }
    for (unsigned peak = 0; peak < PEAKS; peak++) {
        int64_t reached;
        memcpy(&reached, peak_address(arena, peak), sizeof reached);
        assert_int_equal(reached, highest[peak]);
    }
}

static void test_maxima(void **state) {
    (void)state;
    run_everywhere(climb, check_climbs, false);
}

/* Every idle operation on every integer that may be looked at, alone: the same as by the definition, and the
 * old value is given. */
static void test_idle_operations(void **state) {
    (void)state;
    static const enum trma_element elements[] = {TRMA_ELEMENT_INT32, TRMA_ELEMENT_UINT32, TRMA_ELEMENT_INT64,
                                                 TRMA_ELEMENT_UINT64};
    static const enum trma_operation operations[] = {TRMA_OPERATION_MAX, TRMA_OPERATION_MIN,
                                                     TRMA_OPERATION_BAND, TRMA_OPERATION_BOR,
                                                     TRMA_OPERATION_NO_OP};
    static const int64_t values[] = {0,         1,         -1,        7,         8,
                                     INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 0x0f0f0f0f0fLL};
    enum { N_VALUES = sizeof values / sizeof values[0] };
    struct arena *arena = arena_open();
    struct origin origin;
    origin_init(&origin, arena, 0);
    for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++) {
        const bool is_wide = trma_acc_element_extent(elements[e]) == 8;
        const bool is_signed = elements[e] == TRMA_ELEMENT_INT32 || elements[e] == TRMA_ELEMENT_INT64;
        for (size_t i = 0; i < N_VALUES * N_VALUES * 5; i++) {
            const enum trma_operation operation = operations[i % 5];
            int64_t old = values[i / 5 % N_VALUES];
            int64_t new = values[i / 5 / N_VALUES];
            if (!is_wide) {
                old = is_signed ? (int32_t)old : (int64_t)(uint32_t)old;
                new = is_signed ? (int32_t) new : (int64_t)(uint32_t) new;
            }
            const bool is_less = is_signed ? old < new : (uint64_t)old < (uint64_t) new;
            const int64_t expected = operation == TRMA_OPERATION_MAX    ? (is_less ? new : old)
                                     : operation == TRMA_OPERATION_MIN  ? (is_less ? old : new)
                                     : operation == TRMA_OPERATION_BAND ? (old & new)
                                     : operation == TRMA_OPERATION_BOR  ? (old | new)
                                                                        : old;
            const size_t size = is_wide ? 8 : 4;
            int64_t result = 0;
            char *place = counter_address(arena);
            memcpy(place, &old, size);
            assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, operation, elements[e],
                                                   &new, &result, (uintptr_t)place),
                             TRMA_OK);
            assert_memory_equal(place, &expected, size);
            assert_memory_equal(&result, &old, size);
        }
    }
    memset(counter_address(arena), 0, 8);
    arena_close(arena);
}

/* ---- sums of long, strided and single updates over all stripes; nobody stops before all have had their
 * share ---- */

/* Whole fifths and fiftieths. */
enum { NUMBERS = (2 * TRMA_ACC_STRIPE_BYTES / sizeof(double) / 50 + 10) * 50, SHARE = 40 };

/* 4 bytes beside the natural alignment, so that some numbers lie in two stripes. */
static uintptr_t numbers_address(const struct arena *arena) {
    return (uintptr_t)arena->memory + MEMORY_EDGE + 4;
}

static void add_numbers(struct origin *origin) {
    struct arena *arena = origin->arena;
    struct trma_layout *dense;
    struct trma_layout *strided;
    const uintptr_t target = numbers_address(arena);
    double *ones = malloc(NUMBERS * sizeof *ones);
    double *seen = malloc(NUMBERS * sizeof *seen);
    CHECK(ones != NULL && seen != NULL);
    CHECK(!trma_move_layout_make_element(TRMA_ELEMENT_FLOAT64, &dense));
    CHECK(!trma_move_layout_make_vector(NUMBERS / 5, 1, 5 * sizeof(double), dense, &strided));
    for (unsigned i = 0; i < NUMBERS; i++) {
        ones[i] = 1;
    }
    const struct trma_extent all = {dense, target, NUMBERS};
    const struct trma_extent all_ones = {dense, (uintptr_t)ones, NUMBERS};
    const struct trma_extent all_seen = {dense, (uintptr_t)seen, NUMBERS};
    const struct trma_extent some_ones = {dense, (uintptr_t)ones, NUMBERS / 5};
    bool is_satisfied = false;

    while (atomic_load(&arena->satisfied) < ORIGINS) {
        /* Each round adds 6 to every number. */
        CHECK(!trma_acc_update(&origin->context, &origin->path, TRMA_OPERATION_SUM, TRMA_ELEMENT_FLOAT64,
                               &all_ones, &all_seen, &all));
        for (unsigned i = 0; i < 5; i++) {
            const struct trma_extent some = {strided, target + i * sizeof(double), 1};
            CHECK(!trma_acc_update(&origin->context, &origin->path, TRMA_OPERATION_SUM, TRMA_ELEMENT_FLOAT64,
                                   &some_ones, NULL, &some));
        }
        for (unsigned i = 0; i < NUMBERS; i += NUMBERS / 50) { /* and what goes in singly comes out again */
            const double minus_one = -1;
            double old;
            const uintptr_t address = target + (i + random_next(&origin->random) % 8) * sizeof(double);
            CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_SUM,
                                         TRMA_ELEMENT_FLOAT64, ones, &old, address));
            CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_SUM,
                                         TRMA_ELEMENT_FLOAT64, &minus_one, &old, address));
        }
        const unsigned done = atomic_fetch_add(&arena->done[origin->index], 1) + 1;
        if (!is_satisfied && done >= (origin->arena->only_cma || arena->mixes_paths ? SHARE / 10 : SHARE)) {
            is_satisfied = true;
            atomic_fetch_add(&arena->satisfied, 1);
        }
    }
    trma_move_layout_release(strided);
    trma_move_layout_release(dense);
    free(ones);
    free(seen);
}

static void check_numbers(struct arena *arena) {
    double expected = 0;
    for (unsigned i = 0; i < ORIGINS; i++) {
        expected += 2 * (double)atomic_load(&arena->done[i]);
    }
    for (unsigned i = 0; i < NUMBERS; i++) {
        double number;
        memcpy(&number, (char *)numbers_address(arena) + i * sizeof number, sizeof number);
        if (number != expected) {
            fail_msg("number %u is %g, not %g", i, number, expected);
        }
    }
    for (unsigned i = 0; i < MEMORY_EDGE; i++) {
        assert_int_equal(arena->memory[i], 0);
        assert_int_equal(arena->memory[sizeof arena->memory - 1 - i], 0);
    }
}

static void test_sums(void **state) {
    (void)state;
    run_everywhere(add_numbers, check_numbers, false);
}

/* ---- exclusive-or by elements of all sizes on the same bytes: the order does not matter, a torn update does
 * ---- */

enum { FLIPS = 1500, FLIPPED_BYTES = 256 };

struct flip {
    enum trma_element element;
    size_t offset;
    size_t n;
    char bits[64];
};

static struct flip flip_next(uint64_t *random) {
    const enum trma_element elements[] = {TRMA_ELEMENT_BYTE,  TRMA_ELEMENT_INT16,  TRMA_ELEMENT_UINT32,
                                          TRMA_ELEMENT_INT64, TRMA_ELEMENT_INT128, TRMA_ELEMENT_UINT8};
    struct flip flip;
    flip.element = elements[random_next(random) % (sizeof elements / sizeof elements[0])];
    const size_t extent = trma_acc_element_extent(flip.element);
    flip.n = 1 + random_next(random) % (sizeof flip.bits / extent);
    flip.offset = random_next(random) % (FLIPPED_BYTES - flip.n * extent + 1);
    for (size_t i = 0; i < sizeof flip.bits; i++) {
        flip.bits[i] = (char)random_next(random);
    }
    return flip;
}

/* Half of the bytes lie in one stripe, half in the next. */
static char *flipped_address(struct arena *arena) {
    return arena->memory + 3U * TRMA_ACC_STRIPE_BYTES - FLIPPED_BYTES / 2;
}

static void flip_bits(struct origin *origin) {
    for (unsigned i = 0; i < FLIPS; i++) {
        const struct flip flip = flip_next(&origin->random);
        const uintptr_t target = (uintptr_t)flipped_address(origin->arena) + flip.offset;
        char old[16];
        if (flip.n == 1) {
            CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_BXOR, flip.element,
                                         flip.bits, old, target));
            continue;
        }
        const size_t bytes = flip.n * trma_acc_element_size(flip.element);
        if (i % 2 && trma_acc_array_fits(&origin->context, flip.element, target) &&
            trma_move_path_is_mapped(&origin->path, target, bytes)) {
            CHECK(!trma_acc_update_array(&origin->context, TRMA_OPERATION_BXOR, flip.element, flip.bits,
                                         trma_move_path_local(&origin->path, target), target, bytes));
            continue;
        }
        struct trma_layout *layout;
        CHECK(!trma_move_layout_make_element(flip.element, &layout));
        const struct trma_extent to = {layout, target, flip.n};
        const struct trma_extent from = {layout, (uintptr_t)flip.bits, flip.n};
        CHECK(!trma_acc_update(&origin->context, &origin->path, TRMA_OPERATION_BXOR, flip.element, &from,
                               NULL, &to));
        trma_move_layout_release(layout);
    }
}

static void check_flips(struct arena *arena) {
    char expected[FLIPPED_BYTES] = {0};
    for (unsigned origin = 0; origin < ORIGINS; origin++) {
        uint64_t random = UINT64_C(77) + origin;
        for (unsigned i = 0; i < FLIPS; i++) {
            const struct flip flip = flip_next(&random);
            for (size_t b = 0; b < flip.n * trma_acc_element_extent(flip.element); b++) {
                expected[flip.offset + b] ^= flip.bits[b];
            }
        }
    }
    assert_memory_equal(flipped_address(arena), expected, FLIPPED_BYTES);
}

static void test_mixed_sizes(void **state) {
    (void)state;
    run_everywhere(flip_bits, check_flips, false);
}

/* ---- hardware mode: arrays and single elements, of types that processors add and of types that they do not
 * ---- */

enum { ROUNDS = 400, COLUMNS = 64 };

/* Enough for origins to meet within an instruction or two when there is no lock. */
static unsigned hits_per_round(const struct arena *arena) {
    return !arena->hardware_atomics ? 5 : TEST_IS_SANITIZED ? 50 : 500;
}

static void add_columns(struct origin *origin) {
    const struct {
        enum trma_element element;
        char one[16];
    } kinds[] = {{TRMA_ELEMENT_INT32, {1}},
                 {TRMA_ELEMENT_FLOAT64, {0, 0, 0, 0, 0, 0, (char)0xF0, 0x3F}},
                 {TRMA_ELEMENT_INT128, {1}}}; /* the last one is too big, and takes locks */
    struct arena *arena = origin->arena;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned k = 0; k < 3; k++) {
            const size_t extent = trma_acc_element_extent(kinds[k].element);
            /* The third quarter of the rows is not aligned: locks again. */
            const uintptr_t target =
                (uintptr_t)arena->memory + (k + 1) * TRMA_ACC_STRIPE_BYTES + (round % 4 == 2);
            char ones[COLUMNS * 16];
            char old[16];
            struct trma_layout *layout;
            for (unsigned i = 0; i < COLUMNS; i++) {
                memcpy(ones + i * extent, kinds[k].one, extent);
            }
            CHECK(!trma_move_layout_make_element(kinds[k].element, &layout));
            const struct trma_extent to = {layout, target + (round % 4 == 2) * TRMA_ACC_STRIPE_BYTES / 2,
                                           COLUMNS};
            const struct trma_extent from = {layout, (uintptr_t)ones, COLUMNS};
            CHECK(!trma_acc_update(&origin->context, &origin->path, TRMA_OPERATION_SUM, kinds[k].element,
                                   &from, NULL, &to));
            for (unsigned hit = 0; hit < hits_per_round(arena); hit++) {
                CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_SUM,
                                             kinds[k].element, ones, old, to.address));
            }
            trma_move_layout_release(layout);
        }
    }
}

static void check_columns(struct arena *arena) {
    for (unsigned i = 0; i < COLUMNS; i++) {
        for (int is_unaligned = 0; is_unaligned < 2; is_unaligned++) {
            const char *base = arena->memory + (is_unaligned ? TRMA_ACC_STRIPE_BYTES / 2 + 1 : 0);
            const unsigned rounds = is_unaligned ? ROUNDS / 4 : ROUNDS / 4 * 3;
            const unsigned expected = ORIGINS * rounds * (i == 0 ? 1 + hits_per_round(arena) : 1);
            int32_t first;
            double second;
            __int128 third;
            memcpy(&first, base + TRMA_ACC_STRIPE_BYTES + i * sizeof first, sizeof first);
            memcpy(&second, base + 2U * TRMA_ACC_STRIPE_BYTES + i * sizeof second, sizeof second);
            memcpy(&third, base + 3U * TRMA_ACC_STRIPE_BYTES + i * sizeof third, sizeof third);
            assert_int_equal(first, expected);
            assert_true(second == (double)expected);
            assert_true(third == (__int128)expected);
        }
    }
}

static void test_columns(void **state) {
    (void)state;
    run_everywhere(add_columns, check_columns, true);
}

/* ---- a dead owner ---- */

/* As the window's waiter does: yields, and now and then looks whether the owner lives. */
static enum trma_status wait_for_child(void *argument, uint32_t owner, unsigned tries) {
    const pid_t child = *(const pid_t *)argument;
    siginfo_t info = {0};
    (void)tries;
    CHECK(owner == 5);
    sched_yield();
    CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    return info.si_pid == child ? TRMA_ERR_PEER_DEAD : TRMA_OK;
}

static void hold_until_killed(struct arena *arena, unsigned stripe) {
    struct origin origin;
    origin_init(&origin, arena, 5);
    CHECK(trma_acc_lock_take(&origin.context, stripe) == TRMA_OK);
    atomic_store(&arena->ready, 1);
    for (;;) {
        pause();
    }
}

static void check_dead_owner(unsigned held, uintptr_t address) {
    struct arena *arena = arena_open();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hold_until_killed(arena, held);
    }
    while (atomic_load(&arena->ready) == 0) {
        sched_yield();
    }
    assert_int_equal(kill(child, SIGKILL), 0);

    struct origin origin;
    struct trma_layout *layout;
    int64_t numbers[4] = {1, 1, 1, 1};
    int64_t old;
    origin_init(&origin, arena, 0);
    origin.context.wait = wait_for_child;
    origin.context.argument = &child;
    /* Target addresses choose the stripe; where the bytes are does not matter. */
    origin.path = (struct trma_path){
        .mapped_low = address, .mapped_high = address + 64, .local = arena->memory, .peer = &origin.peer};
    assert_int_equal(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &layout), TRMA_OK);
    const struct trma_extent from = {layout, (uintptr_t)numbers, 4};
    const struct trma_extent to = {layout, address, 4};
    assert_int_equal(trma_acc_update(&origin.context, &origin.path, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64,
                                     &from, NULL, &to),
                     TRMA_ERR_PEER_DEAD);
    assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, TRMA_OPERATION_SUM,
                                           TRMA_ELEMENT_INT64, numbers, &old, address),
                     TRMA_ERR_PEER_DEAD);
    assert_int_equal(trma_acc_compare_and_swap(&origin.context, &origin.path, TRMA_ELEMENT_INT64, numbers,
                                               numbers, &old, address),
                     TRMA_ERR_PEER_DEAD);
    assert_int_equal(atomic_load(&arena->domain.stripes[held].owner), 6);
    atomic_store(&arena->domain.stripes[held].owner, 0); /* no other may be held: see arena_close */
    trma_move_layout_release(layout);
    assert_true(WIFSIGNALED(child_join(child)));
    arena_close(arena);
}

static void test_dead_owner(void **state) {
    const uintptr_t stripe = TRMA_ACC_STRIPE_BYTES;
    (void)state;
    check_dead_owner(7, 7 * stripe + 100);
    check_dead_owner(7, 7 * stripe - 4);                /* the second of two */
    check_dead_owner(6, 7 * stripe - 4);                /* the first of two */
    check_dead_owner(0, TRMA_ACC_STRIPES * stripe - 4); /* taken first, where the stripes wrap around */
    check_dead_owner(TRMA_ACC_STRIPES - 1, TRMA_ACC_STRIPES * stripe - 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tickets),         cmocka_unit_test(test_sums),
        cmocka_unit_test(test_mixed_sizes),     cmocka_unit_test(test_maxima),
        cmocka_unit_test(test_idle_operations), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_dead_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
