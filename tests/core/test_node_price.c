/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <sched.h>
#include <sys/mman.h>

#include "move/move_copy.h"
#include "node/node_help.h"
#include "node/node_peer.h"

/* Whether a target's help is worth asking for: by what it has cost, beside the kernel. */

enum { TRIES = TRMA_HELP_PRICE_TRIES, REVIEW = TRMA_HELP_PRICE_REVIEW, SLOT = TRMA_HELP_SLOT_BYTES };

static void note(struct trma_help *own, bool is_put, size_t size, bool by_help, uint64_t ns) {
    for (int i = 0; i < TRIES; i++) {
        trma_node_help_note_price(own, is_put, size, by_help, ns);
    }
}

/* In how many of so many choices help is chosen. */
static int chosen(struct trma_help *own, bool is_put, size_t size, int choices) {
    int helped = 0;

    for (int i = 0; i < choices; i++) {
        helped += trma_node_help_is_cheaper(own, is_put, size);
    }
    return helped;
}

/* Help first, until it has been had a few times; then the kernel likewise; what a slot takes always. */
static void test_tries(void **state) {
    (void)state;
    static const size_t sizes[] = {SLOT + 1, 1000, 4096, 65536, SIZE_MAX};
    struct trma_help own = {0};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int is_put = 0; is_put < 2; is_put++) {
            assert_int_equal(chosen(&own, is_put, sizes[i], 3 * TRIES), 3 * TRIES);
            for (int n = 0; n < TRIES; n++) {
                assert_true(trma_node_help_is_cheaper(&own, is_put, sizes[i]));
                trma_node_help_note_price(&own, is_put, sizes[i], true, 100);
            }
            for (int n = 0; n < TRIES; n++) {
                assert_false(trma_node_help_is_cheaper(&own, is_put, sizes[i]));
                trma_node_help_note_price(&own, is_put, sizes[i], false, 200);
            }
            assert_true(trma_node_help_is_cheaper(&own, is_put, sizes[i]));
            assert_true(trma_node_help_is_cheaper(&own, is_put, SLOT));
            assert_true(trma_node_help_is_cheaper(&own, is_put, 1));
        }
    }
}

/* The cheaper one, and now and then the other, so that a change is seen. */
static void test_choice(void **state) {
    (void)state;
    struct trma_help own = {0};

    note(&own, true, 4096, true, 100);
    note(&own, true, 4096, false, 101);
    assert_int_equal(chosen(&own, true, 4096, 10 * REVIEW), 10 * REVIEW - 10);
    note(&own, true, 4096, true, 110);
    note(&own, true, 4096, true, 110);
    assert_int_equal(chosen(&own, true, 4096, 10 * REVIEW), 10);
    note(&own, true, 4096, false, 1000);
    assert_int_equal(chosen(&own, true, 4096, 10 * REVIEW), 10 * REVIEW - 10);
    /* Of what a slot takes nothing is chosen. */
    note(&own, true, SLOT + 1, true, 300);
    note(&own, true, SLOT + 1, false, 100);
    assert_int_equal(chosen(&own, true, SLOT + 1, REVIEW - 1), 0);
    assert_int_equal(chosen(&own, true, SLOT, 2 * REVIEW), 2 * REVIEW);
}

/* The first sample does not count, and one among many for little. */
static void test_outliers(void **state) {
    (void)state;
    struct trma_help own = {0};

    for (int is_put = 0; is_put < 2; is_put++) {
        trma_node_help_note_price(&own, is_put, 4096, true, UINT64_MAX);
        trma_node_help_note_price(&own, is_put, 4096, false, 0);
        note(&own, is_put, 4096, true, 100);
        note(&own, is_put, 4096, false, 180);
        assert_true(trma_node_help_is_cheaper(&own, is_put, 4096));
        trma_node_help_note_price(&own, is_put, 4096, true, UINT64_MAX);
        assert_true(trma_node_help_is_cheaper(&own, is_put, 4096));
    }
    /* From nothing, too, it grows. */
    note(&own, true, 65536, true, 0);
    note(&own, true, 65536, false, 10);
    for (int i = 0; i < 5; i++) {
        trma_node_help_note_price(&own, true, 65536, true, UINT64_MAX);
    }
    assert_false(trma_node_help_is_cheaper(&own, true, 65536));
}

