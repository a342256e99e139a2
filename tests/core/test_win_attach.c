/* SPDX-License-Identifier: BSD-3-Clause */
#include "team_fixture.h"

#include "mem/mem_heap.h"
#include "win/win_epoch.h"

/* Dynamic windows: what members attach and detach while others look. */

static const struct trma_window_options dynamic = {.is_dynamic = true};

/* Attach and detach against a plain model, in one process, with random ranges in one stretch of memory. */
enum { CELLS = 64, CELL_BYTES = 16 };

static char cells[CELLS * CELL_BYTES];

static uintptr_t cell(size_t index) {
    return (uintptr_t)&cells[index * CELL_BYTES];
}

struct model {
    size_t length[CELLS]; /* in cells, of the range that starts here */
    bool is_covered[CELLS];
};

static bool model_covers(const struct model *model, size_t at, size_t length) {
    for (size_t i = at; i < at + length; i++) {
        if (i >= CELLS || !model->is_covered[i]) {
            return false;
        }
    }
    return true;
}

static bool model_add(struct model *model, size_t at, size_t length) {
    for (size_t i = at; i < at + length; i++) {
        if (model->is_covered[i]) {
            return false;
        }
    }
    model->length[at] = length;
    memset(&model->is_covered[at], true, length);
    return true;
}

static bool model_remove(struct model *model, size_t at) {
    if (model->length[at] == 0) {
        return false;
    }
    memset(&model->is_covered[at], false, model->length[at]);
    model->length[at] = 0;
    return true;
}

static void play_model(struct actor *actor) {
    static struct model model;
    struct stage_window window = window_open(actor, PLAY_PRIVATE, 0, dynamic);
    struct trma_attachments *attachments = window.core->attachments;
    struct trma_target *target = &window.core->targets[0];
    uint64_t random = 42;

    for (unsigned i = 0; i < play_often(20000); i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        size_t at = random >> 40 & (CELLS - 1);
        size_t length = (random >> 50 & 7) + 1;
        length = at + length > CELLS ? CELLS - at : length;
        if (random >> 63) {
            CHECK(trma_win_attachments_add(attachments, cell(at), length * CELL_BYTES) ==
                  (model_add(&model, at, length) ? TRMA_OK : TRMA_ERR_RANGE));
        } else {
            CHECK(trma_win_attachments_remove(attachments, cell(at)) ==
                  (model_remove(&model, at) ? TRMA_OK : TRMA_ERR_RANGE));
        }
        struct trma_path path;
        size_t from = random >> 30 & (CELLS - 1);
        size_t span = (random >> 20 & 15) + 1;
        enum trma_status found =
            trma_win_attached_find(&target->attached, &target->words->attached, actor->team->peers[0],
                                   cell(from), span * CELL_BYTES, &path);
        CHECK(found == (model_covers(&model, from, span) ? TRMA_OK : TRMA_ERR_RANGE));
    }
    window_close(actor, &window);
}

static void test_against_model(void **state) {
    (void)state;
    play_run(1, play_model);
}

static void play_odd_ranges(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_PRIVATE, 0, dynamic);
    struct trma_attachments *attachments = window.core->attachments;

    CHECK(trma_win_attachments_add(attachments, cell(0), 0) == TRMA_OK);
    CHECK(trma_win_attachments_remove(attachments, cell(0)) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_add(attachments, UINTPTR_MAX - 7, 16) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_add(attachments, cell(4), 2 * CELL_BYTES) == TRMA_OK);
    CHECK(trma_win_attachments_add(attachments, cell(4), 1) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_add(attachments, cell(5), CELL_BYTES) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_add(attachments, cell(0), 5 * CELL_BYTES) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_remove(attachments, cell(5)) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_add(attachments, cell(0), 4 * CELL_BYTES) == TRMA_OK);
    CHECK(trma_win_attachments_remove(attachments, cell(4)) == TRMA_OK);
    CHECK(trma_win_attachments_remove(attachments, cell(4)) == TRMA_ERR_RANGE);
    CHECK(trma_win_attachments_remove(attachments, cell(0)) == TRMA_OK);

    /* Operations: nothing is attached, so nothing but an operation without bytes works. */
    int64_t value = 1;
    CHECK(trma_win_lock(window.core, TRMA_LOCK_SHARED, 0) == TRMA_OK);
    CHECK(window_put(window.core, 0, (int64_t)cell(0), &value, 1) == TRMA_ERR_RANGE);
    CHECK(window_put(window.core, 0, 0, &value, 1) == TRMA_ERR_RANGE);
    CHECK(window_put(window.core, 0, -1, &value, 1) == TRMA_ERR_RANGE);
    CHECK(window_put(window.core, 0, 0, &value, 0) == TRMA_OK);
    CHECK(trma_win_unlock(window.core, 0) == TRMA_OK);
    window_close(actor, &window);
}

