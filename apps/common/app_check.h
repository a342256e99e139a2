/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors that end an application.
 *
 * The applications keep MPI's default error handler (MPI_ERRORS_ARE_FATAL), so MPI calls need no check of
 * their own. What is left are two cases: a wish that cannot be met (all ranks know it, all leave in an
 * orderly way, exit status 2), and trouble that only one rank sees (the job is aborted).
 */
#ifndef APP_CHECK_H
#define APP_CHECK_H

#include <mpi.h>

/* Exit statuses of every application. */
enum {
    APP_EXIT_VERIFIED = 0, /* ran, and the result was verified (or --help was asked for) */
    APP_EXIT_FAILED = 1,   /* ran, and the result is wrong */
    APP_EXIT_USAGE = 2     /* did not run: an option, or the number of ranks, cannot be served */
};

/*
 * Says on rank 0 of MPI_COMM_WORLD, in one line on stderr, why the application does not run; silent on the
 * other ranks. To be called by all ranks with the same arguments, without further communication.
 * Returns APP_EXIT_USAGE, so that `return app_refuse(...)` is the way out.
 */
int app_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Says on this rank, in one line on stderr with the rank's number, what went wrong, and aborts the whole job.
 * For trouble that the other ranks do not know about (no memory, a broken invariant). Does not return.
 */
_Noreturn void app_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
