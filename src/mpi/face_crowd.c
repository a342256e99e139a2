/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_crowd.h"

#include <pthread.h>
#include <sched.h>

#include "call_visit.h"
#include "face_abi.h"
#include "face_log.h"
#include "node/node_team.h"

/* Values of the attribute: covered, or not within MPI_COMM_WORLD. */
static char is_covered;
static char is_beyond;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;
static bool world_is_covered;

struct trma_host_table trma_crowd_blocking;

bool trma_crowd_is_agreed(const struct trma_team_card *cards, int size, bool is_crowded) {
    bool is_wanted = is_crowded;

    for (int i = 0; i < size; i++) {
        if (cards[i].yield == TRMA_YIELD_NEVER) {
            return false;
        }
        is_wanted |= cards[i].yield == TRMA_YIELD_ALWAYS;
    }
    return is_wanted && size > 1 && !TRMA_ABI_HOST_YIELDS;
}

static int forget(MPI_Comm comm, int used_keyval, void *value, void *extra) {
    (void)comm;
    (void)used_keyval;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}

/* Every member finds the same: one that belongs to another MPI_COMM_WORLD does not find all in its own. */
static bool lies_within_world(MPI_Comm comm) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    int size = 0;
    int is_inter = 0;
    bool all_found = true;

    trma_host()->Comm_test_inter(comm, &is_inter);
    if (is_inter || !trma_host_has_world() ||
        trma_host()->Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) {
        return false;
    }
    trma_host()->Comm_group(comm, &group);
    trma_host()->Group_size(group, &size);
    for (int rank = 0; rank < size && all_found; rank++) {
        int found = MPI_UNDEFINED;
        trma_host()->Group_translate_ranks(group, 1, &rank, world, &found);
        all_found = found != MPI_UNDEFINED;
    }
    trma_host()->Group_free(&group);
    trma_host()->Group_free(&world);
    return all_found;
}

void trma_crowd_enter(MPI_Comm comm) {
    int size = 0;
    int ranks = 0;

    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID &&
        trma_host()->Comm_create_keyval(trma_host_copy_nothing, forget, &keyval, NULL) == MPI_SUCCESS) {
        trma_crowd_blocking = trma_host_functions;
        trma_crowd_replace(&trma_host_functions);
        trma_log(TRMA_LOG_INFO, "the host MPI's blocking calls yield while they wait%s",
                 trma_knobs()->yield == TRMA_YIELD_ALWAYS ? "" : ": there are more ranks than cores");
    }
    pthread_mutex_unlock(&lock);
    if (keyval == MPI_KEYVAL_INVALID) {
        return;
    }
    trma_host()->Comm_set_attr(comm, keyval, &is_covered);
    if (lies_within_world(comm) && !trma_host_is_threaded()) {
        trma_host()->Comm_size(comm, &size);
        trma_host()->Comm_size(MPI_COMM_WORLD, &ranks);
        world_is_covered |= size == ranks;
    }
}

bool trma_crowd_covers(MPI_Comm comm) {
    char *value = NULL;
    int found = 0;

    if (comm == MPI_COMM_NULL) {
        return false; /* the host says so */
    }
    if (trma_host()->Comm_get_attr(comm, keyval, (void *)&value, &found) != MPI_SUCCESS) {
        return false;
    }
    if (!found && world_is_covered) {
        value = lies_within_world(comm) ? &is_covered : &is_beyond;
        trma_host()->Comm_set_attr(comm, keyval, value);
    }
    return value == &is_covered;
}

void trma_crowd_yield(void) {
    trma_visit();
    sched_yield();
}

int trma_crowd_wait(MPI_Request *request, MPI_Status *status) {
    int flag = 0;
    int code = trma_host()->Test(request, &flag, status);

    while (code == MPI_SUCCESS && !flag) {
        trma_crowd_yield();
        code = trma_host()->Test(request, &flag, status);
    }
    return code;
}

int trma_crowd_start(MPI_Request *request, MPI_Status *status) {
    int code = trma_host()->Start(request);

    return code == MPI_SUCCESS ? trma_crowd_wait(request, status) : code;
}

static bool fits(const MPI_Status *message, MPI_Count count, MPI_Datatype datatype) {
    int has = 0;
    int room = 0;

    /* Sizes that an int does not hold are MPI_UNDEFINED, which is negative. */
    return trma_host()->Get_count(message, MPI_BYTE, &has) == MPI_SUCCESS &&
           trma_host()->Type_size(datatype, &room) == MPI_SUCCESS && has >= 0 && room >= 0 && count >= 0 &&
           has <= (MPI_Count)room * count;
}

bool trma_crowd_await_message(MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm) {
    MPI_Status message;
    int flag = 0;

    if (source == MPI_PROC_NULL) {
        return false;
    }
    int code = trma_host()->Iprobe(source, tag, comm, &flag, &message);
    while (code == MPI_SUCCESS && !flag) {
        trma_crowd_yield();
        code = trma_host()->Iprobe(source, tag, comm, &flag, &message);
    }
    return code == MPI_SUCCESS && fits(&message, count, datatype);
}

int trma_crowd_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    bool has_failed = false;

    for (int i = 0; i < count; i++) {
        bool is_wanted = statuses != MPI_STATUSES_IGNORE;
        int code = trma_crowd_wait(&requests[i], is_wanted ? &statuses[i] : MPI_STATUS_IGNORE);
        /* The field is only told when some have failed: then of all of them. */
        if (is_wanted && code != MPI_SUCCESS && !has_failed) {
            for (int before = 0; before < i; before++) {
                statuses[before].MPI_ERROR = MPI_SUCCESS;
            }
        }
        has_failed |= code != MPI_SUCCESS;
        if (is_wanted && has_failed) {
            statuses[i].MPI_ERROR = code;
        }
    }
    return has_failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}
