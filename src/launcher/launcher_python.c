/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_python.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "launcher.h"
#include "launcher_program.h"

/* In mpi4py's order. */
static const char *const libmpi_names[] = {"libmpi.so", "libmpi.so.12", "libmpi.so.40"};
#define N_LIBMPI_NAMES (sizeof libmpi_names / sizeof libmpi_names[0])

bool launcher_python_is_name(const char *path) {
    const char *name = launcher_basename(path);
    return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

/* First word of a file, or NULL. Caller frees. */
static char *first_word(const char *path) {
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    char word[256];
    bool has_word = fscanf(file, "%255s", word) == 1;
    fclose(file);
    return has_word ? launcher_text("%s", word) : NULL;
}

/* The nearest .python-version from the current folder upwards. */
static char *version_of_folder(void) {
    char *folder = getcwd(NULL, 0);
    char *version = NULL;
    while (folder != NULL && version == NULL) {
        char *path = launcher_text("%s/.python-version", folder);
        version = first_word(path);
        free(path);
        if (strcmp(folder, "/") == 0)
            break;
        char *parent = launcher_dirname(folder);
        free(folder);
        folder = parent;
    }
    free(folder);
    return version;
}

char *launcher_python_behind_shim(const char *path) {
    char *folder = launcher_dirname(path);
    bool is_shim = strcmp(launcher_basename(folder), "shims") == 0;
    char *root = launcher_dirname(folder);
    free(folder);
    char *interpreter = NULL;
    if (is_shim) {
        const char *told = getenv("PYENV_VERSION");
        char *setting = launcher_text("%s/version", root);
        char *version = told != NULL && told[0] != '\0' ? launcher_text("%.*s", (int)strcspn(told, ":"), told)
                                                        : version_of_folder();
        if (version == NULL)
            version = first_word(setting);
        if (version != NULL)
            interpreter = launcher_text("%s/versions/%s/bin/%s", root, version, launcher_basename(path));
        if (interpreter != NULL && !launcher_program_is_executable(interpreter)) {
            free(interpreter);
            interpreter = NULL;
        }
        free(version);
        free(setting);
    }
    free(root);
    return interpreter;
}

/* MPI4PY_LIBMPI is a list of files and folders. */
static bool told_entry(const char *entry, void *context) {
    enum launcher_family *family = context;
    *family = launcher_link_family_of_file(entry);
    for (size_t i = 0; i < N_LIBMPI_NAMES && *family == LAUNCHER_FAMILIES; i++) {
        char *path = launcher_text("%s/%s", entry, libmpi_names[i]);
        *family = launcher_link_family_of_file(path);
        free(path);
    }
    return *family != LAUNCHER_FAMILIES;
}

enum launcher_family launcher_python_told(char **reason) {
    static const struct {
        const char *word;
        enum launcher_family family;
    } words[] = {{"mpich", LAUNCHER_MPICH},
                 {"impi", LAUNCHER_MPICH},
                 {"openmpi", LAUNCHER_OPENMPI},
                 {"mpiabi", LAUNCHER_STANDARD}};
    const char *abi = getenv("MPI4PY_MPIABI");
    for (size_t i = 0; abi != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(abi, words[i].word) == 0) {
            *reason = launcher_text("MPI4PY_MPIABI is %s", abi);
            return words[i].family;
        }
    }
    const char *library = getenv("MPI4PY_LIBMPI");
    enum launcher_family family = LAUNCHER_FAMILIES;
    if (launcher_each(library, ":", told_entry, &family))
        *reason = launcher_text("MPI4PY_LIBMPI is %s", library);
    return family;
}

/* The folder two levels above an interpreter: its prefix. */
static char *prefix_of(const char *interpreter) {
    char *folder = launcher_dirname(interpreter);
    char *prefix = launcher_dirname(folder);
    free(folder);
    return prefix;
}

