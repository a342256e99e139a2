/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MOVE_PAST_H
#define TRMA_MOVE_PAST_H

#include <stddef.h>

/*
 * memcpy that writes past the caches (move_stream.h and move_contest.h say when): whole lines, by
 * non-temporal stores. It reads ahead by prefetches. Those are non-temporal, too, on AMD's processors: what
 * is read stays out of the caches further out. On Intel's such a prefetch of a line that the second cache
 * does not have is slow, and they are plain ones. Measured (by hand, Xeon with 2 MiB of second cache per core
 * and 480 MiB of last cache, 16 times 256 KiB while the other core multiplies matrices of the order n, us,
 * medians, memory on small and on huge pages):
 *
 *                                      n = 16      n = 256
 *   memcpy                             388, 283    582, 482
 *   non-temporal prefetches            831, 507    838, 830
 *   plain ones                         371, 289    448, 298
 *   plain ones, vectors of 32 bytes    296, 286    424, 286
 *   of 64 bytes                        304, 287    409, 284
 *
 * The two sides do not overlap. Orders its stores before whatever announces the data. Thread-safe.
 */
void trma_move_past_copy(void *to, const void *from, size_t size);

#endif
