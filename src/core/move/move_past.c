/* SPDX-License-Identifier: BSD-3-Clause */
#include "move_past.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { LINE = 64, AHEAD = 2048 };

/* Copies whole lines, to where a line begins. */
typedef void copier_of_lines(char *to, const char *from, size_t size);

static void copy_by_16(char *to, const char *from, size_t size) {
    for (size_t at = 0; at < size; at += LINE) {
        const __m128i *line = (const __m128i *)(from + at);
        __m128i *out = (__m128i *)(to + at);
        const __m128i part0 = _mm_loadu_si128(line);
        const __m128i part1 = _mm_loadu_si128(line + 1);
        const __m128i part2 = _mm_loadu_si128(line + 2);
        const __m128i part3 = _mm_loadu_si128(line + 3);
        _mm_prefetch(from + at + AHEAD, _MM_HINT_NTA);
        _mm_stream_si128(out, part0);
        _mm_stream_si128(out + 1, part1);
        _mm_stream_si128(out + 2, part2);
        _mm_stream_si128(out + 3, part3);
    }
}

__attribute__((target("avx512f"))) static void copy_by_64(char *to, const char *from, size_t size) {
    for (size_t at = 0; at < size; at += LINE) {
        const __m512i line = _mm512_loadu_si512(from + at);
        _mm_prefetch(from + at + AHEAD, _MM_HINT_T0);
        _mm512_stream_si512((void *)(to + at), line);
    }
}

static copier_of_lines *copy_lines = copy_by_16;

/* Before main, so that nobody else runs. */
__attribute__((constructor)) static void choose_vectors(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f")) {
        copy_lines = copy_by_64;
    }
}

void trma_move_past_copy(void *to, const void *from, size_t size) {
    const size_t before = -(uintptr_t)to % LINE;
    const size_t head = before < size ? before : size;
    const size_t lines = (size - head) / LINE * LINE;
    const size_t end = head + lines;
    const char *source = from;
    char *target = to;

    memcpy(target, source, head);
    copy_lines(target + head, source + head, lines);
    memcpy(target + end, source + end, size - end);
    /* Such stores are not ordered by the release that announces the data. */
    _mm_sfence();
}
#else
void trma_move_past_copy(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
}
#endif
