/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_doorbell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool trma_node_doorbell_register(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/* While there is one thread it costs nothing: later the program, or its MPI, has started others. */
__attribute__((constructor)) static void register_early(void) {
    (void)trma_node_doorbell_register();
}

bool trma_node_doorbell_fence_all(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void trma_node_doorbell_wake(struct trma_doorbell *bell, unsigned asleep) {
    if (asleep % 2) {
        (void)atomic_compare_exchange_strong_explicit(&bell->asleep, &asleep, asleep + 1,
                                                      memory_order_seq_cst, memory_order_relaxed);
    }
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void trma_node_doorbell_set_asleep(struct trma_doorbell *bell, bool is_asleep) {
    const unsigned now = atomic_load_explicit(&bell->asleep, memory_order_relaxed);

    /* Who wakes it may have set it to the same already. seq_cst: see trma_node_turn_sleep. */
    if (is_asleep != (now % 2 != 0)) {
        atomic_store_explicit(&bell->asleep, now + 1, memory_order_seq_cst);
    }
}

bool trma_node_doorbell_is_called(const struct trma_doorbell *bell) {
    /* Who lies down writes the others before `lying`. Of two sleeps mixed, the later one has begun after what
     * was rung before was seen. */
    const unsigned rings = atomic_load_explicit(&bell->rings, memory_order_seq_cst);
    const bool lies = atomic_load_explicit(&bell->lying, memory_order_seq_cst) != TRMA_LYING_NOT;

    return !lies || rings - atomic_load_explicit(&bell->seen, memory_order_relaxed) >=
                        atomic_load_explicit(&bell->wanted, memory_order_relaxed);
}

void trma_node_doorbell_ring(struct trma_doorbell *bell) {
    const unsigned asleep = atomic_load_explicit(&bell->asleep, memory_order_seq_cst);

    /* Both are seq_cst: who ends the keeping says so first, and looks at `rings` then. One of us wakes. */
    atomic_fetch_add_explicit(&bell->rings, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&bell->lying, memory_order_seq_cst) != TRMA_LYING_KEPT &&
        trma_node_doorbell_is_called(bell)) {
        trma_node_doorbell_wake(bell, asleep);
    }
}

bool trma_node_doorbell_lie_down(struct trma_doorbell *bell, unsigned rings, uint64_t timeout_ns) {
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000U),
                                     .tv_nsec = (long)(timeout_ns % 1000000000U)};

    return syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, &timeout, NULL, 0) == 0 || errno != ETIMEDOUT;
}

/* `fence_all`: notifiers leave the fence out, so it is run for them. */
static bool sleep_announced(struct trma_doorbell *bell, bool fence_all, bool (*ready)(void *argument),
                            void *argument, uint64_t timeout_ns) {
    /* The ring count is read before `ready` is looked at: a ring in between makes the futex call return at
     * once. */
    unsigned rings = atomic_load_explicit(&bell->rings, memory_order_acquire);

    trma_node_doorbell_set_asleep(bell, true);
    atomic_fetch_add_explicit(&bell->sleepers, 1, memory_order_seq_cst);
    if (fence_all) {
        (void)trma_node_doorbell_fence_all(); /* refused all of a sudden: the time limit is the way out */
    } else {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (!ready(argument)) {
        (void)trma_node_doorbell_lie_down(bell, rings, timeout_ns);
    }
    atomic_fetch_sub_explicit(&bell->sleepers, 1, memory_order_relaxed);
    trma_node_doorbell_set_asleep(bell, false);
    return atomic_load_explicit(&bell->rings, memory_order_relaxed) != rings;
}

bool trma_node_doorbell_sleep(struct trma_doorbell *bell, bool needs_fence, bool (*ready)(void *argument),
                              void *argument, uint64_t timeout_ns) {
    return sleep_announced(bell, !needs_fence, ready, argument, timeout_ns);
}

bool trma_node_doorbell_nap(struct trma_doorbell *bell, bool (*ready)(void *argument), void *argument,
                            uint64_t timeout_ns) {
    return sleep_announced(bell, false, ready, argument, timeout_ns);
}
