/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine allows, without any MPI: two pinned processes by hand, over one shared mapping.
 *
 * exchange: put or get in turns: copy, store a flag; the other one polls it. Half a round trip, the limit of
 *   latency's pscw cells.
 * memcpy: the same copy within one process, again and again. cma: process_vm_writev (put) or process_vm_readv
 * (get) to and from the other process, again and again, which sleeps. skew: what skew.c measures, with a flag
 * as post and one as complete: the limit of the skew cells. */
#include "common/measure.h"
#include "common/multiply.h"
#include "common/options.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct bench_program program = {.name = "limit",
                                             .summary = "the limits: by hand over shared memory, memcpy, CMA",
                                             .modes = "exchange,memcpy,cma,skew",
                                             .ops = "put,get",
                                             .sizes = "8,64,512,1K,4K,8K,32K,64K,256K,1M,4M",
                                             .values = "0,32,64,128,256,512",
                                             .values_help = "n of skew: the order of the target's matrices",
                                             .budget_ms = 100};

enum {
    line = 128, /* two cache lines: neighbours are fetched in pairs */
    skew_puts = 16,
    skew_size = 256 * 1024
};

enum task { TASK_END, TASK_EXCHANGE, TASK_SKEW };

/* What the two processes share beside the data. */
struct control {
    _Alignas(line) _Atomic uint64_t flag[2][line / sizeof(uint64_t)]; /* [who waits for it][0] */
    _Alignas(line) _Atomic int command; /* a number that grows with each command */
    enum task task;
    bool put;
    size_t size;
    long iterations; /* of exchange, or n of skew */
    _Atomic long wrong;
    _Atomic uintptr_t lent; /* private memory of the other process, for cma */
};

struct process {
    struct control *control;
    int me;
    char *window[2]; /* each process's shared part */
    char *buffer;    /* private */
    uint64_t sequence;
};

static void flag_raise(struct process *process, int whose) {
    atomic_store_explicit(&process->control->flag[whose][0], process->sequence, memory_order_release);
}

static void flag_wait(struct process *process) {
    while (atomic_load_explicit(&process->control->flag[process->me][0], memory_order_acquire) <
           process->sequence)
        ;
}

static void *shared_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("limit: shared memory");
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static void fail(const char *what, long wrong) {
    printf("CHECK FAILED: limit: %s: %ld wrong\n", what, wrong);
    exit(1);
}

static uint64_t *last_word(char *memory, size_t size) {
    return (uint64_t *)(memory + size) - 1;
}

/* One way of the exchange, as the active side; the first and last word carry the sequence number. */
static void move(struct process *process, bool put, size_t size) {
    char *theirs = process->window[1 - process->me];
    if (put) {
        *(uint64_t *)process->buffer = process->sequence;
        *last_word(process->buffer, size) = process->sequence;
        memcpy(theirs, process->buffer, size);
    } else {
        memcpy(process->buffer, theirs, size);
    }
    flag_raise(process, 1 - process->me);
}

static long seen_wrong(struct process *process, bool put, size_t size) {
    char *mine = process->window[process->me];
    if (!put)
        return *(uint64_t *)process->buffer != bench_word(0, 0);
    return (*(uint64_t *)mine != process->sequence) + (*last_word(mine, size) != process->sequence);
}

static void exchange(struct process *process, bool put, size_t size, long iterations) {
    long wrong = 0;
    for (long i = 0; i < iterations; i++) {
        process->sequence++;
        if (process->me == 0)
            move(process, put, size);
        flag_wait(process);
        if (put || process->me == 0 || i > 0) /* before its first get a process has got nothing */
            wrong += seen_wrong(process, put, size);
        if (process->me == 1)
            move(process, put, size);
    }
    atomic_fetch_add(&process->control->wrong, wrong);
}

/* The target's half of an epoch of skew: post, multiply, wait. */
static void skew_target(struct process *process, int n) {
    process->sequence++;
    double *matrix = bench_matrices(n);
    flag_raise(process, 0); /* ready */
    flag_wait(process);     /* the origin begins */
    process->sequence++;
    flag_raise(process, 0); /* post */
    bench_multiply(matrix, n);
    flag_wait(process);
    free(matrix);
    long wrong = 0;
    for (int put = 0; put < skew_puts; put++)
        wrong += *last_word(process->window[1] + (size_t)put * skew_size, skew_size) != process->sequence;
    atomic_fetch_add(&process->control->wrong, wrong);
    process->sequence++;
    flag_raise(process, 0);
}

