/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>

#include "mem/mem_heap.h"
#include "mem/mem_map.h"
#include "node/node_stream.h"

struct record {
    uint32_t member;
    uint32_t round;
    char text[TRMA_TEAM_SLOT_BYTES - 8];
};

static void fill_record(struct record *record, uint32_t member, uint32_t round) {
    record->member = member;
    record->round = round;
    memset(record->text, (int)(member * 31 + round), sizeof record->text);
}

/* Exchanges, with a barrier in between now and then: the slots must hold in any mixture of the two. */
static void play_exchange(struct actor *actor) {
    unsigned rounds = play_often(400);
    struct record all[PLAY_MEMBERS];

    CHECK(actor->team->size == actor->size && actor->team->me == actor->me);
    CHECK(actor->team->peers[actor->me]->is_self);
    for (unsigned round = 0; round < rounds; round++) {
        struct record mine;
        fill_record(&mine, actor->me, round);
        size_t size = round % 5 == 4 ? sizeof(uint32_t) : sizeof mine;
        CHECK(trma_node_team_exchange(actor->team, &mine, size, all) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            struct record expected;
            fill_record(&expected, i, round);
            CHECK(memcmp((char *)all + i * size, &expected, size) == 0);
        }
        for (unsigned extra = round * 7 % 4; extra > 0; extra--) {
            CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        }
    }
    CHECK(trma_node_team_exchange(actor->team, all, TRMA_TEAM_SLOT_BYTES + 1, all) == TRMA_ERR_ARGUMENT);
    CHECK(trma_node_team_is_alive(actor->team));
}

static void test_exchange(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= PLAY_MEMBERS; size++) {
        play_run(size, play_exchange);
    }
}

enum { ENTERED }; /* a word of the scene */

static void *exchange_meanwhile(void *argument) {
    play_exchange(argument);
    return NULL;
}

/* Nobody leaves a meeting before all have come, whatever barriers of the team's another thread is in. */
static void play_meetings(struct actor *actor) {
    const unsigned rounds = play_often(2000);
    pthread_t other;

    CHECK(pthread_create(&other, NULL, exchange_meanwhile, actor) == 0);
    for (unsigned round = 1; round <= rounds; round++) {
        scene_add(actor->scene, ENTERED, 1);
        CHECK(trma_node_team_meet(actor->team) == TRMA_OK);
        CHECK(scene_get(actor->scene, ENTERED) >= (uint64_t)round * actor->size);
        CHECK(trma_node_team_meet(actor->team) == TRMA_OK);
        CHECK(scene_get(actor->scene, ENTERED) < (uint64_t)(round + 1) * actor->size);
    }
    CHECK(pthread_join(other, NULL) == 0);
}

/* Members see what the others stream, while they have a team. (Threads are one process.) */
static void play_streams(struct actor *actor) {
    enum { MIB = 1 << 20, NOW_US = 1000, CACHE = 1 };
    const struct trma_team_options options = {.spin_us = 20};
    const size_t mine = (size_t)MIB * (actor->me + 1);
    const size_t all = (size_t)MIB * actor->size * (actor->size + 1) / 2;
    const size_t others = PLAY_IN_THREADS ? 0 : all - mine;
    struct trma_team_block *block;
    const char *refusal;

    (void)trma_node_stream_begin_at(mine, NOW_US, CACHE);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    CHECK(trma_node_stream_begin_at(mine, NOW_US, CACHE) == others);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    trma_node_team_destroy(actor->team);
    CHECK(trma_node_stream_begin_at(mine, NOW_US, CACHE) == 0);

    trma_node_team_card_fill(&actor->scene->cards[actor->me], &block);
    scene_gather(actor, SCENE_GATE_FIRST);
    CHECK(trma_node_team_create(actor->scene->cards, actor->size, actor->me, block, &options, &actor->team,
                                &refusal) == TRMA_OK);
    scene_gather(actor, SCENE_GATE_SECOND);
    CHECK(trma_node_stream_begin_at(mine, NOW_US, CACHE) == others);
}

static void test_streams(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= PLAY_MEMBERS; size++) {
        play_run(size, play_streams);
    }
}

static void test_meetings(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= PLAY_MEMBERS; size += size < 3 ? 1 : 5) {
        play_run(size, play_meetings);
    }
}

