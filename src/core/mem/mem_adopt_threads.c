/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_threads.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../node/node_peer_process.h"
#include "mem_adopt.h"
#include "mem_door.h"

/* A host MPI has a handful of helper threads. */
#define MOST_TRUSTED 32

/* A thread by its id and, since ids are reused, the moment it started. */
struct thread_name {
    int id;
    uint64_t start_time;
};

struct thread_list {
    size_t n;
    struct thread_name threads[MOST_TRUSTED];
};

static pthread_mutex_t trust_lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread_list known_before; /* guarded by trust_lock */
static struct thread_list trusted;      /* guarded by trust_lock */

static bool list_has(const struct thread_list *list, const struct thread_name *thread) {
    for (size_t i = 0; i < list->n; i++) {
        if (list->threads[i].id == thread->id && list->threads[i].start_time == thread->start_time) {
            return true;
        }
    }
    return false;
}

/* Calls `visit` for each thread until it answers false; false when it did, or when /proc does not tell. */
static bool visit_threads(bool (*visit)(const struct thread_name *thread, void *context), void *context) {
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) {
        return false;
    }
    bool go_on = true;
    size_t seen = 0;
    const struct dirent *entry;
    while (go_on && (entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            int id = (int)strtol(entry->d_name, NULL, 10);
            struct thread_name thread = {.id = id, .start_time = trma_node_process_thread_start_time(id)};
            go_on = visit(&thread, context);
            seen++;
        }
    }
    closedir(directory);
    return go_on && seen > 0;
}

static bool remember(const struct thread_name *thread, void *context) {
    struct thread_list *list = context;
    if (list->n < MOST_TRUSTED) {
        list->threads[list->n++] = *thread;
    }
    return true;
}

static bool trust_if_new(const struct thread_name *thread, void *context) {
    (void)context;
    if (!list_has(&known_before, thread)) {
        remember(thread, &trusted);
    }
    return true;
}

void trma_mem_adopt_trust_begin(void) {
    pthread_mutex_lock(&trust_lock);
    known_before.n = 0;
    (void)visit_threads(remember, &known_before);
    pthread_mutex_unlock(&trust_lock);
}

void trma_mem_adopt_trust_end(void) {
    pthread_mutex_lock(&trust_lock);
    /* With a full list a thread of the program could be taken for a new one: nobody is trusted then. */
    if (known_before.n > 0 && known_before.n < MOST_TRUSTED) {
        (void)visit_threads(trust_if_new, NULL);
    }
    known_before.n = 0;
    pthread_mutex_unlock(&trust_lock);
}

static bool is_harmless(const struct thread_name *thread, void *context) {
    const int *caller = context;
    return thread->id == *caller || thread->id == trma_mem_door_serve_thread() || list_has(&trusted, thread);
}

bool trma_mem_threads_may_write(void) {
    int caller = (int)syscall(SYS_gettid);
    pthread_mutex_lock(&trust_lock);
    bool all_harmless = visit_threads(is_harmless, &caller);
    pthread_mutex_unlock(&trust_lock);
    return !all_harmless;
}

bool trma_mem_threads_exist(void) {
    struct stat tasks;
    /* A folder has a link from each folder in it, from its parent and from itself. */
    return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3;
}

void trma_mem_threads_forget(void) {
    trusted.n = 0;
    known_before.n = 0;
    pthread_mutex_init(&trust_lock, NULL);
}
