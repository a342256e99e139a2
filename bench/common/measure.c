/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* A chain of dependent operations, which no compiler shortens. */
static void chain(long steps) {
    static volatile double sink;
    double x = sink + 1.0;
    for (long i = 0; i < steps; i++)
        x = x * 0.999999 + 1e-6;
    sink = x - x;
}

void bench_compute(double us) {
    enum { probe = 200000, probes = 9 };
    static double steps_per_us;
    for (int i = 0; steps_per_us == 0 || (i > 0 && i < probes); i++) {
        double start = bench_now_us();
        chain(probe);
        double rate = probe / (bench_now_us() - start);
        if (rate > steps_per_us)
            steps_per_us = rate; /* the fastest probe is the undisturbed one */
    }
    chain((long)(us * steps_per_us));
}

/* Where a loop and its words lie decides a fifth of its time: in the programs of all hosts they lie alike. */
enum { ALIKE = 4096 };

__attribute__((aligned(ALIKE))) double bench_pace_ns(void) {
    enum { WORDS = 1024, PASSES = 8, TRIES = 3 };
    static _Alignas(ALIKE) uint64_t words[WORDS];
    double fastest = 0;
    for (int try = 0; try < TRIES; try++) { /* an interrupt is not what is looked for */
        double start = bench_now_us();
        for (int pass = 0; pass < PASSES; pass++) {
            for (int i = 0; i < WORDS; i++)
                words[i] = words[i] * 3 + (words[i] >> 7) + (uint64_t)pass;
            __asm__ volatile("" : : "r"(words) : "memory");
        }
        double ns = (bench_now_us() - start) * 1e3;
        if (try == 0 || ns < fastest)
            fastest = ns;
    }
    return fastest;
}

void *bench_memory(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes > 0 ? bytes : 1) != 0) {
        fprintf(stderr, "out of memory: %zu bytes\n", bytes);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

void bench_fill(void *memory, size_t bytes, uint64_t seed) {
    char *at = memory;
    for (size_t i = 0; i * sizeof(uint64_t) < bytes; i++) {
        uint64_t word = bench_word(seed, i);
        size_t left = bytes - i * sizeof word;
        memcpy(at + i * sizeof word, &word, left < sizeof word ? left : sizeof word);
    }
}

long bench_wrong(const void *memory, size_t bytes, uint64_t seed, size_t skip) {
    const char *at = memory;
    size_t words = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    long wrong = 0;
    for (size_t i = skip; i + skip < words; i++) {
        uint64_t word = bench_word(seed, i);
        size_t left = bytes - i * sizeof word;
        wrong += memcmp(at + i * sizeof word, &word, left < sizeof word ? left : sizeof word) != 0;
    }
    return wrong;
}

void bench_sample(struct bench_samples *samples, double us) {
    if (samples->count < BENCH_MAX_SAMPLES)
        samples->us[samples->count++] = us;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which `part` of the sorted samples lie, interpolated between neighbours. */
static double quantile(const struct bench_samples *samples, double part) {
    double place = part * (samples->count - 1);
    int below = (int)place;
    int above = below + 1 < samples->count ? below + 1 : below;
    return samples->us[below] + (place - below) * (samples->us[above] - samples->us[below]);
}

double bench_median(struct bench_samples *samples) {
    qsort(samples->us, (size_t)samples->count, sizeof samples->us[0], ascending);
    return quantile(samples, 0.5);
}

static void print_name(const char *key, const char *value) {
    if (value != NULL)
        printf("\"%s\":\"%s\",", key, value);
}

void bench_print(const struct bench_cell *cell, struct bench_samples *samples) {
    if (samples->count == 0) {
        fprintf(stderr, "%s: a cell without samples\n", cell->bench);
        exit(1);
    }
    double median = bench_median(samples);
    printf("{\"bench\":\"%s\",", cell->bench);
    print_name("mode", cell->mode);
    print_name("op", cell->op);
    print_name("flavour", cell->flavour);
    print_name("side", cell->side);
    print_name("threads", cell->threads ? "multiple" : NULL);
    if (cell->in_turns)
        printf("\"in_turns\":true,");
    for (int i = 0; i < BENCH_EXTRAS && cell->extra[i].name != NULL; i++)
        printf("\"%s\":%.10g,", cell->extra[i].name, cell->extra[i].value);
    if (samples->ping_ns > 0)
        printf("\"ping_ns\":%.4g,", samples->ping_ns);
    if (samples->pace_ns > 0)
        printf("\"pace_ns\":%.4g,", samples->pace_ns);
    if (samples->iterations > 0)
        printf("\"iterations\":%ld,", samples->iterations);
    if (cell->bytes > 0 && median > 0)
        printf("\"gb_s\":%.6g,", cell->bytes / median * 1e-3);
    if (cell->ops > 0 && median > 0)
        printf("\"mops\":%.6g,", cell->ops / median);
    printf("\"size\":%lld,\"ranks\":%d,\"median_us\":%.6g,\"p10\":%.6g,\"p90\":%.6g,\"min\":%.6g,\"reps\":%d,"
           "\"checked\":true}\n",
           cell->size, cell->ranks, median, quantile(samples, 0.1), quantile(samples, 0.9), samples->us[0],
           samples->count);
    fflush(stdout);
}
