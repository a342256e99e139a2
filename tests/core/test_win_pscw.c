/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "win/win_deferred.h"
#include "win/win_epoch.h"

/* Post, start, complete, wait, test. Plays run on mapped and on private memory. */

static const struct trma_window_options plain = {0};

/* A value that names its origin, place and round. */
static int64_t value_of(uint32_t origin, int64_t at, unsigned round) {
    return (int64_t)round * 1000000 + origin * 10000 + at;
}

static uint32_t others_of(const struct actor *actor, uint32_t *group) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < actor->size; i++) {
        if (i != actor->me) {
            group[n++] = i;
        }
    }
    return n;
}

enum { PER_ORIGIN = 16 };

/* Everybody puts to everybody and gets back what it put; the target checks after wait. */
static void exchange_with_all(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, PLAY_MEMBERS * PER_ORIGIN, plain);
    unsigned rounds = play_often(200);
    uint32_t others[PLAY_MEMBERS];
    uint32_t n = others_of(actor, others);

    for (unsigned round = 1; round <= rounds; round++) {
        int64_t out[PER_ORIGIN];
        int64_t back[PLAY_MEMBERS][PER_ORIGIN];
        for (int64_t i = 0; i < PER_ORIGIN; i++) {
            out[i] = value_of(actor->me, i, round);
        }
        CHECK(window_post(window.core, others, n) == TRMA_OK);
        CHECK(window_start(window.core, others, n) == TRMA_OK);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(window_put(window.core, others[i], actor->me * PER_ORIGIN, out, PER_ORIGIN) == TRMA_OK);
            CHECK(window_get(window.core, others[i], actor->me * PER_ORIGIN, back[i], PER_ORIGIN) == TRMA_OK);
        }
        CHECK(window_complete(window.core) == TRMA_OK);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(memcmp(back[i], out, sizeof out) == 0);
        }
        if (round % 2) {
            CHECK((round % 4 == 1 ? window_wait : trma_win_wait)(window.core) == TRMA_OK);
        } else {
            for (bool done = false; !done; sched_yield()) {
                CHECK(trma_win_test(window.core, &done) == TRMA_OK);
            }
        }
        for (uint32_t i = 0; i < n; i++) {
            for (int64_t at = 0; at < PER_ORIGIN; at++) {
                CHECK(window.memory[others[i] * PER_ORIGIN + at] == value_of(others[i], at, round));
            }
        }
    }
    window_close(actor, &window);
}

static void play_exchange(struct actor *actor) {
    exchange_with_all(actor, PLAY_MAPPED);
    exchange_with_all(actor, PLAY_PRIVATE);
}

static void test_exchange(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= PLAY_MEMBERS; size += size < 4 ? 1 : 2) {
        play_run(size, play_exchange);
    }
}

/*
 * Operations of every kind that are called before the post: none blocks, none touches the target, all are
 * done in order once the target has posted. Buffers that hold results are the user's until complete.
 */