static double skew_origin(struct process *process) {
    process->sequence += 2;
    for (int put = 0; put < skew_puts; put++)
        *last_word(process->buffer + (size_t)put * skew_size, skew_size) = process->sequence;
    process->sequence--;
    flag_wait(process);
    flag_raise(process, 1);
    process->sequence++;
    double start = bench_now_us();
    flag_wait(process);
    for (int put = 0; put < skew_puts; put++) {
        size_t at = (size_t)put * skew_size;
        memcpy(process->window[1] + at, process->buffer + at, skew_size);
    }
    flag_raise(process, 1);
    double us = bench_now_us() - start;
    process->sequence++;
    flag_wait(process); /* the target has looked */
    return us;
}

/* The second process: does what it is told until the end. Sleeps between commands, so that it disturbs
 * nobody. */
static void serve(struct process *process) {
    struct control *control = process->control;
    for (int done = 0;; done++) {
        while (atomic_load_explicit(&control->command, memory_order_acquire) == done)
            usleep(50);
        if (control->task == TASK_END)
            _exit(0);
        if (control->task == TASK_EXCHANGE)
            exchange(process, control->put, control->size, control->iterations);
        else
            skew_target(process, (int)control->iterations);
    }
}

static void command(struct process *process, enum task task, bool put, size_t size, long iterations) {
    struct control *control = process->control;
    control->task = task;
    control->put = put;
    control->size = size;
    control->iterations = iterations;
    atomic_fetch_add_explicit(&control->command, 1, memory_order_release);
}

enum way { WAY_EXCHANGE, WAY_MEMCPY, WAY_CMA };

static pid_t other_pid;

/* process_vm_writev or _readv between memory of this process and the private memory that the other one has
 * lent: the whole, in as many calls as it takes. */
static void cma(struct process *process, char *mine, bool put, size_t size) {
    char *theirs = (char *)atomic_load_explicit(&process->control->lent, memory_order_relaxed);
    for (size_t done = 0; done < size;) {
        struct iovec here = {mine + done, size - done}, there = {theirs + done, size - done};
        ssize_t moved = put ? process_vm_writev(other_pid, &here, 1, &there, 1, 0)
                            : process_vm_readv(other_pid, &here, 1, &there, 1, 0);
        if (moved <= 0) {
            perror("limit: process_vm_writev/readv");
            exit(1);
        }
        done += (size_t)moved;
    }
}

static double sample(struct process *process, enum way way, bool put, size_t size, long iterations) {
    char *theirs = process->window[1];
    double start = bench_now_us();
    if (way == WAY_EXCHANGE) {
        command(process, TASK_EXCHANGE, put, size, iterations);
        exchange(process, put, size, 1); /* the other one is awake now */
        start = bench_now_us();
        exchange(process, put, size, iterations - 1);
        return (bench_now_us() - start) / (double)(iterations - 1) / 2;
    }
    for (long i = 0; i < iterations; i++) {
        if (way == WAY_CMA)
            cma(process, process->buffer, put, size);
        else
            memcpy(put ? theirs : process->buffer, put ? process->buffer : theirs, size);
        atomic_signal_fence(memory_order_seq_cst); /* each copy is made */
    }
    return (bench_now_us() - start) / (double)iterations;
}

/* Spoils the receiving side, runs a sample and looks at what came. */
static double checked_sample(struct process *process, enum way way, bool put, size_t size, long iterations) {
    char *theirs = process->window[1];
    bool exchanged = way == WAY_EXCHANGE;
    bench_fill(process->buffer, size, put ? 0 : 1);
    bench_fill(theirs, size, put ? 1 : 0);
    bench_fill(process->window[0], size, put ? 1 : 0);
    if (way == WAY_CMA)
        cma(process, theirs, true, size);
    double us = sample(process, way, put, size, iterations);
    if (way == WAY_CMA)
        cma(process, theirs, false, size);
    long wrong = bench_wrong(put ? theirs : process->buffer, size, 0, exchanged && put ? 1 : 0);
    wrong += atomic_load(&process->control->wrong);
    if (wrong != 0)
        fail(exchanged ? "exchange" : "copy", wrong);
    return us;
}

