/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "acc/acc_element.h"
#include "move/move_copy.h"
#include "node/node_gate.h"
#include "node/node_help.h"
#include "node/node_peer.h"

/* Small transfers that a waiting target does itself: that they are right, and that nobody depends on it. */

enum { TARGET, ORIGIN };

/* Words of the scene; from FINISHED + 1 on one per member. */
enum { PLACE, STEP, FINISHED };

enum { PAGE = 4096, MOST = 600000 /* more than is asked for at once */ };

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

static char *map_pages(size_t pages, int protection) {
    char *memory = mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

/* The target attends, and does nothing else, until so many origins have finished. */
static void attend(struct actor *actor, const void *memory, uint64_t origins) {
    struct trma_help *help = &actor->team->help;

    help->windows = 1;
    CHECK(trma_node_help_begin(help));
    scene_set(actor->scene, PLACE, (uintptr_t)memory);
    while (scene_get(actor->scene, FINISHED) < origins) {
        if (!trma_node_help_serve(help)) {
            sched_yield(); /* there may be more members than cores */
        }
    }
    trma_node_help_end(help);
    help->windows = 0;
}

/* The target as this origin sees it, once it attends; its memory is at *place. */
static struct trma_helper *find_helper(struct actor *actor, uintptr_t *place) {
    struct trma_team *team = actor->team;
    struct trma_helper *helper =
        trma_node_helper_create(&team->help, &team->blocks[TARGET]->help, team->peers[TARGET]);

    CHECK(helper != NULL);
    scene_await(actor->scene, PLACE, 1);
    *place = scene_get(actor->scene, PLACE);
    return helper;
}

/* What a vain try would leave out is tried. */
static void forget_vain_tries(struct trma_helper *helper) {
    helper->own->asking.skips = 0;
    helper->own->awaiting.skips = 0;
}

/*
 * The target serves all the time, but is heard only while both have a processor: on a busy machine that may
 * take many tries. A few are made, and the caller goes on with the next transfer; or as many as it takes.
 */
static bool carry(struct trma_helper *helper, bool is_put, void *local, uintptr_t address, size_t size) {
    enum { A_FEW = 4 };

    for (int i = 0; i < A_FEW; i++) {
        if (trma_node_help_carry(helper, true, is_put, local, address, size) == size) {
            return true;
        }
        forget_vain_tries(helper);
        sched_yield();
    }
    return false;
}

static void carry_at_last(struct trma_helper *helper, bool is_put, void *local, uintptr_t address,
                          size_t size) {
    while (!carry(helper, is_put, local, address, size)) {
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
            trma_node_help_serve(help);
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
    CHECK(help->awaiting.skips > 0 && help->asking.skips == 0); /* it is not there */
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

/* More origins than slots, and one set of trays for all: each has words of its own, and finds in them what it
 * put. */
static void play_many(struct actor *actor) {
    enum { SLOTS = 2, WORDS = 512 };
    const unsigned often = play_often(4000);

    actor->team->help.n_slots = SLOTS;
    if (actor->me == TARGET) {
        uint64_t *memory = (uint64_t *)map_pages(actor->size, PROT_READ | PROT_WRITE);
        attend(actor, memory, actor->size - 1);
        for (uint32_t i = 1; i < actor->size; i++) {
            const uint64_t last = scene_get(actor->scene, FINISHED + i);
            CHECK(last >> 32 == i && memory[(size_t)i * WORDS] == last);
        }
        munmap(memory, (size_t)actor->size * PAGE);
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    uint64_t last = 0;
    place += (uintptr_t)actor->me * WORDS * sizeof last;
    for (unsigned i = 0; i < often || !last; i++) {
        uint64_t there[WORDS];
        uint64_t back[WORDS];
        const size_t n = i % 4 ? 1 : WORDS;
        for (size_t k = 0; k < n; k++) {
            there[k] = (uint64_t)actor->me << 32 | (i + k);
        }
        if (carry(helper, true, there, place, n * sizeof there[0])) {
            last = there[0];
            CHECK(!carry(helper, false, back, place, n * sizeof back[0]) ||
                  memcmp(there, back, n * sizeof back[0]) == 0);
        }
    }
    free(helper);
    scene_set(actor->scene, FINISHED + actor->me, last);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_many(void **state) {
    (void)state;
    play_run(6, play_many);
}

/* The target dies with a piece in its hands: one in a slot, or one of several in trays. */
static void die_with(struct actor *actor, size_t size) {
    struct trma_help *help = &actor->team->help;
    struct trma_help_piece *piece = size <= TRMA_HELP_SLOT_BYTES
                                        ? &actor->team->blocks[TARGET]->help.slots[ORIGIN].piece
                                        : &actor->team->peers[TARGET]->gate->trays.all[1].piece;
    static char words[MOST];

    if (actor->me == TARGET) {
        unsigned asked = TRMA_HELP_PUT;
        help->windows = 1;
        CHECK(trma_node_help_begin(help));
        scene_set(actor->scene, PLACE, (uintptr_t)words);
        while (!atomic_compare_exchange_strong(&piece->state, &asked, TRMA_HELP_WORKING)) {
            asked = TRMA_HELP_PUT;
        }
        play_die(actor);
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    /* Until the target has taken one up, which then never comes back. */
    while (atomic_load(&piece->state) != TRMA_HELP_WORKING) {
        forget_vain_tries(helper);
        CHECK(trma_node_help_carry(helper, true, true, words, place, size) == 0);
    }
    play_check_death(actor, TRMA_ERR_PEER_DEAD);
    forget_vain_tries(helper); /* it is the slot that is not free */
    CHECK(trma_node_help_carry(helper, true, true, words, place, size) == 0);
    free(helper);
}

static void play_dies_with_slot(struct actor *actor) {
    die_with(actor, 8);
}

static void play_dies_with_trays(struct actor *actor) {
    die_with(actor, MOST);
}

static void test_dies(void **state) {
    (void)state;
    play_run_with_victim(2, TARGET, play_dies_with_slot);
    play_run_with_victim(2, TARGET, play_dies_with_trays);
}

/* Asks until every piece was done; the pieces that were not are asked for again, alone. */
static void update_at_last(struct trma_helper *helper, const struct trma_help_job *job) {
    const size_t pieces = (job->size + job->piece - 1) / job->piece;
    uint32_t done = 0;

    for (uint32_t all = UINT32_MAX >> (TRMA_HELP_MOST_PIECES - pieces); done != all;) {
        for (size_t i = 0; i < pieces; i++) {
            struct trma_help_job one = *job;
            const size_t rest = job->size - i * job->piece;
            one.size = rest < job->piece ? rest : job->piece;
            one.address += i * job->piece;
            one.from = job->from ? job->from + i * job->piece : NULL;
            one.to = job->to ? job->to + i * job->piece : NULL;
            if (done == 0) {
                done = trma_node_help_ask(helper, job); /* all at once, at first */
            } else if (!(done >> i & 1)) {
                done |= trma_node_help_ask(helper, &one) << i;
            }
            forget_vain_tries(helper);
        }
    }
}

/* Updates with and without what was there before; of one word, and of arrays in several pieces. */
static void play_updates(struct actor *actor) {
    static const size_t counts[] = {1, 30, 200, 1000, 5000};
    enum { MOST_WORDS = 5000, KINDS = sizeof counts / sizeof counts[0] };
    static int64_t words[MOST_WORDS];

    if (actor->me == TARGET) {
        memset(words, 0, sizeof words);
        attend(actor, words, 1);
        for (size_t i = 0; i < MOST_WORDS; i++) {
            int64_t sum = 0;
            for (size_t k = 0; k < KINDS; k++) {
                sum += i < counts[k] ? 2 * (int64_t)(i + k) : 0;
            }
            CHECK(words[i] == sum);
        }
        return;
    }
    uintptr_t place;
    struct trma_helper *helper = find_helper(actor, &place);
    static int64_t add[MOST_WORDS];
    static int64_t before[MOST_WORDS];
    static int64_t after[MOST_WORDS];
    for (size_t k = 0; k < KINDS; k++) {
        const size_t size = counts[k] * sizeof add[0];
        struct trma_help_job job = {.kind = TRMA_HELP_UPDATE,
                                    .is_proven = true,
                                    .operation = TRMA_OPERATION_SUM,
                                    .element = TRMA_ELEMENT_INT64,
                                    .from = (const char *)add,
                                    .address = place,
                                    .size = size,
                                    .piece = trma_node_help_piece(size)};
        for (size_t i = 0; i < counts[k]; i++) {
            add[i] = (int64_t)(i + k);
        }
        update_at_last(helper, &job);
        job.kind = TRMA_HELP_FETCH;
        job.to = (char *)before;
        update_at_last(helper, &job);
        job.from = NULL;
        job.operation = TRMA_OPERATION_NO_OP;
        job.to = (char *)after;
        update_at_last(helper, &job);
        for (size_t i = 0; i < counts[k]; i++) {
            CHECK(after[i] - before[i] == add[i]);
        }
    }
    /* What is no operation, or does not fit, is refused. */
    struct trma_help_job odd = {.kind = TRMA_HELP_UPDATE,
                                .is_proven = true,
                                .operation = TRMA_OPERATION_BAND,
                                .element = TRMA_ELEMENT_FLOAT64,
                                .from = (const char *)add,
                                .address = place,
                                .size = 8,
                                .piece = 8};
    CHECK(trma_node_help_ask(helper, &odd) == 0);
    forget_vain_tries(helper);
    odd.operation = TRMA_OPERATION_SUM;
    odd.size = odd.piece = 12;
    CHECK(trma_node_help_ask(helper, &odd) == 0);
    free(helper);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_updates(void **state) {
    (void)state;
    play_run(2, play_updates);
}

/* Threads on both sides: two of the target wait again and again, of which one at a time serves; two of the
 * origin ask. */
enum { CREW = 2, ENOUGH = 200 };

struct hand {
    struct actor *actor;
    unsigned index;
    uint64_t seen; /* the target's */
};

static bool has_stepped(void *argument) {
    const struct hand *hand = argument;

    return scene_get(hand->actor->scene, STEP) > hand->seen ||
           scene_get(hand->actor->scene, FINISHED) >= CREW;
}

static void *wait_often(void *argument) {
    struct hand *hand = argument;
    struct scene *scene = hand->actor->scene;

    while (scene_get(scene, FINISHED) < CREW) {
        hand->seen = scene_get(scene, STEP);
        CHECK(trma_node_wait(&hand->actor->team->waiter, NULL, has_stepped, hand, NULL) == TRMA_OK);
    }
    return NULL;
}

static void *ask_often(void *argument) {
    const struct hand *hand = argument;
    struct scene *scene = hand->actor->scene;
    uintptr_t place;
    struct trma_helper *helper = find_helper(hand->actor, &place);
    const uint64_t before = trma_node_help_received();
    const uint64_t size = hand->index ? 8 : PAGE; /* by slots, by trays */

    place += (uintptr_t)hand->index * PAGE;
    for (uint64_t i = 1, helped = 0; helped < ENOUGH; i++) {
        uint64_t there[PAGE / 8];
        uint64_t back[PAGE / 8];
        for (size_t k = 0; k < size / 8; k++) {
            there[k] = helped + 1;
        }
        if (trma_node_help_carry(helper, true, true, there, place, size) == size) {
            helped++;
            CHECK(trma_node_help_carry(helper, true, false, back, place, size) < size ||
                  memcmp(there, back, size) == 0);
        }
        forget_vain_tries(helper);
        scene_add(scene, STEP, i % 4 == 0);
        if (hand->actor->team->waiter.crowded) {
            break; /* nobody spins, and so nobody serves */
        }
    }
    CHECK(trma_node_help_received() - before >= (hand->actor->team->waiter.crowded ? 0 : ENOUGH));
    free(helper);
    scene_add(scene, FINISHED, 1);
    return NULL;
}

static void play_threads(struct actor *actor) {
    struct hand hands[CREW];
    pthread_t threads[CREW];
    uint64_t *memory = NULL;

    if (actor->me == TARGET) {
        memory = (uint64_t *)map_pages(CREW, PROT_READ | PROT_WRITE);
        actor->team->help.windows = 1;
        scene_set(actor->scene, PLACE, (uintptr_t)memory);
    }
    for (unsigned i = 0; i < CREW; i++) {
        hands[i] = (struct hand){actor, i, 0};
        CHECK(pthread_create(&threads[i], NULL, memory ? wait_often : ask_often, &hands[i]) == 0);
    }
    for (unsigned i = 0; i < CREW; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    if (memory) {
        const uint64_t least = actor->team->waiter.crowded ? 0 : ENOUGH;
        CHECK(memory[0] >= least && memory[PAGE / 8 - 1] == memory[0] && memory[PAGE / 8] >= least);
        CHECK(!actor->team->help.has_attendant && !actor->team->help.words->is_attending);
        actor->team->help.windows = 0;
        munmap(memory, (size_t)CREW * PAGE);
    }
}

static void test_threads(void **state) {
    (void)state;
    play_run(2, play_threads);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_bad_memory), cmocka_unit_test(test_known),
        cmocka_unit_test(test_in_vain), cmocka_unit_test(test_attendant),  cmocka_unit_test(test_many),
        cmocka_unit_test(test_dies),    cmocka_unit_test(test_updates),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_part),    cmocka_unit_test(test_read_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