static void defer_all(struct actor *actor, enum play_memory kind, bool goes_on) {
    static const uint32_t zero = 0;
    static const uint32_t one = 1;
    struct trma_window_options options = {.counts_operations = true};
    struct stage_window window = window_open(actor, kind, 8, options);

    if (actor->me == 1) {
        int64_t put[2] = {5, 7};
        int64_t got[2] = {-1, -1};
        int64_t added = 10;
        int64_t fetched = -1;
        int64_t gathered = -1;
        int64_t swapped = -1;
        int64_t seven = 7;
        int64_t last = 99;
        struct trma_layout *layout = NULL;
        struct trma_window *core = window.core;

        CHECK(trma_win_start(core, &zero, 1) == TRMA_OK);
        CHECK(window_put(core, 0, 0, put, 2) == TRMA_OK);
        CHECK(window_operate(core, TRMA_COUNT_ACCUMULATE, 0, 0, &added, NULL, 1) == TRMA_OK);
        CHECK(window_operate(core, TRMA_COUNT_FETCH_AND_OP, 0, 0, &added, &fetched, 1) == TRMA_OK);
        CHECK(window_operate(core, TRMA_COUNT_GET_ACCUMULATE, 0, 0, &added, &gathered, 1) == TRMA_OK);
        CHECK(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &layout) == TRMA_OK);
        struct trma_rma swap = {.kind = TRMA_COUNT_COMPARE_AND_SWAP,
                                .element = TRMA_ELEMENT_INT64,
                                .origin = {layout, (uintptr_t)&last, 1},
                                .result = {layout, (uintptr_t)&swapped, 1},
                                .place = {layout, core->targets[0].base + 8, 1},
                                .compare = &seven};
        CHECK(trma_win_operation_issue(core, &swap) == TRMA_OK);
        trma_move_layout_release(layout);
        CHECK(window_get(core, 0, 0, got, 2) == TRMA_OK);
        CHECK(fetched == -1 && gathered == -1 && swapped == -1 && got[0] == -1);
        CHECK(atomic_load(&core->targets[0].counts.deferred) == 6);
        /* What is wrong is said at once. */
        CHECK(window_put(core, 0, 8, put, 1) == TRMA_ERR_RANGE);
        CHECK(window_put(core, 1, 0, put, 1) == TRMA_ERR_SYNC);
        scene_add(actor->scene, 0, 1); /* now the target may look, and post */
        if (goes_on) {
            /* One more operation after the post does the remembered ones first, and then itself. */
            while (core->targets[0].first_deferred) {
                CHECK(window_operate(core, TRMA_COUNT_PUT, 0, 3, &last, NULL, 1) == TRMA_OK);
                sched_yield();
            }
        }
        CHECK(trma_win_complete(core) == TRMA_OK);
        CHECK(fetched == 15 && gathered == 25 && swapped == 7);
        CHECK(got[0] == 35 && got[1] == 99);
        CHECK(core->targets[0].first_deferred == NULL && core->targets[0].last_deferred == NULL);
    } else if (actor->me == 0) {
        scene_await(actor->scene, 0, scene_add(actor->scene, 1, 1));
        for (int i = 0; i < 8; i++) {
            CHECK(window.memory[i] == 0);
        }
        CHECK(trma_win_post(window.core, &one, 1) == TRMA_OK);
        CHECK(trma_win_wait(window.core) == TRMA_OK);
        CHECK(window.memory[0] == 35 && window.memory[1] == 99 && window.memory[2] == 0);
        CHECK(window.memory[3] == (goes_on ? 99 : 0));
    }
    window_close(actor, &window);
}

static void play_deferred(struct actor *actor) {
    defer_all(actor, PLAY_MAPPED, false);
    defer_all(actor, PLAY_PRIVATE, false);
    defer_all(actor, PLAY_MAPPED, true);
    defer_all(actor, PLAY_PRIVATE, true);
}

static void test_deferred(void **state) {
    (void)state;
    play_run(2, play_deferred);
}

enum { MANY = 200, BEHIND_ALL = 2 * (MANY + 4) };

/* Two elements with a hole between them: no stretch of bytes. */
static struct trma_layout *make_apart(void) {
    struct trma_layout *element = NULL;
    struct trma_layout *apart = NULL;

    CHECK(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &element) == TRMA_OK);
    CHECK(trma_move_layout_make_vector(2, 1, 2 * sizeof(int64_t), element, &apart) == TRMA_OK);
    trma_move_layout_release(element);
    return apart;
}

/* One element, behind another one that is left out. */
static struct trma_layout *make_behind(void) {
    static const size_t one = 1;
    static const ptrdiff_t behind = sizeof(int64_t);
    struct trma_layout *element = NULL;
    struct trma_layout *layout = NULL;

    CHECK(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &element) == TRMA_OK);
    CHECK(trma_move_layout_make_struct(1, &one, &behind, (const struct trma_layout *const *)&element,
                                       &layout) == TRMA_OK);
    trma_move_layout_release(element);
    return layout;
}

/*
 * Many more than are remembered together, stretches of bytes and others by turns: MANY puts of one element,
 * now and then of two apart, or with a datatype that begins behind its buffer; then gets of what was there,
 * and puts of which one side alone is a stretch.
 */
