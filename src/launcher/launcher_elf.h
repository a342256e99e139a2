/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_ELF_H
#define TRMA_LAUNCHER_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads what a program or library of this machine's ELF class and architecture links (System V gABI, chapters
 * 4 and 5). The file is mapped and never trusted: every offset is checked, a damaged file merely has nothing
 * in it.
 */

struct launcher_elf {
    const uint8_t *bytes; /* the mapped file */
    size_t size;
    bool has_interpreter; /* names a dynamic loader: a program that LD_PRELOAD reaches */
    uint64_t dynamic_offset, dynamic_size;
    uint64_t strings_offset, strings_size; /* of the dynamic section */
};

/* Why a file could not be opened as ELF. */
enum launcher_elf_status {
    LAUNCHER_ELF_OK,
    LAUNCHER_ELF_UNREADABLE, /* cannot be opened or mapped; errno tells */
    LAUNCHER_ELF_NOT_ELF,    /* something else, a script perhaps */
    LAUNCHER_ELF_FOREIGN     /* ELF of another architecture or word size, or damaged */
};

/* Opens a file; on LAUNCHER_ELF_OK the caller closes it. */
enum launcher_elf_status launcher_elf_open(const char *path, struct launcher_elf *out);
void launcher_elf_close(struct launcher_elf *elf);

/*
 * Steps through the dynamic section's entries of one kind whose value is a string (DT_NEEDED, DT_RPATH,
 * DT_RUNPATH, DT_SONAME): *cursor starts at 0; answers the next one, in the mapped file, or NULL.
 */
const char *launcher_elf_next(const struct launcher_elf *elf, int64_t tag, size_t *cursor);

/* True when the file itself has a function of this name (not merely uses one), by its full or its dynamic
 * symbol table. */
bool launcher_elf_defines(const struct launcher_elf *elf, const char *name);

#endif