/* Cards of members that run on these cores: no processes are needed to tell whether it is crowded. */
static void test_crowded(void **state) {
    (void)state;
    enum { MEMBERS = 3, LOTS = 1000 };
    const uint32_t online = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    struct trma_team_card cards[MEMBERS];
    struct trma_team_block *blocks[MEMBERS];
    struct trma_team_options options = {.spin_us = 55, .progress = NULL};
    const struct {
        uint64_t cpus[MEMBERS];
        uint32_t ranks_on_node;
        uint32_t without_membarrier; /* member, from 1; 0: none */
        uint32_t per_core;           /* members, or ranks of the program; 0: not crowded */
    } cases[] = {
        {{1, 2, 4}, 0, 0, 0},
        {{1, 1, 1}, 0, 0, 3},
        {{1, 2, 2}, 0, 0, 2},
        {{0, 0, 0}, 0, 0, MEMBERS},
        {{15, 15, 15}, 0, 2, 0},
        {{15, 15, 15}, LOTS * online, 0, LOTS},
        {{15, 15, 15}, LOTS * online + 1, 0, LOTS + 1},
        {{1, 2, 2}, LOTS * online, 0, LOTS},
        {{1, 1, 1}, 1, 0, 3},
        {{1, 2, 4}, 1, 3, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *refusal = NULL;
        struct trma_team *team = NULL;
        options.is_threaded = c % 2;
        for (int i = 0; i < MEMBERS; i++) {
            trma_node_team_card_fill(&cards[i], &blocks[i]);
            assert_true(cards[i].usable);
            memset(cards[i].cpus, 0, sizeof cards[i].cpus);
            cards[i].cpus[i] = 0; /* words are joined by place: cores in another word count as well */
            cards[i].cpus[TRMA_TEAM_CPU_WORDS - 1] = cases[c].cpus[i];
            cards[i].ranks_on_node = cases[c].ranks_on_node;
            cards[i].has_membarrier = (uint32_t)i + 1 != cases[c].without_membarrier;
        }
        assert_int_equal(trma_node_team_create(cards, MEMBERS, 1, blocks[1], &options, &team, &refusal),
                         TRMA_OK);
        assert_int_equal(team->waiter.crowded, cases[c].per_core > 0);
        assert_int_equal(team->waiter.yields, cases[c].per_core == 2
                                                  ? TRMA_WAIT_YIELDS_OF_TWO
                                                  : cases[c].per_core * TRMA_WAIT_YIELDS_PER_MEMBER);
        assert_int_equal(team->waiter.needs_fence, cases[c].without_membarrier != 0);
        assert_int_equal(team->waiter.rings_fence, cases[c].without_membarrier || cases[c].per_core);
        assert_true(team->waiter.turns == (cases[c].per_core && !options.is_threaded ? &team->turns : NULL));
        assert_true(team->meeting_waiter.turns == team->waiter.turns);
        assert_int_equal(team->waiter.spin_us, 55);
        assert_true(team->waiter.bell == &blocks[1]->bell);
        assert_true(team->all_have_cma);
        assert_true(team->meeting_waiter.keeps_progress && team->meeting_waiter.may_have_left &&
                    !team->waiter.keeps_progress && !team->waiter.may_have_left);
        assert_int_equal(team->meeting_waiter.crowded, cases[c].per_core > 0);
        assert_int_equal(team->meeting_waiter.progress_us,
                         cases[c].per_core * TRMA_WAIT_PROGRESS_US_PER_MEMBER);
        trma_node_team_destroy(team);
        trma_node_team_block_give(blocks[0]);
        trma_node_team_block_give(blocks[2]);
    }
}

/* Every card but one is this process's own; that one is spoilt. */
static void expect_refusal(const struct trma_team_card *other, enum trma_status expected, const char *words) {
    const struct trma_team_options options = {.spin_us = 0};
    struct trma_team_card cards[2];
    struct trma_team_block *block;
    struct trma_team_block *again;
    struct trma_team *team = (struct trma_team *)&options;
    const char *refusal = NULL;

    trma_node_team_card_fill(&cards[0], &block);
    cards[1] = *other;
    assert_int_equal(trma_node_team_create(cards, 2, 0, block, &options, &team, &refusal), expected);
    assert_null(team);
    assert_non_null(refusal);
    if (words) {
        assert_string_equal(refusal, words);
    }
    /* The block was given back: it is the next one's. */
    trma_node_team_card_fill(&cards[0], &again);
    assert_ptr_equal(again, block);
    trma_node_team_block_give(again);
}

static void test_refusals(void **state) {
    (void)state;
    struct trma_team_card good;
    struct trma_team_card card;
    struct trma_team_block *block;

    trma_node_team_card_fill(&good, &block);
    assert_true(good.usable);
    card = good;
    card.identity.layout_version++;
    expect_refusal(&card, TRMA_ERR_REFUSED, "members run different versions of TrueRMA");
    card = good;
    card.identity.host++;
    expect_refusal(&card, TRMA_ERR_REFUSED, "the communicator spans several nodes");
    card = good;
    card.usable = 0;
    expect_refusal(&card, TRMA_ERR_REFUSED, "a member cannot make shared memory");
    /* A region that does not exist (any more). */
    card = good;
    card.block.ticket.serial += 1000000;
    expect_refusal(&card, TRMA_ERR_REFUSED, NULL);
    card = good;
    card.block.ticket.serial = 0;
    expect_refusal(&card, TRMA_ERR_ARGUMENT, NULL);
    trma_node_team_block_give(block);
}

/* In a process that can make no shared memory the card says so, and nothing is taken. */
static void play_poor(struct stage *stage) {
    struct trma_team_card card;
    struct trma_team_block *block = (struct trma_team_block *)stage;
    struct trma_team *team;
    const char *refusal = NULL;
    const struct trma_team_options options = {.spin_us = 0};

    refuse_call(SYS_ftruncate, EPERM);
    trma_node_team_card_fill(&card, &block);
    CHECK(!card.usable);
    CHECK(block == NULL);
    CHECK(trma_node_team_create(&card, 1, 0, block, &options, &team, &refusal) == TRMA_ERR_REFUSED);
    CHECK(team == NULL && strcmp(refusal, "a member cannot make shared memory") == 0);
}

static void test_member_without_memory(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    assert_int_equal(child_join(child_start(play_poor, stage)), 0);
    stage_close(stage);
}

/* A child of a process that has made teams makes its own: what it inherited is its parent's. */
static void play_child(struct stage *stage) {
    const struct trma_team_options options = {.spin_us = 0};
    struct trma_team_card card;
    struct trma_team_block *block;
    struct trma_team *team = NULL;
    const char *refusal = NULL;

    (void)stage;
    trma_node_team_card_fill(&card, &block);
    CHECK(card.usable && card.block.ticket.serial != 0);
    CHECK(trma_node_team_create(&card, 1, 0, block, &options, &team, &refusal) == TRMA_OK);
    CHECK(trma_node_team_barrier(team) == TRMA_OK);
    trma_node_team_destroy(team);
}

static void test_child_of_a_member(void **state) {
    (void)state;
    struct stage *stage = stage_open();
    play_child(stage); /* leaves a spare block behind */
    assert_int_equal(child_join(child_start(play_child, stage)), 0);
    play_child(stage);
    stage_close(stage);
}

/* Teams come and go without growth: the cards of the fixture's team name the processes, blocks are new each
 * time. */
static void play_many(struct actor *actor) {
    const struct trma_team_options options = {.spin_us = 20};
    unsigned times = play_often(200);
    size_t bytes_before = 0;
    size_t descriptors_before = 0;
    size_t mappings_before = 0;
    size_t bytes;
    size_t descriptors;

    for (unsigned i = 0; i < times; i++) {
        struct trma_team_card mine;
        struct trma_team_card *cards = calloc(actor->size, sizeof *cards);
        struct trma_team_block *block;
        struct trma_team *team = NULL;
        const char *refusal = NULL;
        struct trma_share share;
        struct trma_share shares[PLAY_MEMBERS];
        uint32_t word = actor->me * 1000 + i;
        uint32_t all[PLAY_MEMBERS];

        CHECK(cards != NULL);
        trma_node_team_card_fill(&mine, &block);
        CHECK(mine.usable);
        share = mine.block;
        CHECK(trma_node_team_exchange(actor->team, &share, sizeof share, shares) == TRMA_OK);
        for (uint32_t member = 0; member < actor->size; member++) {
            cards[member] = actor->scene->cards[member];
            cards[member].block = shares[member];
        }
        CHECK(trma_node_team_create(cards, actor->size, actor->me, block, &options, &team, &refusal) ==
              TRMA_OK);
        CHECK(trma_node_team_exchange(team, &word, sizeof word, all) == TRMA_OK);
        for (uint32_t member = 0; member < actor->size; member++) {
            CHECK(all[member] == member * 1000 + i);
        }
        CHECK(trma_node_team_barrier(team) == TRMA_OK);
        trma_node_team_destroy(team);
        free(cards);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        if (i == 4) {
            trma_mem_heap_usage(&bytes_before, &descriptors_before);
            mappings_before = trma_mem_map_count();
        }
    }
    trma_mem_heap_usage(&bytes, &descriptors);
    CHECK(bytes == bytes_before && descriptors == descriptors_before);
    CHECK(trma_mem_map_count() == mappings_before);
}

static void test_many_teams(void **state) {
    (void)state;
    play_run(3, play_many);
}

/* Asked about a member that has been killed, the team says so (a zombie has ended). */
static void play_death(struct actor *actor) {
    if (actor->me == 0) {
        scene_await(actor->scene, 0, actor->size - 1);
        play_die(actor);
    }
    CHECK(trma_node_team_is_alive(actor->team));
    scene_add(actor->scene, 0, 1);
    while (trma_node_team_is_alive(actor->team)) {
        sched_yield();
    }
    play_check_death(actor, trma_node_team_barrier(actor->team));
    play_check_death(actor, trma_node_team_meet(actor->team));
}

static void test_death(void **state) {
    (void)state;
    play_run_with_victim(3, 0, play_death);
}

static void test_no_block(void **state) {
    (void)state;
    trma_node_team_block_give(NULL);
    trma_node_team_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_meetings),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_member_without_memory),
        cmocka_unit_test(test_child_of_a_member),
        cmocka_unit_test(test_many_teams),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
