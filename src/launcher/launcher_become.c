/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_become.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"
#include "launcher_preload.h"

bool launcher_become_knobs(struct trma_knobs *knobs) {
    char problem[512];
    bool is_good = trma_node_knob_load(knobs, problem, sizeof problem) == TRMA_OK;
    if (!is_good)
        launcher_say("%s", problem);
    return is_good;
}

char *launcher_become_library(const char *name) {
    char *library = launcher_preload_library(name);
    if (library == NULL) {
        launcher_say("libtruerma-%s.so is not there: looked in lib beside the launcher's folder and in %s",
                     name, TRMA_LIBDIR);
        return NULL;
    }
    if (strpbrk(library, " :") != NULL) { /* ld.so(8): both separate entries and cannot be escaped */
        launcher_say(
            "LD_PRELOAD cannot hold a path with a space or a colon: install TrueRMA elsewhere than %s",
            library);
        free(library);
        return NULL;
    }
    return library;
}

int launcher_become(const char *library, char **command) {
    if (library != NULL &&
        setenv("LD_PRELOAD", launcher_preload_value(library, getenv("LD_PRELOAD")), 1) != 0) {
        launcher_say("out of memory");
        return LAUNCHER_USAGE;
    }
    execvp(command[0], command);
    int error = errno;
    launcher_say("cannot run %s: %s", command[0], strerror(error));
    return error == ENOENT || error == ENOTDIR ? LAUNCHER_NOT_FOUND : LAUNCHER_CANNOT_RUN;
}
