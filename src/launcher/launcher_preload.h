/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_PRELOAD_H
#define TRMA_LAUNCHER_PRELOAD_H

/*
 * The path of libtruerma-<name>.so, where the name is an ABI's or "session": beside this executable (../lib
 * in the build folder and in an installation that was moved), else where it was configured to be installed.
 * Caller frees. NULL when it is nowhere.
 */
char *launcher_preload_library(const char *name);

/*
 * The value of LD_PRELOAD with `library` behind what `before` has (NULL: nothing). A TrueRMA library of
 * the same name that is there already stays as it is and none is added; one of another ABI is taken out when
 * `library` is an ABI's: two would stand between the same program and its MPI. Caller frees.
 */
char *launcher_preload_value(const char *library, const char *before);

#endif