static void defer_many(struct actor *actor, enum play_memory kind) {
    static const uint32_t zero = 0;
    static const uint32_t one = 1;
    struct stage_window window = window_open(actor, kind, BEHIND_ALL + 5, plain);
    struct trma_layout *layouts[] = {make_apart(), make_behind()};
    struct trma_layout *word = NULL;

    CHECK(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &word) == TRMA_OK);
    if (actor->me == 1) {
        int64_t out[MANY + 4];
        int64_t back[MANY] = {0};
        struct trma_window *core = window.core;

        CHECK(trma_win_start(core, &zero, 1) == TRMA_OK);
        for (int64_t i = 0; i < MANY + 4; i++) {
            out[i] = value_of(1, i, 1);
        }
        for (int64_t i = 0; i < MANY; i++) {
            if (i % 40 < 38) {
                CHECK(window_put(core, 0, i, &out[i], 1) == TRMA_OK);
                continue;
            }
            struct trma_rma put = {
                .kind = TRMA_COUNT_PUT,
                .origin = {layouts[i % 2], (uintptr_t)&out[i - i % 2], 1},
                .place = {layouts[i % 2], core->targets[0].base + 8 * (uintptr_t)(i - i % 2), 1}};
            CHECK(trma_win_operation_issue(core, &put) == TRMA_OK);
        }
        for (int64_t i = 0; i < MANY; i++) {
            CHECK(window_get(core, 0, MANY + 4 + i, &back[i], 1) == TRMA_OK);
        }
        const uintptr_t end = core->targets[0].base + 8 * (uintptr_t)BEHIND_ALL;
        struct trma_rma scatter = {
            .kind = TRMA_COUNT_PUT, .origin = {word, (uintptr_t)out, 2}, .place = {layouts[0], end, 1}};
        struct trma_rma gather = {
            .kind = TRMA_COUNT_PUT, .origin = {layouts[0], (uintptr_t)out, 1}, .place = {word, end + 24, 2}};
        CHECK(trma_win_operation_issue(core, &scatter) == TRMA_OK);
        CHECK(trma_win_operation_issue(core, &gather) == TRMA_OK);
        scene_add(actor->scene, 0, 1);
        CHECK(trma_win_complete(core) == TRMA_OK);
        for (int64_t i = 0; i < MANY; i++) {
            CHECK(back[i] == value_of(0, i, 2));
        }
        CHECK(core->targets[0].first_deferred == NULL && core->targets[0].last_deferred == NULL);
    } else if (actor->me == 0) {
        scene_await(actor->scene, 0, scene_add(actor->scene, 1, 1));
        for (int64_t i = 0; i < MANY; i++) {
            CHECK(window.memory[i] == 0);
            window.memory[MANY + 4 + i] = value_of(0, i, 2);
        }
        CHECK(trma_win_post(window.core, &one, 1) == TRMA_OK);
        CHECK(trma_win_wait(window.core) == TRMA_OK);
        for (int64_t i = 0; i < MANY; i++) {
            CHECK(window.memory[i] == value_of(1, i, 1));
        }
        const int64_t end[] = {value_of(1, 0, 1), 0, value_of(1, 1, 1), value_of(1, 0, 1), value_of(1, 2, 1)};
        CHECK(memcmp(window.memory + BEHIND_ALL, end, sizeof end) == 0);
    }
    trma_move_layout_release(word);
    trma_move_layout_release(layouts[0]);
    trma_move_layout_release(layouts[1]);
    window_close(actor, &window);
}

static void play_many_deferred(struct actor *actor) {
    defer_many(actor, PLAY_MAPPED);
    defer_many(actor, PLAY_PRIVATE);
}

static void test_many_deferred(void **state) {
    (void)state;
    play_run(2, play_many_deferred);
}

/* What comes first in an epoch whose target had posted by start. */
enum first_call {
    FIRST_NONE,
    FIRST_GET,
    FIRST_LARGE_GET, /* more bytes than start asks for a line for */
    FIRST_LONG_GET,
    FIRST_PUT,
    FIRST_LONG_PUT,
    FIRST_CALLS
};

enum { LARGE_WORDS = TRMA_MOVE_CLAIM_EARLY_MOST / 8 + 1 };

