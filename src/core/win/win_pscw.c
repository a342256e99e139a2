/* SPDX-License-Identifier: BSD-3-Clause */
/* Post, start, complete and wait. */
#include "../sync/sync_pscw.h"
#include "win_deferred.h"
#include "win_epoch.h"
#include "win_step.h"

enum trma_status trma_win_start(struct trma_window *window, const uint32_t *group, uint32_t n) {
    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (!trma_win_epoch_may_begin(window)) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    trma_win_step_book(window, TRMA_WAIT_START);
    for (uint32_t i = 0; i < n; i++) {
        window->start_group[i] = group[i];
        window->targets[group[i]].started++;
        window->targets[group[i]].in_start_group = true;
    }
    window->n_started = n;
    window->epoch.access = TRMA_ACCESS_PSCW;
    trma_win_guard_leave(window);
    return TRMA_OK;
}

/* True when the target has remembered operations and has not posted. */
static bool is_late(const struct trma_target *target) {
    return target->first_deferred && !trma_sync_pscw_reached(target->posted, target->started);
}

/* True when a target that complete waits for has posted. Reads nothing that the guard protects from change
 * while complete is under way. */
static bool has_late_one_posted(void *argument) {
    const struct trma_window *window = argument;

    for (uint32_t i = 0; i < window->n_started; i++) {
        const struct trma_target *target = &window->targets[window->start_group[i]];
        if (target->in_start_group && !is_late(target)) {
            return true;
        }
    }
    return false;
}

/* The first target that complete waits for. */
static uint32_t first_waited_for(void *argument) {
    const struct trma_window *window = argument;
    uint32_t i = 0;

    while (i + 1 < window->n_started && !window->targets[window->start_group[i]].in_start_group) {
        i++;
    }
    return window->start_group[i];
}

/* Ends the access epoch towards one target of the group, which is not late. */
static enum trma_status finish_target(struct trma_window *window, uint32_t index, uint64_t *waited_ns) {
    struct trma_target *target = &window->targets[index];
    enum trma_status status = target->first_deferred ? trma_win_deferred_run(window, target) : TRMA_OK;
    enum trma_status drained = trma_win_step_drain(window, target, waited_ns);

    target->in_start_group = false;
    trma_sync_pscw_announce(target->completed, target->started);
    trma_node_doorbell_notify(window->team->bells[index], window->rings_fence);
    return status ? status : drained;
}

/* Ends it towards all that are not late; *late tells whether one is. The first error is kept. */
static enum trma_status finish_ready(struct trma_window *window, bool *late, uint64_t *waited_ns) {
    enum trma_status first_error = TRMA_OK;

    *late = false;
    for (uint32_t i = 0; i < window->n_started; i++) {
        struct trma_target *target = &window->targets[window->start_group[i]];
        if (!target->in_start_group) {
            continue;
        }
        if (is_late(target)) {
            *late = true;
            continue;
        }
        enum trma_status status = finish_target(window, window->start_group[i], waited_ns);
        first_error = first_error ? first_error : status;
    }
    return first_error;
}

enum trma_status trma_win_complete(struct trma_window *window) {
    const struct trma_awaited post = {
        .ready = has_late_one_posted, .argument = window, .whom = first_waited_for};
    bool late;

    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (window->epoch.access != TRMA_ACCESS_PSCW) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    uint64_t *waited_ns = trma_win_step_book(window, TRMA_WAIT_COMPLETE);
    struct trma_turns *turns = trma_win_is_threaded(window) ? NULL : window->team->waiter.turns;
    if (turns) {
        trma_node_turn_begin(turns); /* also while it moves what was put off */
    }
    /* Each target as soon as it can be: none waits because another one is late. */
    enum trma_status first_error = finish_ready(window, &late, waited_ns);
    while (late) {
        enum trma_status status =
            trma_node_wait_for(&window->team->waiter, trma_win_guard(window), &post, waited_ns);
        if (status) {
            /* Nobody will post any more. The buffers are the user's again, so the operations are dropped. */
            for (uint32_t i = 0; i < window->n_started; i++) {
                trma_win_deferred_clear(&window->targets[window->start_group[i]]);
            }
        }
        enum trma_status finished = finish_ready(window, &late, waited_ns);
        status = status ? status : finished;
        first_error = first_error ? first_error : status;
    }
    window->n_started = 0;
    trma_win_step_close_all(window);
    if (turns) {
        trma_node_turn_end(turns);
    }
    trma_win_guard_leave(window);
    return first_error;
}

enum trma_status trma_win_post(struct trma_window *window, const uint32_t *group, uint32_t n) {
    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    trma_win_step_book(window, TRMA_WAIT_POST);
    for (uint32_t i = 0; i < n; i++) {
        struct trma_target *origin = &window->targets[group[i]];
        window->post_group[i] = group[i];
        trma_sync_pscw_announce(&origin->words->pairs[window->me].posted, ++origin->exposed);
    }
    /* One fence for all. */
    if (window->rings_fence) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    for (uint32_t i = 0; i < n; i++) {
        trma_node_doorbell_notify(window->team->bells[group[i]], false);
    }
    window->n_posted = n;
    window->is_exposed = true;
    trma_win_guard_leave(window);
    return TRMA_OK;
}

