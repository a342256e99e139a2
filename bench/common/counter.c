/* SPDX-License-Identifier: BSD-3-Clause */
#include "counter.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int bench_counter_open(void) {
    struct perf_event_attr event = {.type = PERF_TYPE_HARDWARE,
                                    .size = sizeof event,
                                    .config = PERF_COUNT_HW_CACHE_MISSES,
                                    .disabled = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void bench_counter_run(int counter) {
    if (counter >= 0)
        ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
}

void bench_counter_stop(int counter) {
    if (counter >= 0)
        ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t bench_counter_read(int counter) {
    uint64_t count = 0;
    if (counter < 0 || read(counter, &count, sizeof count) != (ssize_t)sizeof count)
        return 0;
    return count;
}
