/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "../mem/mem_backing.h"
#include "../mem/mem_door.h"
#include "../mem/mem_heap.h"
#include "../mem/mem_map.h"
#include "../mem/mem_xpmem.h"
#include "node_peer_beacon.h"
#include "node_peer_process.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER     0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

struct peer_entry {
    struct trma_peer peer; /* first: the pointer that callers have */
    uint64_t nonce;        /* the key: probe_value of the identity, random and so unique */
    size_t users;
    pid_t maker; /* the process that made it: to a forked child it means nothing */
    UT_hash_handle hh;
};

/* Taken before the locks of mappings and regions. */
static pthread_mutex_t peer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Guarded by peer_lock. */
static struct peer_entry *peers;
static struct trma_identity self;
static bool self_is_known;

static atomic_bool cma_is_allowed = true;

/* What a CMA probe reads: private memory, so that a right answer proves more than a shared mapping would. */
static uint64_t probe_word;

static void before_fork(void) {
    pthread_mutex_lock(&peer_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&peer_lock);
}

/* A child is another process: it has an identity of its own, if it ever needs one, and no peers. */
static void after_fork_in_child(void) {
    peers = NULL;
    self_is_known = false;
    pthread_mutex_unlock(&peer_lock);
}

static void install_fork_handlers(void) {
    (void)trma_mem_map_count(); /* installs the handlers of the locks that are taken after ours, so that they
                                   run later */
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void lock_peers(void) {
    pthread_once(&fork_once, install_fork_handlers);
    pthread_mutex_lock(&peer_lock);
}

static void unlock_peers(void) {
    pthread_mutex_unlock(&peer_lock);
}

void trma_node_peer_allow_cma(bool allow) {
    atomic_store(&cma_is_allowed, allow);
}

static uint64_t make_nonce(void) {
    uint64_t nonce = 0;
    if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != (ssize_t)sizeof nonce) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        nonce = ((uint64_t)getpid() << 44) ^ ((uint64_t)now.tv_sec << 30) ^ (uint64_t)now.tv_nsec;
    }
    return nonce | 1; /* never 0, which means "none" */
}

/*
 * The beacon is where the first block of the control heap lies. The block itself stays allocated: the
 * beacon's region must last as long as the process does.
 */
static enum trma_status make_beacon(struct trma_ticket *out) {
    void *word;
    enum trma_status status = trma_mem_heap_allocate(TRMA_HEAP_CONTROL, sizeof(uint64_t), 1, &word);
    if (status != TRMA_OK) {
        return status;
    }
    struct trma_share share;
    trma_mem_share_describe(word, sizeof(uint64_t), &share);
    *out = share.ticket;
    trma_node_beacon_hold(share.ticket.descriptor);
    return TRMA_OK;
}

static enum trma_status make_self(void) {
    self = (struct trma_identity){.host = trma_node_process_host(),
                                  .start_time = trma_node_process_start_time(0),
                                  .pid = getpid(),
                                  .pid_namespace = trma_node_process_pid_namespace(),
                                  .uid = geteuid(),
                                  .layout_version = TRMA_LAYOUT_VERSION,
                                  .doors_closed = trma_mem_door_closed(),
                                  .xpmem_segment = trma_mem_xpmem_offer()};
    probe_word = make_nonce();
    self.probe_address = (uint64_t)(uintptr_t)&probe_word;
    self.probe_value = probe_word;
    trma_mem_backing_set_nonce(probe_word);
    /* Yama scope 1 lets only ancestors trace, unless the process says otherwise; peers are siblings. No
     * effect without Yama. */
    if (trma_node_process_yama_scope() != 0) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0UL, 0UL, 0UL);
    }
    enum trma_status status = make_beacon(&self.beacon);
    /* Without shared memory there are still CMA and the host MPI: an identity without a beacon says so. */
    return status == TRMA_ERR_REFUSED ? TRMA_OK : status;
}

static enum trma_status know_self(void) {
    if (self_is_known) {
        return TRMA_OK;
    }
    enum trma_status status = make_self();
    self_is_known = status == TRMA_OK;
    return status;
}

enum trma_status trma_node_identity_self(struct trma_identity *out) {
    lock_peers();
    enum trma_status status = know_self();
    *out = self;
    unlock_peers();
    return status;
}

bool trma_node_identity_is_near(const struct trma_identity *a, const struct trma_identity *b) {
    return a->host == b->host && a->layout_version == b->layout_version;
}

