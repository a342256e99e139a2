/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_SEARCH_H
#define TRMA_LAUNCHER_SEARCH_H

#include "launcher_elf.h"

/* A file in the tree of what links what. */
struct launcher_linked {
    char *path;
    struct launcher_elf elf;
    const struct launcher_linked *loader; /* the file that asked for it; NULL for the program */
};

/*
 * Finds the library that `from` links by `name`, in the dynamic loader's order; `from` may be NULL for a name
 * that no file links but that dlopen would get. On success *path (caller frees) and *elf (caller closes) are
 * filled.
 */
bool launcher_search_library(const char *name, const struct launcher_linked *from, char **path,
                             struct launcher_elf *elf);

#endif
