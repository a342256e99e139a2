/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_window.h"

#include "app_check.h"
#include "app_memory.h"

#include <stdlib.h>
#include <string.h>

void app_window_make(struct app_window *window, enum app_flavour flavour, size_t bytes, int unit,
                     MPI_Info info, MPI_Comm comm) {
    *window = (struct app_window){.win = MPI_WIN_NULL, .bytes = bytes};
    const MPI_Aint size = (MPI_Aint)app_memory_whole_pages(bytes);
    if (flavour == APP_WINDOW_CREATE) {
        window->owned = window->base = app_memory_allocate(bytes, 1);
        MPI_Win_create(window->base, size, unit, info, comm, &window->win);
    } else {
        MPI_Win_allocate(size, unit, info, comm, &window->base, &window->win);
        if (bytes > 0)
            memset(window->base, 0, bytes);
        MPI_Barrier(comm); /* nobody may write into memory that its owner is still about to zero */
    }
    int *model, known;
    MPI_Win_get_attr(window->win, MPI_WIN_MODEL, &model, &known);
    if (!known || *model != MPI_WIN_UNIFIED)
        app_abort("this MPI's windows do not have the unified memory model, which is needed here");
}

void app_window_free(struct app_window *window) {
    MPI_Win_free(&window->win);
    free(window->owned);
    *window = (struct app_window){.win = MPI_WIN_NULL};
}
