/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "node/node_gate.h"
#include "win/win_adopt.h"
#include "win/win_epoch.h"

/* Windows on private memory that earn their adoption: by how much traffic, and that all bytes are there. */

enum { MIB = 1 << 20, OWNER = 0, ORIGIN = 1, SIGN = 0 };

/* A window of the owner's, on fresh memory of which so many bytes are touched; the origin brings nothing. */
struct earning {
    struct trma_window *window;
    int64_t *memory;
    size_t size;
};

static struct earning earning_open(struct actor *actor, size_t size, size_t touched) {
    struct trma_window_options options = {.adopt = TRMA_ADOPT_EARNED};
    struct earning earning = {.size = actor->me == OWNER ? size : 0};
    struct trma_window_card cards[PLAY_MEMBERS];
    struct trma_window_card mine;
    struct trma_window_words *words;
    const char *refusal = NULL;

    if (earning.size) {
        earning.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(earning.memory != MAP_FAILED);
        for (size_t at = 0; at < touched; at += 8) {
            earning.memory[at / 8] = (int64_t)at + 1;
        }
    }
    trma_win_card_fill(actor->team, earning.memory, earning.size, 8, &options, &mine, &words);
    CHECK(mine.usable);
    CHECK(trma_node_team_exchange(actor->team, &mine, sizeof mine, cards) == TRMA_OK);
    CHECK(trma_win_window_create(actor->team, cards, words, &options, &earning.window, &refusal) == TRMA_OK);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    return earning;
}

static void earning_close(struct actor *actor, struct earning *earning) {
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    trma_win_window_destroy(earning->window);
    if (earning->memory) {
        munmap(earning->memory, earning->size);
    }
}

/* Calls of which one looks at the account, by unlocking or by flushing. */
static void call_until_look(struct trma_window *window, bool by_flush) {
    CHECK(window_lock(window, TRMA_LOCK_SHARED, OWNER) == TRMA_OK);
    for (unsigned i = 0; i < TRMA_WIN_CALLS_PER_ACCOUNT; i++) {
        if (by_flush) {
            CHECK(window_flush(window, OWNER) == TRMA_OK);
        } else {
            CHECK(window_unlock(window, OWNER) == TRMA_OK);
            CHECK(window_lock(window, TRMA_LOCK_SHARED, OWNER) == TRMA_OK);
        }
    }
    CHECK(!trma_win_is_adoptable(window) || !trma_win_adopt_is_due(window));
    CHECK(window_unlock(window, OWNER) == TRMA_OK);
}

/*
 * The origin puts word after word, at most so many; the owner, which does nothing else, looks after each.
 * Gives after how many puts the origin found the memory mapped, or `most`. The scene's words: the number of
 * the put.
 */
static unsigned puts_until_mapped(struct actor *actor, struct earning *earning, unsigned most) {
    struct trma_window *window = earning->window;
    unsigned count = 0;

    if (actor->me == OWNER) {
        for (uint64_t answered = 0; answered < most; sched_yield()) {
            uint64_t seen = scene_get(actor->scene, SIGN);
            if (seen == answered) {
                continue; /* the origin may be putting */
            }
            call_until_look(window, seen % 2);
            scene_set(actor->scene, SIGN + 1, seen);
            answered = seen;
        }
        return 0;
    }
    CHECK(trma_win_lock_all(window, true) == TRMA_OK);
    while (count < most && strcmp(trma_win_target_path_name(window, OWNER), "cma") == 0) {
        int64_t word = -(int64_t)count;
        CHECK(window_put(window, OWNER, count, &word, 1) == TRMA_OK);
        scene_set(actor->scene, SIGN, ++count);
        scene_await(actor->scene, SIGN + 1, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t got = 1;
        CHECK(window_get(window, OWNER, i, &got, 1) == TRMA_OK && got == -(int64_t)i);
    }
    CHECK(trma_win_unlock_all(window) == TRMA_OK);
    scene_set(actor->scene, SIGN, most);
    return count;
}

static void check_rest(const struct earning *earning, unsigned puts, size_t touched) {
    for (size_t i = puts; earning->memory && i < earning->size / 8; i++) {
        CHECK(earning->memory[i] == (i * 8 < touched ? (int64_t)i * 8 + 1 : 0));
    }
}

/* Whether peers have been kept out so many times while the owner exchanged pages, and are not now. */
static void check_gate(const struct actor *actor, unsigned before, unsigned times) {
    CHECK(actor->me == ORIGIN || atomic_load(&trma_node_gate_self()->closed) == before + 2 * times);
}

enum { MOST = 4000 };

/* 64 MiB that nobody has touched cost next to nothing, however large the window is. */
static void play_untouched(struct actor *actor) {
    struct earning earning = earning_open(actor, 64 * MIB, 0);
    unsigned puts = puts_until_mapped(actor, &earning, MOST);
    CHECK(actor->me == OWNER || (puts > 100 && puts < 1000));
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    check_rest(&earning, MOST, 0);
    earning_close(actor, &earning);
}

/* 1 MiB that was touched is worth its copy after some hundred operations more. */
static void play_touched(struct actor *actor) {
    const unsigned closed = atomic_load(&trma_node_gate_self()->closed);
    struct earning earning = earning_open(actor, 64 * MIB, MIB);
    unsigned puts = puts_until_mapped(actor, &earning, MOST);
    CHECK(actor->me == OWNER || (puts > 500 && puts < 2000));
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    check_rest(&earning, MOST, MIB);
    check_gate(actor, closed, 1);
    earning_close(actor, &earning);
    check_gate(actor, closed, 2);
}

/* 64 MiB that were touched are not, after a few thousand. */
static void play_not_earned(struct actor *actor) {
    const unsigned closed = atomic_load(&trma_node_gate_self()->closed);
    struct earning earning = earning_open(actor, 64 * MIB, 64 * MIB);
    unsigned puts = puts_until_mapped(actor, &earning, MOST);
    CHECK(actor->me == OWNER || puts == MOST);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    check_rest(&earning, MOST, 64 * MIB);
    check_gate(actor, closed, 0);
    earning_close(actor, &earning);
    check_gate(actor, closed, 0);
}

static void test_untouched(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip(); /* a process reaches its own memory without adopting it */
    }
    play_run(2, play_untouched);
}

static void test_touched(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip();
    }
    play_run(2, play_touched);
}

static void test_not_earned(void **state) {
    (void)state;
    if (PLAY_IN_THREADS) {
        skip();
    }
    play_run(2, play_not_earned);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untouched),
        cmocka_unit_test(test_touched),
        cmocka_unit_test(test_not_earned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
