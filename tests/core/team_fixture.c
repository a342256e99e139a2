/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include <pthread.h>

#include "acc/acc_element.h"
#include "mem/mem_heap.h"
#include "move/move_bytes.h"
#include "move/move_copy.h"
#include "win/win_epoch.h"
#include "win/win_order.h"

struct scene *scene_open(void) {
    struct scene *scene =
        mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(scene != MAP_FAILED);
    return scene;
}

void scene_close(struct scene *scene) {
    munmap(scene, sizeof *scene);
}

uint64_t scene_get(struct scene *scene, unsigned word) {
    return atomic_load_explicit(&scene->words[word], memory_order_acquire);
}

void scene_set(struct scene *scene, unsigned word, uint64_t value) {
    atomic_store_explicit(&scene->words[word], value, memory_order_release);
}

uint64_t scene_add(struct scene *scene, unsigned word, uint64_t more) {
    return atomic_fetch_add_explicit(&scene->words[word], more, memory_order_acq_rel) + more;
}

void scene_await(struct scene *scene, unsigned word, uint64_t least) {
    while (scene_get(scene, word) < least) {
        sched_yield();
    }
}

static void gather(struct scene *scene, unsigned gate, uint32_t size) {
    atomic_fetch_add_explicit(&scene->gates[gate], 1, memory_order_acq_rel);
    while (atomic_load_explicit(&scene->gates[gate], memory_order_acquire) < size) {
        sched_yield();
    }
}

void scene_gather(struct actor *actor, unsigned gate) {
    gather(actor->scene, gate, actor->size);
}

static void join_team(struct actor *actor) {
    static const struct trma_team_options options = {
        .spin_us = 20, .update = trma_acc_combine_bytes, .copy = trma_move_at_once};
    struct trma_team_block *block;
    const char *refusal = NULL;
    struct trma_team_card *card = &actor->scene->cards[actor->me];

    trma_node_team_card_fill(card, &block);
    CHECK(card->usable);
    if (atomic_load(&actor->scene->plain_fences)) {
        card->has_membarrier = 0;
    }
    gather(actor->scene, SCENE_GATE_CARDS, actor->size);
    enum trma_status status = trma_node_team_create(actor->scene->cards, actor->size, actor->me, block,
                                                    &options, &actor->team, &refusal);
    if (status) {
        fprintf(stderr, "member %u: %s\n", actor->me, refusal);
    }
    CHECK(status == TRMA_OK);
    gather(actor->scene, SCENE_GATE_TEAMS, actor->size);
}

/* All members run this; the victim of a play never comes back from it. */
static void act(struct actor *actor, play *run, bool has_victim) {
    atomic_store(&actor->scene->pids[actor->me], getpid());
    join_team(actor);
    run(actor);
    if (!has_victim) {
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        trma_node_team_destroy(actor->team);
        /* As MPI_Finalize: who is on its way out of the barrier does not find that another has ended. */
        gather(actor->scene, SCENE_GATE_END, actor->size);
    }
}

struct role {
    struct actor actor;
    play *run;
};

static void *act_in_thread(void *argument) {
    struct role *role = argument;

    act(&role->actor, role->run, false);
    return NULL;
}

static void run_in_threads(struct scene *scene, uint32_t size, play *run) {
    pthread_t threads[PLAY_MEMBERS];
    struct role roles[PLAY_MEMBERS];

    alarm(PLAY_LIMIT_S);
    for (uint32_t i = 0; i < size; i++) {
        roles[i] = (struct role){.actor = {.scene = scene, .size = size, .me = i}, .run = run};
        assert_int_equal(pthread_create(&threads[i], NULL, act_in_thread, &roles[i]), 0);
    }
    for (uint32_t i = 0; i < size; i++) {
        pthread_join(threads[i], NULL);
    }
    alarm(0);
}