/* Sets the names by which this process may reach the peer. Every use of them is verified by what it gives. */
static void name_peer(struct trma_peer *peer) {
    const struct trma_identity *identity = &peer->identity;
    bool is_known = self.pid_namespace != 0 && identity->pid_namespace != 0;
    bool is_ours =
        !is_known || self.pid_namespace == identity->pid_namespace; /* hidden: taken to be the same */
    bool owns_proc = trma_node_process_owns_proc();
    if (is_ours) {
        peer->pid = identity->pid;
    }
    if (is_ours && owns_proc) {
        peer->proc_pid = identity->pid;
    } else if (is_known) {
        peer->proc_pid = trma_node_process_find(identity->pid, identity->pid_namespace);
    }
    if (!is_ours && owns_proc) {
        peer->pid = peer->proc_pid; /* its namespace is below ours */
    }
}

/* The lowest that is free is taken, so that its number tells how many are open. */
static bool is_among_the_last(int descriptor) {
    const rlim_t most_part = 8;
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)descriptor > limit.rlim_cur / most_part;
}

bool trma_node_peer_open_memory(struct trma_peer *peer, bool is_needed) {
    if (peer->proc_pid == 0 || !atomic_load(&cma_is_allowed)) {
        return false;
    }
    if (atomic_load_explicit(&peer->memory_file, memory_order_acquire) != 0) {
        return true;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)peer->proc_pid);
    int file = open(path, O_RDWR | O_CLOEXEC);
    uint64_t word = 0;
    if (file < 0 || (!is_needed && is_among_the_last(file)) ||
        pread(file, &word, sizeof word, (off_t)peer->identity.probe_address) != (ssize_t)sizeof word ||
        word != peer->identity.probe_value) {
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    int none = 0;
    /* Another thread may have been quicker. */
    if (!atomic_compare_exchange_strong(&peer->memory_file, &none, file + 1)) {
        close(file);
    }
    return true;
}

/* NULL when process_vm_readv works on the peer, else why not. */
static const char *try_system_call(const struct trma_peer *peer) {
    if (peer->pid == 0) {
        return "the peer is in another pid namespace and cannot be named";
    }
    uint64_t word = 0;
    struct iovec local = {.iov_base = &word, .iov_len = sizeof word};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)peer->identity.probe_address,
                           .iov_len = sizeof word};
    ssize_t got = process_vm_readv(peer->pid, &local, 1, &remote, 1, 0);
    if (got == (ssize_t)sizeof word && word == peer->identity.probe_value) {
        return NULL;
    }
    if (got >= 0 || errno == EFAULT) {
        return "the pid belongs to another process (pid namespaces?)";
    }
    if (errno == EPERM || errno == EACCES) {
        return trma_node_process_yama_scope() > 1
                   ? "refused: kernel.yama.ptrace_scope is above 1, an admin would have to lower it"
                   : "refused by the kernel: another user, a container's seccomp profile, or a security "
                     "module";
    }
    if (errno == ENOSYS) {
        return "the kernel or a container's seccomp profile has no process_vm_readv";
    }
    return errno == ESRCH ? "no process has the peer's pid" : "process_vm_readv failed";
}

static void probe_cma(struct trma_peer *peer) {
    peer->has_cma = false;
    if (!atomic_load(&cma_is_allowed)) {
        peer->cma_reason = "switched off";
        return;
    }
    const char *refusal = try_system_call(peer);
    peer->is_file_only = refusal != NULL && trma_node_peer_open_memory(peer, true);
    peer->has_cma = refusal == NULL || peer->is_file_only;
    peer->cma_reason = peer->has_cma ? NULL : refusal;
}

static void probe_xpmem(struct trma_peer *peer) {
    uint64_t page = trma_mem_page_size();
    uint64_t address = peer->identity.probe_address;
    int64_t access = peer->is_self ? 0 : trma_mem_xpmem_access(peer->identity.xpmem_segment);
    void *base = NULL;
    if (trma_mem_xpmem_attach(access, address / page * page, page, &base) == TRMA_OK) {
        uint64_t word = 0;
        memcpy(&word, (char *)base + address % page, sizeof word);
        trma_mem_xpmem_detach(base);
        if (word == peer->identity.probe_value) {
            peer->xpmem_access = access;
            return;
        }
    }
    trma_mem_xpmem_end_access(access);
}

