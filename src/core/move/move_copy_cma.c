/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_mover.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../node/node_gate.h"
#include "../node/node_help.h"
#include "../node/node_wait.h"

/*
 * Cross-memory attach. Strided pairs become two lists of stretches with the same number of bytes in all, so
 * that one call carries as many of them as the kernel takes (IOV_MAX per list). The kernel may carry less
 * than asked: at most MAX_RW_COUNT bytes per call (2 GiB less a page), and up to the first page that is not
 * there; the rest is asked for again, so that an error is only taken from a call that carried nothing.
 */

/* Stretches of one side. */
struct stretches {
    struct iovec *first; /* not carried yet */
    size_t n;
    struct iovec all[IOV_MAX];
};

struct batch {
    struct trma_peer *peer;
    bool is_write;
    size_t bytes; /* on each side */
    struct stretches local;
    struct stretches remote;
};

/* What one system call is given. */
struct call {
    struct trma_peer *peer;
    bool is_write;
    bool is_proof; /* that the memory is there and may be accessed: by file, that is not looked at */
    const struct iovec *local;
    const struct iovec *remote;
    size_t n_local;
    size_t n_remote;
};

/* CMA is no longer tried on the peer. Others may be reading has_cma: the reason is there first. */
static enum trma_status refuse(struct trma_peer *peer) {
    __atomic_store_n(&peer->cma_reason, "the kernel refused process_vm_readv/writev on it during the run",
                     __ATOMIC_RELAXED);
    atomic_store_explicit(&peer->has_cma, false, memory_order_release);
    return TRMA_ERR_REFUSED;
}

static enum trma_status status_of(int error, struct trma_peer *peer) {
    switch (error) {
    case EFAULT:
        return TRMA_ERR_RANGE;
    case EPERM:
    case EACCES:
    case ENOSYS:
        return refuse(peer);
    case ESRCH:
        return TRMA_ERR_PEER_DEAD;
    case ENOMEM:
        return TRMA_ERR_NO_MEMORY;
    default:
        return TRMA_ERR_SYSTEM;
    }
}

/* False when the list is full and a stretch at `address` is not adjacent to its last one. */
static bool stretches_can_take(const struct stretches *side, uintptr_t address) {
    return side->n < IOV_MAX ||
           (uintptr_t)side->all[side->n - 1].iov_base + side->all[side->n - 1].iov_len == address;
}

static void stretches_add(struct stretches *side, uintptr_t address, size_t size) {
    if (side->n > 0) {
        struct iovec *last = &side->all[side->n - 1];
        if ((uintptr_t)last->iov_base + last->iov_len == address) {
            last->iov_len += size;
            return;
        }
    }
    side->all[side->n++] = (struct iovec){.iov_base = (void *)address, .iov_len = size};
}

/* Forgets the first `bytes` bytes, which there are. */
static void stretches_drop(struct stretches *side, size_t bytes) {
    for (size_t left = bytes; left > 0 && side->n > 0;) {
        struct iovec *head = side->first;
        const size_t part = left < head->iov_len ? left : head->iov_len;
        head->iov_base = (char *)head->iov_base + part;
        head->iov_len -= part;
        left -= part;
        if (head->iov_len == 0) {
            side->first++;
            side->n--;
        }
    }
}

/* As process_vm_readv and writev, by the target's memory as a file: what the first stretches of both sides
 * have in common. */
static ssize_t carry_by_file(const struct call *call, int file) {
    const struct iovec *local = call->local;
    const struct iovec *remote = call->remote;
    /* Both lists have a first stretch while there are bytes left. NOLINTNEXTLINE(clang-analyzer-core.*) */
    const size_t size = local->iov_len < remote->iov_len ? local->iov_len : remote->iov_len;
    const off_t place = (off_t)(uintptr_t)remote->iov_base;
    const ssize_t carried = call->is_write ? pwrite(file, local->iov_base, size, place)
                                           : pread(file, local->iov_base, size, place);

    if (carried < 0 && errno == EIO) {
        errno = EFAULT;
    } else if (carried == 0) {
        errno = ESRCH; /* the memory went with its process */
        return -1;
    }
    return carried;
}

/*
 * 1 + the descriptor to go by; 0: the system calls of CMA. Small stretches are quicker by file, though the
 * kernel copies them twice: the process is looked up, and the right to its memory checked, when the file is
 * opened and not in every call (8 bytes take 0.97 instead of 1.28 us, 4 KiB 1.04 instead of 1.32; 64 KiB 10
 * instead of 5). Opened for peers that are met more than a few times.
 */