static void run_in_processes(struct scene *scene, uint32_t size, uint32_t victim, play *run) {
    pid_t pids[PLAY_MEMBERS];
    unsigned failures = 0;

    fflush(NULL);
    for (uint32_t i = 0; i < size; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(PLAY_LIMIT_S);
            act(&(struct actor){.scene = scene, .size = size, .me = i}, run, victim < size);
            _exit(0);
        }
    }
    /* Whoever ends first is looked at first: when one fails, the others would wait for it. */
    for (uint32_t ended = 0; ended < size; ended++) {
        int status = -1;
        pid_t pid = waitpid(-1, &status, 0);
        bool is_victim = victim < size && pid == pids[victim];
        bool is_right = is_victim ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0;
        if (!is_right && failures++ == 0) {
            print_message("process %d ended with status %#x\n", (int)pid, (unsigned)status);
            for (uint32_t i = 0; i < size; i++) {
                kill(pids[i], SIGKILL);
            }
        }
    }
    assert_int_equal(failures, 0);
}

void play_run_in(struct scene *scene, uint32_t size, play *run) {
    if (PLAY_IN_THREADS) {
        run_in_threads(scene, size, run);
    } else {
        run_in_processes(scene, size, UINT32_MAX, run);
    }
}

void play_run(uint32_t size, play *run) {
    struct scene *scene = scene_open();

    play_run_in(scene, size, run);
    scene_close(scene);
}

void play_run_with_victim(uint32_t size, uint32_t victim, play *run) {
    struct scene *scene = scene_open();

    run_in_processes(scene, size, victim, run);
    scene_close(scene);
}

void play_die(struct actor *actor) {
    atomic_store(&actor->scene->killed_at, trma_node_clock_ns());
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

void play_check_death(struct actor *actor, enum trma_status status) {
    uint64_t now = trma_node_clock_ns();
    uint64_t killed_at = atomic_load(&actor->scene->killed_at);

    CHECK(status == TRMA_ERR_PEER_DEAD);
    CHECK(killed_at != 0);
    CHECK(now - killed_at < UINT64_C(2000000000));
}

struct stage_window window_open(struct actor *actor, enum play_memory kind, size_t elements,
                                struct trma_window_options options) {
    struct stage_window window = {.elements = elements, .kind = kind};
    struct trma_window_card cards[PLAY_MEMBERS];
    struct trma_window_card mine;
    struct trma_window_words *words;
    const char *refusal = NULL;
    size_t size = elements * sizeof *window.memory;
    void *memory = NULL;

    if (!options.is_dynamic && kind == PLAY_MAPPED) {
        CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, size, 64, &memory) == TRMA_OK);
    } else if (!options.is_dynamic) {
        memory = malloc(size + 1);
        CHECK(memory != NULL);
    }
    if (memory) {
        memset(memory, 0, size);
    }
    window.memory = memory;
    trma_win_card_fill(actor->team, memory, size, sizeof *window.memory, &options, &mine, &words);
    CHECK(mine.usable);
    CHECK(trma_node_team_exchange(actor->team, &mine, sizeof mine, cards) == TRMA_OK);
    enum trma_status status =
        trma_win_window_create(actor->team, cards, words, &options, &window.core, &refusal);
    if (status) {
        fprintf(stderr, "member %u: %s\n", actor->me, refusal);
    }
    CHECK(status == TRMA_OK);
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    return window;
}

void window_close(struct actor *actor, struct stage_window *window) {
    CHECK(trma_win_epoch_is_closed(window->core));
    CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    trma_win_window_destroy(window->core);
    if (window->memory && window->kind == PLAY_MAPPED) {
        CHECK(trma_mem_heap_free(window->memory));
    } else {
        free(window->memory);
    }
}

