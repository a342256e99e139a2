/* SPDX-License-Identifier: BSD-3-Clause */
/* Help, the target's side. */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "node_gate.h"
#include "node_help.h"

/* A piece and its bytes. */
struct task {
    struct trma_help_piece *piece;
    char *bytes;
    enum trma_help_state kind;
    size_t size;
    uintptr_t address;
};

static bool is_asked(unsigned state) {
    return state >= TRMA_HELP_PUT && state <= TRMA_HELP_JOINT;
}

static bool begin(struct trma_help *help) {
    /* Relaxed: what the attendant has is in the pieces. */
    if (atomic_exchange_explicit(&help->has_attendant, true, memory_order_relaxed)) {
        return false;
    }
    /* Relaxed: a hint, what is asked is ordered by the pieces. */
    atomic_store_explicit(&help->words->is_attending, 1, memory_order_relaxed);
    return true;
}

/* True when parts of copies were asked for lately. Relaxed: an estimate. */
static bool is_eager(struct trma_help *help) {
    const unsigned waits = atomic_load_explicit(&help->eager_waits, memory_order_relaxed);

    if (waits) {
        atomic_store_explicit(&help->eager_waits, waits - 1, memory_order_relaxed);
    }
    return waits > 0;
}

bool trma_node_help_begin(struct trma_help *help) {
    return (atomic_load_explicit(&help->windows, memory_order_relaxed) || is_eager(help)) && begin(help);
}

bool trma_node_help_begin_late(struct trma_help *help) {
    return help->copy && begin(help);
}

void trma_node_help_end(struct trma_help *help) {
    atomic_store_explicit(&help->words->is_attending, 0, memory_order_relaxed);
    atomic_store_explicit(&help->has_attendant, false, memory_order_relaxed);
}

/* Combines the operands with what is at `memory`; they give way to what was there when that is to go back. */
static bool update(const struct trma_help *help, const struct task *task, void *memory) {
    const struct trma_help_piece *piece = task->piece;
    char before[TRMA_HELP_TRAY_BYTES];

    if (help->update == NULL) {
        return false;
    }
    if (task->kind == TRMA_HELP_UPDATE) {
        return help->update(piece->operation, piece->element, memory, task->bytes, task->size);
    }
    memcpy(before, memory, task->size);
    if (!help->update(piece->operation, piece->element, memory, task->bytes, task->size)) {
        return false;
    }
    memcpy(task->bytes, before, task->size);
    return true;
}

/*
 * By the kernel. Behind the gate like a peer's access: another thread may be about to exchange the page, and
 * what holds back stores of threads, as all other work is, does not hold back system calls.
 */
static bool try(const struct task *task) {
    const struct iovec local = {task->bytes, task->size};
    const struct iovec own = {(void *)task->address, task->size};
    struct trma_gate *gate = trma_node_gate_self();

    if ((task->kind != TRMA_HELP_PUT && task->kind != TRMA_HELP_GET) || !gate || !trma_node_gate_try(gate)) {
        return false;
    }
    const ssize_t copied = task->kind == TRMA_HELP_PUT ? process_vm_writev(getpid(), &local, 1, &own, 1, 0)
                                                       : process_vm_readv(getpid(), &local, 1, &own, 1, 0);
    trma_node_gate_leave(gate);
    return copied == (ssize_t)task->size;
}

static bool work(struct trma_help *help, const struct task *task) {
    void *memory = (void *)task->address;

    if (!task->piece->is_proven) {
        return try(task);
    }
    switch (task->kind) {
    case TRMA_HELP_PUT:
        memcpy(memory, task->bytes, task->size);
        return true;
    case TRMA_HELP_GET:
        memcpy(task->bytes, memory, task->size);
        return true;
    case TRMA_HELP_JOINT:
        atomic_store_explicit(&help->eager_waits, TRMA_JOINT_EAGER_WAITS, memory_order_relaxed);
        return trma_node_joint_work(help, (struct trma_joint *)task->bytes);
    default:
        return update(help, task, memory);
    }
}

static bool serve(struct trma_help *help, struct trma_help_piece *piece, char *bytes, size_t room) {
    unsigned state = atomic_load_explicit(&piece->state, memory_order_relaxed);

    /* Acquire: what is asked for, and the bytes. */
    if (__builtin_expect(!is_asked(state), 1) ||
        !atomic_compare_exchange_strong_explicit(&piece->state, &state, TRMA_HELP_WORKING,
                                                 memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    const struct task task = {piece, bytes, state, piece->size, piece->address};
    const bool is_done = task.size > 0 && task.size <= room && work(help, &task);
    /* Release: the origin, and whom it tells, sees the bytes. */
    atomic_store_explicit(&piece->state, is_done ? TRMA_HELP_DONE : TRMA_HELP_REFUSED, memory_order_release);
    return true;
}

bool trma_node_help_serve(struct trma_help *help) {
    struct trma_help_words *words = help->words;
    struct trma_help_trays *trays = help->trays;
    bool has_served = false;

    for (uint32_t i = 0; i < help->n_slots; i++) {
        has_served |= serve(help, &words->slots[i].piece, words->slots[i].bytes, TRMA_HELP_SLOT_BYTES);
    }
    for (uint32_t i = 0; i < TRMA_HELP_TRAYS; i++) {
        has_served |= serve(help, &trays->all[i].piece, trays->all[i].bytes, TRMA_HELP_TRAY_BYTES);
    }
    return has_served;
}
