/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_node_help.h"

#include <stdlib.h>

#include "move/move_copy.h"
#include "move/move_joint.h"
#include "node/node_gate.h"
#include "node/node_peer.h"

/* Copies of which a waiting target does a part: that they are right, whoever does how much of them. */

enum { LARGEST = TRMA_JOINT_MOST + 5, GUARD = 64 };

static const size_t sizes[] = {TRMA_JOINT_LEAST, TRMA_JOINT_LEAST + 1, 200001,         256 << 10,
                               (1 << 20) + 63,   TRMA_JOINT_MOST - 1,  TRMA_JOINT_MOST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static char sample(size_t seed, size_t at) {
    return (char)(seed * 31 + at * 7 + at / 4096 + 1);
}

static void fill(char *bytes, size_t size, size_t seed) {
    for (size_t i = 0; i < size; i++) {
        bytes[i] = sample(seed, i);
    }
}

static bool is_filled(const char *bytes, size_t size, size_t seed) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != sample(seed, i)) {
            return false;
        }
    }
    return true;
}

/* The target's memory is shared by all; it attends until the origin has finished. */
static char *shared_memory(void) {
    static char *memory;

    if (!memory) {
        memory = mmap(NULL, LARGEST + 2 * GUARD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
    }
    return memory;
}

/* As attend() of test_node_help.h, as a waiter for whom no window is private. */
static void attend_late(struct actor *actor) {
    struct trma_help *help = &actor->team->help;

    CHECK(trma_node_help_begin_late(help));
    CHECK(!trma_node_help_begin_late(help)); /* one thread at a time */
    scene_set(actor->scene, PLACE, 1);
    while (scene_get(actor->scene, FINISHED) == 0) {
        if (!trma_node_help_serve(help)) {
            sched_yield(); /* there may be more members than cores */
        }
    }
    trma_node_help_end(help);
}

/* What an origin asks with. */
struct origin {
    struct trma_help *own;
    struct trma_help_words *words;
    struct trma_help_piece *piece;
    struct trma_joint_ask ask;
};

static struct origin origin_at(struct actor *actor) {
    struct trma_help *own = &actor->team->help;
    struct trma_help_words *words = &actor->team->blocks[TARGET]->help;

    own->is_crowded = false; /* the cores of this machine are not what is tested */
    return (struct origin){.own = own,
                           .words = words,
                           .piece = &words->slots[actor->me % own->n_slots].piece,
                           .ask = {.words = words, .peer = actor->team->peers[TARGET]}};
}

static void copy_bytes(bool is_put, char *mapped, char *local, const struct trma_joint_block *block) {
    char *to = (is_put ? mapped : local) + block->offset;

    memcpy(to, (is_put ? local : mapped) + block->offset, block->size);
}

/* True when the target has taken a block, however busy the machine is. */
static bool has_begun(const struct origin *origin, uint32_t mine) {
    const struct trma_help_slot *slot = &origin->words->slots[origin->ask.index];
    const unsigned state = atomic_load(&slot->piece.state);

    return state != TRMA_HELP_JOINT && (state != TRMA_HELP_WORKING || atomic_load(&slot->joint.taken) > mine);
}

/* One copy. `mine` of its blocks are the origin's first ones, then it waits until the target has taken one;
 * the rest is taken by turns. Gives how many the target has done; what is left to be done is done. */
static uint32_t copy_jointly(struct origin *origin, char *mapped, char *local, size_t size, bool is_put,
                             uint32_t mine) {
    struct trma_joint_block block;
    uint32_t blocks = 0;

    origin->own->joining.skips = 0;
    CHECK(
        trma_node_joint_begin(&origin->ask, origin->own, (uintptr_t)local, (uintptr_t)mapped, size, is_put));
    for (; blocks < mine && trma_node_joint_next(&origin->ask, &block); blocks++) {
        copy_bytes(is_put, mapped, local, &block);
    }
    while (blocks == mine && !has_begun(origin, mine)) {
        sched_yield();
    }
    while (trma_node_joint_next(&origin->ask, &block)) {
        copy_bytes(is_put, mapped, local, &block);
        sched_yield();
    }
    const uint32_t done = trma_node_joint_end(&origin->ask, origin->own, &block);
    if (block.size > 0) {
        copy_bytes(is_put, mapped, local, &block);
    }
    return done;
}

static void play_sizes(struct actor *actor) {
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        attend_late(actor);
        return;
    }
    struct origin origin = origin_at(actor);
    char *local = malloc(LARGEST + 2 * GUARD);
    uint64_t helped = 0;
    scene_await(actor->scene, PLACE, 1);
    for (size_t i = 0; i < SIZES; i++) {
        for (uint32_t mine = 0; mine < 3; mine++) {
            const size_t seed = i * 3 + mine;
            char *mapped = memory + GUARD + seed % 3;
            memset(memory, 0, LARGEST + 2 * GUARD);
            fill(local + seed % 5, sizes[i], seed);
            const uint32_t put = copy_jointly(&origin, mapped, local + seed % 5, sizes[i], true, mine);
            CHECK(is_filled(mapped, sizes[i], seed) && mapped[-1] == 0 && mapped[sizes[i]] == 0);
            memset(local, 0, LARGEST + 2 * GUARD);
            const uint32_t got = copy_jointly(&origin, mapped, local + GUARD, sizes[i], false, mine);
            CHECK(is_filled(local + GUARD, sizes[i], seed) && local[GUARD - 1] == 0 &&
                  local[GUARD + sizes[i]] == 0);
            helped += (put > 0) + (got > 0);
        }
    }
    CHECK(helped == 2 * 3 * SIZES); /* the target was waited for */
    free(local);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_sizes(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_sizes);
}