enum trma_status window_operate(struct trma_window *window, enum trma_count_kind kind, uint32_t target,
                                int64_t at, void *origin, void *result, size_t count) {
    struct trma_layout *layout = NULL;
    uintptr_t address = 0;

    if (!trma_win_target_address(window, target, at, &address)) {
        return TRMA_ERR_RANGE;
    }
    CHECK(trma_move_layout_make_element(TRMA_ELEMENT_INT64, &layout) == TRMA_OK);
    struct trma_rma rma = {.kind = kind,
                           .target = target,
                           .operation = TRMA_OPERATION_SUM,
                           .element = TRMA_ELEMENT_INT64,
                           .origin = {layout, (uintptr_t)origin, count},
                           .result = {layout, (uintptr_t)result, count},
                           .place = {layout, address, count}};
    enum trma_status status = trma_win_operation_issue(window, &rma);
    trma_move_layout_release(
        layout); /* as MPI_Type_free does: a remembered operation keeps its own reference */
    return status;
}

enum trma_status window_start(struct trma_window *window, const uint32_t *group, uint32_t n) {
    return trma_win_start_quick(window, group, n) ? TRMA_OK : trma_win_start(window, group, n);
}

enum trma_status window_complete(struct trma_window *window) {
    return trma_win_complete_quick(window) ? TRMA_OK : trma_win_complete(window);
}

enum trma_status window_post(struct trma_window *window, const uint32_t *group, uint32_t n) {
    return trma_win_post_quick(window, group, n) ? TRMA_OK : trma_win_post(window, group, n);
}

enum trma_status window_wait(struct trma_window *window) {
    return trma_win_wait_quick(window) ? TRMA_OK : trma_win_wait(window);
}

enum trma_status window_fence(struct trma_window *window) {
    return trma_win_fence_quick(window) ? trma_win_fence_finish(window) : trma_win_fence(window, 0);
}

enum trma_status window_lock(struct trma_window *window, enum trma_lock_kind kind, uint32_t target) {
    return trma_win_lock_quick(window, kind, target) ? TRMA_OK : trma_win_lock(window, kind, target);
}

enum trma_status window_unlock(struct trma_window *window, uint32_t target) {
    return trma_win_unlock_quick(window, target) ? TRMA_OK : trma_win_unlock(window, target);
}

enum trma_status window_flush(struct trma_window *window, uint32_t target) {
    return trma_win_flush_quick(window, target) ? TRMA_OK : trma_win_flush(window, target, false);
}

enum trma_status window_put(struct trma_window *window, uint32_t target, int64_t at, const int64_t *from,
                            size_t count) {
    /* As an entry point does it; window_get leaves the opening to the long way. */
    const bool is_open = trma_win_is_open(&window->targets[target]) || trma_win_epoch_open(window, target) ||
                         trma_win_epoch_open_late(window, target);
    void *quick = is_open && !window->is_dynamic
                      ? trma_win_quick_place(&window->targets[target], at, count * sizeof *from)
                      : NULL;

    if (quick) {
        trma_win_order_note_store(window);
        trma_win_operation_store(window, target, quick, from, count * sizeof *from);
        return TRMA_OK;
    }
    return window_operate(window, TRMA_COUNT_PUT, target, at, (void *)(uintptr_t)from, NULL, count);
}

enum trma_status window_get(struct trma_window *window, uint32_t target, int64_t at, int64_t *to,
                            size_t count) {
    trma_win_epoch_open_to_get(window, target, count * sizeof *to);
    const void *quick =
        window->is_dynamic ? NULL : trma_win_quick_address(window, target, at, count * sizeof *to);

    if (quick) {
        trma_win_order_pay();
        trma_win_operation_fetch(window, target, quick, to, count * sizeof *to);
        return TRMA_OK;
    }
    return window_operate(window, TRMA_COUNT_GET, target, at, to, NULL, count);
}

enum trma_status window_add(struct trma_window *window, uint32_t target, int64_t at, int64_t value) {
    return window_operate(window, TRMA_COUNT_ACCUMULATE, target, at, &value, NULL, 1);
}

enum trma_status window_fetch_add(struct trma_window *window, uint32_t target, int64_t at, int64_t value,
                                  int64_t *old) {
    return window_operate(window, TRMA_COUNT_FETCH_AND_OP, target, at, &value, old, 1);
}