static void test_odd_ranges(void **state) {
    (void)state;
    play_run(1, play_odd_ranges);
}

/*
 * Thousands of pieces come and go at the owner while the others read one that stays, and look for some that
 * do not. Whoever looks while the table is replaced finds what stays, always, and with the right bytes.
 */
static void churn(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, 0, dynamic);
    size_t pieces = play_often(10000);
    void *memory = NULL;
    size_t size = 2 * (pieces + 2) * sizeof(int64_t);

    if (actor->me == 0) {
        if (kind == PLAY_MAPPED) {
            CHECK(trma_mem_heap_allocate(TRMA_HEAP_DATA, size, 64, &memory) == TRMA_OK);
        } else {
            CHECK((memory = malloc(size)) != NULL);
        }
        int64_t *words = memory;
        for (size_t i = 0; i < size / sizeof *words; i++) {
            words[i] = (int64_t)i;
        }
        /* Every second word is a piece, so that none touches another; the one in the middle stays. */
        size_t middle = pieces / 2 * 2;
        CHECK(trma_win_attachments_add(window.core->attachments, (uintptr_t)&words[middle], 8) == TRMA_OK);
        scene_set(actor->scene, 1, (uint64_t)middle);
        scene_set(actor->scene, 2, (uintptr_t)words);
        scene_set(actor->scene, 0, 1);
        for (size_t i = 0; i < pieces; i++) {
            if (2 * i != middle) {
                CHECK(trma_win_attachments_add(window.core->attachments, (uintptr_t)&words[2 * i], 8) ==
                      TRMA_OK);
            }
        }
        scene_set(actor->scene, 0, 2);
        scene_await(actor->scene, 3, actor->size - 1); /* all have seen the full table */
        for (size_t i = pieces; i-- > 0;) {
            if (2 * i != middle) {
                CHECK(trma_win_attachments_remove(window.core->attachments, (uintptr_t)&words[2 * i]) ==
                      TRMA_OK);
            }
        }
        scene_set(actor->scene, 0, 3);
    } else {
        scene_await(actor->scene, 0, 1);
        size_t middle = scene_get(actor->scene, 1);
        int64_t base = (int64_t)scene_get(actor->scene, 2);
        uint64_t random = actor->me;
        CHECK(trma_win_lock(window.core, TRMA_LOCK_SHARED, 0) == TRMA_OK);
        for (uint64_t step = 1; step < 3;) {
            int64_t value = -1;
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
            CHECK(window_get(window.core, 0, base + 8 * (int64_t)middle, &value, 1) == TRMA_OK);
            CHECK(value == (int64_t)middle);
            int64_t place = (int64_t)((random >> 33) % pieces) * 2;
            enum trma_status status = window_get(window.core, 0, base + 8 * place, &value, 1);
            /* Looked at afterwards: once the others have seen the full table the owner takes pieces away. */
            bool all_are_there = step == 2 && scene_get(actor->scene, 3) < actor->size - 1;
            CHECK(status == TRMA_OK || (status == TRMA_ERR_RANGE && !all_are_there));
            CHECK(status != TRMA_OK || value == place);
            CHECK(window_get(window.core, 0, base + 8 * (place + 1), &value, 1) == TRMA_ERR_RANGE);
            uint64_t now = scene_get(actor->scene, 0);
            if (step == 1 && now >= 2) {
                CHECK(window_get(window.core, 0, base + 8 * place, &value, 1) == TRMA_OK && value == place);
                scene_add(actor->scene, 3, 1);
            }
            step = now;
            sched_yield();
        }
        CHECK(window_get(window.core, 0, base, &(int64_t){0}, 1) == (middle == 0 ? TRMA_OK : TRMA_ERR_RANGE));
        CHECK(trma_win_unlock(window.core, 0) == TRMA_OK);
    }
    window_close(actor, &window);
    if (kind == PLAY_MAPPED && memory) {
        CHECK(trma_mem_heap_free(memory));
    } else {
        free(memory);
    }
}

static void play_churn_mapped(struct actor *actor) {
    churn(actor, PLAY_MAPPED);
}

static void play_churn_private(struct actor *actor) {
    churn(actor, PLAY_PRIVATE);
}

static void test_churn(void **state) {
    (void)state;
    play_run(3, play_churn_mapped);
    play_run(2, play_churn_private);
}

/* Puts, gets and updates on attached memory, mapped and private, by all members at once; detached means
 * detached. */
