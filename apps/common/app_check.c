/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int world_rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int app_refuse(const char *format, ...) {
    if (world_rank() == 0) {
        va_list arguments;
        va_start(arguments, format);
        fputs("error: ", stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    return APP_EXIT_USAGE;
}

_Noreturn void app_abort(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "error on rank %d: ", world_rank());
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, APP_EXIT_FAILED);
    abort(); /* MPI_Abort is not declared as not returning */
}
