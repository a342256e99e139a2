/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_TEST_NODE_HELP_H
#define TRMA_TEST_NODE_HELP_H

#include "team_fixture.h"

#include <sched.h>
#include <sys/mman.h>

#include "node/node_help.h"

/* Members of whom one waits and does small transfers and updates for the others. */

enum { TARGET, ORIGIN };

/* Words of the scene; from FINISHED + 1 on one per member. */
enum { PLACE, STEP, FINISHED };

enum { PAGE = 4096, MOST = 600000 /* more than is asked for at once */ };

static inline char *map_pages(size_t pages, int protection) {
    char *memory = mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

/* The target attends, and does nothing else, until so many origins have finished. */
static inline void attend(struct actor *actor, const void *memory, uint64_t origins) {
    struct trma_help *help = &actor->team->help;

    help->windows = 1;
    CHECK(trma_node_help_begin(help));
    scene_set(actor->scene, PLACE, (uintptr_t)memory);
    while (scene_get(actor->scene, FINISHED) < origins) {
        if (!trma_node_help_serve(help)) {
            sched_yield(); /* there may be more members than cores */
        }
    }
    trma_node_help_end(help);
    help->windows = 0;
}

/* The target as this origin sees it, once it attends; its memory is at *place. */
static inline struct trma_helper *find_helper(struct actor *actor, uintptr_t *place) {
    struct trma_team *team = actor->team;
    struct trma_helper *helper =
        trma_node_helper_create(&team->help, &team->blocks[TARGET]->help, team->peers[TARGET]);

    CHECK(helper != NULL);
    scene_await(actor->scene, PLACE, 1);
    *place = scene_get(actor->scene, PLACE);
    return helper;
}

/* What a vain try would leave out is tried. */
static inline void forget_vain_tries(struct trma_helper *helper) {
    helper->own->asking.skips = 0;
    helper->own->awaiting.skips = 0;
}

/*
 * The target serves all the time, but is heard only when it has a processor soon enough: on a busy machine
 * that may take some tries. A few are made, and the caller goes on with the next transfer.
 */
static inline bool carry(struct trma_helper *helper, bool is_put, void *local, uintptr_t address,
                         size_t size) {
    enum { A_FEW = 4 };

    for (int i = 0; i < A_FEW; i++) {
        if (trma_node_help_carry(helper, true, is_put, local, address, size) == size) {
            return true;
        }
        forget_vain_tries(helper);
        sched_yield();
    }
    return false;
}

#endif
