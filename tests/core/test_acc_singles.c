/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two modes of a domain: when it changes from stripe locks to atomic instructions and back, that nothing
 * is lost between the two, and what becomes of an origin that dies inside. (That updates of all kinds add up
 * while the mode changes is in test_acc_atomic.c.)
 */
#include "test_acc_hammer.h"

#include "acc/acc_singles.h"

static enum trma_acc_mode mode_of(struct arena *arena) {
    return trma_acc_mode_of(atomic_load(&arena->domain.mode));
}

static char *counter_address(struct arena *arena) {
    return arena->memory + MEMORY_EDGE;
}

static int64_t counter_of(struct arena *arena) {
    int64_t counter;
    memcpy(&counter, counter_address(arena), sizeof counter);
    return counter;
}

static void count(struct origin *origin) {
    const int64_t one = 1;
    int64_t old = -1;
    CHECK(!trma_acc_fetch_and_op(&origin->context, &origin->path, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64,
                                 &one, &old, (uintptr_t)counter_address(origin->arena)));
    CHECK(old >= 0);
}

/* The test ends here where the kernel refuses membarrier: there is no singles mode then. */
static void require_membarrier(void) {
    if (!trma_node_doorbell_register()) {
        skip(); /* the kernel refuses membarrier */
    }
}

static struct arena *singles_open(void) {
    struct arena *arena = arena_open();
    arena->has_singles = true;
    return arena;
}

/* A fresh arena and its first origin; the test ends here where the kernel refuses membarrier. */
static struct arena *begin(struct origin *origin) {
    require_membarrier();
    struct arena *arena = singles_open();
    origin_init(origin, arena, 0);
    return arena;
}

/* Counts until the domain is in singles mode; returns how often. */
static unsigned count_to_singles(struct origin *origin, unsigned limit) {
    unsigned n = 0;
    while (mode_of(origin->arena) != TRMA_ACC_SINGLES && n < limit) {
        count(origin);
        n++;
    }
    assert_int_equal(mode_of(origin->arena), TRMA_ACC_SINGLES);
    return n;
}

static void add_array(struct origin *origin) {
    const int64_t ones[2] = {1, 1};
    const uintptr_t target = (uintptr_t)counter_address(origin->arena);
    assert_int_equal(trma_acc_update_array(&origin->context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, ones,
                                           trma_move_path_local(&origin->path, target), target, sizeof(ones)),
                     TRMA_OK);
}

/* Each change makes the next one dearer; what was counted in either mode is there in the other. */
static void test_changes(void **state) {
    (void)state;
    struct origin origin;
    struct arena *arena = begin(&origin);
    int64_t expected = 0;
    unsigned last = 0;
    for (unsigned change = 0; change < 4; change++) {
        const unsigned n = count_to_singles(&origin, 1000000);
        assert_true(n > 4 * last);
        last = n;
        count(&origin);
        assert_int_equal(mode_of(arena), TRMA_ACC_SINGLES);
        add_array(&origin);
        assert_int_equal(mode_of(arena), TRMA_ACC_LOCKED);
        expected += n + 2;
        assert_int_equal(counter_of(arena), expected);
    }
    arena_close(arena);
}

/* Whatever an atomic instruction cannot do needs locked mode: each alone ends singles mode, and is right. */
static void test_what_ends_it(void **state) {
    (void)state;
    require_membarrier();
    static const struct {
        enum trma_element element;
        size_t offset;
        bool ends;
    } updates[] = {{TRMA_ELEMENT_INT64, 0, false},  {TRMA_ELEMENT_FLOAT64, 8, false},
                   {TRMA_ELEMENT_BYTE, 17, false},  {TRMA_ELEMENT_UINT16, 18, false},
                   {TRMA_ELEMENT_INT32, 20, false}, {TRMA_ELEMENT_INT64, 4, true},
                   {TRMA_ELEMENT_INT128, 32, true}, {TRMA_ELEMENT_UINT16, 1, true}};
    for (size_t i = 0; i < sizeof updates / sizeof updates[0]; i++) {
        struct arena *arena = singles_open();
        struct origin origin;
        char value[16];
        char old[16];
        origin_init(&origin, arena, 0);
        count_to_singles(&origin, 1000);
        memset(arena->memory, 0, sizeof arena->memory);
        memset(value, 0x11, sizeof value);
        char *place = counter_address(arena) + updates[i].offset;
        assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, TRMA_OPERATION_REPLACE,
                                               updates[i].element, value, old, (uintptr_t)place),
                         TRMA_OK);
        assert_memory_equal(place, value, trma_acc_element_size(updates[i].element));
        assert_int_equal(mode_of(arena), updates[i].ends ? TRMA_ACC_LOCKED : TRMA_ACC_SINGLES);
        arena_close(arena);
    }
}