/* Directions and sizes each have their price. */
static void test_classes(void **state) {
    (void)state;
    struct trma_help own = {0};

    for (size_t size = SLOT; size < (size_t)1 << 22; size *= 2) {
        const bool is_dear = size / SLOT % 3 == 1; /* 1, 4, 16, … times a slot */
        note(&own, true, size + 1, true, is_dear ? 300 : 100);
        note(&own, true, 2 * size - 1, false, 200);
        note(&own, false, size + 1, true, is_dear ? 100 : 300);
        note(&own, false, 2 * size - 1, false, 200);
    }
    for (size_t size = SLOT; size < (size_t)1 << 22; size *= 2) {
        const bool is_dear = size / SLOT % 3 == 1;
        assert_int_equal(trma_node_help_is_cheaper(&own, true, size + 1), !is_dear);
        assert_int_equal(trma_node_help_is_cheaper(&own, true, 2 * size - 1), !is_dear);
        assert_int_equal(trma_node_help_is_cheaper(&own, false, size + 1), is_dear);
    }
}

enum { TARGET, ORIGIN };

enum { PLACE, FINISHED }; /* words of the scene */

enum { SIZE = 4096, A_LOT = 100000 };

static void attend(struct actor *actor, const char *memory) {
    struct trma_help *help = &actor->team->help;

    help->windows = 1;
    CHECK(trma_node_help_begin(help));
    scene_set(actor->scene, PLACE, (uintptr_t)memory);
    while (!scene_get(actor->scene, FINISHED)) {
        if (!trma_node_help_serve(help)) {
            sched_yield();
        }
    }
    trma_node_help_end(help);
    help->windows = 0;
}

/* A transfer there or back, right in any case; true when the target has helped. */
static bool transfer(const struct trma_path *path, bool is_put, uintptr_t place) {
    static char number;
    char bytes[SIZE];
    char back[SIZE] = {0};
    const uint64_t before = trma_node_help_received();

    path->helper->own->asking.skips = 0;
    path->helper->own->awaiting.skips = 0;
    memset(bytes, is_put ? ++number : 0, sizeof bytes);
    CHECK(trma_move_dense(path, (uintptr_t)bytes, place, SIZE, is_put));
    const bool has_helped = trma_node_help_received() > before;
    for (size_t done = 0; done < SIZE; done += SLOT) { /* in parts that tell nothing of prices */
        const size_t part = SIZE - done < SLOT ? SIZE - done : SLOT;
        CHECK(trma_move_dense(path, (uintptr_t)back + done, place + done, part, false));
    }
    for (size_t i = 0; i < SIZE; i++) {
        CHECK(bytes[i] == number && back[i] == number);
    }
    return has_helped;
}

static void play_transfers(struct actor *actor) {
    struct trma_team *team = actor->team;

    if (actor->me == TARGET) {
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        attend(actor, memory);
        munmap(memory, SIZE);
        return;
    }
    scene_await(actor->scene, PLACE, 1);
    const uintptr_t place = scene_get(actor->scene, PLACE);
    struct trma_helper *helper =
        trma_node_helper_create(&team->help, &team->blocks[TARGET]->help, team->peers[TARGET]);
    CHECK(helper != NULL);
    const struct trma_path path = {.peer = team->peers[TARGET], .helper = helper};
    trma_node_helper_note(helper, place, SIZE, true);
    for (int i = 0; i < 2; i++) {
        const bool is_put = i == 0;
        struct trma_help_price *price = &team->help.prices[is_put][4]; /* of 3840 to 7679 bytes */
        int tries = 0;
        int helped = 0;
        /* Whether the target has a processor to help by is the machine's matter. */
        while (price->help_samples < TRIES || price->kernel_samples < TRIES) {
            const unsigned before = price->help_samples + price->kernel_samples;
            const bool has_helped = transfer(&path, is_put, place);
            /* The kernel's is noted unless the target has done a part. */
            CHECK(has_helped || price->help_samples + price->kernel_samples > before ||
                  price->kernel_samples == TRIES);
            CHECK(++tries < A_LOT);
        }
        CHECK(price->by_help_ns > 0 && price->by_kernel_ns > 0);
        price->by_help_ns = UINT32_MAX / 4;
        for (int n = 0; n < REVIEW / 2; n++) {
            helped += transfer(&path, is_put, place);
        }
        CHECK(helped <= 1); /* a review's */
        do {
            price->by_help_ns = 0;
            CHECK(++tries < A_LOT);
        } while (!transfer(&path, is_put, place));
    }
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

/* Transfers note what they cost, and go by it. */
static void test_transfers(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without the kernel */
    }
    play_run(2, play_transfers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tries),   cmocka_unit_test(test_choice),    cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
