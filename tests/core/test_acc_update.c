/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Updates by one origin alone: any layouts, operations, types and paths against an oracle that does one
 * element after the other; errors leave no stripe held.
 */
#include "test_move_types.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acc/acc_lock.h"
#include "acc/acc_update.h"

/* Addresses after which the stripes start again: the target memory lies on both sides of such a border. */
#define WRAP        ((uintptr_t)TRMA_ACC_STRIPES * TRMA_ACC_STRIPE_BYTES)
#define HALF_BYTES  ((size_t)16 * TRMA_ACC_STRIPE_BYTES)
#define TOTAL_BYTES (2 * HALF_BYTES)

#define CHILD_BYTES_MAX 256U /* a type is up to some hundred times as big as a child */

static enum trma_status wait_never(void *argument, uint32_t owner, unsigned tries) {
    (void)argument;
    (void)tries;
    fail_msg("waits for process %u, but is alone", owner);
    return TRMA_ERR_SYNC;
}

/* Target memory that this process has mapped twice: at its own address, and where an origin would have it. */
struct world {
    struct trma_acc_domain domain;
    struct trma_acc_context context;
    struct trma_peer self;
    struct trma_peer other; /* this very process, as if it were another one: mapped or by CMA */
    char *target;
    char *alias;
    char *island; /* a third mapping, of a page on both sides of the middle, with nothing around */
    size_t page;
    char *expected;
    char *origin;
    char *result;
    char *result_expected;
    uint64_t random;
    int n_reaches; /* without those that need CMA where this machine refuses it */
};

enum reach { BY_SELF, BY_MAPPING, BY_CMA, BY_BOTH, N_REACHES };

