/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_doorbell.h"

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

void trma_node_doorbell_ring(struct trma_doorbell *bell) {
    atomic_fetch_add_explicit(&bell->rings, 1, memory_order_release);
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* `fence_all`: notifiers leave the fence out, so it is run for them. */
static bool sleep_announced(struct trma_doorbell *bell, bool fence_all, bool (*ready)(void *argument),
                            void *argument, uint64_t timeout_ns) {
    /* The ring count is read before `ready` is looked at: a ring in between makes the futex call return at
     * once. */
    unsigned rings = atomic_load_explicit(&bell->rings, memory_order_acquire);
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000U),
                               .tv_nsec = (long)(timeout_ns % 1000000000U)};

    atomic_fetch_add_explicit(&bell->sleepers, 1, memory_order_seq_cst);
    if (fence_all) {
        (void)trma_node_doorbell_fence_all(); /* refused all of a sudden: the time limit is the way out */
    } else {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (!ready(argument)) {
        syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, &timeout, NULL, 0);
    }
    atomic_fetch_sub_explicit(&bell->sleepers, 1, memory_order_relaxed);
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
