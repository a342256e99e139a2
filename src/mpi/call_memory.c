/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alloc_mem from the shared heap, so that windows on it are mapped; and the program's beginning and end.
 */
#include "face_hints.h"
#include "face_host.h"
#include "face_host_window.h"
#include "face_log.h"
#include "face_statistics.h"
#include "handlers.h"
#include "mem/mem_adopt.h"
#include "mem/mem_heap.h"
#include "mem/mem_huge.h"

int trma_call_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr) {
    if (trma_knobs()->enabled && size > 0 &&
        trma_mem_heap_allocate(TRMA_HEAP_DATA, (size_t)size, trma_hints_alignment(info, (size_t)size),
                               baseptr) == TRMA_OK) {
        trma_mem_huge_populate_new(*(void **)baseptr, (size_t)size);
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

/* Threads that the host starts while it initialises never write into the program's memory on their own:
 * adoption need not stop them. */
int trma_call_Init(int *argc, char ***argv) {
    trma_mem_adopt_trust_begin();
    int code = trma_host()->Init(argc, argv);
    trma_mem_adopt_trust_end();
    return code;
}

int trma_call_Init_thread(int *argc, char ***argv, int required, int *provided) {
    trma_mem_adopt_trust_begin();
    int code = trma_host()->Init_thread(argc, argv, required, provided);
    trma_mem_adopt_trust_end();
    return code;
}

int trma_call_Finalize(void) {
    trma_statistics_report_all();
    trma_host_windows_drop();
    return trma_host()->Finalize();
}
