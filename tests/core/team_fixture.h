/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEAM_FIXTURE_H
#define TEAM_FIXTURE_H

/*
 * Plays: for tests of protocols among the members of a team. A test gives a function, the play; every member
 * runs it, each in a process of its own, with a team that is made before and destroyed afterwards. Under
 * ThreadSanitizer, which sees one process only, the members are threads of one process: a team does not mind,
 * and every access of the protocols is checked then. Plays check with CHECK (test_mem_processes.h), never
 * with cmocka's assertions: those jump out of the calling function, which only the test's own thread may do.
 */

#include <setjmp.h>
#include <stdarg.h>

#include "test_mem_processes.h"

#include "move/move_layout.h"
#include "node/node_team.h"
#include "win/win_operation.h"
#include "win/win_window.h"

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__)
#define PLAY_IN_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLAY_IN_THREADS 1
#endif
#endif
#ifndef PLAY_IN_THREADS
#define PLAY_IN_THREADS 0
#endif

enum {
    PLAY_MEMBERS = 8,
    PLAY_WORDS = 32,
    PLAY_LIMIT_S = 60 /* a play that lasts longer hangs: it is ended, and the test fails */
};

/* Iterations of a stress test: instrumented code is some ten times slower, and finds more in each. */
static inline unsigned play_often(unsigned times) {
    return TEST_IS_SANITIZED ? times / 8 + 1 : times;
}

/* Where members wait for each other without their team: for making and ending it, and the test's own. */
enum { SCENE_GATE_CARDS, SCENE_GATE_TEAMS, SCENE_GATE_END, SCENE_GATE_FIRST, SCENE_GATE_SECOND, SCENE_GATES };

/* What all members share, besides their team. */
struct scene {
    _Atomic uint64_t words[PLAY_WORDS]; /* the test's own; zero at the start */
    _Atomic uint64_t plain_fences;      /* set by the test: members say that they lack membarrier */
    _Atomic uint64_t killed_at;         /* trma_node_clock_ns when scene_kill sent its signal */
    atomic_uint gates[SCENE_GATES];     /* how many members have come to each */
    _Atomic pid_t pids[PLAY_MEMBERS];
    struct trma_team_card cards[PLAY_MEMBERS];
    _Alignas(64) char area[1 << 16]; /* for words that the test makes by itself; zero at the start */
};

/* One member. */
struct actor {
    struct scene *scene;
    struct trma_team *team;
    uint32_t size;
    uint32_t me;
};

typedef void play(struct actor *actor);

/* A scene that forked processes will share; freed by the second. */
struct scene *scene_open(void);
void scene_close(struct scene *scene);

/* Runs the play with so many members, in a scene of its own or a given one. The test fails when a member
 * does. */
void play_run(uint32_t size, play *run);
void play_run_in(struct scene *scene, uint32_t size, play *run);

/*
 * As play_run, always with processes, of which `victim` ends by a signal and the others as they should.
 * Nothing is destroyed: that takes all members. The play calls play_die in the victim.
 */
void play_run_with_victim(uint32_t size, uint32_t victim, play *run);

/* Ends the calling process as kill -9 does, and notes the time. */
_Noreturn void play_die(struct actor *actor);

/* Checks that what the caller has just waited for ended with TRMA_ERR_PEER_DEAD, within two seconds of the
 * death. */
void play_check_death(struct actor *actor, enum trma_status status);

/* Waits until a word of the scene is at least so much. */
void scene_await(struct scene *scene, unsigned word, uint64_t least);
uint64_t scene_add(struct scene *scene, unsigned word, uint64_t more);
uint64_t scene_get(struct scene *scene, unsigned word);
void scene_set(struct scene *scene, unsigned word, uint64_t value);

/* Waits on the scene, not on the team, until all members are here. `gate` is the first or second; each serves
 * once. */
void scene_gather(struct actor *actor, unsigned gate);

enum play_memory {
    PLAY_MAPPED, /* of the shared heap */
    PLAY_PRIVATE /* from malloc: reached by CMA */
};

/* A member's view of a window and its own memory behind it. */
struct stage_window {
    struct trma_window *core;
    int64_t *memory; /* `elements` words, zeroed; NULL on dynamic windows */
    size_t elements;
    enum play_memory kind;
};

/* Collective: makes a window of so many int64_t per member (displacement unit 8), and ends it. */
struct stage_window window_open(struct actor *actor, enum play_memory kind, size_t elements,
                                struct trma_window_options options);
void window_close(struct actor *actor, struct stage_window *window);

/* One operation on `count` int64_t at displacement `at` of the target. Reads and writes `origin`, `result`.
 */
enum trma_status window_operate(struct trma_window *window, enum trma_count_kind kind, uint32_t target,
                                int64_t at, void *origin, void *result, size_t count);
/* Synchronisation as the face's entry points call it: the short way, and the long one if that was none. */
enum trma_status window_start(struct trma_window *window, const uint32_t *group, uint32_t n);
enum trma_status window_complete(struct trma_window *window);
enum trma_status window_post(struct trma_window *window, const uint32_t *group, uint32_t n);
enum trma_status window_wait(struct trma_window *window);
enum trma_status window_fence(struct trma_window *window); /* without assertions */
enum trma_status window_lock(struct trma_window *window, enum trma_lock_kind kind, uint32_t target);
enum trma_status window_unlock(struct trma_window *window, uint32_t target);
enum trma_status window_flush(struct trma_window *window, uint32_t target);
/* put and get as the face issues them: the short way when it is open. */
enum trma_status window_put(struct trma_window *window, uint32_t target, int64_t at, const int64_t *from,
                            size_t count);
enum trma_status window_get(struct trma_window *window, uint32_t target, int64_t at, int64_t *to,
                            size_t count);
/* Adds to the word of an open target (the value does not outlive the call) by accumulate, and by
 * fetch_and_op, which also tells what was there. */
enum trma_status window_add(struct trma_window *window, uint32_t target, int64_t at, int64_t value);
enum trma_status window_fetch_add(struct trma_window *window, uint32_t target, int64_t at, int64_t value,
                                  int64_t *old);

#endif