/* A target that cannot reach the origin's memory, from some block on. */
static atomic_int blocks_before_refusal;

static bool refuse(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    return atomic_fetch_sub(&blocks_before_refusal, 1) > 0 &&
           trma_move_at_once(peer, own, place, size, is_to_peer);
}

/* The target attends; each time that the origin sets the next step, it does something first. */
static void attend_by_steps(struct actor *actor, void (*begin_step)(uint64_t step)) {
    struct trma_help *help = &actor->team->help;

    CHECK(trma_node_help_begin_late(help));
    scene_set(actor->scene, PLACE, 1);
    for (uint64_t seen = 0; scene_get(actor->scene, FINISHED) == 0;) {
        const uint64_t step = scene_get(actor->scene, STEP);
        if (step != seen) {
            begin_step(step);
            seen = step;
            scene_set(actor->scene, PLACE, step + 1);
        }
        if (!trma_node_help_serve(help)) {
            sched_yield();
        }
    }
    trma_node_help_end(help);
}

/* As the origin of attend_by_steps. */
static void set_step(struct actor *actor, uint64_t step) {
    scene_set(actor->scene, STEP, step);
    scene_await(actor->scene, PLACE, step + 1);
}

static void allow_blocks(uint64_t step) {
    atomic_store(&blocks_before_refusal, (int)(step - 1));
}

static void play_refusal(struct actor *actor) {
    enum { SIZE = 1 << 20, MOST_DONE = 4 };
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        actor->team->help.copy = refuse;
        attend_by_steps(actor, allow_blocks);
        return;
    }
    struct origin origin = origin_at(actor);
    char *local = malloc(SIZE);
    for (uint32_t done = 0; done <= MOST_DONE; done++) {
        set_step(actor, done + 1);
        memset(memory, 0, SIZE);
        fill(local, SIZE, done);
        CHECK(copy_jointly(&origin, memory, local, SIZE, true, 0) <= done);
        CHECK(is_filled(memory, SIZE, done));
        CHECK((origin.own->joining.skips > 0) == (done == 0)); /* who never can is not asked every time */
    }
    free(local);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_refusal(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_refusal);
}

/* Memory of the origin's that nobody may read is refused by the kernel, and the target lives. */
static void play_bad_memory(struct actor *actor) {
    enum { SIZE = TRMA_JOINT_LEAST + 8 /* not whole blocks */ };
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        attend_late(actor);
        return;
    }
    struct origin origin = origin_at(actor);
    char *local = map_pages(SIZE / PAGE + 1, PROT_NONE);
    struct trma_joint_block block;
    scene_await(actor->scene, PLACE, 1);
    for (int is_put = 0; is_put < 2; is_put++) {
        origin.own->joining.skips = 0;
        CHECK(trma_node_joint_begin(&origin.ask, origin.own, (uintptr_t)local, (uintptr_t)memory, SIZE,
                                    is_put));
        while (atomic_load(&origin.piece->state) != TRMA_HELP_REFUSED) {
            sched_yield();
        }
        CHECK(trma_node_joint_end(&origin.ask, origin.own, &block) == 0);
        CHECK(block.offset == 0 && block.size == SIZE);
    }
    munmap(local, (size_t)(SIZE / PAGE + 1) * PAGE);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_bad_memory(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without the kernel */
    }
    (void)shared_memory();
    play_run(2, play_bad_memory);
}

/* Nobody takes it up: it is taken back, and not asked for every time; in a crowd not at all; nor where it is
 * not wanted, or while a thread of the same origin has the slot. Whoever attends is asked in any case. */
