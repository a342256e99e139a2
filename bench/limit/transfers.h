/* SPDX-License-Identifier: BSD-3-Clause */
/* One operation by hand, again and again.
 *
 * exchange: in turns: operate, store a flag; the other one polls it. Half a round trip, the limit of
 * latency's pscw cells. exchange_places: the same, but each sample with flags and data in another place, so
 * that the spread of the samples is that of the cache lines. memcpy (put and get), update (accumulate,
 * fetch_and_op, compare_and_swap): the same within process 0, with nobody told. cma: process_vm_writev (put)
 * or process_vm_readv (get) to and from process 1, which sleeps. */
#ifndef TRUERMA_BENCH_LIMIT_TRANSFERS_H
#define TRUERMA_BENCH_LIMIT_TRANSFERS_H

#include "process.h"

#define LIMIT_TRANSFER_OPS "put,get,accumulate,fetch_and_op,compare_and_swap"

/* Process 0: measures and prints one cell, unless there is no such: an update by cma or memcpy, a copy as an
 * update, and atomic operations of other than 8 bytes. */
void limit_transfer_measure(struct limit_process *process, const struct bench_options *options,
                            const char *mode, const char *op, size_t size);

/* Process 1: its half of so many exchanges. */
void limit_transfer_serve(struct limit_process *process, const struct limit_order *order);

#endif