/* compare_and_swap, and updates that change nothing, in singles mode. */
static void test_swaps_and_looks(void **state) {
    (void)state;
    struct origin origin;
    struct arena *arena = begin(&origin);
    const int64_t n = count_to_singles(&origin, 1000);
    const uintptr_t target = (uintptr_t)counter_address(arena);
    const int64_t wanted = 5;
    const int64_t low = 1;
    const int64_t high = 7;
    int64_t compare = n + 1;
    int64_t old = -1;
    assert_int_equal(trma_acc_compare_and_swap(&origin.context, &origin.path, TRMA_ELEMENT_INT64, &wanted,
                                               &compare, &old, target),
                     TRMA_OK);
    assert_int_equal(old, n);
    assert_int_equal(counter_of(arena), n);
    compare = n;
    assert_int_equal(trma_acc_compare_and_swap(&origin.context, &origin.path, TRMA_ELEMENT_INT64, &wanted,
                                               &compare, &old, target),
                     TRMA_OK);
    assert_int_equal(old, n);
    assert_int_equal(counter_of(arena), wanted);
    assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, TRMA_OPERATION_MAX,
                                           TRMA_ELEMENT_INT64, &low, &old, target),
                     TRMA_OK);
    assert_int_equal(old, wanted);
    assert_int_equal(counter_of(arena), wanted);
    assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, TRMA_OPERATION_MAX,
                                           TRMA_ELEMENT_INT64, &high, &old, target),
                     TRMA_OK);
    assert_int_equal(old, wanted);
    assert_int_equal(counter_of(arena), high);
    assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, TRMA_OPERATION_NO_OP,
                                           TRMA_ELEMENT_INT64, NULL, &old, target),
                     TRMA_OK);
    assert_int_equal(old, high);
    assert_int_equal(mode_of(arena), TRMA_ACC_SINGLES);
    arena_close(arena);
}

/* The short ways in line with the entry points: as the long way, on all pairs of values; not for what they
 * are not made for, and not in locked mode. */
static void test_short_ways(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, -1, 7, 8, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    enum { N_VALUES = sizeof values / sizeof values[0] };
    struct origin origin;
    struct arena *arena = begin(&origin);
    char *place = counter_address(arena);
    int64_t result = 0;
    assert_false(trma_acc_singles_update(&origin.context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, &values[1],
                                         &result, place));
    assert_false(
        trma_acc_singles_swap(&origin.context, TRMA_ELEMENT_INT64, &values[1], &values[0], &result, place));
    assert_int_equal(counter_of(arena), 0);
    count_to_singles(&origin, 1000);
    for (unsigned i = 0; i < N_VALUES * N_VALUES; i++) {
        const int64_t old = values[i % N_VALUES];
        const int64_t mine = values[i / N_VALUES];
        const struct {
            enum trma_operation operation;
            enum trma_element element;
            int64_t expected;
        } cases[] = {
            {TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, (int64_t)((uint64_t)old + (uint64_t)mine)},
            {TRMA_OPERATION_MAX, TRMA_ELEMENT_INT64, old < mine ? mine : old},
            {TRMA_OPERATION_MIN, TRMA_ELEMENT_INT64, old < mine ? old : mine},
            {TRMA_OPERATION_MAX, TRMA_ELEMENT_UINT64, (uint64_t)old < (uint64_t)mine ? mine : old},
            {TRMA_OPERATION_MIN, TRMA_ELEMENT_UINT64, (uint64_t)old < (uint64_t)mine ? old : mine},
        };
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            memcpy(place, &old, sizeof old);
            assert_true(trma_acc_singles_update(&origin.context, cases[c].operation, cases[c].element, &mine,
                                                &result, place));
            assert_int_equal(result, old);
            assert_int_equal(counter_of(arena), cases[c].expected);
        }
        for (unsigned c = 0; c < N_VALUES; c++) {
            memcpy(place, &old, sizeof old);
            assert_true(trma_acc_singles_swap(&origin.context, TRMA_ELEMENT_UINT64, &mine, &values[c],
                                              &result, place));
            assert_int_equal(result, old);
            assert_int_equal(counter_of(arena), values[c] == old ? mine : old);
        }
    }
    assert_false(trma_acc_singles_update(&origin.context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, &values[1],
                                         &result, place + 4));
    assert_false(trma_acc_singles_update(&origin.context, TRMA_OPERATION_SUM, TRMA_ELEMENT_FLOAT64,
                                         &values[1], &result, place));
    assert_false(trma_acc_singles_update(&origin.context, TRMA_OPERATION_PROD, TRMA_ELEMENT_INT64, &values[1],
                                         &result, place));
    assert_false(
        trma_acc_singles_swap(&origin.context, TRMA_ELEMENT_INT32, &values[1], &values[0], &result, place));
    assert_false(trma_acc_singles_swap(&origin.context, TRMA_ELEMENT_INT64, &values[1], &values[0], &result,
                                       place + 4));
    arena_close(arena);
}