static void measure(const struct bench_options *options, struct process *process, const char *mode,
                    const char *op, size_t size) {
    static struct bench_samples samples;
    enum way way = strcmp(mode, "exchange") == 0 ? WAY_EXCHANGE
                   : strcmp(mode, "cma") == 0    ? WAY_CMA
                                                 : WAY_MEMCPY;
    bool put = strcmp(op, "put") == 0;
    double sample_us = options->budget_ms * 1e3 / options->reps;
    long iterations = 16;
    double us = checked_sample(process, way, put, size, iterations);
    while (us * (double)iterations < sample_us / 4) {
        iterations *= 4;
        us = checked_sample(process, way, put, size, iterations);
    }
    if (us * (double)iterations < sample_us)
        iterations = (long)(sample_us / us);
    samples.count = 0;
    for (int i = 0; i < options->reps; i++)
        bench_sample(&samples, checked_sample(process, way, put, size, iterations));
    struct bench_cell cell = {.bench = program.name,
                              .mode = mode,
                              .op = op,
                              .size = (long long)size,
                              .ranks = 2,
                              .bytes = (double)size};
    bench_print(&cell, &samples);
}

static void measure_skew(const struct bench_options *options, struct process *process, int n) {
    static struct bench_samples samples;
    double begin = bench_now_us();
    samples.count = 0;
    for (int i = -2; i < options->reps && (i < 3 || bench_now_us() - begin < options->budget_ms * 1e3); i++) {
        command(process, TASK_SKEW, true, skew_size, n);
        double us = skew_origin(process);
        if (i >= 0)
            bench_sample(&samples, us);
        if (atomic_load(&process->control->wrong) != 0)
            fail("skew", atomic_load(&process->control->wrong));
    }
    struct bench_cell cell = {
        .bench = program.name, .mode = "skew", .op = "put", .side = "origin", .ranks = 2};
    cell.size = skew_size;
    cell.bytes = (double)skew_puts * skew_size;
    cell.extra[0].name = "n";
    cell.extra[0].value = n;
    bench_print(&cell, &samples);
}

static void measure_all(const struct bench_options *options, struct process *process) {
    char mode[32], op[32];
    for (int m = 0; bench_list_entry(options->modes, m, mode, sizeof mode); m++) {
        bool skew = strcmp(mode, "skew") == 0;
        for (int v = 0; v < options->values.count && skew; v++)
            measure_skew(options, process, (int)options->values.item[v]);
        for (int o = 0; !skew && bench_list_entry(options->ops, o, op, sizeof op); o++) {
            for (int s = 0; s < options->sizes.count; s++)
                measure(options, process, mode, op, (size_t)options->sizes.item[s]);
        }
    }
}

int main(int argc, char **argv) {
    struct bench_options options;
    int status = bench_options_parse(&options, &program, argc, argv, true);
    if (status != 0)
        return status == 1 ? 0 : 2;
    size_t bytes = skew_puts * skew_size;
    for (int s = 0; s < options.sizes.count; s++) {
        if (options.sizes.item[s] % 8 != 0 || options.sizes.item[s] == 0) {
            fprintf(stderr, "--size: %lld is not a multiple of 8\n", options.sizes.item[s]);
            return 2;
        }
        if ((size_t)options.sizes.item[s] > bytes)
            bytes = (size_t)options.sizes.item[s];
    }
    struct process process = {.control = shared_memory(sizeof(struct control))};
    process.window[0] = shared_memory(bytes);
    process.window[1] = shared_memory(bytes);
    pid_t parent = getpid();
    other_pid = fork();
    if (other_pid < 0) {
        perror("limit: fork");
        return 1;
    }
    process.me = other_pid == 0 ? 1 : 0;
    if (process.me == 1 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
        _exit(1);
    if (bench_pin(options.pin, process.me) != 0)
        exit(2);
    process.buffer = bench_memory(bytes);
    bench_fill(process.buffer, bytes, 0);
    if (process.me == 1) {
        atomic_store_explicit(&process.control->lent, (uintptr_t)process.buffer, memory_order_release);
        serve(&process);
    }
    while (atomic_load_explicit(&process.control->lent, memory_order_acquire) == 0)
        sched_yield();
    measure_all(&options, &process);
    command(&process, TASK_END, false, 0, 0);
    waitpid(other_pid, NULL, 0);
    return 0;
}
