/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows on ordinary memory (MPI_Win_create) and what their owner notices of them, 2 ranks. Beneath TrueRMA
 * such memory may become a shared region in place, as TRUERMA_ADOPT says, or an info key, which host MPIs do
 * not know: the modes *_always and *_never set it.
 *
 * owner:  the owner's own computing on a window (triad, random reads) against plain memory on huge pages. The
 *         created window is adopted for it.
 *
 * cost, cost_always, cost_never: a window on memory that was touched or not is made, carries `values` puts of
 * 8 bytes with a flush each, and is freed. All ranks together.
 *
 * few_flush, few_lock, few_fence: a window of 1 MiB is made, carries `values` operations of `size` bytes,
 * each with a flush, a lock or between fences, and is freed; otherwise its target waits. All ranks together.
 *
 * cma: an operation and its flush on a window that is never adopted, and bare calls of process_vm_writev and
 * process_vm_readv in the same processes.
 *
 * hammer, hammer_always: threads of the target increment words inside and beside a window that is made and
 * freed again and again; nothing may be lost. */
#include "common/bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static const struct bench_program program = {.name = "adopt",
                                             .summary = "windows on ordinary memory, 2 ranks",
                                             .modes = "owner,cost,cost_always,cost_never,few_flush,few_lock,"
                                                      "few_fence,cma,hammer,hammer_always",
                                             .ops = "put,get,accumulate",
                                             .flavours = "create,allocate",
                                             .sizes = "4K,64M,512M",
                                             .values = "4",
                                             .values_help = "cost: puts; few: operations",
                                             .reps = 7};

enum { HUGE = 2 << 20, CYCLES = 1000, THREADS = 4 };

/* A window with a policy, NULL: that of the environment. */
static MPI_Win create(void *base, size_t bytes, const char *policy) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Win win;
    if (policy != NULL) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "truerma_adopt", policy);
    }
    MPI_Win_create(base, (MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &win);
    if (policy != NULL)
        MPI_Info_free(&info);
    return win;
}

/* Anonymous memory on a huge page's beginning, huge pages allowed; nothing is touched. */
static char *map_memory(size_t bytes) {
    char *reserved = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) {
        fprintf(stderr, "bench-adopt: no memory\n");
        exit(1);
    }
    size_t lead = (HUGE - (uintptr_t)reserved % HUGE) % HUGE;
    if (lead > 0)
        munmap(reserved, lead);
    if (lead < HUGE)
        munmap(reserved + lead + bytes, HUGE - lead);
    madvise(reserved + lead, bytes, MADV_HUGEPAGE);
    return reserved + lead;
}

static double triad_us(double *a, size_t n) {
    double start = bench_now_us(), *b = a + n, *c = b + n;
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
    return bench_now_us() - start;
}

/* Reads that depend on each other, so that none overlaps another: microseconds for each. */
static double random_us(const uint64_t *words, size_t n, long reads) {
    uint64_t at = 1;
    double start = bench_now_us();
    for (long i = 0; i < reads; i++)
        at = at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407) + words[(at >> 20) % n];
    double us = (bench_now_us() - start) / (double)reads;
    /* The result is used. */
    return at == 0 ? us + 1e-9 : us;
}

/* What an owner computes on. */
struct place {
    char flavour[32];
    void *memory;
    struct bench_samples triad, reads;
};

