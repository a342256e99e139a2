/* SPDX-License-Identifier: BSD-3-Clause */
/* A page of memory that all ranks have mapped, without any MPI window: what ranks tell each other there takes
 * no part in what is measured. */
#ifndef TRUERMA_BENCH_PAGE_H
#define TRUERMA_BENCH_PAGE_H

/* Zeroed, 4 KiB, freed by bench_page_unmap. Collective over MPI_COMM_WORLD, whose ranks must be on one
 * machine; ends all ranks when there is none. */
void *bench_page_map(int rank);
void bench_page_unmap(void *page);

#endif
