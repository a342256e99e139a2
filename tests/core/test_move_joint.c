/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_node_help.h"

#include <signal.h>
#include <stdlib.h>

#include "move/move_bytes.h"
#include "move/move_contest.h"
#include "move/move_copy.h"
#include "move/move_joint.h"
#include "move/move_place.h"
#include "move/move_stream.h"
#include "move/move_watch.h"
#include "move/move_ways.h"
#include "node/node_cache.h"

/* Copies that a target may do a part of: when they are tried jointly, and when not. */

enum { SIZE = TRMA_JOINT_LEAST, ENOUGH = 5 * TRMA_MOVE_JOINT_EVERY, FAR_LARGER = 1 << 30 };

static void take_time(void) {
    enum { TAKES_NS = 500000 };
    const uint64_t end = trma_node_clock_ns() + TAKES_NS;

    while (trma_node_clock_ns() < end) {
        trma_node_relax();
    }
}

/* A target by which no copy becomes faster. */
static bool copy_slowly(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    take_time();
    return trma_move_at_once(peer, own, place, size, is_to_peer);
}

static char *shared_memory(void) {
    static char *memory;

    if (!memory) {
        memory = mmap(NULL, TRMA_MOVE_JOINT_LARGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
    }
    return memory;
}

/* Whoever touches memory that is far comes near it, which takes its time. */
static void come_near(int number) {
    (void)number;
    take_time();
    CHECK(mprotect(shared_memory(), TRMA_MOVE_JOINT_LARGE, PROT_READ | PROT_WRITE) == 0);
}

/* What an origin's copies have come to. */
struct copies {
    struct trma_move_joint copy;
    unsigned alone; /* not even timed */
    unsigned others;
    uint64_t helped;
};

static struct copies copies_of(struct actor *actor, char *memory, bool is_put) {
    return (struct copies){.copy = {.own = &actor->team->help,
                                    .words = &actor->team->blocks[TARGET]->help,
                                    .peer = actor->team->peers[TARGET],
                                    .mapped = memory,
                                    .place = (uintptr_t)memory,
                                    .local = malloc(TRMA_MOVE_JOINT_LARGE),
                                    .size = SIZE,
                                    .is_put = is_put}};
}

/* One, as windows make them. */
static void copy_one(struct copies *copies, bool is_far) {
    const struct trma_move_joint *copy = &copies->copy;
    char *to = copy->is_put ? copy->mapped : copy->local;
    char *from = copy->is_put ? copy->local : copy->mapped;
    const int seed = (int)(copies->alone + copies->others) % 256;

    memset(from, seed, copy->size);
    from[copy->size / 2]++;
    memset(to, seed + 2, copy->size);
    if (is_far) {
        CHECK(mprotect(copy->mapped, TRMA_MOVE_JOINT_LARGE, PROT_NONE) == 0);
    }
    if (trma_move_joint_is_alone(copy->mapped, copy->local, copy->size, copy->is_put)) {
        copies->alone++;
        memcpy(to, from, copy->size);
    } else {
        (void)trma_move_stream_take(to - 1, from - 1, 1, FAR_LARGER);
        const uint64_t blocks = trma_move_joint(copy);
        copies->others++;
        copies->helped += blocks;
        /* The run that it was a part of has not ended. */
        CHECK(blocks == 0 || trma_move_stream_goes_on(to + copy->size, from + copy->size, 1));
    }
    CHECK(memcmp(to, from, copy->size) == 0);
}

static void copy_until_timed(struct copies *copies, bool is_far) {
    for (const unsigned others = copies->others; copies->others == others;) {
        copy_one(copies, is_far);
    }
}

/* Whether they are made alone after so many slow ones, of those that are timed, in a row. */
static bool is_alone_after(struct copies *copies, int slow) {
    copy_until_timed(copies, false);
    for (int i = 0; i < slow; i++) {
        copy_until_timed(copies, true);
    }
    const unsigned alone = copies->alone;
    copy_one(copies, false);
    return copies->alone > alone;
}

/* One that was to be quick can be slow by chance, and then counts as well: so that it happens in one of some
 * attempts is enough. */
static bool can_be_alone_after(struct copies *copies, int slow) {
    enum { ATTEMPTS = 100 };

    for (int i = 0; i < ATTEMPTS; i++) {
        if (is_alone_after(copies, slow)) {
            return true;
        }
    }
    return false;
}

static void attend_slowly(struct actor *actor) {
    struct trma_help *help = &actor->team->help;

    help->copy = copy_slowly;
    CHECK(trma_node_help_begin_late(help));
    scene_set(actor->scene, PLACE, 1);
    while (scene_get(actor->scene, FINISHED) == 0) {
        if (!trma_node_help_serve(help)) {
            sched_yield(); /* there may be more members than cores */
        }
    }
    trma_node_help_end(help);
}

/* Tried first, then mostly made alone. */
static struct copies put_until_mostly_alone(struct actor *actor, size_t size) {
    const struct sigaction action = {.sa_handler = come_near};
    struct copies puts = copies_of(actor, shared_memory(), true);

    puts.copy.size = size;
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    actor->team->help.is_crowded = false; /* the cores of this machine are not what is tested */
    scene_await(actor->scene, PLACE, 1);
    while (puts.helped == 0) {
        copy_one(&puts, false);
        CHECK(puts.alone == 0);
    }
    while (puts.alone < ENOUGH) {
        copy_one(&puts, false);
    }
    /* Of so many in a row one is timed. */
    const unsigned others = puts.others;
    for (int i = 0; i < TRMA_MOVE_JOINT_EVERY; i++) {
        copy_one(&puts, false);
    }
    CHECK(puts.others > others);
    return puts;
}

/* Tried again when they have become slow. */
static void put_far_until_helped(struct copies *puts) {
    for (const uint64_t helped = puts->helped; puts->helped == helped;) {
        copy_one(puts, true);
    }
}

/* Of short ones several slow ones in a row. */
static void play_slow_target(struct actor *actor) {
    if (actor->me == TARGET) {
        attend_slowly(actor);
        return;
    }
    struct copies puts = put_until_mostly_alone(actor, SIZE);
    CHECK(can_be_alone_after(&puts, TRMA_MOVE_JOINT_IN_A_ROW - 1));
    CHECK(!can_be_alone_after(&puts, TRMA_MOVE_JOINT_IN_A_ROW));
    /* That the next puts are not timed says nothing of gets. */
    copy_until_timed(&puts, false);
    struct copies gets = copies_of(actor, shared_memory(), false);
    copy_one(&gets, false);
    CHECK(gets.others == 1);
    put_far_until_helped(&puts);
    free(puts.copy.local);
    free(gets.copy.local);
    scene_set(actor->scene, FINISHED, 1);
}

static void test_slow_target(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_slow_target);
}

