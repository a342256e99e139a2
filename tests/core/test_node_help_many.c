/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_node_help.h"

#include <pthread.h>

#include "acc/acc_element.h"
#include "node/node_gate.h"
#include "node/node_peer.h"

/* A waiting target that several ask, or threads, or for updates; and one that dies meanwhile. */

/* More origins than slots, and one set of trays for all: each has words of its own, and finds in them what it
 * put. */
static void play_many(struct actor *actor) {
    enum { SLOTS = 2, WORDS = 512 };
    const unsigned often = play_often(4000);
    const uint64_t late =
        trma_node_clock_ns() + UINT64_C(5000000000); /* on a machine that others keep busy */

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
    for (unsigned i = 0; (i < often && trma_node_clock_ns() < late) || !last; i++) {
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
            sched_yield();
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
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_dies),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