/*
 * Is this pid certain to be the peer's? By name, when both see the same namespace; else by effect, when
 * something that only the peer has was reached through it.
 */
static bool pid_is_proven(const struct trma_peer *peer) {
    bool is_same_namespace = self.pid_namespace != 0 && self.pid_namespace == peer->identity.pid_namespace;
    bool is_file = atomic_load_explicit(&peer->is_file_only, memory_order_relaxed);
    bool is_through_proc =
        peer->pid == peer->proc_pid && (is_file || peer->map_reason == trma_mem_door_proc.taken);
    return peer->pid != 0 && (is_same_namespace || (peer->has_cma && !is_file) || is_through_proc ||
                              peer->map_reason == trma_mem_door_pidfd.taken);
}

static void map_beacon(struct trma_peer *peer) {
    const struct trma_ticket *beacon = &peer->identity.beacon;
    if (beacon->serial == 0) {
        peer->map_reason = "the peer cannot make shared memory (memfd and POSIX shared memory are refused)";
        return;
    }
    if (peer->is_self) {
        peer->is_mapped = true;
        peer->map_reason = "the process itself";
        return;
    }
    trma_mem_door_serve_if_needed(&self, &peer->identity);
    /* A first opening tells which door it is; the mapping then goes the same way and stays. */
    int descriptor = -1;
    void *base;
    enum trma_status status = trma_mem_door_open(peer, beacon, &descriptor, &peer->map_reason);
    if (status != TRMA_OK) {
        return;
    }
    if (trma_mem_map_acquire(peer, beacon, &base) == TRMA_OK) {
        peer->is_mapped = true;
    } else {
        peer->map_reason = "address space or file descriptors are exhausted (ulimit -v, ulimit -n)";
    }
    if (!pid_is_proven(peer)) {
        peer->beacon = descriptor;
    } else {
        close(descriptor);
    }
}

static struct peer_entry *make_peer(const struct trma_identity *identity) {
    struct peer_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    struct trma_peer *peer = &entry->peer;
    peer->identity = *identity;
    peer->beacon = -1;
    peer->is_self = identity->probe_value == self.probe_value;
    name_peer(peer);
    entry->nonce = identity->probe_value;
    entry->maker = getpid();
    probe_cma(peer);
    probe_xpmem(peer);
    map_beacon(peer);
    if (!pid_is_proven(peer)) {
        peer->pid = 0;
    }
    /* As read here: a time namespace may shift what the peer reads. Before anything is proven, only its own
     * word counts. */
    bool is_reached = peer->has_cma || peer->map_reason == trma_mem_door_proc.taken;
    peer->start_time = is_reached && peer->proc_pid != 0 ? trma_node_process_start_time(peer->proc_pid)
                                                         : identity->start_time;
    HASH_ADD(hh, peers, nonce, sizeof entry->nonce, entry);
    return entry;
}

enum trma_status trma_node_peer_acquire(const struct trma_identity *identity, struct trma_peer **out) {
    lock_peers();
    struct peer_entry *entry = NULL;
    enum trma_status status = know_self();
    if (status == TRMA_OK) {
        HASH_FIND(hh, peers, &identity->probe_value, sizeof identity->probe_value, entry);
        if (entry == NULL) {
            entry = make_peer(identity);
        }
        status = entry != NULL ? TRMA_OK : TRMA_ERR_NO_MEMORY;
    }
    if (status == TRMA_OK) {
        entry->users++;
        *out = &entry->peer;
    }
    unlock_peers();
    return status;
}

void trma_node_peer_release(struct trma_peer *peer) {
    struct peer_entry *entry = (struct peer_entry *)peer;
    if (entry->maker != getpid()) {
        return;
    }
    lock_peers();
    if (--entry->users == 0) {
        HASH_DEL(peers, entry);
        trma_mem_map_forget(peer);
        trma_mem_xpmem_end_access(peer->xpmem_access);
        if (peer->beacon >= 0) {
            close(peer->beacon);
        }
        if (peer->memory_file != 0) {
            close(peer->memory_file - 1);
        }
        free(entry);
    }
    unlock_peers();
}

bool trma_node_peer_is_alive(const struct trma_peer *peer) {
    if (peer->is_self) {
        return true;
    }
    if (peer->pid != 0) {
        return trma_node_process_is_alive(peer->pid, peer->proc_pid, peer->start_time);
    }
    return peer->beacon < 0 || trma_node_beacon_is_held(peer->beacon);
}
