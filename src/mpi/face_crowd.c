/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_crowd.h"

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "call_visit.h"
#include "face_abi.h"
#include "face_log.h"
#include "face_team.h"

/* What the ranks tell each other, joined by bitwise or. */
enum {
    WANTS = 1,      /* more ranks on my node than cores online, or TRUERMA_YIELD=always */
    REFUSES = 2,    /* TRUERMA_YIELD=never */
    HAS_REMOTES = 4 /* some ranks are not on my node, or the launcher does not tell */
};

struct census {
    uint64_t cpus[TRMA_TEAM_CPU_WORDS]; /* that the ranks may run on */
    uint64_t flags;
};

/* Values of the attribute: does the communicator lie within MPI_COMM_WORLD? */
static char is_within;
static char is_beyond;

static int keyval = MPI_KEYVAL_INVALID;

struct trma_host_table trma_crowd_blocking;

static struct census count_myself(int size) {
    struct census mine = {.flags = 0};
    const uint32_t ranks = trma_face_ranks_on_node();
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        memcpy(mine.cpus, &cpus, sizeof mine.cpus < sizeof cpus ? sizeof mine.cpus : sizeof cpus);
    }
    if (trma_knobs()->yield == TRMA_YIELD_ALWAYS || ranks > (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)) {
        mine.flags |= WANTS;
    }
    if (trma_knobs()->yield == TRMA_YIELD_NEVER || !trma_knobs()->enabled) {
        mine.flags |= REFUSES;
    }
    if (ranks != (uint32_t)size) {
        mine.flags |= HAS_REMOTES;
    }
    return mine;
}

static bool is_crowded(const struct census *all, int size) {
    int cores = 0;

    for (int word = 0; word < TRMA_TEAM_CPU_WORDS; word++) {
        cores += __builtin_popcountll(all->cpus[word]);
    }
    return (all->flags & WANTS) || (!(all->flags & HAS_REMOTES) && cores < size);
}

static int forget(MPI_Comm comm, int used_keyval, void *value, void *extra) {
    (void)comm;
    (void)used_keyval;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}

void trma_crowd_begin(void) {
    const struct trma_host_table *host = trma_host();
    struct census all;
    int size = 0;

    if (TRMA_ABI_HOST_YIELDS || host->Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS || size == 1) {
        return;
    }
    struct census mine = count_myself(size);
    if (host->Allreduce(&mine, &all, sizeof mine / sizeof(uint64_t), MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD) !=
            MPI_SUCCESS ||
        (all.flags & REFUSES) || !is_crowded(&all, size)) {
        return;
    }
    /* Fails everywhere or nowhere but when memory is out, which ends the program soon. */
    if (host->Comm_create_keyval(trma_host_copy_nothing, forget, &keyval, NULL) == MPI_SUCCESS) {
        trma_crowd_blocking = trma_host_functions;
        trma_crowd_replace(&trma_host_functions);
        trma_log(TRMA_LOG_INFO, "more ranks than cores: the host MPI's blocking calls yield while they wait");
    }
}

/* Every member finds the same: one that belongs to another MPI_COMM_WORLD does not find all in its own. */
static bool lies_within_world(MPI_Comm comm) {
    const struct trma_host_table *host = trma_host();
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    int size = 0;
    int is_inter = 0;
    bool all_found = true;

    host->Comm_test_inter(comm, &is_inter);
    if (is_inter || host->Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) {
        return false;
    }
    host->Comm_group(comm, &group);
    host->Group_size(group, &size);
    for (int rank = 0; rank < size && all_found; rank++) {
        int found = MPI_UNDEFINED;
        host->Group_translate_ranks(group, 1, &rank, world, &found);
        all_found = found != MPI_UNDEFINED;
    }
    host->Group_free(&group);
    host->Group_free(&world);
    return all_found;
}

bool trma_crowd_covers(MPI_Comm comm) {
    char *value = NULL;
    int found = 0;

    if (comm == MPI_COMM_WORLD) {
        return true;
    }
    if (comm == MPI_COMM_NULL) {
        return false; /* the host says so */
    }
    if (trma_host()->Comm_get_attr(comm, keyval, (void *)&value, &found) != MPI_SUCCESS) {
        return false;
    }
    if (!found) {
        value = lies_within_world(comm) ? &is_within : &is_beyond;
        trma_host()->Comm_set_attr(comm, keyval, value);
    }
    return value == &is_within;
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

void trma_crowd_take_back(MPI_Request *receive) {
    trma_host()->Cancel(receive);
    trma_host()->Request_free(receive);
}