static void operate(struct actor *actor, enum play_memory kind) {
    struct stage_window window = window_open(actor, kind, 0, dynamic);
    struct stage_window memory = window_open(actor, kind, PLAY_MEMBERS + 1, (struct trma_window_options){0});
    unsigned rounds = play_often(100);
    uintptr_t addresses[PLAY_MEMBERS];
    uintptr_t mine = (uintptr_t)memory.memory;

    CHECK(trma_node_team_exchange(actor->team, &mine, sizeof mine, addresses) == TRMA_OK);
    for (unsigned round = 1; round <= rounds; round++) {
        /* Two pieces that touch: operations may go over both. */
        CHECK(trma_win_attachments_add(window.core->attachments, mine, 8) == TRMA_OK);
        CHECK(trma_win_attachments_add(window.core->attachments, mine + 8, 8 * PLAY_MEMBERS) == TRMA_OK);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        CHECK(trma_win_lock_all(window.core, false) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            int64_t pair[2] = {-1, -1};
            int64_t value = (int64_t)round * 10 + actor->me;
            CHECK(window_put(window.core, i, (int64_t)addresses[i] + 8 * (int64_t)(actor->me + 1), &value,
                             1) == TRMA_OK);
            CHECK(window_add(window.core, i, (int64_t)addresses[i], 1) == TRMA_OK);
            CHECK(trma_win_flush(window.core, i, false) == TRMA_OK);
            CHECK(window_put(window.core, i, (int64_t)addresses[i] + 8 * PLAY_MEMBERS, pair, 2) ==
                  TRMA_ERR_RANGE);
        }
        CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        CHECK(memory.memory[0] == (int64_t)round * actor->size);
        for (uint32_t i = 0; i < actor->size; i++) {
            CHECK(memory.memory[i + 1] == (int64_t)round * 10 + i);
        }
        /* Nobody updates now: a get may read what others have accumulated, over both pieces. */
        CHECK(trma_win_lock_all(window.core, false) == TRMA_OK);
        for (uint32_t i = 0; i < actor->size; i++) {
            int64_t pair[2] = {-1, -1};
            CHECK(window_get(window.core, i, (int64_t)addresses[i], pair, 2) == TRMA_OK);
            CHECK(trma_win_flush(window.core, i, true) == TRMA_OK);
            CHECK(pair[0] == (int64_t)round * actor->size && pair[1] == (int64_t)round * 10);
        }
        CHECK(trma_win_unlock_all(window.core) == TRMA_OK);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        CHECK(trma_win_attachments_remove(window.core->attachments, mine) == TRMA_OK);
        CHECK(trma_win_attachments_remove(window.core->attachments, mine + 8) == TRMA_OK);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
        CHECK(trma_win_lock(window.core, TRMA_LOCK_SHARED, 0) == TRMA_OK);
        CHECK(window_get(window.core, 0, (int64_t)addresses[0], &(int64_t){0}, 1) == TRMA_ERR_RANGE);
        CHECK(trma_win_unlock(window.core, 0) == TRMA_OK);
        CHECK(trma_node_team_barrier(actor->team) == TRMA_OK);
    }
    window_close(actor, &memory);
    window_close(actor, &window);
}

static void play_operate(struct actor *actor) {
    operate(actor, PLAY_MAPPED);
    operate(actor, PLAY_PRIVATE);
}

static void test_operations(void **state) {
    (void)state;
    play_run(2, play_operate);
    play_run(4, play_operate);
}

/* The owner dies while it replaces its table: who reads it learns that, instead of trying for ever. */
static void play_death(struct actor *actor) {
    struct stage_window window = window_open(actor, PLAY_PRIVATE, 0, dynamic);

    if (actor->me == 0) {
        CHECK(trma_win_attachments_add(window.core->attachments, cell(0), CELL_BYTES) == TRMA_OK);
        atomic_fetch_add(&window.core->words->attached.version,
                         1); /* as if in the middle of the next change */
        scene_set(actor->scene, 0, 1);
        scene_await(actor->scene, 1, 1);
        play_die(actor);
    }
    scene_await(actor->scene, 0, 1);
    CHECK(trma_win_lock(window.core, TRMA_LOCK_SHARED, 0) == TRMA_OK);
    scene_set(actor->scene, 1, 1);
    play_check_death(actor, window_get(window.core, 0, (int64_t)cell(0), &(int64_t){0}, 1));
}

static void test_death(void **state) {
    (void)state;
    play_run_with_victim(2, 0, play_death);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model), cmocka_unit_test(test_odd_ranges),
        cmocka_unit_test(test_operations),    cmocka_unit_test(test_churn),
        cmocka_unit_test(test_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