static int file_for(const struct call *call) {
    enum { LARGEST = 4096, A_FEW = 64 };
    struct trma_peer *peer = call->peer;
    int file = atomic_load_explicit(&peer->memory_file, memory_order_acquire);

    if (atomic_load_explicit(&peer->is_file_only, memory_order_acquire)) {
        return file;
    }
    if (call->is_proof || call->n_local != 1 || call->n_remote != 1 || call->local->iov_len == 0 ||
        call->local->iov_len > LARGEST) {
        return 0;
    }
    if (!file && atomic_fetch_add_explicit(&peer->small_transfers, 1, memory_order_relaxed) == A_FEW &&
        trma_node_peer_open_memory(peer, false)) {
        file = atomic_load_explicit(&peer->memory_file, memory_order_acquire);
    }
    return file;
}

static bool is_refusal(int error) {
    return error == EPERM || error == EACCES || error == ENOSYS;
}

/* Carries what one system call does; -1 with errno set. */
static ssize_t carry_some(const struct call *call) {
    struct trma_peer *peer = call->peer;
    const int file = file_for(call);

    if (file) {
        return carry_by_file(call, file - 1);
    }
    const ssize_t carried =
        call->is_write
            ? process_vm_writev(peer->pid, call->local, call->n_local, call->remote, call->n_remote, 0)
            : process_vm_readv(peer->pid, call->local, call->n_local, call->remote, call->n_remote, 0);
    const int error = errno;
    if (carried < 0 && is_refusal(error) && trma_node_peer_open_memory(peer, true)) {
        atomic_store_explicit(&peer->is_file_only, true, memory_order_release);
        return carry_by_file(call, atomic_load_explicit(&peer->memory_file, memory_order_acquire) - 1);
    }
    errno = error;
    return carried;
}

/*
 * One system call. The target must not exchange the pages behind its memory while bytes are on their way into
 * them, and what was read meanwhile is read again (node_gate.h). *error is 0 or the call's errno.
 */
static enum trma_status call_kernel(const struct call *call, ssize_t *carried, int *error) {
    struct trma_gate *gate = call->peer->gate;
    enum trma_status status = TRMA_OK;
    unsigned sequence = 0;

    if (call->is_write) {
        status = gate ? trma_node_gate_enter(gate, call->peer) : TRMA_OK;
        if (!status) {
            *carried = carry_some(call);
            *error = *carried < 0 ? errno : 0;
            if (gate) {
                trma_node_gate_leave(gate);
            }
        }
        return status;
    }
    do {
        status = gate ? trma_node_gate_read_begin(gate, call->peer, &sequence) : TRMA_OK;
        if (!status) {
            *carried = carry_some(call);
            *error = *carried < 0 ? errno : 0;
        }
    } while (!status && gate && !trma_node_gate_read_is_good(gate, sequence));
    return status;
}

static enum trma_status batch_carry(struct batch *batch) {
    batch->local.first = batch->local.all;
    batch->remote.first = batch->remote.all;
    while (batch->bytes > 0) {
        ssize_t carried = 0;
        int error = 0;
        const struct call call = {.peer = batch->peer,
                                  .is_write = batch->is_write,
                                  .local = batch->local.first,
                                  .remote = batch->remote.first,
                                  .n_local = batch->local.n,
                                  .n_remote = batch->remote.n};
        const enum trma_status status = call_kernel(&call, &carried, &error);
        if (status) {
            return status;
        }
        if (error) {
            return status_of(error, batch->peer);
        }
        if (carried == 0) {
            return TRMA_ERR_RANGE; /* no kernel is known to do this; without it a loop could be endless */
        }
        batch->bytes -= (size_t)carried;
        stretches_drop(&batch->local, (size_t)carried);
        stretches_drop(&batch->remote, (size_t)carried);
    }
    batch->local.n = 0;
    batch->remote.n = 0;
    return TRMA_OK;
}

static enum trma_status carry_list(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                   bool is_write) {
    struct batch batch;
    batch.peer = path->peer;
    batch.is_write = is_write;
    batch.bytes = 0;
    batch.local.n = 0;
    batch.remote.n = 0;
    for (size_t i = 0; i < n; i++) {
        for (struct trma_pair pair = pairs[i]; pair.count > 0; trma_move_pair_step(&pair, 1)) {
            if (!stretches_can_take(&batch.local, pair.origin) ||
                !stretches_can_take(&batch.remote, pair.target)) {
                const enum trma_status status = batch_carry(&batch);
                if (status) {
                    return status;
                }
            }
            stretches_add(&batch.local, pair.origin, pair.length);
            stretches_add(&batch.remote, pair.target, pair.length);
            batch.bytes += pair.length;
        }
    }
    return batch_carry(&batch);
}