static void begin_with(struct trma_window *window, enum first_call first, int64_t value) {
    const bool is_long = first == FIRST_LONG_GET || first == FIRST_LONG_PUT;
    int64_t got[LARGE_WORDS] = {-1};

    if (first == FIRST_GET || first == FIRST_LARGE_GET || first == FIRST_LONG_GET) {
        const size_t count = first == FIRST_LARGE_GET ? LARGE_WORDS : 1;
        CHECK((is_long ? window_operate(window, TRMA_COUNT_GET, 0, 1, got, NULL, count)
                       : window_get(window, 0, 1, got, count)) == TRMA_OK);
        CHECK(got[0] == value - 1 && got[count - 1] == value - 1);
    } else if (first != FIRST_NONE) {
        CHECK((is_long ? window_operate(window, TRMA_COUNT_PUT, 0, 2, &value, NULL, 1)
                       : window_put(window, 0, 2, &value, 1)) == TRMA_OK);
    }
    /* The short ways open it, the long ones need not. */
    CHECK(atomic_load(&window->targets[0].state) ==
          (first == FIRST_NONE || is_long ? TRMA_TARGET_POSTED : TRMA_TARGET_OPEN));
}

/* Start has seen the post; whatever comes first, and by whichever way the epoch ends, the target is among
 * those that are to be closed once, and closed then. */
static void play_posted(struct actor *actor) {
    static const uint32_t zero = 0;
    static const uint32_t one = 1;
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1 + LARGE_WORDS, plain);

    /* Two of a kind after each other, and each kind after each: what the last epoch began with is kept. */
    for (unsigned round = 0; round < 2 * FIRST_CALLS * FIRST_CALLS * 2; round++) {
        const enum first_call first =
            round % 2 ? round / 2 % FIRST_CALLS : round / 2 / FIRST_CALLS % FIRST_CALLS;
        const bool is_long_end = round / (2 * FIRST_CALLS * FIRST_CALLS) != 0;
        const int64_t value = (int64_t)round + 1;

        if (actor->me == 0) {
            window.memory[1] = window.memory[LARGE_WORDS] = value - 1;
            CHECK(window_post(window.core, &one, 1) == TRMA_OK);
        }
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        if (actor->me == 0) {
            CHECK(window_wait(window.core) == TRMA_OK);
            CHECK(window.memory[0] == value);
            CHECK(first < FIRST_PUT || window.memory[2] == value);
            continue;
        }
        const struct trma_target *target = &window.core->targets[0];
        CHECK(window_start(window.core, &zero, 1) == TRMA_OK);
        CHECK(atomic_load(&target->state) == TRMA_TARGET_POSTED && window.core->n_active == 1);
        begin_with(window.core, first, value);
        CHECK(window_put(window.core, 0, 0, &value, 1) == TRMA_OK);
        CHECK(atomic_load(&target->state) == TRMA_TARGET_OPEN && window.core->n_active == 1);
        CHECK(target->claims_early == (first == FIRST_GET));
        CHECK((is_long_end ? trma_win_complete : window_complete)(window.core) == TRMA_OK);
        CHECK(atomic_load(&target->state) == TRMA_TARGET_CLOSED && window.core->n_active == 0);
        /* Nothing goes there between epochs. */
        CHECK(window_put(window.core, 0, 0, &value, 1) == TRMA_ERR_SYNC);
    }
    window_close(actor, &window);
}

static void test_posted(void **state) {
    (void)state;
    play_run(2, play_posted);
}

/*
 * Of two targets with remembered operations only one has posted: complete serves that one before it waits for
 * the other. The other posts only when the first has seen its data.
 */
static void play_late_target(struct actor *actor) {
    static const uint32_t targets[] = {0, 1};
    static const uint32_t origin = 2;
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);
    int64_t value = 11;

    if (actor->me == 2) {
        CHECK(trma_win_start(window.core, targets, 2) == TRMA_OK);
        CHECK(window_put(window.core, 0, 0, &value, 1) == TRMA_OK);
        CHECK(window_put(window.core, 1, 0, &value, 1) == TRMA_OK);
        scene_set(actor->scene, 0, 1);
        scene_await(actor->scene, 1, 1);
        CHECK(trma_win_complete(window.core) == TRMA_OK);
    } else {
        scene_await(actor->scene, 0, 1);
        if (actor->me == 0) {
            scene_await(actor->scene, 2, 1);
        }
        CHECK(trma_win_post(window.core, &origin, 1) == TRMA_OK);
        scene_set(actor->scene, 1, 1);
        CHECK(window_wait(window.core) == TRMA_OK);
        CHECK(window.memory[0] == 11);
        scene_set(actor->scene, 2, 1);
    }
    window_close(actor, &window);
}

