/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alloc_mem from the shared heap, so that windows on it are mapped; and the end of the program. */
#include "face_host.h"
#include "face_log.h"
#include "face_statistics.h"
#include "handlers.h"
#include "mem/mem_heap.h"

int trma_call_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr) {
    enum { PAGE = 4096 };

    if (trma_knobs()->enabled && size > 0 &&
        trma_mem_heap_allocate(TRMA_HEAP_DATA, (size_t)size, size >= PAGE ? PAGE : 64, baseptr) == TRMA_OK) {
        return MPI_SUCCESS;
    }
    return trma_host()->Alloc_mem(size, info, baseptr);
}

int trma_call_Free_mem(void *base) {
    if (base && trma_mem_heap_free(base)) {
        return MPI_SUCCESS;
    }
    return trma_host()->Free_mem(base);
}

int trma_call_Finalize(void) {
    trma_statistics_report_all();
    return trma_host()->Finalize();
}