/* Who is alone at the target needs no instruction, in either mode; a flush is told of what was stored. */
static void check_alone(struct origin *origin, int64_t old, int64_t mine) {
    char *place = counter_address(origin->arena);
    atomic_bool has_stored;
    int64_t result = 0;
    atomic_init(&has_stored, false);
    origin->context.has_stored = &has_stored;
    memcpy(place, &old, sizeof old);
    assert_true(trma_acc_alone_add(&origin->context, &mine, &result, place));
    assert_int_equal(result, old);
    assert_int_equal(counter_of(origin->arena), (int64_t)((uint64_t)old + (uint64_t)mine));
    assert_true(atomic_exchange(&has_stored, false));
    memcpy(place, &old, sizeof old);
    assert_true(trma_acc_alone_swap(&origin->context, &mine, &mine, &result, place));
    assert_int_equal(result, old);
    assert_int_equal(counter_of(origin->arena), old);
    assert_int_equal(atomic_exchange(&has_stored, false), mine == old);
    assert_true(trma_acc_alone_swap(&origin->context, &mine, &old, &result, place));
    assert_int_equal(result, old);
    assert_int_equal(counter_of(origin->arena), mine);
    assert_true(atomic_load(&has_stored));
    origin->context.has_stored = NULL;
}

static void test_alone(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, -1, INT32_MAX, INT64_MIN, INT64_MAX};
    enum { N_VALUES = sizeof values / sizeof values[0] };
    struct origin origin;
    struct arena *arena = begin(&origin);
    char *place = counter_address(arena);
    int64_t result = 5;
    for (unsigned i = 0; i < N_VALUES * N_VALUES; i++) {
        check_alone(&origin, values[i % N_VALUES], values[i / N_VALUES]);
    }
    assert_int_equal(mode_of(arena), TRMA_ACC_LOCKED);
    memset(place, 0, sizeof(int64_t));
    count_to_singles(&origin, 1000);
    for (unsigned i = 0; i < N_VALUES * N_VALUES; i++) {
        check_alone(&origin, values[i % N_VALUES], values[i / N_VALUES]);
    }
    assert_int_equal(mode_of(arena), TRMA_ACC_SINGLES);
    assert_false(trma_acc_alone_add(&origin.context, &values[1], &result, place + 4));
    assert_false(trma_acc_alone_swap(&origin.context, &values[1], &values[0], &result, place + 4));
    origin.context.presence = NULL;
    assert_false(trma_acc_alone_add(&origin.context, &values[1], &result, place));
    assert_false(trma_acc_alone_swap(&origin.context, &values[1], &values[0], &result, place));
    assert_int_equal(result, 5);
    arena_close(arena);
}

/* A stripe that somebody holds keeps the domain locked. */
static void test_held_stripe(void **state) {
    (void)state;
    struct origin holder;
    struct origin origin;
    struct arena *arena = begin(&origin);
    const unsigned held = (trma_acc_stripe_of((uintptr_t)counter_address(arena)) + 1) % TRMA_ACC_STRIPES;
    origin_init(&holder, arena, 1);
    assert_int_equal(trma_acc_lock_take(&holder.context, held), TRMA_OK);
    for (unsigned i = 0; i < 1000; i++) {
        count(&origin);
        assert_int_equal(mode_of(arena), TRMA_ACC_LOCKED);
    }
    trma_acc_lock_give(&holder.context, held);
    count_to_singles(&origin, 100);
    arena_close(arena);
}

/* ---- who is inside is waited for, however long; and who dies there is told ---- */

static enum trma_status wait_for_leaving(void *argument, uint32_t member, unsigned tries) {
    struct arena *arena = argument;
    CHECK(member == 5);
    if (tries == 3) { /* the update that was under way */
        const int64_t more = counter_of(arena) + 100;
        memcpy(counter_address(arena), &more, sizeof more);
        atomic_store(&arena->presences[5].inside, 2);
    }
    CHECK(tries <= 3);
    return TRMA_OK;
}