static void test_late_target(void **state) {
    (void)state;
    play_run(3, play_late_target);
}

/* An origin that has nothing to do runs ahead of the target by many epochs; none of them is lost or counted
 * twice. */
static void play_run_ahead(struct actor *actor) {
    enum { AHEAD = 50 };
    static const uint32_t zero = 0;
    static const uint32_t origins[] = {1, 2};
    struct stage_window window = window_open(actor, PLAY_MAPPED, 4, plain);

    if (actor->me == 0) {
        scene_await(actor->scene, 0, 1);
        for (int i = 0; i < AHEAD; i++) {
            bool done = true;
            CHECK(window_post(window.core, origins, 2) == TRMA_OK);
            /* Member 2 closes one epoch at a time, after we have opened ours: member 1's epochs ahead must
             * not be taken for it. */
            CHECK(trma_win_test(window.core, &done) == TRMA_OK);
            CHECK(!done);
            scene_set(actor->scene, 1, (uint64_t)i + 1);
            CHECK(window_wait(window.core) == TRMA_OK);
            CHECK(window.memory[2] == i + 1);
        }
        CHECK(window_post(window.core, &origins[0], 1) == TRMA_OK);
        CHECK(window_wait(window.core) == TRMA_OK);
        CHECK(window.memory[1] == 77);
    } else if (actor->me == 1) {
        int64_t value = 77;
        for (int i = 0; i < AHEAD; i++) {
            CHECK(window_start(window.core, &zero, 1) == TRMA_OK);
            CHECK(window_complete(window.core) == TRMA_OK);
        }
        scene_set(actor->scene, 0, 1);
        CHECK(window_start(window.core, &zero, 1) == TRMA_OK);
        CHECK(window_put(window.core, 0, 1, &value, 1) == TRMA_OK);
        CHECK(window_complete(window.core) == TRMA_OK);
    } else {
        for (int64_t i = 1; i <= AHEAD; i++) {
            scene_await(actor->scene, 1, (uint64_t)i);
            CHECK(window_start(window.core, &zero, 1) == TRMA_OK);
            CHECK(window_put(window.core, 0, 2, &i, 1) == TRMA_OK);
            CHECK(window_complete(window.core) == TRMA_OK);
        }
    }
    window_close(actor, &window);
}

static void test_run_ahead(void **state) {
    (void)state;
    play_run(3, play_run_ahead);
}

/* The sequences pass 2^31 and 2^32 on the way. */
static void wrap(struct actor *actor, uint32_t start) {
    struct stage_window window = window_open(actor, PLAY_MAPPED, PLAY_MEMBERS, plain);
    uint32_t others[PLAY_MEMBERS];
    uint32_t n = others_of(actor, others);

    for (uint32_t i = 0; i < actor->size; i++) {
        struct trma_target *target = &window.core->targets[i];
        target->started = target->exposed = start;
        atomic_store(target->posted, start);
        atomic_store(&window.core->words->pairs[i].completed, start);
    }
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    for (int64_t round = 1; round <= 40; round++) {
        bool done = true;
        CHECK(trma_win_start(window.core, others, n) == TRMA_OK);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(window_put(window.core, others[i], actor->me, &round, 1) == TRMA_OK);
        }
        /* Operations were issued before the own post, and before or after the peers': remembered or done. */
        CHECK(trma_win_post(window.core, others, n) == TRMA_OK);
        CHECK(trma_win_complete(window.core) == TRMA_OK);
        CHECK((round & 1 ? window_wait : trma_win_wait)(window.core) == TRMA_OK);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(window.memory[others[i]] == round);
        }
        /* No exposure of the next round is seen before it is there. */
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        CHECK(trma_win_post(window.core, others, n) == TRMA_OK);
        CHECK(trma_win_test(window.core, &done) == TRMA_OK);
        CHECK(!done);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        CHECK(trma_win_start(window.core, others, n) == TRMA_OK);
        CHECK(trma_win_complete(window.core) == TRMA_OK);
        CHECK(trma_win_wait(window.core) == TRMA_OK);
    }
    CHECK(window.core->targets[others[0]].started == start + 80);
    window_close(actor, &window);
}

