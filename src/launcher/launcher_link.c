/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_link.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "launcher.h"
#include "launcher_search.h"

/* More libraries than any program links; a bound against damaged or circular files. */
#define MAX_LIBRARIES 1024

static const char *const mpich_stems[] = {"", "ch", "fort", "chfort", "cxx", "chcxx", "f90", "chf90"};

enum launcher_family launcher_link_family(const char *library) {
    const char *name = launcher_basename(library);
    const char *version = strstr(name, ".so.");
    if (strncmp(name, "libmpi", 6) != 0 || version == NULL)
        return LAUNCHER_FAMILIES;
    const char *stem = name + 6;
    size_t length = (size_t)(version - stem);
    long number = strtol(version + 4, NULL, 10);
    if (length == 4 && memcmp(stem, "_abi", 4) == 0)
        return LAUNCHER_STANDARD;
    if (number == 40 &&
        (length == 0 || stem[0] == '_')) /* libmpi, libmpi_mpifh, libmpi_usempif08, libmpi_cxx, … */
        return LAUNCHER_OPENMPI;
    bool is_mpich_stem = stem[0] == '_'; /* Cray's libmpi_cray, libmpi_gnu_91, … */
    for (size_t i = 0; i < sizeof mpich_stems / sizeof mpich_stems[0]; i++)
        is_mpich_stem |= strlen(mpich_stems[i]) == length && memcmp(stem, mpich_stems[i], length) == 0;
    if (number == 12 && is_mpich_stem)
        return LAUNCHER_MPICH;
    if (length == 0 || (length == 2 && memcmp(stem, "ch", 2) == 0))
        return LAUNCHER_OTHER;
    return LAUNCHER_FAMILIES;
}

/* Family of an opened library: by its own name when it has one. */
static enum launcher_family family_of_elf(const struct launcher_elf *elf) {
    size_t cursor = 0;
    const char *own_name = launcher_elf_next(elf, DT_SONAME, &cursor);
    return own_name == NULL ? LAUNCHER_FAMILIES : launcher_link_family(own_name);
}

enum launcher_family launcher_link_family_of_file(const char *name) {
    char *path = NULL;
    struct launcher_elf elf;
    if (!launcher_search_library(name, NULL, &path, &elf))
        return LAUNCHER_FAMILIES;
    enum launcher_family family = family_of_elf(&elf);
    launcher_elf_close(&elf);
    free(path);
    return family;
}

struct walk {
    struct launcher_link *report;
    struct launcher_linked files[MAX_LIBRARIES]; /* in the order in which they are to be looked at */
    char *names[MAX_LIBRARIES]; /* by which each was asked for: the loader looks for a name once */
    size_t n_files, n_names;
};

static void note(struct launcher_link *report, enum launcher_family family, const char *library,
                 const char *through) {
    if (report->found[family])
        return;
    report->found[family] = true;
    report->n_found++;
    report->library[family] = launcher_text("%s", library);
    report->through[family] = launcher_text("%s", through);
}

static void add_file(struct walk *walk, char *path, const struct launcher_elf *elf,
                     const struct launcher_linked *loader) {
    walk->files[walk->n_files++] = (struct launcher_linked){.path = path, .elf = *elf, .loader = loader};
}

/* Handles one library that `from` links: an MPI is noted and not looked into, anything else is queued once.
 */
static void visit(struct walk *walk, const char *name, const struct launcher_linked *from) {
    enum launcher_family family = launcher_link_family(name);
    if (family != LAUNCHER_FAMILIES) {
        note(walk->report, family, name, from->path);
        return;
    }
    for (size_t i = 0; i < walk->n_names; i++)
        if (strcmp(walk->names[i], name) == 0)
            return;
    if (walk->n_names == MAX_LIBRARIES || walk->n_files == MAX_LIBRARIES)
        return;
    walk->names[walk->n_names++] = launcher_text("%s", name);
    char *path = NULL;
    struct launcher_elf elf;
    if (!launcher_search_library(name, from, &path, &elf))
        return;                   /* the loader will say so better than we could */
    family = family_of_elf(&elf); /* linked by a name without version number, or by a path */
    if (family == LAUNCHER_FAMILIES) {
        add_file(walk, path, &elf, from);
        return;
    }
    note(walk->report, family, launcher_basename(path), from->path);
    launcher_elf_close(&elf);
    free(path);
}

enum launcher_elf_status launcher_link_examine(const char *path, struct launcher_link *report) {
    memset(report, 0, sizeof *report);
    struct launcher_elf elf;
    enum launcher_elf_status status = launcher_elf_open(path, &elf);
    if (status != LAUNCHER_ELF_OK)
        return status;
    report->is_static = !elf.has_interpreter;

    struct walk walk;
    walk.report = report;
    walk.n_files = walk.n_names = 0;       /* the arrays need no clearing */
    char *resolved = realpath(path, NULL); /* $ORIGIN is the folder of the file itself, not of a link to it */
    add_file(&walk, resolved != NULL ? resolved : launcher_text("%s", path), &elf, NULL);
    for (size_t i = 0; i < walk.n_files; i++) {
        const struct launcher_linked *file = &walk.files[i];
        const char *name = NULL;
        for (size_t cursor = 0; (name = launcher_elf_next(&file->elf, DT_NEEDED, &cursor)) != NULL;)
            visit(&walk, name, file);
    }
    if (report->n_found == 0)
        report->holds_mpi = launcher_elf_defines(&walk.files[0].elf, "MPI_Init") ||
                            launcher_elf_defines(&walk.files[0].elf, "PMPI_Init");
    for (size_t i = 0; i < walk.n_files; i++) {
        launcher_elf_close(&walk.files[i].elf);
        free(walk.files[i].path);
    }
    for (size_t i = 0; i < walk.n_names; i++)
        free(walk.names[i]);
    return LAUNCHER_ELF_OK;
}

void launcher_link_free(struct launcher_link *report) {
    for (int family = 0; family < LAUNCHER_FAMILIES; family++) {
        free(report->library[family]);
        free(report->through[family]);
    }
    memset(report, 0, sizeof *report);
}