/* On all places in turns, every other time the other way round: they are compared. */
static void compute(const struct bench *bench, struct place *places, int count, size_t bytes) {
    size_t n = bytes / 3 / sizeof(double);
    for (int i = -1; i < bench->options.reps; i++) {
        for (int turn = 0; turn < count; turn++) {
            struct place *place = &places[i % 2 == 0 ? turn : count - 1 - turn];
            double triad_time = triad_us(place->memory, n);
            double read_time = random_us(place->memory, bytes / 8, 2000000);
            if (i >= 0) {
                bench_sample(&place->triad, triad_time);
                bench_sample(&place->reads, read_time);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        struct bench_cell cell = {.mode = "owner",
                                  .op = "triad",
                                  .flavour = places[i].flavour,
                                  .size = (long long)bytes,
                                  .bytes = (double)(n * 24)};
        bench_emit(bench, &cell, &places[i].triad, 0);
        cell = (struct bench_cell){
            .mode = "owner", .op = "random_read", .flavour = places[i].flavour, .size = (long long)bytes};
        bench_emit(bench, &cell, &places[i].reads, 0);
    }
}

/* One rank computes, the other has small windows. */
static void owner(const struct bench *bench, size_t bytes) {
    enum { PLAIN, FREED, FIRST_WINDOW, MOST = FIRST_WINDOW + 2 };
    static struct place places[MOST];
    MPI_Win wins[MOST];
    size_t mine = bench->rank == 0 ? bytes : 4096;
    int count = FIRST_WINDOW;
    while (count < MOST && bench_list_entry(bench->options.flavours, count - FIRST_WINDOW,
                                            places[count].flavour, sizeof places[count].flavour))
        count++;
    strcpy(places[PLAIN].flavour, "plain");
    strcpy(places[FREED].flavour, "freed");
    for (int i = 0; i < count; i++) {
        struct place *place = &places[i];
        bool is_allocated = strcmp(place->flavour, "allocate") == 0;
        place->triad.count = place->reads.count = 0;
        if (is_allocated)
            MPI_Win_allocate((MPI_Aint)mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &place->memory, &wins[i]);
        else
            place->memory = map_memory(mine);
        memset(place->memory, 0, mine);
        if (i != PLAIN && !is_allocated)
            wins[i] = create(place->memory, mine, "always");
        if (i == FREED)
            MPI_Win_free(&wins[i]);
    }
    compute(bench, places, count, mine);
    for (int i = 0; i < count; i++) {
        if (i >= FIRST_WINDOW)
            MPI_Win_free(&wins[i]);
        if (strcmp(places[i].flavour, "allocate") != 0)
            munmap(places[i].memory, mine);
    }
}

static void cost(const struct bench *bench, const char *mode, const char *policy, size_t bytes,
                 bool is_touched, long puts) {
    static struct bench_samples samples;
    samples.count = 0;
    for (int i = 0; i < bench->options.reps; i++) {
        char *memory = map_memory(bytes);
        if (is_touched)
            memset(memory, 1, bytes);
        uint64_t word = bench_word((uint64_t)i, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = bench_now_us();
        MPI_Win win = create(memory, bytes, policy);
        MPI_Win_lock_all(0, win);
        for (long k = 0; k < puts && bench->rank == 0; k++) {
            MPI_Put(&word, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);
            MPI_Win_flush(1, win);
        }
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
        double us = bench_now_us() - start;
        MPI_Barrier(MPI_COMM_WORLD);
        uint64_t came;
        memcpy(&came, memory + 8, 8);
        bench_verify(bench, bench->rank == 1 && puts > 0 && came != word, "a put into a created window");
        bench_sample(&samples, us);
        munmap(memory, bytes);
    }
    struct bench_cell cell = {.mode = mode,
                              .op = is_touched ? "touched" : "untouched",
                              .flavour = "create",
                              .size = (long long)bytes,
                              .extra = {{.name = "puts", .value = (double)puts}}};
    bench_emit(bench, &cell, &samples, 0);
}

enum few_way { FEW_FLUSH, FEW_LOCK, FEW_FENCE, FEW_WAYS };
enum few_op { FEW_PUT, FEW_GET, FEW_ACCUMULATE, FEW_OPS };
static const char *const few_modes[] = {"few_flush", "few_lock", "few_fence"};
static const char *const few_ops[] = {"put", "get", "accumulate"};
enum { FEW_BYTES = 1 << 20, FEW_PLACE = 64 };

static void few_operate(MPI_Win win, enum few_way way, enum few_op op, char *here, int bytes) {
    if (way == FEW_LOCK)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    switch (op) {
    case FEW_PUT:
        MPI_Put(here, bytes, MPI_BYTE, 1, FEW_PLACE, bytes, MPI_BYTE, win);
        break;
    case FEW_GET:
        MPI_Get(here, bytes, MPI_BYTE, 1, FEW_PLACE, bytes, MPI_BYTE, win);
        break;
    default:
        MPI_Accumulate(here, bytes / 8, MPI_UINT64_T, 1, FEW_PLACE, bytes / 8, MPI_UINT64_T, MPI_SUM, win);
    }
    if (way == FEW_FLUSH)
        MPI_Win_flush(1, win);
    else if (way == FEW_LOCK)
        MPI_Win_unlock(1, win);
}

/* How many words are not what so many operations with the pattern `seed` make of the pattern 0, here at the
 * origin or there at the target. */
static long few_wrong(enum few_op op, const char *here, const char *there, size_t bytes, uint64_t seed,
                      long count, bool is_origin) {
    long wrong = 0;
    if (op == FEW_GET)
        return is_origin ? bench_wrong(here, bytes, 0, 0) : 0;
    for (size_t i = 0; i < bytes / 8 && !is_origin; i++) {
        uint64_t word;
        memcpy(&word, there + i * 8, 8);
        wrong += word != (op == FEW_PUT ? bench_word(seed, i)
                                        : bench_word(0, i) + (uint64_t)count * bench_word(seed, i));
    }
    return wrong;
}

static void few(const struct bench *bench, enum few_way way, enum few_op op, size_t bytes, long count) {
    static struct bench_samples samples;
    char *here = bench_memory(bytes);
    samples.count = 0;
    for (int i = 0; i < bench->options.reps; i++) {
        const uint64_t seed = (uint64_t)i + 1;
        char *memory = bench_memory(FEW_BYTES);
        memset(memory, 1, FEW_BYTES);
        bench_fill(memory + FEW_PLACE, bytes, 0);
        bench_fill(here, bytes, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = bench_now_us();
        MPI_Win win = create(memory, FEW_BYTES, NULL);
        if (way == FEW_FLUSH)
            MPI_Win_lock_all(0, win);
        else if (way == FEW_FENCE)
            MPI_Win_fence(0, win);
        for (long k = 0; k < count; k++) {
            if (bench->rank == 0)
                few_operate(win, way, op, here, (int)bytes);
            if (way == FEW_FENCE)
                MPI_Win_fence(0, win);
        }
        if (way == FEW_FLUSH)
            MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
        double us = bench_now_us() - start;
        MPI_Barrier(MPI_COMM_WORLD);
        bench_verify(bench, few_wrong(op, here, memory + FEW_PLACE, bytes, seed, count, bench->rank == 0),
                     "a few operations on a created window");
        bench_sample(&samples, us);
        free(memory);
    }
    free(here);
    struct bench_cell cell = {.mode = few_modes[way],
                              .op = few_ops[op],
                              .flavour = "create",
                              .size = (long long)bytes,
                              .extra = {{.name = "puts", .value = (double)count}}};
    bench_emit(bench, &cell, &samples, 0);
}

static void few_all(const struct bench *bench, size_t bytes, long count) {
    for (int way = 0; way < FEW_WAYS; way++) {
        for (int op = 0; op < FEW_OPS; op++) {
            if (bench_list_has(bench->options.modes, few_modes[way]) &&
                bench_list_has(bench->options.ops, few_ops[op]) && bytes <= FEW_BYTES - FEW_PLACE)
                few(bench, way, op, bytes, count);
        }
    }
}

/* What cma works on. */
struct crossing {
    const struct bench *bench;
    MPI_Win win;
    char *here;
    long there[2]; /* the other process and its memory */
    size_t bytes;
    bool is_put, is_bare;
};

static void cross(void *context, long iterations) {
    const struct crossing *c = context;
    struct iovec here = {c->here, c->bytes}, there = {(void *)c->there[1], c->bytes};
    if (c->bench->rank != 0)
        return;
    for (long i = 0; i < iterations && !c->is_bare; i++) {
        if (c->is_put)
            MPI_Put(c->here, (int)c->bytes, MPI_BYTE, 1, 0, (int)c->bytes, MPI_BYTE, c->win);
        else
            MPI_Get(c->here, (int)c->bytes, MPI_BYTE, 1, 0, (int)c->bytes, MPI_BYTE, c->win);
        MPI_Win_flush(1, c->win);
    }
    for (long i = 0; i < iterations && c->is_bare; i++) {
        ssize_t moved = c->is_put ? process_vm_writev((pid_t)c->there[0], &here, 1, &there, 1, 0)
                                  : process_vm_readv((pid_t)c->there[0], &here, 1, &there, 1, 0);
        if (moved != (ssize_t)c->bytes) {
            perror("bench-adopt: process_vm_writev/readv");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void cma(const struct bench *bench, size_t bytes) {
    static struct bench_samples samples[2];
    struct crossing c = {.bench = bench, .here = bench_memory(bytes), .bytes = bytes};
    char *memory = bench_memory(bytes);
    bench_fill(c.here, bytes, 0);
    bench_fill(memory, bytes, 0);
    memory[0] ^= (char)(bench->rank == 1); /* what the puts are to mend */
    c.win = create(memory, bytes, "never");
    c.there[0] = getpid();
    c.there[1] = (long)memory;
    MPI_Bcast(c.there, 2, MPI_LONG, 1, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, c.win);
    for (int way = 0; way < 2; way++) {
        static const char *const names[][2] = {{"put", "bare_put"}, {"get", "bare_get"}};
        c.is_put = way == 0;
        struct crossing bare = c;
        bare.is_bare = true;
        const struct bench_task tasks[] = {{.context = &c, .run = cross}, {.context = &bare, .run = cross}};
        bench_run_in_turns(bench, tasks, 2, samples);
        for (int i = 0; i < 2; i++) {
            struct bench_cell cell = {.mode = "cma",
                                      .op = names[way][i],
                                      .flavour = "create",
                                      .size = (long long)bytes,
                                      .bytes = (double)bytes};
            bench_emit(bench, &cell, &samples[i], 0);
        }
    }
    MPI_Win_unlock_all(c.win);
    bench_verify(bench, bench_wrong(bench->rank == 0 ? c.here : memory, bytes, 0, 0), "what was carried");
    MPI_Win_free(&c.win);
    free(memory);
    free(c.here);
}

struct incrementer {
    pthread_t thread;
    volatile long *words[2]; /* inside and beside the window */
    long counts;
    atomic_bool *stop;
};

static void *increment(void *object) {
    struct incrementer *me = object;
    while (!atomic_load_explicit(me->stop, memory_order_relaxed)) {
        (*me->words[0])++;
        (*me->words[1])++;
        me->counts++;
    }
    return NULL;
}

static void hammer(const struct bench *bench, const char *mode, const char *policy) {
    static struct bench_samples samples;
    enum { PAGE = 4096, PAGES = 8, LEAD = 64 };
    struct incrementer crew[THREADS];
    char *memory = bench_memory(PAGES * PAGE);
    atomic_bool stop = false;
    memset(memory, 0, PAGES * PAGE);
    for (int t = 0; t < THREADS && bench->rank == 1; t++) {
        /* Beside the window: on its first page, which it has not all of. */
        crew[t].counts = 0;
        crew[t].words[0] = (volatile long *)(memory + PAGE * (t % (PAGES - 2) + 1)) + t;
        crew[t].words[1] = (volatile long *)memory + t % (LEAD / (int)sizeof(long));
        crew[t].stop = &stop;
        pthread_create(&crew[t].thread, NULL, increment, &crew[t]);
    }
    samples.count = 0;
    long here = 0;
    for (int i = 0; i < CYCLES; i++) {
        uint64_t word = bench_word((uint64_t)i, 2);
        double start = bench_now_us();
        MPI_Win win = create(memory + LEAD, (PAGES - 1) * PAGE, policy);
        MPI_Win_fence(0, win);
        if (bench->rank == 0)
            MPI_Put(&word, 8, MPI_BYTE, 1, (PAGES - 2) * PAGE, 8, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        here += bench->rank == 1 && memcmp(memory + LEAD + (PAGES - 2) * PAGE, &word, 8) != 0;
        MPI_Win_free(&win);
        bench_sample(&samples, bench_now_us() - start);
    }
    atomic_store(&stop, true);
    long counted = 0;
    for (int t = 0; t < THREADS && bench->rank == 1; t++) {
        pthread_join(crew[t].thread, NULL);
        here += *crew[t].words[0] != crew[t].counts;
        if (t < LEAD / (int)sizeof(long))
            here += *crew[t].words[1] != crew[t].counts;
        counted += crew[t].counts;
    }
    bench_verify(bench, here, "words incremented by threads while windows came and went");
    MPI_Bcast(&counted, 1, MPI_LONG, 1, MPI_COMM_WORLD);
    struct bench_cell cell = {
        .mode = mode,
        .op = "cycle",
        .flavour = "create",
        .size = (PAGES - 1) * PAGE,
        .extra = {{.name = "threads", .value = THREADS}, {.name = "increments", .value = (double)counted}}};
    bench_emit(bench, &cell, &samples, 0);
    free(memory);
}

static const struct {
    const char *cost;
    const char *policy;
} policies[] = {{"cost", NULL}, {"cost_always", "always"}, {"cost_never", "never"}};

enum { POLICIES = sizeof policies / sizeof policies[0] };

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 2);
    const struct bench_options *options = &bench.options;
    for (int s = 0; s < options->sizes.count; s++) {
        size_t bytes = (size_t)options->sizes.item[s];
        if (bench_list_has(options->modes, "owner") && bytes > HUGE)
            owner(&bench, bytes);
        if (bench_list_has(options->modes, "cma"))
            cma(&bench, bytes);
        for (int v = 0; v < options->values.count; v++) {
            few_all(&bench, bytes, (long)options->values.item[v]);
            for (int p = 0; p < POLICIES; p++) {
                if (bench_list_has(options->modes, policies[p].cost)) {
                    cost(&bench, policies[p].cost, policies[p].policy, bytes, false, options->values.item[v]);
                    cost(&bench, policies[p].cost, policies[p].policy, bytes, true, options->values.item[v]);
                }
            }
        }
    }
    if (bench_list_has(options->modes, "hammer"))
        hammer(&bench, "hammer", NULL);
    if (bench_list_has(options->modes, "hammer_always"))
        hammer(&bench, "hammer_always", "always");
    return bench_end();
}
