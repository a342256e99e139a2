/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_window.h"

#include "face_host.h"
#include "face_log.h"

struct trma_handle_table trma_windows = TRMA_HANDLE_TABLE(struct trma_win);

int trma_win_raise(struct trma_win *window, int error_class) {
    trma_host()->Win_call_errhandler(window->host.win, error_class);
    return error_class;
}

int trma_win_error_class(enum trma_status status) {
    switch (status) {
    case TRMA_OK:
        return MPI_SUCCESS;
    case TRMA_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case TRMA_ERR_RANGE:
        return MPI_ERR_RMA_RANGE;
    case TRMA_ERR_SYNC:
        return MPI_ERR_RMA_SYNC;
    case TRMA_ERR_ARGUMENT:
        return MPI_ERR_ARG;
    case TRMA_ERR_REFUSED:
    case TRMA_ERR_PEER_DEAD:
    case TRMA_ERR_SYSTEM:
        break;
    }
    return MPI_ERR_OTHER;
}

int trma_win_fail(struct trma_win *window, enum trma_status status) {
    /* The classes say little about what happened below MPI: say it once more in words. */
    trma_log(status == TRMA_ERR_REFUSED || status == TRMA_ERR_PEER_DEAD || status == TRMA_ERR_SYSTEM
                 ? TRMA_LOG_ERROR
                 : TRMA_LOG_INFO,
             "window %llu: %s", (unsigned long long)window->serial, trma_status_text(status));
    return trma_win_raise(window, trma_win_error_class(status));
}
