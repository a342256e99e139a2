/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_BECOME_H
#define TRMA_LAUNCHER_BECOME_H

#include <stdbool.h>

#include "node/node_knob.h"

/* What the commands have in common that put a library under a program and become it. */

/* Reads the knobs; says what is wrong with them and answers false when something is. */
bool launcher_become_knobs(struct trma_knobs *knobs);

/*
 * The path of libtruerma-<name>.so, which LD_PRELOAD can hold; NULL, and says why, when it is not there or
 * has a path that it cannot. Caller frees.
 */
char *launcher_become_library(const char *name);

/*
 * Becomes the program, with the library (its path; NULL: none) in LD_PRELOAD. `command` is its argv, and is
 * looked for as a shell does. Comes back only when that fails: then says why and gives the exit code.
 */
int launcher_become(const char *library, char **command);

#endif
