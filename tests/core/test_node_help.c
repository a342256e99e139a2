/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <sched.h>
#include <sys/mman.h>

#include "node/node_help.h"
#include "win/win_epoch.h"

/* Small transfers that a waiting target does itself: that they are right, and that nobody depends on it. */

enum { TARGET, ORIGIN };

/* Words of the scene; from FINISHED + 1 on one per member. */
enum { PLACE, STEP, FINISHED };

enum { PAGE = 4096 };

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

static char *map_pages(size_t pages, int protection) {
    char *memory = mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

/* The target attends, and does nothing else, until so many origins have finished. */
static void attend(struct actor *actor, const void *memory, uint64_t origins) {
    struct trma_help *help = &actor->team->help;

    help->windows = 1;
    trma_node_help_begin(help);
    CHECK(help->is_attending);
    scene_set(actor->scene, PLACE, (uintptr_t)memory);
    while (scene_get(actor->scene, FINISHED) < origins) {
        if (!trma_node_help_serve(help)) {
            sched_yield(); /* there may be more members than cores */
        }
    }
    trma_node_help_end(help);
    help->windows = 0;
}

static bool carry_once(struct actor *actor, bool is_put, void *local, uintptr_t address, size_t size) {
    struct trma_team *team = actor->team;

    return trma_node_help_carry(&team->help, &team->blocks[TARGET]->help, team->peers[TARGET], is_put, local,
                                address, size);
}

/*
 * The target serves all the time, but is heard only while both have a processor: on a busy machine that may
 * take many tries. A few are made, and the caller goes on with the next transfer; or as many as it takes.
 */
static bool carry(struct actor *actor, bool is_put, void *local, uintptr_t address, size_t size) {
    enum { A_FEW = 4 };

    for (int i = 0; i < A_FEW; i++) {
        if (carry_once(actor, is_put, local, address, size)) {
            return true;
        }
        actor->team->help.skips = 0;
        sched_yield();
    }
    return false;
}

static void carry_at_last(struct actor *actor, bool is_put, void *local, uintptr_t address, size_t size) {
    while (!carry(actor, is_put, local, address, size)) {
    }
}

/* The target has looked at it and said no; not merely been deaf, nor not been asked. */
static void be_refused(struct actor *actor, bool is_put, void *local, uintptr_t address, size_t size) {
    const struct trma_help_slot *slot = &actor->team->blocks[TARGET]->help.slots[actor->me];

    do {
        actor->team->help.skips = 0;
        CHECK(!carry_once(actor, is_put, local, address, size));
        sched_yield();
    } while (atomic_load(&slot->state) != TRMA_HELP_REFUSED);
}

/* Every size, within a page and across the border of two, there and back. */
static void play_sizes(struct actor *actor) {
    if (actor->me == TARGET) {
        char *memory = map_pages(3, PROT_READ | PROT_WRITE);
        attend(actor, memory, 1);
        CHECK(is_filled(memory + 1, TRMA_HELP_BYTES));
        CHECK(is_filled(memory + PAGE - TRMA_HELP_BYTES / 2, TRMA_HELP_BYTES));
        CHECK(memory[0] == 0 && memory[1 + TRMA_HELP_BYTES] == 0);
        munmap(memory, (size_t)3 * PAGE);
        return;
    }
    scene_await(actor->scene, PLACE, 1);
    const uintptr_t place = scene_get(actor->scene, PLACE);
    for (size_t size = 1; size <= TRMA_HELP_BYTES; size++) {
        const uintptr_t places[] = {place + 1, place + PAGE - size / 2};
        for (int i = 0; i < 2; i++) {
            char there[TRMA_HELP_BYTES];
            char back[TRMA_HELP_BYTES + 1] = {0};
            fill(there, size);
            if (size == TRMA_HELP_BYTES) {
                carry_at_last(actor, true, there, places[i], size); /* for the target to look at */
                carry_at_last(actor, false, back, places[i], size);
            } else if (!carry(actor, true, there, places[i], size) ||
                       !carry(actor, false, back, places[i], size)) {
                continue;
            }
            CHECK(is_filled(back, size) && back[size] == 0);
        }
    }
    char larger[TRMA_HELP_BYTES + 1] = {0};
    CHECK(!carry_once(actor, true, larger, place, sizeof larger));
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
    scene_await(actor->scene, PLACE, 1);
    const uintptr_t place = scene_get(actor->scene, PLACE);
    char bytes[8] = {0};
    for (int i = 0; i < OFTEN; i++) {
        be_refused(actor, true, bytes, place, sizeof bytes);
        be_refused(actor, true, bytes, place + PAGE, sizeof bytes);
        be_refused(actor, false, bytes, place + PAGE - 4, sizeof bytes);
        /* Having been read the page is still not one to write to. */
        actor->team->help.skips = 0;
        if (i == 0) {
            carry_at_last(actor, false, bytes, place, sizeof bytes);
        } else if (!carry(actor, false, bytes, place, sizeof bytes)) {
            continue;
        }
        CHECK(bytes[7] == sample(PAGE, 7));
    }
    scene_add(actor->scene, FINISHED, 1);
}

static void test_bad_memory(void **state) {
    (void)state;
    play_run(2, play_bad_memory);
}

/* A target that says that it attends and serves nobody: the slot is taken back, and stays so. */
static void play_in_vain(struct actor *actor) {
    struct trma_help *help = &actor->team->help;
    static char word[8];

    if (actor->me == TARGET) {
        memset(word, 0, sizeof word);
        help->windows = 1;
        trma_node_help_begin(help);
        scene_set(actor->scene, PLACE, (uintptr_t)word);
        scene_await(actor->scene, STEP, 1);
        CHECK(!trma_node_help_serve(help));
        trma_node_help_end(help);
        scene_set(actor->scene, STEP, 2);
        scene_await(actor->scene, FINISHED, 1);
        CHECK(word[0] == 0);
        help->windows = 0;
        return;
    }
    char one[8] = {1};
    scene_await(actor->scene, PLACE, 1);
    CHECK(!carry_once(actor, true, one, scene_get(actor->scene, PLACE), sizeof one));
    CHECK(help->skips > 0); /* the next ones do not try */
    scene_set(actor->scene, STEP, 1);
    scene_await(actor->scene, STEP, 2);
    help->skips = 0; /* it is the target that does not attend */
    CHECK(!carry_once(actor, true, one, scene_get(actor->scene, PLACE), sizeof one));
    scene_add(actor->scene, FINISHED, 1);
}

static void test_in_vain(void **state) {
    (void)state;
    play_run(2, play_in_vain);
}

/* What an origin asked for before it died belongs to a wait that is over, of a window that may be gone. */
static void test_stale(void **state) {
    (void)state;
    static struct trma_help_words words;
    char memory[8] = {0};
    struct trma_help help = {.words = &words, .n_slots = TRMA_HELP_SLOTS, .windows = 1};

    for (unsigned i = 0; i < TRMA_HELP_SLOTS; i++) {
        words.slots[i].size = sizeof memory;
        words.slots[i].address = (uintptr_t)memory;
        words.slots[i].bytes[0] = 1;
        atomic_store(&words.slots[i].state, i % 2 ? TRMA_HELP_PUT : TRMA_HELP_GET);
    }
    trma_node_help_begin(&help);
    assert_true(help.is_attending);
    assert_false(trma_node_help_serve(&help));
    assert_int_equal(memory[0], 0);
    for (unsigned i = 0; i < TRMA_HELP_SLOTS; i++) {
        assert_int_equal(atomic_load(&words.slots[i].state), TRMA_HELP_REFUSED);
    }
    trma_node_help_end(&help);
    assert_int_equal(atomic_load(&words.is_attending), 0);
    help.windows = 0;
    trma_node_help_begin(&help);
    assert_false(help.is_attending);
}

/* More origins than slots: each has words of its own, and finds in them what it put. */
static void play_many(struct actor *actor) {
    enum { SLOTS = 2, WORDS = 16 };
    const unsigned often = play_often(4000);

    actor->team->help.n_slots = SLOTS;
    if (actor->me == TARGET) {
        uint64_t *memory = (uint64_t *)map_pages(1, PROT_READ | PROT_WRITE);
        attend(actor, memory, actor->size - 1);
        for (uint32_t i = 1; i < actor->size; i++) {
            const uint64_t last = scene_get(actor->scene, FINISHED + i);
            CHECK(last >> 32 == i && memory[(size_t)i * WORDS + last % WORDS] == last);
        }
        munmap(memory, PAGE);
        return;
    }
    scene_await(actor->scene, PLACE, 1);
    uint64_t last = 0;
    for (unsigned i = 0; i < often || !last; i++) {
        uint64_t word = (uint64_t)actor->me << 32 | i;
        uint64_t back = 0;
        const uintptr_t place =
            scene_get(actor->scene, PLACE) + ((uintptr_t)actor->me * WORDS + i % WORDS) * sizeof word;
        if (carry(actor, true, &word, place, sizeof word)) {
            last = word;
            CHECK(!carry(actor, false, &back, place, sizeof back) || back == word);
        }
    }
    scene_set(actor->scene, FINISHED + actor->me, last);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_many(void **state) {
    (void)state;
    play_run(6, play_many);
}

/* The target dies with a slot in its hands. */
static void play_dies(struct actor *actor) {
    struct trma_help *help = &actor->team->help;
    char word[8] = {0};

    if (actor->me == TARGET) {
        struct trma_help_slot *slot = &help->words->slots[ORIGIN];
        unsigned asked = TRMA_HELP_PUT;
        help->windows = 1;
        trma_node_help_begin(help);
        scene_set(actor->scene, PLACE, (uintptr_t)word);
        while (!atomic_compare_exchange_strong(&slot->state, &asked, TRMA_HELP_WORKING)) {
            asked = TRMA_HELP_PUT;
        }
        play_die(actor);
    }
    scene_await(actor->scene, PLACE, 1);
    /* Until the target has taken one up, which then never comes back. */
    while (atomic_load(&actor->team->blocks[TARGET]->help.slots[ORIGIN].state) != TRMA_HELP_WORKING) {
        CHECK(!carry_once(actor, true, word, scene_get(actor->scene, PLACE), sizeof word));
    }
    play_check_death(actor, TRMA_ERR_PEER_DEAD);
    actor->team->help.skips = 0; /* it is the slot that is not free */
    CHECK(!carry_once(actor, true, word, scene_get(actor->scene, PLACE), sizeof word));
}

static void test_dies(void **state) {
    (void)state;
    play_run_with_victim(2, TARGET, play_dies);
}

/* A put, a get and two updates of every word; gives how many of the puts the owner did itself, which adds
 * little to its account. */
static unsigned work_on_window(struct trma_window *window, int64_t round, int64_t words) {
    const uint64_t by_kernel_ns = 1000;
    struct trma_adopt_words *account = &window->targets[TARGET].words->adopt;
    unsigned helped = 0;

    CHECK(trma_win_lock(window, TRMA_LOCK_SHARED, TARGET) == TRMA_OK);
    for (int64_t i = 0; i < words; i++) {
        int64_t word = round + i;
        int64_t back = -1;
        uint64_t before = atomic_load(&account->earned_ns);
        if (!trma_win_operation_carry(window, TARGET, i, &word, sizeof word, true)) {
            CHECK(window_put(window, TARGET, i, &word, 1) == TRMA_OK);
        }
        uint64_t saved = atomic_load(&account->earned_ns) - before;
        helped += saved > 0 && saved < by_kernel_ns;
        if (!trma_win_operation_carry(window, TARGET, i, &back, sizeof back, false)) {
            CHECK(window_get(window, TARGET, i, &back, 1) == TRMA_OK);
        }
        CHECK(back == word);
        CHECK(window_fetch_add(window, TARGET, i, 1, &back) == TRMA_OK && back == word);
        CHECK(window_add(window, TARGET, i, 1) == TRMA_OK);
    }
    CHECK(trma_win_unlock(window, TARGET) == TRMA_OK);
    return helped;
}

/* The owner waits meanwhile, for some milliseconds before it falls asleep: until it has helped. */
static void play_window(struct actor *actor) {
    enum { WORDS = 100, LEAST_ROUNDS = 20 };
    const struct trma_window_options options = {.adopt = TRMA_ADOPT_EARNED};
    struct stage_window window = window_open(actor, PLAY_PRIVATE, WORDS, options);
    const bool expects_help = !actor->team->waiter.crowded;
    unsigned helped = 0;
    int64_t round = 0;

    CHECK(actor->team->help.windows == 1);
    while (!scene_get(actor->scene, FINISHED)) {
        round++;
        if (actor->me == ORIGIN) {
            helped += work_on_window(window.core, round, WORDS);
            scene_set(actor->scene, FINISHED, round >= LEAST_ROUNDS && (helped || !expects_help));
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        for (int64_t i = 0; i < WORDS && actor->me == TARGET; i++) {
            CHECK(window.memory[i] == round + i + 2);
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    }
    CHECK(actor->me != ORIGIN || atomic_load(&window.core->targets[TARGET].counts.helped) >= helped);
    window_close(actor, &window);
    CHECK(actor->team->help.windows == 0);
}

static void test_window(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without the kernel */
    }
    play_run(2, play_window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),  cmocka_unit_test(test_bad_memory), cmocka_unit_test(test_in_vain),
        cmocka_unit_test(test_stale),  cmocka_unit_test(test_many),       cmocka_unit_test(test_dies),
        cmocka_unit_test(test_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