static void test_in_vain(void **state) {
    (void)state;
    static struct trma_help_words words;
    static char local[TRMA_JOINT_LEAST];
    struct trma_help own = {.me = 1, .n_slots = TRMA_HELP_SLOTS, .copy = refuse};
    struct trma_joint_ask ask = {.words = &words};
    struct trma_joint_ask second = {.words = &words};
    struct trma_joint_block block;
    size_t next = 0;

    assert_true(trma_node_joint_begin(&ask, &own, (uintptr_t)local, 0, sizeof local, true));
    assert_false(trma_node_joint_begin(&second, &own, (uintptr_t)local, 0, sizeof local, true));
    while (trma_node_joint_next(&ask, &block)) {
        assert_int_equal(block.offset, next);
        assert_in_range(block.size, 1, sizeof local - next);
        next += block.size;
    }
    assert_int_equal(next, sizeof local);
    assert_int_equal(trma_node_joint_end(&ask, &own, &block), 0);
    assert_int_equal(block.size, 0);
    assert_int_equal(words.slots[1].piece.state, TRMA_HELP_IDLE);
    assert_int_equal(words.claims[1].owner, 0);

    assert_false(trma_node_joint_begin(&ask, &own, (uintptr_t)local, 0, sizeof local, true));
    own.joining.skips = 1;
    words.is_attending = 1;
    assert_true(trma_node_joint_begin(&ask, &own, (uintptr_t)local, 0, sizeof local, true));
    assert_int_equal(trma_node_joint_end(&ask, &own, &block), 0);
    assert_int_equal(block.offset, 0);
    assert_int_equal(block.size, sizeof local); /* none was copied */
    own.is_crowded = true;
    assert_true(trma_node_joint_may_come(&own, &words));
    assert_true(trma_node_joint_begin(&ask, &own, (uintptr_t)local, 0, sizeof local, true));
    assert_int_equal(trma_node_joint_end(&ask, &own, &block), 0);
    words.is_attending = 0;
    own.joining.skips = 0;
    assert_false(trma_node_joint_may_come(&own, &words));
    assert_false(trma_node_joint_begin(&ask, &own, (uintptr_t)local, 0, sizeof local, true));
    own.is_crowded = false;
    assert_true(trma_node_joint_may_come(&own, &words));
    own.copy = NULL;
    assert_false(trma_node_joint_begin(&ask, &own, (uintptr_t)local, 0, sizeof local, true));
}

/* A target that has done a part attends from the begin of its next waits on. */
static void test_eager(void **state) {
    (void)state;
    static struct trma_help_words words;
    static struct trma_help_trays trays;
    struct trma_help help = {.words = &words, .trays = &trays, .n_slots = 1, .copy = refuse};

    assert_false(trma_node_help_begin(&help));
    words.slots[0].piece.is_proven = true;
    words.slots[0].piece.size = sizeof(struct trma_joint);
    words.slots[0].piece.state = TRMA_HELP_JOINT; /* of no block */
    assert_true(trma_node_help_begin_late(&help));
    assert_true(trma_node_help_serve(&help));
    assert_int_equal(words.slots[0].piece.state, TRMA_HELP_DONE);
    trma_node_help_end(&help);
    for (int i = 0; i < TRMA_JOINT_EAGER_WAITS; i++) {
        assert_true(trma_node_help_begin(&help));
        trma_node_help_end(&help);
    }
    assert_false(trma_node_help_begin(&help));
    help.copy = NULL; /* without it nobody attends late */
    assert_false(trma_node_help_begin_late(&help));
}

/* The target dies with a block in its hands: the origin does all that it may not have done. */
static bool die(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    if (atomic_fetch_sub(&blocks_before_refusal, 1) > 0) {
        return trma_move_at_once(peer, own, place, size, is_to_peer);
    }
    raise(SIGKILL);
    return false;
}

static void play_dies(struct actor *actor) {
    enum { SIZE = 1 << 20 };
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        struct trma_help *help = &actor->team->help;
        help->copy = die;
        atomic_store(&blocks_before_refusal, 2);
        CHECK(trma_node_help_begin_late(help));
        scene_set(actor->scene, PLACE, 1);
        for (;;) {
            (void)trma_node_help_serve(help);
        }
    }
    struct origin origin = origin_at(actor);
    char *local = malloc(SIZE);
    fill(local, SIZE, 1);
    scene_await(actor->scene, PLACE, 1);
    CHECK(copy_jointly(&origin, memory, local, SIZE, true, 1) == 0);
    CHECK(is_filled(memory, SIZE, 1));
    origin.own->joining.skips = 0; /* it is the slot that is not free */
    CHECK(!trma_node_joint_begin(&origin.ask, origin.own, (uintptr_t)local, (uintptr_t)memory, SIZE, true));
    free(local);
}