static bool carry_dense(const struct trma_path *path, uintptr_t origin, uintptr_t target, size_t size,
                        bool is_put, bool is_proof) {
    struct trma_peer *peer = path->peer;
    const struct iovec local = {(void *)origin, size};
    const struct iovec remote = {(void *)target, size};
    const struct call call = {.peer = peer,
                              .is_write = is_put,
                              .is_proof = is_proof,
                              .local = &local,
                              .remote = &remote,
                              .n_local = 1,
                              .n_remote = 1};
    ssize_t carried = 0;
    int error = 0;

    return atomic_load_explicit(&peer->has_cma, memory_order_acquire) &&
           call_kernel(&call, &carried, &error) == TRMA_OK && !error && (size_t)carried == size;
}

/* With the target's help, as far as it goes and is not dearer. */
static bool carry_dense_helped(const struct trma_path *path, uintptr_t origin, uintptr_t target, size_t size,
                               bool is_put) {
    struct trma_helper *helper = path->helper;
    const bool is_known = trma_node_helper_knows(helper, target, size, is_put);
    /* Without the kernel there is nothing to choose from. */
    const bool is_priced = is_known && size > TRMA_HELP_SLOT_BYTES &&
                           atomic_load_explicit(&path->peer->has_cma, memory_order_acquire);
    const uint64_t begin = is_priced ? trma_node_clock_ns() : 0;
    size_t done = 0;

    if (!is_priced || trma_node_help_is_cheaper(helper->own, is_put, size)) {
        done = trma_node_help_carry(helper, is_known, is_put, (void *)origin, target, size);
    }
    if (done == size) {
        if (is_priced) {
            trma_node_help_note_price(helper->own, is_put, size, true, trma_node_clock_ns() - begin);
        }
        return true;
    }
    const uint64_t middle = is_priced ? trma_node_clock_ns() : 0;
    if (!carry_dense(path, origin + done, target + done, size - done, is_put, !is_known)) {
        return false;
    }
    if (is_priced && done == 0) {
        trma_node_help_note_price(helper->own, is_put, size, false, trma_node_clock_ns() - middle);
    }
    if (!is_known && !atomic_load_explicit(&path->peer->is_file_only, memory_order_acquire)) {
        trma_node_helper_note(helper, target + done, size - done, is_put);
    }
    return true;
}

bool trma_move_dense(const struct trma_path *path, uintptr_t origin, uintptr_t target, size_t size,
                     bool is_put) {
    return path->helper != NULL ? carry_dense_helped(path, origin, target, size, is_put)
                                : carry_dense(path, origin, target, size, is_put, false);
}

/* Carries what one system call does, if the peer is not exchanging pages just then. */
static ssize_t carry_now(const struct call *call) {
    struct trma_gate *gate = call->peer->gate;
    unsigned sequence = 0;

    if (call->is_write) {
        if (!gate || !trma_node_gate_try(gate)) {
            return -1;
        }
        const ssize_t carried = carry_some(call);
        trma_node_gate_leave(gate);
        return carried;
    }
    if (!gate || !trma_node_gate_read_try(gate, &sequence)) {
        return -1;
    }
    const ssize_t carried = carry_some(call);
    return trma_node_gate_read_is_good(gate, sequence) ? carried : -1;
}

bool trma_move_at_once(struct trma_peer *peer, void *own, uintptr_t place, size_t size, bool is_to_peer) {
    const struct iovec local = {own, size};
    const struct iovec remote = {(void *)place, size};
    const struct call call = {.peer = peer,
                              .is_write = is_to_peer,
                              .local = &local,
                              .remote = &remote,
                              .n_local = 1,
                              .n_remote = 1};

    if (peer->is_self) { /* threads that play members */
        memmove(is_to_peer ? (void *)place : own, is_to_peer ? own : (const void *)place, size);
        return true;
    }
    return atomic_load_explicit(&peer->has_cma, memory_order_acquire) && carry_now(&call) == (ssize_t)size;
}

/* One dense stretch is what most operations are: no list is built for it. What the call leaves over, or fails
 * to do, is the list's to look at. */
static enum trma_status carry(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                              bool is_write) {
    if (n == 1 && pairs->count == 1 &&
        trma_move_dense(path, pairs->origin, pairs->target, pairs->length, is_write)) {
        return TRMA_OK;
    }
    if (!atomic_load_explicit(&path->peer->has_cma, memory_order_acquire)) {
        return TRMA_ERR_REFUSED;
    }
    return carry_list(path, pairs, n, is_write);
}

static enum trma_status cma_put(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                struct trma_outstanding *outstanding) {
    (void)outstanding;
    return carry(path, pairs, n, true);
}

static enum trma_status cma_get(const struct trma_path *path, const struct trma_pair *pairs, size_t n,
                                struct trma_outstanding *outstanding) {
    (void)outstanding;
    return carry(path, pairs, n, false);
}

const struct trma_mover trma_move_mover_cma = {
    .name = "cma", .put = cma_put, .get = cma_get, .progress = NULL};