/* A target and its memory in the origin's own process, which does its part when the origin comes near: nobody
 * else has to have a processor just then. */
static struct trma_help *own_help;

static bool copy_here(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    (void)peer;
    memcpy(is_to_peer ? (void *)place : own, is_to_peer ? own : (const void *)place, size);
    return true;
}

static void come_near_both(int number) {
    (void)number;
    CHECK(mprotect(shared_memory(), TRMA_MOVE_JOINT_LARGE, PROT_READ | PROT_WRITE) == 0);
    (void)trma_node_help_serve(own_help);
    take_time();
}

/* Short puts that take as long either way come to be made jointly, all but those of looks: what the target
 * has copied is where it reads it. */
static void play_as_quick(struct actor *actor) {
    enum { QUICK = 10, MANY = 40, MOST = MANY * 3 / 4 };
    const struct sigaction action = {.sa_handler = come_near_both};

    if (actor->me == TARGET) {
        return;
    }
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    own_help = &actor->team->help;
    own_help->is_crowded = false;
    own_help->copy = copy_here;
    CHECK(trma_node_help_begin_late(own_help));
    struct copies puts = copies_of(actor, shared_memory(), true);
    puts.copy.words = &actor->team->blocks[actor->me]->help;
    puts.copy.peer = actor->team->peers[actor->me];
    for (int i = 0; i < QUICK; i++) {
        copy_until_timed(&puts, false); /* what they take then, one of them at least */
    }
    for (int joint = 0; joint < MOST;) {
        joint = 0;
        for (int i = 0; i < MANY; i++) {
            const uint64_t helped = puts.helped;
            copy_one(&puts, true);
            joint += puts.helped > helped;
        }
    }
    trma_node_help_end(own_help);
    free(puts.copy.local);
}

static void test_as_quick(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_as_quick);
}

/* Those that are neither short nor large. */
static void play_middle_ones(struct actor *actor) {
    if (actor->me == TARGET) {
        attend_slowly(actor);
        return;
    }
    struct copies puts = put_until_mostly_alone(actor, TRMA_MOVE_JOINT_SHORT);
    put_far_until_helped(&puts);
    /* While it is looked at, that way is taken by all. */
    const unsigned alone = puts.alone;
    copy_one(&puts, true);
    CHECK(puts.alone == alone);
    free(puts.copy.local);
    scene_set(actor->scene, FINISHED, 1);
}

static void test_middle_ones(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_middle_ones);
}

/* Nobody to ask: most are not even timed. */
static void play_no_joint_copies(struct actor *actor) {
    if (actor->me == TARGET) {
        return;
    }
    actor->team->help.copy = NULL;
    struct copies gets = copies_of(actor, shared_memory(), false);
    while (gets.alone < ENOUGH) {
        copy_one(&gets, false);
    }
    CHECK(gets.helped == 0);
    /* Of large ones all are. */
    gets.copy.size = TRMA_MOVE_JOINT_LARGE;
    for (int i = 0; i < ENOUGH; i++) {
        CHECK(!trma_move_joint_is_alone(gets.copy.mapped, gets.copy.local, gets.copy.size, false));
        CHECK(trma_move_joint(&gets.copy) == 0);
    }
    free(gets.copy.local);
}

static void test_no_joint_copies(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_no_joint_copies);
}