static void test_dies(void **state) {
    (void)state;
    (void)shared_memory();
    play_run_with_victim(2, TARGET, play_dies);
}

/* As refuse(), now and then. */
static bool refuse_some(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    enum { OFTEN = 5 };
    static atomic_uint calls;

    return atomic_fetch_add(&calls, 1) % OFTEN != 0 && trma_move_at_once(peer, own, place, size, is_to_peer);
}

/* Whole copies as windows make them, of more than is asked for at once, too; the target comes and goes. In
 * the end both ways have been tried. */
static void play_copies(struct actor *actor) {
    const unsigned often = play_often(80);
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        struct trma_help *help = &actor->team->help;
        help->copy = refuse_some;
        while (scene_get(actor->scene, FINISHED) == 0) {
            CHECK(trma_node_help_begin_late(help));
            for (int i = 0; i < 1000; i++) {
                if (!trma_node_help_serve(help)) {
                    sched_yield();
                }
            }
            trma_node_help_end(help);
        }
        return;
    }
    struct origin origin = origin_at(actor);
    char *local = malloc(LARGEST);
    char *back = malloc(LARGEST);
    uint64_t helped = 0;
    for (unsigned i = 0; i < often || !helped; i++) {
        struct trma_move_joint copy = {.own = origin.own,
                                       .words = origin.words,
                                       .peer = actor->team->peers[TARGET],
                                       .mapped = memory,
                                       .place = (uintptr_t)memory,
                                       .local = local,
                                       .size = i % 8 ? sizes[i % 2] : LARGEST,
                                       .is_put = true};
        fill(local, copy.size, i);
        helped += trma_move_joint(&copy);
        CHECK(is_filled(memory, copy.size, i));
        copy.is_put = false;
        copy.local = back;
        memset(back, 0, copy.size);
        helped += trma_move_joint(&copy);
        CHECK(is_filled(back, copy.size, i));
    }
    /* Sides that overlap: as often as it takes to try both ways. */
    enum { OVERLAP = 100, SIZE = 1 << 20, BOTH_WAYS = 8 };
    const struct trma_move_joint overlap = {.own = origin.own,
                                            .words = origin.words,
                                            .peer = actor->team->peers[TARGET],
                                            .mapped = memory + OVERLAP,
                                            .place = (uintptr_t)memory + OVERLAP,
                                            .local = memory,
                                            .size = SIZE,
                                            .is_put = true};
    for (unsigned i = 0; i < BOTH_WAYS; i++) {
        fill(memory, LARGEST, i);
        CHECK(trma_move_joint(&overlap) == 0 && is_filled(memory + OVERLAP, SIZE, i));
    }
    free(local);
    free(back);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_copies(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_copies);
}

static void close_or_open(uint64_t step) {
    if (step % 2) {
        CHECK(trma_node_gate_close(trma_node_gate_self()));
    } else {
        trma_node_gate_open(trma_node_gate_self());
    }
}

/* Pages of the origin's that are exchanged meanwhile, and of the target's: nobody waits for anybody, and what
 * was not done is the origin's. */
static void play_gates(struct actor *actor) {
    enum { SIZE = 1 << 20 };
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        attend_by_steps(actor, close_or_open);
        return;
    }
    struct origin origin = origin_at(actor);
    char *local = malloc(SIZE);
    scene_await(actor->scene, PLACE, 1);
    for (unsigned i = 0; i < 4; i++) { /* open, the target's closed, open, the origin's closed */
        if (i == 1 || i == 2) {
            set_step(actor, i);
        }
        if (i == 3) {
            close_or_open(1);
        }
        for (int is_put = 0; is_put < 2; is_put++) {
            fill(is_put ? local : memory, SIZE, i);
            memset(is_put ? memory : local, 0, SIZE);
            const uint32_t done = copy_jointly(&origin, memory, local, SIZE, is_put, 0);
            CHECK((done > 0) == (i % 2 == 0));
            CHECK(is_filled(is_put ? memory : local, SIZE, i));
        }
    }
    close_or_open(2);
    free(local);
    scene_add(actor->scene, FINISHED, 1);
}

static void test_gates(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* both have the same gate */
    }
    (void)shared_memory();
    play_run(2, play_gates);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_refusal), cmocka_unit_test(test_bad_memory),
        cmocka_unit_test(test_in_vain), cmocka_unit_test(test_eager),   cmocka_unit_test(test_dies),
        cmocka_unit_test(test_copies),  cmocka_unit_test(test_gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
