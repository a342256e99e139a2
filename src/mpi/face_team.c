/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_team.h"

#include <pthread.h>
#include <stdlib.h>

#include "acc/acc_element.h"
#include "face_crowd.h"
#include "face_host.h"
#include "face_log.h"
#include "mem/mem_door.h"
#include "move/move_copy.h"

struct trma_handle_table trma_comms = TRMA_HANDLE_TABLE(struct trma_comm);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

void trma_face_team_retain(struct trma_face_team *team) {
    pthread_mutex_lock(&lock);
    team->references++;
    pthread_mutex_unlock(&lock);
}

void trma_face_team_release(struct trma_face_team *team) {
    pthread_mutex_lock(&lock);
    unsigned left = --team->references;
    pthread_mutex_unlock(&lock);
    if (!left) {
        trma_node_team_destroy(team->core);
        free(team);
    }
}

static int forget(MPI_Comm comm, int used_keyval, void *value, void *extra) {
    struct trma_face_team *team = value;

    (void)comm;
    (void)used_keyval;
    (void)extra;
    if (team->comm) {
        trma_handle_give(&trma_comms, &team->comm->handle);
        team->comm = NULL;
    }
    trma_face_team_release(team);
    return MPI_SUCCESS;
}

/* Ranks of the program on this node, as the launchers tell their processes; 0 when they do not. */
static uint32_t ranks_on_node(void) {
    static const char *const names[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE",
                                        "SLURM_NTASKS_PER_NODE"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        long ranks = text ? strtol(text, NULL, 10) : 0;
        if (ranks > 0 && ranks < INT32_MAX) {
            return (uint32_t)ranks;
        }
    }
    return 0;
}

/* Everybody's status becomes the worst one, so that all members decide alike. */
static bool all_succeeded(MPI_Comm comm, bool mine) {
    int here = mine;
    int everywhere = 0;

    return trma_host()->Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && everywhere;
}

static void make_core(struct trma_face_team *team, MPI_Comm comm, int size, int rank) {
    struct trma_team_card mine;
    struct trma_team_block *block = NULL;
    struct trma_team_options options = {.spin_us = (uint32_t)trma_knobs()->spin_us,
                                        .is_threaded = trma_host_is_threaded(),
                                        .progress = trma_host_progress,
                                        .update = trma_acc_combine_bytes,
                                        .copy = trma_knobs()->joint ? trma_move_at_once : NULL};
    struct trma_team_card *cards = calloc((size_t)size, sizeof *cards);
    enum trma_status status = TRMA_ERR_NO_MEMORY;

    trma_node_team_card_fill(&mine, &block);
    mine.ranks_on_node = ranks_on_node();
    mine.yield = (uint32_t)trma_knobs()->yield;
    mine.usable = mine.usable && cards && trma_knobs()->enabled;
    if (!all_succeeded(comm, cards != NULL)) {
        team->refusal = trma_status_text(TRMA_ERR_NO_MEMORY);
        trma_node_team_block_give(block);
    } else {
        trma_host()->Allgather(&mine, sizeof mine, MPI_BYTE, cards, sizeof mine, MPI_BYTE, comm);
        status = trma_node_team_create(cards, (uint32_t)size, (uint32_t)rank, block, &options, &team->core,
                                       &team->refusal);
        team->comm = (struct trma_comm *)trma_handle_take(&trma_comms);
        if (!all_succeeded(comm, status == TRMA_OK && team->comm)) {
            if (team->comm) {
                trma_handle_give(&trma_comms, &team->comm->handle);
                team->comm = NULL;
            }
            trma_node_team_destroy(team->core);
            team->core = NULL;
            team->refusal =
                team->refusal ? team->refusal : "another member of the communicator cannot reach its peers";
        } else if (trma_crowd_is_agreed(cards, size, team->core->waiter.crowded)) {
            trma_crowd_enter(comm);
        }
    }
    free(cards);
}

/* Which doors lead to each peer, and why not the others. */
static void announce(const struct trma_team *team) {
    if (trma_knobs()->log < TRMA_LOG_INFO) {
        return;
    }
    for (uint32_t i = 0; i < team->size; i++) {
        const struct trma_peer *peer = team->peers[i];
        char closed[64];
        if (peer->is_self) {
            continue;
        }
        trma_mem_door_name_closed(peer, closed, sizeof closed);
        trma_log(TRMA_LOG_INFO, "rank %u of %u: its regions are %s%s%s%s; its private memory %s%s%s", i,
                 team->size, peer->map_reason, closed[0] ? " (closed: " : "", closed, closed[0] ? ")" : "",
                 peer->xpmem_access ? "is attached by XPMEM, else it " : "",
                 !peer->has_cma ? "is out of reach of CMA: "
                 : peer->is_file_only
                     ? "is reached by /proc/<pid>/mem, since the system calls of CMA are refused"
                     : "is reached by CMA",
                 peer->has_cma ? "" : peer->cma_reason);
    }
}

static struct trma_face_team *make(MPI_Comm comm) {
    struct trma_face_team *team = calloc(1, sizeof *team);
    int size = 0;
    int rank = 0;

    if (!team) {
        return NULL;
    }
    team->references = 1;
    trma_host()->Comm_size(comm, &size);
    trma_host()->Comm_rank(comm, &rank);
    make_core(team, comm, size, rank);
    if (!team->core) {
        trma_log(TRMA_LOG_INFO, "communicator of %d ranks: windows go to the host MPI, because %s", size,
                 team->refusal);
    } else {
        announce(team->core);
    }
    if (trma_host()->Comm_set_attr(comm, keyval, team) != MPI_SUCCESS) {
        (void)forget(comm, keyval, team, NULL);
        return NULL;
    }
    if (team->comm) {
        team->comm->team = team->core;
        trma_handle_insert(&trma_comms, &team->comm->handle, (uintptr_t)comm);
    }
    return team;
}

struct trma_face_team *trma_face_team_of(MPI_Comm comm) {
    struct trma_face_team *team = NULL;
    int found = 0;
    int is_inter = 0;

    if (comm == MPI_COMM_NULL || !trma_knobs()->enabled) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID) {
        trma_host()->Comm_create_keyval(trma_host_copy_nothing, forget, &keyval, NULL);
    }
    pthread_mutex_unlock(&lock);
    if (keyval == MPI_KEYVAL_INVALID) {
        return NULL;
    }
    trma_host()->Comm_get_attr(comm, keyval, (void *)&team, &found);
    if (found) {
        return team;
    }
    trma_host()->Comm_test_inter(comm, &is_inter);
    return is_inter ? NULL : make(comm);
}
