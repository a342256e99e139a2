/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_node_help.h"

#include "move/move_copy.h"
#include "node/node_peer.h"

/* Small transfers that a waiting target does itself: that they are right, and that nobody depends on it. */

static char sample(size_t size, size_t at) {
    return (char)(size * 7 + at * 13 + 1);
}

static void fill(char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        bytes[i] = sample(size, i);
    }
}

static bool is_filled(const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != sample(size, i)) {
            return false;
        }
    }
    return true;
}

static bool is_zero(const char *bytes, size_t size) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* However often it takes; what has been carried in between counts. */
static void carry_at_last(struct trma_helper *helper, bool is_put, char *local, uintptr_t address,
                          size_t size) {
    for (size_t done = 0; done < size; sched_yield()) {
        done += trma_node_help_carry(helper, true, is_put, local + done, address + done, size - done);
        forget_vain_tries(helper);
    }
}

/* As the very first transfer, of which nothing is known: true when the target did it, by the kernel; false
 * when it has looked at it and said no, not merely been deaf, nor not been asked. */
static bool try_first(struct actor *actor, struct trma_helper *helper, bool is_put, void *local,
                      uintptr_t address, size_t size) {
    const struct trma_help_piece *piece = &actor->team->blocks[TARGET]->help.slots[actor->me].piece;

    do {
        forget_vain_tries(helper);
        helper->was_tried = false;
        if (trma_node_help_carry(helper, false, is_put, local, address, size) == size) {
            return true;
        }
        sched_yield();
    } while (atomic_load(&piece->state) != TRMA_HELP_REFUSED);
    return false;
}

