/* SPDX-License-Identifier: BSD-3-Clause */
/* What a window costs: its creation and its freeing, by flavour and size, and the memory that it takes.
 *
 * Time: a window is made and freed once per sample, in between it carries a checked put to the next rank. The
 * memory of a created window exists before. Memory: the growth of the rank's proportional set size (PSS,
 * which counts a page that k processes share as 1/k) while `values` windows are alive, divided by their
 * number; an allocated window's own bytes are not counted. */
#include "common/bench.h"

#include <stdio.h>
#include <stdlib.h>

static const struct bench_program program = {.name = "window",
                                             .summary = "creation and freeing of a window, 2 ranks and more",
                                             .flavours = "create,allocate",
                                             .sizes = "4K,64K,1M,16M",
                                             .values = "64",
                                             .values_help = "windows alive at once when memory is measured",
                                             .reps = 21};

/* This process's proportional set size, or 0 where the kernel does not tell. */
static double pss_bytes(void) {
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double kib = 0;
    while (rollup != NULL && fgets(line, sizeof line, rollup) != NULL) {
        if (sscanf(line, "Pss: %lf", &kib) == 1)
            break;
    }
    if (rollup != NULL)
        fclose(rollup);
    return kib * 1024;
}

/* Puts a word from every rank to the next one and looks at what came. */
static void use(const struct bench *bench, const struct bench_window *window, uint64_t word) {
    int next = (bench->rank + 1) % bench->ranks, previous = (bench->rank + bench->ranks - 1) % bench->ranks;
    uint64_t mine = bench_word(word, (size_t)bench->rank);
    MPI_Win_fence(0, window->win);
    MPI_Put(&mine, 8, MPI_BYTE, next, (MPI_Aint)window->bytes - 8, 8, MPI_BYTE, window->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
    uint64_t came = *(const uint64_t *)(window->base + window->bytes - 8);
    bench_verify(bench, came != bench_word(word, (size_t)previous), "a word in a new window");
}

static void make(struct bench_window *window, void *memory) {
    MPI_Aint bytes = (MPI_Aint)window->bytes;
    window->base = memory;
    if (memory != NULL)
        MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window->win);
    else
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window->base, &window->win);
}

static double memory_per_window(const struct bench *bench, const char *flavour, size_t bytes, int count) {
    struct bench_window *windows = calloc((size_t)count, sizeof *windows);
    void *memory = flavour[0] == 'c' ? bench_memory(bytes) : NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double before = pss_bytes();
    for (int i = 0; i < count; i++) {
        windows[i].bytes = bytes;
        make(&windows[i], memory);
        use(bench, &windows[i], (uint64_t)i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double grown = pss_bytes() - before;
    /* Of an allocated window the one page that was used is there, and is not the window's cost. */
    double own = memory == NULL ? 4096.0 * count : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        MPI_Win_free(&windows[i].win);
    free(memory);
    free(windows);
    return (grown - own) / count;
}

static void emit(const struct bench *bench, const char *op, const char *flavour, size_t bytes,
                 struct bench_samples *samples, double memory) {
    struct bench_cell cell = {.mode = "window", .op = op, .flavour = flavour, .size = (long long)bytes};
    if (memory != 0) {
        cell.extra[0].name = "bytes_per_window";
        cell.extra[0].value = memory;
    }
    bench_emit(bench, &cell, samples, 0);
}

static void measure(const struct bench *bench, const char *flavour, size_t bytes) {
    static struct bench_samples making, freeing;
    enum { warm_ups = 3 };
    void *memory = flavour[0] == 'c' ? bench_memory(bytes) : NULL;
    making.count = freeing.count = 0;
    for (int i = -warm_ups; i < bench->options.reps; i++) {
        struct bench_window window = {.bytes = bytes};
        MPI_Barrier(MPI_COMM_WORLD);
        double start = bench_now_us();
        make(&window, memory);
        double made = bench_now_us() - start;
        use(bench, &window, (uint64_t)i);
        MPI_Barrier(MPI_COMM_WORLD);
        start = bench_now_us();
        MPI_Win_free(&window.win);
        double freed = bench_now_us() - start;
        if (i >= 0) {
            bench_sample(&making, made);
            bench_sample(&freeing, freed);
        }
    }
    free(memory);
    emit(bench, "make", flavour, bytes, &making,
         memory_per_window(bench, flavour, bytes, (int)bench->options.values.item[0]));
    emit(bench, "free", flavour, bytes, &freeing, 0);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_begin(&bench, &program, argc, argv, 2, 1024);
    char flavour[32];
    for (int f = 0; bench_list_entry(bench.options.flavours, f, flavour, sizeof flavour); f++) {
        for (int s = 0; s < bench.options.sizes.count; s++)
            measure(&bench, flavour, (size_t)bench.options.sizes.item[s]);
    }
    return bench_end();
}
