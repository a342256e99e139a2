/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_PROGRAM_H
#define TRMA_LAUNCHER_PROGRAM_H

#include <stdbool.h>

/* True when `path` is a file that this user may execute; else errno says why not. */
bool launcher_program_is_executable(const char *path);

/* The file that execvp would run for `name`: along PATH when it has no slash. Caller frees. NULL with errno
 * when there is none. */
char *launcher_program_find(const char *name);

/*
 * For a file that is not ELF: the program that runs it, as the user would write it. That is what its first
 * line names after
 * #!, and for `env` the command that env would run; /bin/sh when it has no such line (execvp's rule). Caller
 * frees. NULL when the file cannot be read or its first line names nothing.
 */
char *launcher_program_interpreter(const char *path);

#endif
