/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"

#include "../common/measure.h"
#include "fork.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void limit_processes_begin(struct limit_process *process, size_t bytes, const char *pin,
                           void (*serve)(struct limit_process *process)) {
    *process = (struct limit_process){.control = limit_memory_share(sizeof(struct limit_control))};
    for (int i = 0; i < 2; i++) {
        process->shared[i] = limit_memory_share(bytes + LIMIT_PLACES * LIMIT_LINE);
        memset(process->shared[i], 0, bytes + LIMIT_PLACES * LIMIT_LINE); /* no first touch is measured */
    }
    limit_place_choose(process, 0);
    process->other = limit_process_fork(pin, 1);
    process->me = process->other == 0 ? 1 : 0;
    if (process->me == 0 && bench_pin(pin, 0) != 0)
        exit(2);
    process->buffer = bench_memory(bytes);
    bench_fill(process->buffer, bytes, 0);
    if (process->me == 1) {
        bench_compute(1); /* measures the CPU's speed, each process while the other one sleeps */
        atomic_store_explicit(&process->control->lent, (uintptr_t)process->buffer, memory_order_release);
        serve(process);
        _exit(0);
    }
    while (atomic_load_explicit(&process->control->lent, memory_order_acquire) == 0)
        usleep(50);
    bench_compute(1);
}

void limit_processes_end(struct limit_process *process) {
    limit_order_give(process, &(struct limit_order){.task = LIMIT_END});
    waitpid(process->other, NULL, 0);
}

void limit_order_give(struct limit_process *process, const struct limit_order *order) {
    process->control->order = *order;
    atomic_fetch_add_explicit(&process->control->orders, 1, memory_order_release);
}

const struct limit_order *limit_order_wait(struct limit_process *process, int done) {
    while (atomic_load_explicit(&process->control->orders, memory_order_acquire) == done)
        usleep(50);
    return &process->control->order;
}

void limit_place_choose(struct limit_process *process, int place) {
    process->place = place;
    for (int i = 0; i < 2; i++)
        process->window[i] = process->shared[i] + (size_t)place * LIMIT_LINE;
}

void limit_meet(struct limit_process *process) {
    process->sequence++;
    limit_flag_raise(process, 1 - process->me);
    limit_flag_wait(process);
}

void limit_verify(struct limit_process *process, const char *what, long wrong) {
    wrong += atomic_load(&process->control->wrong);
    if (wrong == 0)
        return;
    printf("CHECK FAILED: limit: %s: %ld wrong\n", what, wrong);
    exit(1);
}