/* As when lines have become sooner to be had. */
static void make_news(void) {
    enum { QUICK = 1000, SLOW = 10 * QUICK };
    const unsigned before = trma_move_watch_news();
    struct trma_move_watch watch;

    trma_move_watch_reset(&watch);
    CHECK(!trma_move_watch_note(&watch, SLOW));
    while (!trma_move_watch_note(&watch, QUICK)) {
    }
    CHECK(trma_move_watch_news() != before);
}

/* Whether the target is asked for a part of the next copy, whether or not it takes any. */
static bool is_asked(const struct trma_move_joint *copy) {
    const struct trma_help *own = copy->own;
    uint64_t *asked = &copy->words->slots[own->me % own->n_slots].joint.size;

    *asked = 0;
    (void)trma_move_joint(copy);
    return *asked != 0;
}

/* What is faster alone is tried jointly when there are news, long before the next look. */
static void play_news(struct actor *actor) {
    enum { MANY = 4000, LONG_AGO = 100 };
    char *memory = shared_memory();

    if (actor->me == TARGET) {
        attend_slowly(actor);
        return;
    }
    actor->team->help.is_crowded = false;
    struct copies puts = copies_of(actor, memory, true);
    puts.copy.size = TRMA_MOVE_JOINT_SHORT;
    scene_await(actor->scene, PLACE, 1);
    unsigned alone = 0; /* one after the other */
    for (unsigned i = 0; i < MANY || alone != LONG_AGO; i++) {
        alone = is_asked(&puts.copy) ? 0 : alone + 1;
    }
    make_news();
    CHECK(is_asked(&puts.copy));
    free(puts.copy.local);
    scene_set(actor->scene, FINISHED, 1);
}

static void test_news(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_news);
}

/* Joint puts, too, are among those after which one alone is timed, to see whether its lines are contested. */
static void play_counted(struct actor *actor) {
    enum {
        UNUSED = 1 << 20
    }; /* bytes; no other test has put behind these, nor as much at once as this one */
    char *memory = shared_memory() + UNUSED;

    if (actor->me == TARGET) {
        attend_slowly(actor);
        return;
    }
    actor->team->help.is_crowded = false;
    struct copies puts = copies_of(actor, memory, true);
    puts.copy.size = 2 * TRMA_MOVE_JOINT_SHORT;
    scene_await(actor->scene, PLACE, 1);
    unsigned joint = 0;
    for (unsigned i = 1; i < TRMA_MOVE_CONTEST_EVERY; i++) {
        joint += is_asked(&puts.copy);
    }
    CHECK(joint > 0);
    CHECK(!trma_move_contest_pass((uintptr_t)memory));
    free(puts.copy.local);
    scene_set(actor->scene, FINISHED, 1);
}

static void test_counted(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_counted);
}

/* A lengthy run of short puts: how many of them the target is asked for. The first one, which is not part of
 * a run yet, is made alone. */
static unsigned put_run(struct trma_move_joint copy) {
    unsigned asked = 0;

    copy.size = SIZE;
    trma_move_copy_bytes(copy.mapped, copy.local, SIZE);
    for (size_t left = TRMA_MOVE_PLACE_LENGTHY - SIZE; left > 0; left -= SIZE) {
        copy.mapped += SIZE;
        copy.local += SIZE;
        copy.place = (uintptr_t)copy.mapped;
        if (trma_move_joint_is_alone(copy.mapped, copy.local, copy.size, copy.is_put)) {
            trma_move_copy_bytes(copy.mapped, copy.local, copy.size);
        } else {
            asked += is_asked(&copy);
        }
    }
    return asked;
}

static unsigned put_runs(const struct trma_move_joint *copy) {
    enum { MORE = 10 };
    unsigned asked = 0;

    for (int i = 0; i < TRMA_MOVE_WAYS_WAIT_FIRST + MORE; i++) {
        asked += put_run(*copy);
    }
    return asked;
}

/* Runs of short ones are tried, but not where cores are few. */
static void play_runs(struct actor *actor) {
    if (actor->me == TARGET) {
        attend_slowly(actor);
        return;
    }
    struct copies puts = copies_of(actor, shared_memory(), true);
    scene_await(actor->scene, PLACE, 1);
    actor->team->help.is_crowded = true;
    for (size_t at = 0; at < TRMA_MOVE_PLACE_LENGTHY; at += SIZE) { /* once, so that it is kept */
        trma_move_copy_bytes(puts.copy.mapped + at, puts.copy.local + at, SIZE);
    }
    CHECK(put_runs(&puts.copy) == 0);
    actor->team->help.is_crowded = false;
    CHECK(put_runs(&puts.copy) > 0 || trma_node_cache_bytes() == 0);
    free(puts.copy.local);
    scene_set(actor->scene, FINISHED, 1);
}

static void test_runs(void **state) {
    (void)state;
    (void)shared_memory();
    play_run(2, play_runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_target),
        cmocka_unit_test(test_middle_ones),
        cmocka_unit_test(test_no_joint_copies),
        cmocka_unit_test(test_news),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_runs),
        /* Last: it leaves behind that they are made jointly, where the actors are threads. */
        cmocka_unit_test(test_as_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
