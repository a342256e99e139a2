/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: fatal <error>. Makes one error under the default error handler; the program must not come to its
 * end. */
#include "check.h"

int main(int argc, char **argv) {
    struct check_window window;
    const char *error = argc > 1 ? argv[1] : "";
    int word = 0;
    char memory[8] = {0};
    MPI_Win win;

    check_begin(&argc, &argv);
    check_window_make(&window, CHECK_ALLOCATE, 64, MPI_COMM_WORLD);
    if (strcmp(error, "rank") == 0) {
        MPI_Win_fence(0, window.win);
        MPI_Put(&word, 1, MPI_INT, check_ranks, 0, 1, MPI_INT, window.win);
    } else if (strcmp(error, "range") == 0) {
        MPI_Win_fence(0, window.win);
        MPI_Put(&word, 1, MPI_INT, 0, 64, 1, MPI_INT, window.win);
    } else if (strcmp(error, "epoch") == 0) {
        MPI_Put(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, window.win);
    } else if (strcmp(error, "one-rank") == 0 && check_rank == 0) {
        /* The others wait in a call of ours: they must be ended, too. */
        MPI_Put(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, window.win);
    } else if (strcmp(error, "unit") == 0) {
        MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    MPI_Win_fence(0, window.win);
    printf("came to its end\n");
    check_window_free(&window);
    return check_finish() * 0;
}