static enum launcher_family library_in_prefix(const char *prefix, char **reason) {
    for (size_t i = 0; i < N_LIBMPI_NAMES; i++) {
        char *path = launcher_text("%s/lib/%s", prefix, libmpi_names[i]);
        enum launcher_family family = launcher_link_family_of_file(path);
        if (family != LAUNCHER_FAMILIES) {
            *reason = launcher_text("%s lies beside the interpreter", path);
            free(path);
            return family;
        }
        free(path);
    }
    return LAUNCHER_FAMILIES;
}

/* mpi4py's extension modules that were seen: the wheels carry one for each ABI, a build of one's own has one.
 */
struct modules {
    bool found[LAUNCHER_FAMILIES];
    unsigned n_found;
    enum launcher_family last;
    char *path;
};

static void look_at_modules(const char *pattern, struct modules *modules) {
    glob_t matches;
    if (glob(pattern, 0, NULL, &matches) != 0)
        return;
    for (size_t i = 0; i < matches.gl_pathc; i++) {
        struct launcher_link link;
        if (launcher_link_examine(matches.gl_pathv[i], &link) != LAUNCHER_ELF_OK)
            continue;
        for (int family = 0; family < LAUNCHER_FAMILIES; family++) {
            if (!link.found[family] || modules->found[family])
                continue;
            modules->found[family] = true;
            modules->n_found++;
            modules->last = (enum launcher_family)family;
            free(modules->path);
            modules->path = launcher_text("%s", matches.gl_pathv[i]);
        }
        launcher_link_free(&link);
    }
    globfree(&matches);
}

static bool look_on_python_path(const char *entry, void *context) {
    char *pattern = launcher_text("%s/mpi4py/MPI*.so", entry[0] == '\0' ? "." : entry);
    look_at_modules(pattern, context);
    free(pattern);
    return false;
}

static void look_in_prefix(const char *prefix, struct modules *modules) {
    static const char *const places[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                         "lib/python3/dist-packages", "lib64/python3*/site-packages"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *pattern = launcher_text("%s/%s/mpi4py/MPI*.so", prefix, places[i]);
        look_at_modules(pattern, modules);
        free(pattern);
    }
}

/* mpi4py is there: the MPI that its only module links or, for the wheels, the one that the loader finds by
 * itself. */
static enum launcher_family family_of_modules(const struct modules *modules, char **reason) {
    if (modules->n_found == 1) {
        *reason = launcher_text("%s links it", modules->path);
        return modules->last;
    }
    for (size_t i = 0; i < N_LIBMPI_NAMES && modules->n_found > 1; i++) {
        enum launcher_family family = launcher_link_family_of_file(libmpi_names[i]);
        if (family == LAUNCHER_FAMILIES)
            continue;
        *reason = launcher_text("mpi4py would load the system's %s", libmpi_names[i]);
        return family;
    }
    return LAUNCHER_FAMILIES;
}

enum launcher_family launcher_python_importable(const char *path, char **reason) {
    /* A virtual environment is told by pyvenv.cfg beside the path as it was given, its interpreter being a
     * link. */
    char *prefix = prefix_of(path);
    char *marker = launcher_text("%s/pyvenv.cfg", prefix);
    char *resolved = access(marker, F_OK) == 0 ? NULL : realpath(path, NULL);
    if (resolved != NULL) {
        free(prefix);
        prefix = prefix_of(resolved);
    }
    enum launcher_family family = LAUNCHER_FAMILIES;
    if (strcmp(prefix, "/usr") != 0) /* a libmpi there is merely the system's */
        family = library_in_prefix(prefix, reason);
    if (family == LAUNCHER_FAMILIES) {
        struct modules modules = {.last = LAUNCHER_FAMILIES};
        launcher_each(getenv("PYTHONPATH"), ":", look_on_python_path, &modules);
        if (modules.n_found == 0)
            look_in_prefix(prefix, &modules);
        family = family_of_modules(&modules, reason);
        free(modules.path);
    }
    free(resolved);
    free(marker);
    free(prefix);
    return family;
}