static void test_inside_is_awaited(void **state) {
    (void)state;
    struct origin origin;
    struct arena *arena = begin(&origin);
    const unsigned n = count_to_singles(&origin, 1000);
    atomic_store(&arena->presences[5].inside, 1);
    origin.context.wait = wait_for_leaving;
    origin.context.argument = arena;
    add_array(&origin);
    assert_int_equal(counter_of(arena), n + 101);
    arena_close(arena);
}

static enum trma_status wait_for_the_dead(void *argument, uint32_t member, unsigned tries) {
    (void)argument;
    CHECK(member == 5);
    return tries < 2 ? TRMA_OK : TRMA_ERR_PEER_DEAD;
}

static void test_dead_inside(void **state) {
    (void)state;
    struct origin origin;
    struct arena *arena = begin(&origin);
    const int64_t ones[2] = {1, 1};
    const unsigned n = count_to_singles(&origin, 1000);
    const uintptr_t target = (uintptr_t)counter_address(arena);
    atomic_store(&arena->presences[5].inside, 1);
    origin.context.wait = wait_for_the_dead;
    for (unsigned i = 0; i < 2; i++) { /* the second one finds the mode left by nobody */
        assert_int_equal(trma_acc_update_array(&origin.context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, ones,
                                               trma_move_path_local(&origin.path, target), target,
                                               sizeof(ones)),
                         TRMA_ERR_PEER_DEAD);
    }
    int64_t old;
    assert_int_equal(trma_acc_fetch_and_op(&origin.context, &origin.path, TRMA_OPERATION_SUM,
                                           TRMA_ELEMENT_INT64, ones, &old, target),
                     TRMA_ERR_PEER_DEAD);
    assert_int_equal(counter_of(arena), n);
    atomic_store(&arena->presences[5].inside, 2);
    arena_close(arena);
}

/* A filter that a program installs later may refuse the membarrier: an error, not a wrong sum. */
static void test_membarrier_refused_later(void **state) {
    (void)state;
    require_membarrier();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct arena *arena = singles_open();
        struct origin origin;
        const int64_t ones[2] = {1, 1};
        origin_init(&origin, arena, 0);
        for (unsigned i = 0; i < 1000; i++) {
            count(&origin);
        }
        CHECK(mode_of(arena) == TRMA_ACC_SINGLES);
        refuse_call(SYS_membarrier, EPERM);
        const uintptr_t target = (uintptr_t)counter_address(arena);
        CHECK(trma_acc_update_array(&origin.context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, ones,
                                    trma_move_path_local(&origin.path, target), target,
                                    sizeof(ones)) == TRMA_ERR_REFUSED);
        CHECK(counter_of(arena) == 1000);
        _exit(0);
    }
    assert_int_equal(child_join(child), 0);
}

/* ---- many origins change the mode all the time ---- */

enum { ROUNDS = 60, COUNTS = 300 };

static void count_and_add(struct origin *origin) {
    const int64_t ones[2] = {1, 1};
    const uintptr_t target = (uintptr_t)counter_address(origin->arena);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < COUNTS; i++) {
            count(origin);
        }
        if (round % 4 == origin->index % 4) {
            CHECK(!trma_acc_update_array(&origin->context, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64, ones,
                                         trma_move_path_local(&origin->path, target), target, sizeof(ones)));
        }
    }
}

static void test_hammered(void **state) {
    (void)state;
    require_membarrier();
    struct arena *arena = singles_open();
    arena->mixes_singles = true;
    hammer_by_processes(arena, count_and_add);
    int64_t second;
    memcpy(&second, counter_address(arena) + sizeof second, sizeof second);
    assert_int_equal(counter_of(arena), ORIGINS * ROUNDS * COUNTS + ORIGINS * ROUNDS / 4);
    assert_int_equal(second, ORIGINS * ROUNDS / 4);
    assert_true(atomic_load(&arena->domain.mode) >= TRMA_ACC_MODES); /* it did change */
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_what_ends_it),
        cmocka_unit_test(test_swaps_and_looks),
        cmocka_unit_test(test_short_ways),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_held_stripe),
        cmocka_unit_test(test_inside_is_awaited),
        cmocka_unit_test(test_dead_inside),
        cmocka_unit_test(test_membarrier_refused_later),
        cmocka_unit_test(test_hammered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