static char *map_bytes(size_t size) {
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static int world_open(void **state) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    const int memory = memfd_create("test_acc_update", MFD_CLOEXEC);
    assert_true(memory >= 0);
    assert_int_equal(ftruncate(memory, (off_t)TOTAL_BYTES), 0);
    char *room = mmap(NULL, 2 * WRAP + TOTAL_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(room != MAP_FAILED);
    const uintptr_t border = ((uintptr_t)room + HALF_BYTES + WRAP - 1) / WRAP * WRAP;
    world->target = mmap((void *)(border - HALF_BYTES), TOTAL_BYTES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED, memory, 0);
    world->alias = mmap(NULL, TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(world->target != MAP_FAILED && world->alias != MAP_FAILED);
    world->page = (size_t)sysconf(_SC_PAGESIZE);
    char *sea = mmap(NULL, 4 * world->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(sea != MAP_FAILED);
    world->island = mmap(sea + world->page, 2 * world->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                         memory, (off_t)(HALF_BYTES - world->page));
    assert_true(world->island != MAP_FAILED);
    close(memory);
    world->expected = map_bytes(TOTAL_BYTES);
    world->origin = map_bytes(TOTAL_BYTES);
    world->result = map_bytes(TOTAL_BYTES);
    world->result_expected = map_bytes(TOTAL_BYTES);
    world->self.is_self = true;
    world->other.pid = getpid();
    atomic_init(&world->other.has_cma, true);
    world->context = (struct trma_acc_context){.domain = &world->domain, .me = 3, .wait = wait_never};
    const struct trma_path by_cma = {.mapped_low = 1, .mapped_high = 1, .local = NULL, .peer = &world->other};
    char byte;
    world->n_reaches = trma_move_read(&by_cma, &byte, (uintptr_t)world->target, 1) ? BY_CMA : N_REACHES;
    world->random = UINT64_C(0x123456789ABCDEF);
    *state = world;
    return 0;
}

static void assert_all_free(struct world *world) {
    for (unsigned i = 0; i < TRMA_ACC_STRIPES; i++) {
        assert_int_equal(atomic_load(&world->domain.stripes[i].owner), 0);
    }
}

static struct trma_path path_by(struct world *world, enum reach reach) {
    const uintptr_t low = (uintptr_t)world->target;
    switch (reach) {
    case BY_SELF:
        return (struct trma_path){
            .mapped_low = 0, .mapped_high = UINTPTR_MAX, .local = NULL, .peer = &world->self};
    case BY_MAPPING:
        return (struct trma_path){.mapped_low = low,
                                  .mapped_high = low + TOTAL_BYTES,
                                  .local = world->alias,
                                  .peer = &world->other};
    case BY_CMA:
        return (struct trma_path){
            .mapped_low = low, .mapped_high = low, .local = NULL, .peer = &world->other};
    default:
        if (random_below(&world->random, 2)) {
            return (struct trma_path){.mapped_low = low + HALF_BYTES - world->page,
                                      .mapped_high = low + HALF_BYTES + world->page,
                                      .local = world->island,
                                      .peer = &world->other};
        } else { /* borders that cut elements, where the bases lie */
            const size_t from = HALF_BYTES - random_below(&world->random, 400);
            const size_t to = HALF_BYTES + random_below(&world->random, 400);
            return (struct trma_path){.mapped_low = low + from,
                                      .mapped_high = low + to,
                                      .local = world->alias + from,
                                      .peer = &world->other};
        }
    }
}

static void fill_randomly(struct world *world, char *memory, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        memory[i] = (char)random_next(&world->random);
    }
}

/* A random tree of types whose basic elements are all of one kind. */
static struct type type_of_element(uint64_t *state, enum trma_element element, unsigned depth) {
    struct type (*const makers[])(uint64_t *, const struct type *) = {
        type_random_vector, type_random_resized, type_random_subarray, type_random_darray};
    struct type children[3];
    struct type type = {0};

    if (depth == 0) {
        const struct trma_element_shape *shape = trma_acc_element_shape(element);
        assert_int_equal(trma_move_layout_make_element(element, &type.layout), TRMA_OK);
        for (size_t b = 0; b < shape->n_blocks; b++) {
            for (size_t i = 0; i < shape->blocks[b].length; i++) {
                type_append_byte(&type, (ptrdiff_t)(shape->blocks[b].offset + i));
            }
        }
        type.upper = (ptrdiff_t)shape->extent;
        return type;
    }
    const size_t n = 1 + random_below(state, 3);
    for (size_t i = 0; i < n; i++) {
        children[i] = type_of_element(state, element, depth - 1);
        if (children[i].n > CHILD_BYTES_MAX) {
            type_drop(&children[i]);
            children[i] = type_of_element(state, element, 0);
        }
    }
    const size_t kind = random_below(state, 5);
    type = kind == 4 ? type_random_struct(state, children, n) : makers[kind](state, &children[0]);
    for (size_t i = 0; i < n; i++) {
        type_drop(&children[i]);
    }
    if (type.n > TYPE_BYTES_MAX) {
        type_drop(&type);
        return type_of_element(state, element, 0);
    }
    return type;
}

/* Several types in a buffer, as an extent for the update and as the address of each element for the oracle.
 */
struct side {
    struct type type;
    char *base;
    size_t count;
    size_t n;
    char **elements;
};

static void side_drop(struct side *side) {
    type_drop(&side->type);
    free(side->elements);
}

static struct trma_extent side_extent(const struct side *side) {
    return (struct trma_extent){side->type.layout, (uintptr_t)side->base, side->count};
}

static bool side_place(struct side *side, char *base, const struct trma_element_shape *shape) {
    const size_t per_type = side->type.n / shape->size;
    const ptrdiff_t extent = side->type.upper - side->type.lower;
    ptrdiff_t low;
    ptrdiff_t high;
    trma_move_layout_span(side->type.layout, side->count, &low, &high);
    if (low < -(ptrdiff_t)HALF_BYTES / 2 || high > (ptrdiff_t)HALF_BYTES / 2) {
        return false; /* too sparse for the buffers */
    }
    side->base = base;
    side->n = per_type * side->count;
    side->elements = malloc((side->n + 1) * sizeof *side->elements);
    assert_non_null(side->elements);
    for (size_t i = 0; i < side->n; i++) {
        side->elements[i] =
            base + (ptrdiff_t)(i / per_type) * extent + side->type.bytes[i % per_type * shape->size];
    }
    return true;
}

/* A side of n elements in all. */
static void side_make(struct world *world, struct side *side, enum trma_element element, size_t n,
                      char *base) {
    const struct trma_element_shape *shape = trma_acc_element_shape(element);
    for (int attempt = 0;; attempt++) {
        const unsigned depth = attempt < 5 ? (unsigned)random_below(&world->random, 4) : 0;
        side->type = type_of_element(&world->random, element, depth);
        const size_t per_type = side->type.n / shape->size;
        if (per_type > 0 && n % per_type == 0) {
            side->count = n / per_type;
            if (side_place(side, base, shape)) {
                return;
            }
        }
        type_drop(&side->type);
    }
}

/* Somewhere in the middle, often where a stripe or all of them begin. */
static size_t random_base(struct world *world) {
    const size_t stripe = HALF_BYTES + random_below(&world->random, 2) * TRMA_ACC_STRIPE_BYTES;
    return (size_t)((ptrdiff_t)stripe + random_between(&world->random, -200, 200));
}

static void check_case(struct world *world, enum reach reach) {
    const enum trma_element element = (enum trma_element)random_below(&world->random, TRMA_ELEMENT_COUNT);
    enum trma_operation operation;
    do {
        operation = (enum trma_operation)random_below(&world->random, TRMA_OPERATION_COUNT);
    } while (!trma_acc_operation_is_allowed(operation, element));
    const struct trma_element_shape *shape = trma_acc_element_shape(element);
    const size_t base = random_base(world);
    const bool has_result = random_below(&world->random, 2);
    struct side target = {.count = random_below(&world->random, 4)};
    struct side origin;
    struct side result;

    target.type = type_of_element(&world->random, element, (unsigned)random_below(&world->random, 4));
    if (!side_place(&target, world->target + base, shape)) {
        type_drop(&target.type);
        return;
    }
    if (target.n == 0) { /* nothing on any side */
        side_drop(&target);
        target.count = 0;
        target.type = type_of_element(&world->random, element, 0);
        assert_true(side_place(&target, world->target + base, shape));
    }
    side_make(world, &origin, element, target.n,
              world->origin + HALF_BYTES + random_below(&world->random, 16));
    side_make(world, &result, element, target.n,
              world->result + HALF_BYTES + random_below(&world->random, 16));

    memcpy(world->expected, world->target, TOTAL_BYTES);
    memcpy(world->result_expected, world->result, TOTAL_BYTES);
    for (size_t i = 0; i < target.n; i++) {
        char *expected = world->expected + (target.elements[i] - world->target);
        if (has_result) {
            trma_acc_copy(element, world->result_expected + (result.elements[i] - world->result), expected,
                          1);
        }
        trma_acc_combine(operation, element, expected, origin.elements[i], 1);
    }

    const struct trma_path path = path_by(world, reach);
    const struct trma_extent origin_extent = side_extent(&origin);
    const struct trma_extent result_extent = side_extent(&result);
    const struct trma_extent target_extent = side_extent(&target);
    world->context.hardware_atomics = random_below(&world->random, 4) == 0;
    assert_int_equal(trma_acc_update(&world->context, &path, operation, element, &origin_extent,
                                     has_result ? &result_extent : NULL, &target_extent),
                     TRMA_OK);
    world->context.hardware_atomics = false;
    assert_memory_equal(world->target, world->expected, TOTAL_BYTES);
    assert_memory_equal(world->result, world->result_expected, TOTAL_BYTES);
    assert_all_free(world);
    side_drop(&target);
    side_drop(&origin);
    side_drop(&result);
}

static void test_random_layouts(void **state) {
    struct world *world = *state;
    for (int i = 0; i < 2000; i++) {
        if (i % 50 == 0) { /* sums of NaNs soon leave nothing else */
            fill_randomly(world, world->target, HALF_BYTES / 2, HALF_BYTES * 3 / 2);
            fill_randomly(world, world->origin, HALF_BYTES / 2, HALF_BYTES * 3 / 2);
        }
        check_case(world, (enum reach)(i % world->n_reaches));
    }
}

/* Dense arrays of every type over many stripes and their wrap-around, at any alignment. */
static void test_long_arrays(void **state) {
    struct world *world = *state;
    for (int element = 0; element < TRMA_ELEMENT_COUNT; element++) {
        struct trma_layout *layout;
        assert_int_equal(trma_move_layout_make_element((enum trma_element)element, &layout), TRMA_OK);
        const size_t extent = trma_acc_element_extent((enum trma_element)element);
        for (int reach = 0; reach < world->n_reaches; reach++) {
            const size_t n = 5 * TRMA_ACC_STRIPE_BYTES / extent + random_below(&world->random, 9);
            const size_t base = random_base(world) - 3 * (size_t)TRMA_ACC_STRIPE_BYTES;
            const enum trma_operation operation =
                trma_acc_operation_is_allowed(TRMA_OPERATION_SUM, (enum trma_element)element)
                    ? TRMA_OPERATION_SUM
                    : TRMA_OPERATION_REPLACE;
            fill_randomly(world, world->target, base - 100, base + n * extent + 100);
            fill_randomly(world, world->origin, 0, n * extent);
            memcpy(world->expected, world->target, TOTAL_BYTES);
            memcpy(world->result_expected, world->result, TOTAL_BYTES);
            trma_acc_copy((enum trma_element)element, world->result_expected + 5, world->expected + base, n);
            trma_acc_combine(operation, (enum trma_element)element, world->expected + base, world->origin, n);

            const struct trma_path path = path_by(world, (enum reach)reach);
            const struct trma_extent target = {layout, (uintptr_t)world->target + base, n};
            const struct trma_extent origin = {layout, (uintptr_t)world->origin, n};
            const struct trma_extent result = {layout, (uintptr_t)world->result + 5, n};
            assert_int_equal(trma_acc_update(&world->context, &path, operation, (enum trma_element)element,
                                             &origin, &result, &target),
                             TRMA_OK);
            assert_memory_equal(world->result, world->result_expected, TOTAL_BYTES);
            assert_memory_equal(world->target, world->expected, TOTAL_BYTES);
            assert_all_free(world);
        }
        trma_move_layout_release(layout);
    }
}

/* fetch_and_op and compare_and_swap on every type and operation, on every byte around a stripe's border. */
static void test_single_elements(void **state) {
    struct world *world = *state;
    for (int i = 0; i < 20000; i++) {
        const enum trma_element element = (enum trma_element)random_below(&world->random, TRMA_ELEMENT_COUNT);
        const enum trma_operation operation =
            (enum trma_operation)random_below(&world->random, TRMA_OPERATION_COUNT);
        const size_t base = HALF_BYTES + random_below(&world->random, 2) * TRMA_ACC_STRIPE_BYTES - 40 +
                            random_below(&world->random, 48);
        const struct trma_path path = path_by(world, (enum reach)(i % world->n_reaches));
        const uintptr_t target = (uintptr_t)world->target + base;
        char *expected = world->expected + base;
        char origin[32];
        char compare[32];
        char result[48];
        char result_expected[48];

        world->context.hardware_atomics = random_below(&world->random, 2);
        fill_randomly(world, world->target, base - 40, base + 80);
        fill_randomly(world, origin, 0, sizeof origin);
        memset(result, 1, sizeof result);
        memset(result_expected, 1, sizeof result_expected);
        memcpy(expected - 40, world->target + base - 40, 120);
        memcpy(compare, expected, sizeof compare);
        if (trma_acc_operation_is_allowed(operation, element)) {
            trma_acc_copy(element, result_expected, expected, 1);
            trma_acc_combine(operation, element, expected, origin, 1);
            assert_int_equal(trma_acc_fetch_and_op(&world->context, &path, operation, element,
                                                   operation == TRMA_OPERATION_NO_OP ? NULL : origin, result,
                                                   target),
                             TRMA_OK);
        } else {
            assert_int_equal(
                trma_acc_fetch_and_op(&world->context, &path, operation, element, origin, result, target),
                TRMA_ERR_ARGUMENT);
        }
        assert_memory_equal(world->target + base - 40, expected - 40, 120);
        assert_memory_equal(result, result_expected, sizeof result);

        memcpy(compare, expected, sizeof compare);
        if (random_below(&world->random, 2)) { /* one bit differs */
            compare[random_below(&world->random, trma_acc_element_size(element))] ^= 1;
        }
        if (trma_acc_compare_is_allowed(element)) {
            trma_acc_copy(element, result_expected, expected, 1);
            if (memcmp(compare, expected, trma_acc_element_size(element)) == 0) {
                trma_acc_copy(element, expected, origin, 1);
            }
        }
        assert_int_equal(
            trma_acc_compare_and_swap(&world->context, &path, element, origin, compare, result, target),
            trma_acc_compare_is_allowed(element) ? TRMA_OK : TRMA_ERR_ARGUMENT);
        assert_memory_equal(world->target + base - 40, expected - 40, 120);
        assert_memory_equal(result, result_expected, sizeof result);
        assert_all_free(world);
    }
    world->context.hardware_atomics = false;
}

static void test_refusals(void **state) {
    struct world *world = *state;
    struct trma_layout *layout;
    int64_t numbers[8] = {0};
    assert_int_equal(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &layout), TRMA_OK);
    const struct trma_extent origin = {layout, (uintptr_t)numbers, 8};
    const struct trma_extent too_few = {layout, (uintptr_t)numbers, 3};
    for (int reach = 0; reach < world->n_reaches; reach++) {
        const struct trma_path path = path_by(world, (enum reach)reach);
        const struct trma_extent target = {layout, (uintptr_t)world->target + HALF_BYTES - 20, 8};
        for (int hardware = 0; hardware < 2; hardware++) {
            world->context.hardware_atomics = hardware;
            assert_int_equal(trma_acc_update(&world->context, &path, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64,
                                             &too_few, NULL, &target),
                             TRMA_ERR_ARGUMENT);
            assert_all_free(world);
            assert_int_equal(trma_acc_update(&world->context, &path, TRMA_OPERATION_NO_OP, TRMA_ELEMENT_INT64,
                                             NULL, &too_few, &target),
                             TRMA_ERR_ARGUMENT);
            assert_all_free(world);
        }
        world->context.hardware_atomics = false;
        assert_int_equal(trma_acc_update(&world->context, &path, TRMA_OPERATION_MAXLOC, TRMA_ELEMENT_INT64,
                                         &origin, NULL, &target),
                         TRMA_ERR_ARGUMENT);
        assert_int_equal(trma_acc_update(&world->context, &path, TRMA_OPERATION_SUM, TRMA_ELEMENT_MIXED,
                                         &origin, NULL, &target),
                         TRMA_ERR_ARGUMENT);
        assert_int_equal(trma_acc_update(&world->context, &path, TRMA_OPERATION_NO_OP, TRMA_ELEMENT_INT64,
                                         NULL, NULL, &target),
                         TRMA_OK);
    }

    if (world->n_reaches <= BY_CMA) {
        trma_move_layout_release(layout);
        skip(); /* the kernel lets nobody use CMA here */
    }
    /* Memory that the target does not have, in the second stripe of the update. */
    char *room = mmap(NULL, 4 * TRMA_ACC_STRIPE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(room != MAP_FAILED && TRMA_ACC_STRIPE_BYTES >= world->page);
    const uintptr_t stripe =
        ((uintptr_t)room + 2 * TRMA_ACC_STRIPE_BYTES - 1) / TRMA_ACC_STRIPE_BYTES * TRMA_ACC_STRIPE_BYTES;
    assert_int_equal(mprotect((void *)(stripe - world->page), world->page, PROT_READ | PROT_WRITE), 0);
    const struct trma_path path = path_by(world, BY_CMA);
    for (uintptr_t address = stripe - 32; address < stripe - 24; address += 4) {
        const struct trma_extent target = {layout, address, 8};
        int64_t result;
        assert_int_equal(trma_acc_update(&world->context, &path, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64,
                                         &origin, NULL, &target),
                         TRMA_ERR_RANGE);
        assert_all_free(world);
        assert_int_equal(trma_acc_fetch_and_op(&world->context, &path, TRMA_OPERATION_SUM, TRMA_ELEMENT_INT64,
                                               numbers, &result, address + 28),
                         TRMA_ERR_RANGE);
        assert_int_equal(trma_acc_compare_and_swap(&world->context, &path, TRMA_ELEMENT_INT64, numbers,
                                                   numbers, &result, address + 28),
                         TRMA_ERR_RANGE);
        assert_all_free(world);
    }
    munmap(room, 4 * TRMA_ACC_STRIPE_BYTES);
    trma_move_layout_release(layout);
}

static int world_close(void **state) {
    struct world *world = *state;
    munmap(world->target, TOTAL_BYTES);
    munmap(world->alias, TOTAL_BYTES);
    munmap(world->island - world->page, 4 * world->page);
    munmap(world->expected, TOTAL_BYTES);
    munmap(world->origin, TOTAL_BYTES);
    munmap(world->result, TOTAL_BYTES);
    munmap(world->result_expected, TOTAL_BYTES);
    free(world);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_layouts, world_open, world_close),
        cmocka_unit_test_setup_teardown(test_long_arrays, world_open, world_close),
        cmocka_unit_test_setup_teardown(test_single_elements, world_open, world_close),
        cmocka_unit_test_setup_teardown(test_refusals, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