struct exposure {
    struct trma_window *window;
    uint32_t n_done;  /* members of the post group, in its order, that have completed */
    uint32_t n_looks; /* of the wait */
};

/* Looks at the origins in order, and never again at one that has completed. Reads nothing that the guard
 * protects from change while an exposure epoch is open. */
static bool have_completed(void *argument) {
    struct exposure *exposure = argument;
    struct trma_window *window = exposure->window;

    exposure->n_looks++;
    while (exposure->n_done < window->n_posted) {
        uint32_t origin = window->post_group[exposure->n_done];
        if (!trma_sync_pscw_reached(&window->words->pairs[origin].completed,
                                    window->targets[origin].exposed)) {
            return false;
        }
        exposure->n_done++;
    }
    return true;
}

/* Those that have not; where cores are few only who sleeps asks. */
static uint32_t count_late(void *argument) {
    const struct exposure *exposure = argument;
    struct trma_window *window = exposure->window;
    uint32_t n = 0;

    for (uint32_t i = exposure->n_done; i < window->n_posted; i++) {
        const uint32_t origin = window->post_group[i];
        n +=
            !trma_sync_pscw_reached(&window->words->pairs[origin].completed, window->targets[origin].exposed);
    }
    return n;
}

/*
 * Of a target that has computed for just as long as the epoch took: whether the epoch has ended when it looks
 * is chance, and a pause between two looks is as long as a part of a short epoch. So where the last epoch had
 * ended before the first pause, the next one is looked at before any. One wait in 64 does that anyway, with
 * fewer looks: where every epoch ends within the first pause it would never begin. Measured (Zen 4,
 * bench-overlap of 100 % in turns, Open MPI, the 3 or 4 of 6 launches in which the processors were near each
 * other): of epochs of 8 B 0.90 to 0.98 is hidden instead of 0.42 to 0.71, of 512 B 0.96 to 0.97 instead of
 * 0.45 to 0.71, of 2 KiB 0.94 to 1.00 instead of 0.62 to 0.69, of 4 KiB 0.97 to 0.99 instead of 0.74 to 0.93,
 * of 64 KiB 0.99 instead of 0.97; far from each other 0.94 to 0.99 and 0.96 to 1.00. Epochs of 8 and 128 B of
 * a target that does not compute take 0.96 to 1.03 of the time (bench-latency in turns, two hosts, 8 launches
 * each, errors 0.01 to 0.03); 1.05 to 1.30 if all waits begin so, or if one pause more counts as soon (MPICH,
 * 6 launches).
 */
enum { LOOKS_AT_ONCE = 16, LOOKS_OF_TRY = 8, WAITS_PER_TRY = 64 };

static int looks_at_once(struct trma_window *window) {
    if (window->ends_soon) {
        return LOOKS_AT_ONCE;
    }
    return ++window->waits_without % WAITS_PER_TRY == 0 ? LOOKS_OF_TRY : 0;
}

static bool ends_at_once(struct exposure *exposure, int looks) {
    bool has_ended = false;

    for (int i = 0; i < looks && !has_ended; i++) {
        has_ended = have_completed(exposure);
        trma_node_linger();
    }
    exposure->n_looks = 0;
    return has_ended;
}

enum trma_status trma_win_wait(struct trma_window *window) {
    struct exposure exposure = {.window = window};
    const struct trma_awaited completes = {
        .ready = have_completed, .argument = &exposure, .missing = count_late};
    enum trma_status status = TRMA_OK;

    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (!window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    uint64_t *waited_ns = trma_win_step_book(window, TRMA_WAIT_WAIT);
    /* Not where the time of the wait is wanted: that would cost more. */
    const int looks = waited_ns ? 0 : looks_at_once(window);
    if (looks > 0 && ends_at_once(&exposure, looks)) {
        window->ends_soon = true;
    } else {
        status = trma_node_wait_for(&window->team->waiter, trma_win_guard(window), &completes, waited_ns);
        window->ends_soon = exposure.n_looks <= TRMA_WAIT_LOOKS_BEFORE_PAUSE;
    }
    window->is_exposed = false;
    window->n_posted = 0;
    trma_win_guard_leave(window);
    trma_win_order_pay();
    return status;
}

enum trma_status trma_win_test(struct trma_window *window, bool *done) {
    struct exposure exposure = {.window = window};

    *done = false;
    trma_win_guard_enter(window);
    trma_win_step_account(window);
    if (!window->is_exposed) {
        trma_win_guard_leave(window);
        return TRMA_ERR_SYNC;
    }
    *done = have_completed(&exposure);
    if (*done) {
        window->is_exposed = false;
        window->n_posted = 0;
    }
    trma_win_guard_leave(window);
    trma_win_order_pay();
    if (!*done && window->team->waiter.progress) {
        window->team->waiter.progress();
    }
    return TRMA_OK;
}
