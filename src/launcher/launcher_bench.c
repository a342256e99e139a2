/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"

/*
 * The benchmark suite is Python and belongs to the source tree, as do the programs that it runs, which are
 * built with every host MPI: nothing of it is installed. These commands are short ways to it.
 */

/* Becomes python with a script of the suite and these arguments; comes back only when that fails. */
static int become_script(const char *script, int argc, char **argv) {
    char *python = launcher_text("%s/build/venv/tools/bin/python", TRMA_SOURCE_DIR);
    char *path = launcher_text("%s/bench/%s", TRMA_SOURCE_DIR, script);
    if (access(path, R_OK) != 0 || access(python, X_OK) != 0) {
        launcher_say(
            "the benchmark suite is not here: it belongs to TrueRMA's source tree, built there by make "
            "(looked in %s)",
            TRMA_SOURCE_DIR);
        return LAUNCHER_USAGE;
    }
    char **command = calloc((size_t)argc + 3, sizeof *command);
    if (command == NULL) {
        launcher_say("out of memory");
        return LAUNCHER_USAGE;
    }
    command[0] = python;
    command[1] = path;
    memcpy(command + 2, argv, (size_t)argc * sizeof *command);
    execv(python, command);
    launcher_say("cannot run %s: %s", python, strerror(errno));
    free(command);
    return LAUNCHER_CANNOT_RUN;
}

int launcher_bench(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "apps") == 0)
        return become_script("apps.py", argc - 2, argv + 2);
    return become_script("bench.py", argc - 1, argv + 1);
}

int launcher_report(int argc, char **argv) {
    return become_script("report.py", argc - 1, argv + 1);
}