static void play_wrap(struct actor *actor) {
    wrap(actor, UINT32_MAX - 30);
    wrap(actor, INT32_MAX - 30U);
}

static void test_wraps_around(void **state) {
    (void)state;
    play_run(3, play_wrap);
}

/* Groups that differ per member: a ring, in which everybody is exposed to its left and accesses its right; by
 * every mixture of the short and the long ways. */
static void pass_around(struct actor *actor, enum play_memory memory) {
    uint32_t right = (actor->me + 1) % actor->size;
    uint32_t left = (actor->me + actor->size - 1) % actor->size;
    struct stage_window window = window_open(actor, memory, 1, plain);
    unsigned rounds = play_often(300);
    int64_t value = actor->me;

    for (unsigned round = 1; round <= rounds; round++) {
        CHECK((round & 1 ? window_post : trma_win_post)(window.core, &left, 1) == TRMA_OK);
        CHECK((round & 2 ? window_start : trma_win_start)(window.core, &right, 1) == TRMA_OK);
        CHECK(window_put(window.core, right, 0, &value, 1) == TRMA_OK);
        CHECK((round & 4 ? window_complete : trma_win_complete)(window.core) == TRMA_OK);
        CHECK((round & 8 ? window_wait : trma_win_wait)(window.core) == TRMA_OK);
        value = window.memory[0];
        CHECK(value == (int64_t)((actor->me + round * (actor->size - 1)) % actor->size));
    }
    window_close(actor, &window);
}

static void play_ring(struct actor *actor) {
    pass_around(actor, PLAY_PRIVATE);
    pass_around(actor, PLAY_MAPPED);
}

static void test_ring(void **state) {
    (void)state;
    play_run(2, play_ring);
    play_run(7, play_ring);
}

/* The origin dies before it completes; the target's wait says so, and its test does not lie. */
static void play_dead_origin(struct actor *actor) {
    static const uint32_t origin = 1;
    static const uint32_t target = 0;
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);
    bool done = true;

    if (actor->me == 1) {
        CHECK(trma_win_start(window.core, &target, 1) == TRMA_OK);
        scene_await(actor->scene, 0, 1);
        play_die(actor);
    }
    CHECK(trma_win_post(window.core, &origin, 1) == TRMA_OK);
    CHECK(trma_win_test(window.core, &done) == TRMA_OK && !done);
    scene_set(actor->scene, 0, 1);
    play_check_death(actor, trma_win_wait(window.core));
}

/* The target dies before it posts; the origin has a remembered operation, which is dropped with the epoch. */
static void play_dead_target(struct actor *actor) {
    static const uint32_t target = 1;
    struct stage_window window = window_open(actor, PLAY_MAPPED, 1, plain);
    int64_t value = 3;

    if (actor->me == 1) {
        scene_await(actor->scene, 0, 1);
        play_die(actor);
    }
    CHECK(trma_win_start(window.core, &target, 1) == TRMA_OK);
    CHECK(window_put(window.core, 1, 0, &value, 1) == TRMA_OK);
    scene_set(actor->scene, 0, 1);
    play_check_death(actor, trma_win_complete(window.core));
    CHECK(window.core->targets[1].first_deferred == NULL);
    CHECK(trma_win_epoch_is_closed(window.core));
}

static void test_dead_peers(void **state) {
    (void)state;
    play_run_with_victim(2, 1, play_dead_origin);
    play_run_with_victim(2, 1, play_dead_target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),      cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_late_target),   cmocka_unit_test(test_run_ahead),
        cmocka_unit_test(test_wraps_around),  cmocka_unit_test(test_ring),
        cmocka_unit_test(test_dead_peers),    cmocka_unit_test(test_posted),
        cmocka_unit_test(test_many_deferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