/* Every size that slots take and some that trays take, within a page and across borders, there and back. */
static void play_sizes(struct actor *actor) {
    static const size_t larger[] = {1000, 2048, 2049, 4096, 5000, 10240, 40000, 65536, MOST - 100, MOST};
    enum { ALL = TRMA_HELP_SLOT_BYTES + 1 + sizeof larger / sizeof larger[0], PAGES = MOST / PAGE + 3 };

    if (actor->me == TARGET) {
        char *memory = map_pages(PAGES, PROT_READ | PROT_WRITE);
        attend(actor, memory, 1);
        CHECK(is_filled(memory + PAGE / 2, MOST));
        CHECK(memory[PAGE / 2 - 1] == 0 && memory[PAGE / 2 + MOST] == 0);
        munmap(memory, (size_t)PAGES * PAGE);
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    char *there = calloc(2, MOST + 1);
    char *back = there + MOST + 1;
    for (size_t i = 1; i <= ALL; i++) {
        const size_t size = i <= TRMA_HELP_SLOT_BYTES + 1 ? i : larger[i - TRMA_HELP_SLOT_BYTES - 2];
        const uintptr_t places[] = {place + PAGE / 2, place + PAGE - size % PAGE / 2};
        for (int k = 0; k < 2 && (size < MOST / 2 || k == 0); k++) {
            fill(there, size);
            memset(back, 0, size + 1);
            if (size >= MOST - 100) {
                carry_at_last(helper, true, there, places[k], size); /* for the target to look at */
                carry_at_last(helper, false, back, places[k], size);
            } else if (!carry(helper, true, there, places[k], size) ||
                       !carry(helper, false, back, places[k], size)) {
                continue;
            }
            CHECK(is_filled(back, size) && back[size] == 0);
        }
    }
    free(there);
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_sizes(void **state) {
    (void)state;
    play_run(2, play_sizes);
}

/* Memory that is not there, or only to be read: the target lives, and the origin is left to the kernel. */
static void play_bad_memory(struct actor *actor) {
    enum { OFTEN = 20 };

    if (actor->me == TARGET) {
        char *memory = map_pages(2, PROT_READ | PROT_WRITE);
        fill(memory, PAGE);
        CHECK(mprotect(memory, PAGE, PROT_READ) == 0 && munmap(memory + PAGE, PAGE) == 0);
        attend(actor, memory, 1);
        CHECK(is_filled(memory, PAGE));
        munmap(memory, PAGE);
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    char bytes[8] = {0};
    for (int i = 0; i < OFTEN; i++) {
        CHECK(!try_first(actor, helper, true, bytes, place, sizeof bytes));
        CHECK(!try_first(actor, helper, true, bytes, place + PAGE, sizeof bytes));
        CHECK(!try_first(actor, helper, false, bytes, place + PAGE - 4, sizeof bytes));
        CHECK(try_first(actor, helper, false, bytes, place, sizeof bytes));
        CHECK(bytes[7] == sample(PAGE, 7));
        /* Having been read the page is still not one to write to. */
        CHECK(trma_node_helper_knows(helper, place, sizeof bytes, false));
        CHECK(!trma_node_helper_knows(helper, place, sizeof bytes, true));
        CHECK(!trma_node_helper_knows(helper, place + PAGE - 4, sizeof bytes, false));
        trma_node_helper_forget(helper);
    }
    /* Without having been tried, and not as the first, nothing is asked. */
    forget_vain_tries(helper);
    CHECK(trma_node_help_carry(helper, false, false, bytes, place, sizeof bytes) == 0);
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_bad_memory(void **state) {
    (void)state;
    play_run(2, play_bad_memory);
}

/* What an origin notes of the target's pages. */
static void test_known(void **state) {
    (void)state;
    enum { STRETCH = 1 << 16 };
    const uintptr_t place = (uintptr_t)5 * STRETCH * TRMA_HELP_STRETCHES;
    struct trma_helper *helper = trma_node_helper_create(NULL, NULL, NULL);

    assert_non_null(helper);
    assert_false(trma_node_helper_knows(helper, 0, 1, false));
    assert_false(trma_node_helper_knows(helper, place, 1, false));
    trma_node_helper_note(helper, place + PAGE - 1, 2, true);
    assert_true(trma_node_helper_knows(helper, place, 2 * PAGE, true));
    assert_true(trma_node_helper_knows(helper, place, 2 * PAGE, false));
    assert_false(trma_node_helper_knows(helper, place, 2 * PAGE + 1, false));
    trma_node_helper_note(helper, place + 2 * PAGE, 1, false);
    assert_true(trma_node_helper_knows(helper, place, 3 * PAGE, false));
    assert_false(trma_node_helper_knows(helper, place, 3 * PAGE, true));
    /* Over several stretches, with a hole. */
    trma_node_helper_note(helper, place + 3 * PAGE, 3 * STRETCH, true);
    assert_true(trma_node_helper_knows(helper, place + 3 * PAGE, 3 * STRETCH, true));
    assert_true(trma_node_helper_knows(helper, place, 3 * STRETCH + 3 * PAGE, false));
    assert_false(trma_node_helper_knows(helper, place, 3 * STRETCH, true));
    assert_false(trma_node_helper_knows(helper, place, 3 * STRETCH + 4 * PAGE, false));
    /* Another stretch in the same place, and nothing is mistaken for it. */
    const uintptr_t other = place + (uintptr_t)STRETCH * TRMA_HELP_STRETCHES;
    assert_false(trma_node_helper_knows(helper, other, 1, false));
    trma_node_helper_note(helper, other, 1, true);
    assert_true(trma_node_helper_knows(helper, other, 1, true));
    assert_false(trma_node_helper_knows(helper, place, 1, false));
    /* Numbers that have no room are not known rather than taken for others. */
    trma_node_helper_note(helper, UINTPTR_MAX - PAGE, 1, true);
    assert_false(trma_node_helper_knows(helper, UINTPTR_MAX - PAGE, 1, false));
    trma_node_helper_forget(helper);
    assert_false(trma_node_helper_knows(helper, other, 1, false));
    free(helper);
}

/* The first write to a page looks at what the page allows, also to a peer that is met so often that small
 * transfers go by its memory as a file, where that is not looked at. */
static void play_read_only(struct actor *actor) {
    enum { OFTEN = 200 };

    if (actor->me == TARGET) {
        char *memory = map_pages(1, PROT_READ);
        scene_set(actor->scene, PLACE, (uintptr_t)memory);
        scene_await(actor->scene, FINISHED, 1);
        CHECK(is_zero(memory, PAGE));
        munmap(memory, PAGE);
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    const struct trma_path path = {.peer = actor->team->peers[TARGET], .helper = helper};
    char bytes[8] = {0};
    for (int i = 0; i < OFTEN; i++) {
        CHECK(trma_move_dense(&path, (uintptr_t)bytes, place, sizeof bytes, false));
    }
    memset(bytes, 1, sizeof bytes);
    CHECK(!trma_move_dense(&path, (uintptr_t)bytes, place, sizeof bytes, true));
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_read_only(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without the kernel */
    }
    play_run(2, play_read_only);
}

/* A target that stops in the middle: the kernel carries the rest. */
static void play_part(struct actor *actor) {
    struct trma_help *help = &actor->team->help;

    if (actor->me == TARGET) {
        char *memory = map_pages(MOST / PAGE + 1, PROT_READ | PROT_WRITE);
        help->windows = 1;
        CHECK(trma_node_help_begin(help));
        scene_set(actor->scene, PLACE, (uintptr_t)memory);
        /* What is asked for at once is done before anything behind it is asked for. */
        while (memory[TRMA_HELP_MOST_BYTES - 1] == 0) {
            if (!trma_node_help_serve(help)) {
                sched_yield();
            }
        }
        trma_node_help_end(help);
        scene_await(actor->scene, FINISHED, 1);
        CHECK(is_filled(memory, MOST));
        help->windows = 0;
        munmap(memory, (size_t)(MOST / PAGE + 1) * PAGE);
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    const struct trma_path path = {.peer = actor->team->peers[TARGET], .helper = helper};
    char *bytes = malloc(MOST);
    fill(bytes, MOST);
    CHECK(bytes[TRMA_HELP_MOST_BYTES - 1] != 0);
    carry_at_last(helper, true, bytes, place, TRMA_HELP_MOST_BYTES - 1); /* the last byte is the signal */
    trma_node_helper_note(helper, place, MOST, true);
    const uint64_t before = trma_node_help_received();
    do {
        forget_vain_tries(helper);
        CHECK(trma_move_dense(&path, (uintptr_t)bytes, place, MOST, true));
    } while (trma_node_help_received() == before && actor->team->blocks[TARGET]->help.is_attending);
    memset(bytes, 0, MOST);
    CHECK(trma_move_dense(&path, (uintptr_t)bytes, place, MOST, false) && is_filled(bytes, MOST));
    free(bytes);
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_part(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without the kernel */
    }
    for (int i = 0; i < 20; i++) {
        play_run(2, play_part);
    }
}

/* A target that says that it attends and serves nobody: the piece is taken back, and stays so. */
static void play_in_vain(struct actor *actor) {
    struct trma_help *help = &actor->team->help;
    static char words[MOST];

    if (actor->me == TARGET) {
        memset(words, 0, sizeof words);
        help->windows = 1;
        CHECK(trma_node_help_begin(help));
        scene_set(actor->scene, PLACE, (uintptr_t)words);
        scene_await(actor->scene, STEP, 1);
        CHECK(!trma_node_help_serve(help));
        trma_node_help_end(help);
        scene_set(actor->scene, STEP, 2);
        scene_await(actor->scene, FINISHED, 1);
        CHECK(is_zero(words, sizeof words));
        help->windows = 0;
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    char *ones = malloc(MOST);
    memset(ones, 1, MOST);
    for (size_t size = 8; size <= MOST; size *= MOST / 8) {
        CHECK(trma_node_help_carry(helper, true, true, ones, place, size) == 0);
        CHECK(help->asking.skips > 0); /* the next ones do not try */
        forget_vain_tries(helper);
    }
    scene_set(actor->scene, STEP, 1);
    scene_await(actor->scene, STEP, 2);
    CHECK(trma_node_help_carry(helper, true, true, ones, place, 8) == 0);
    /* It is not there; in a crowd it is not even awaited. */
    CHECK((help->awaiting.skips > 0) == !help->is_crowded && help->asking.skips == 0);
    free(ones);
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_in_vain(void **state) {
    (void)state;
    play_run(2, play_in_vain);
}

/* One thread attends at a time, for as long as a window needs it. */
static void test_attendant(void **state) {
    (void)state;
    static struct trma_help_words words;
    static struct trma_help_trays trays;
    struct trma_help help = {.words = &words, .trays = &trays, .n_slots = TRMA_HELP_SLOTS};

    assert_false(trma_node_help_begin(&help));
    help.windows = 1;
    assert_true(trma_node_help_begin(&help));
    assert_int_equal(atomic_load(&words.is_attending), 1);
    assert_false(trma_node_help_begin(&help));
    assert_false(trma_node_help_serve(&help));
    trma_node_help_end(&help);
    assert_int_equal(atomic_load(&words.is_attending), 0);
    assert_true(trma_node_help_begin(&help));
    trma_node_help_end(&help);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_bad_memory), cmocka_unit_test(test_known),
        cmocka_unit_test(test_read_only), cmocka_unit_test(test_part),       cmocka_unit_test(test_in_vain),
        cmocka_unit_test(test_attendant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
