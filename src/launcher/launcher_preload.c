/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_preload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h"

#define LIBRARY_PREFIX "libtruerma-"

char *launcher_preload_library(const char *name) {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *folder = launcher_dirname(self);
    char *upper = launcher_dirname(folder);
    /* The first form has no "..": it is what users see in LD_PRELOAD and in /proc/<pid>/maps. */
    char *candidates[] = {
        launcher_text("%s/lib/" LIBRARY_PREFIX "%s.so", upper, name),
        launcher_text("%s/%s/" LIBRARY_PREFIX "%s.so", folder, TRMA_LIBDIR_FROM_BINDIR, name),
        launcher_text("%s/" LIBRARY_PREFIX "%s.so", TRMA_LIBDIR, name)};
    char *found = NULL;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (found == NULL && access(candidates[i], R_OK) == 0)
            found = candidates[i];
        else
            free(candidates[i]);
    }
    free(upper);
    free(folder);
    return found;
}

struct merge {
    const char *name; /* of our library, without its folder */
    char *kept;       /* the entries that stay, each with a colon behind it */
    bool has_ours;
};

/* Of the libraries that stand between a program and its MPI, of which there is one for each ABI. */
static bool is_an_abi(const char *name) {
    return strncmp(name, LIBRARY_PREFIX, strlen(LIBRARY_PREFIX)) == 0 &&
           strcmp(name, LIBRARY_PREFIX "session.so") != 0;
}

static bool merge_entry(const char *entry, void *context) {
    struct merge *merge = context;
    const char *name = launcher_basename(entry);
    bool is_ours = strcmp(name, merge->name) == 0;
    bool is_another = !is_ours && is_an_abi(name) && is_an_abi(merge->name);
    if (entry[0] == '\0' || is_another || (is_ours && merge->has_ours))
        return false;
    merge->has_ours |= is_ours;
    char *kept = launcher_text("%s%s:", merge->kept, entry);
    free(merge->kept);
    merge->kept = kept;
    return false;
}

char *launcher_preload_value(const char *library, const char *before) {
    struct merge merge = {.name = launcher_basename(library), .kept = launcher_text("%s", "")};
    launcher_each(before, ": ", merge_entry, &merge);
    /* Ours comes last: a profiling tool that the user preloads stands above us, and its calls reach us. */
    char *value = launcher_text("%s%s", merge.kept, merge.has_ours ? "" : library);
    if (merge.has_ours)
        value[strlen(value) - 1] = '\0'; /* the last colon */
    free(merge.kept);
    return value;
}
