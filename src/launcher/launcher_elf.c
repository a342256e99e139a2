/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
#define OUR_CLASS         ELFCLASS64
#define SYMBOL_TYPE(info) ELF64_ST_TYPE(info)
#else
#define OUR_CLASS         ELFCLASS32
#define SYMBOL_TYPE(info) ELF32_ST_TYPE(info)
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

/* True when [offset, offset + size) lies in the file. */
static bool lies_within(const struct launcher_elf *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->size && size <= elf->size - offset;
}

/* Copies a record out of the file (which aligns nothing); false when it reaches beyond the end. */
static bool read_record(const struct launcher_elf *elf, uint64_t offset, void *record, size_t size) {
    if (!lies_within(elf, offset, size))
        return false;
    memcpy(record, elf->bytes + offset, size);
    return true;
}

/* A string of the string table [table, table + table_size), or NULL when it is not terminated within it. */
static const char *string_at(const struct launcher_elf *elf, uint64_t table, uint64_t table_size,
                             uint64_t index) {
    if (!lies_within(elf, table, table_size) || index >= table_size)
        return NULL;
    const char *text = (const char *)elf->bytes + table + index;
    return memchr(text, '\0', table_size - index) == NULL ? NULL : text;
}

static bool program_header(const struct launcher_elf *elf, const ElfW(Ehdr) * header, unsigned index,
                           ElfW(Phdr) * out) {
    return header->e_phentsize == sizeof *out &&
           read_record(elf, header->e_phoff + (uint64_t)index * sizeof *out, out, sizeof *out);
}

static bool section_header(const struct launcher_elf *elf, const ElfW(Ehdr) * header, unsigned index,
                           ElfW(Shdr) * out) {
    return header->e_shentsize == sizeof *out &&
           read_record(elf, header->e_shoff + (uint64_t)index * sizeof *out, out, sizeof *out);
}

/* Where in the file the bytes lie that will be loaded at `address`; UINT64_MAX when nowhere. */
static uint64_t offset_of_address(const struct launcher_elf *elf, const ElfW(Ehdr) * header,
                                  uint64_t address) {
    ElfW(Phdr) segment;
    for (unsigned i = 0; i < header->e_phnum && program_header(elf, header, i, &segment); i++)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return UINT64_MAX;
}

static bool dynamic_entry(const struct launcher_elf *elf, size_t index, ElfW(Dyn) * out) {
    uint64_t offset = (uint64_t)index * sizeof *out;
    return offset < elf->dynamic_size && read_record(elf, elf->dynamic_offset + offset, out, sizeof *out) &&
           out->d_tag != DT_NULL;
}

/* False when the file ends before its own description of itself does. */
static bool find_dynamic_section(struct launcher_elf *elf, const ElfW(Ehdr) * header) {
    ElfW(Phdr) segment;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (!program_header(elf, header, i, &segment))
            return false;
        if (segment.p_type == PT_INTERP)
            elf->has_interpreter = true;
        if (segment.p_type == PT_DYNAMIC) {
            elf->dynamic_offset = segment.p_offset;
            elf->dynamic_size = segment.p_filesz;
        }
    }
    ElfW(Dyn) entry;
    for (size_t i = 0; dynamic_entry(elf, i, &entry); i++) {
        if (entry.d_tag == DT_STRTAB)
            elf->strings_offset = offset_of_address(elf, header, entry.d_un.d_ptr);
        if (entry.d_tag == DT_STRSZ)
            elf->strings_size = entry.d_un.d_val;
    }
    return true;
}

enum launcher_elf_status launcher_elf_open(const char *path, struct launcher_elf *out) {
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return LAUNCHER_ELF_UNREADABLE;
    struct stat status;
    void *bytes = MAP_FAILED;
    bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (is_file && status.st_size >= SELFMAG)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    close(fd);
    errno = error;
    if (bytes == MAP_FAILED)
        return is_file && status.st_size < SELFMAG ? LAUNCHER_ELF_NOT_ELF : LAUNCHER_ELF_UNREADABLE;
    out->bytes = bytes;
    out->size = (size_t)status.st_size;

    enum launcher_elf_status answer = LAUNCHER_ELF_OK;
    ElfW(Ehdr) header;
    if (memcmp(out->bytes, ELFMAG, SELFMAG) != 0)
        answer = LAUNCHER_ELF_NOT_ELF;
    else if (!read_record(out, 0, &header, sizeof header) || header.e_ident[EI_CLASS] != OUR_CLASS ||
             header.e_ident[EI_DATA] != OUR_ORDER || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        answer = LAUNCHER_ELF_FOREIGN;
#if defined(__x86_64__)
    else if (header.e_machine != EM_X86_64)
        answer = LAUNCHER_ELF_FOREIGN;
#elif defined(__aarch64__)
    else if (header.e_machine != EM_AARCH64)
        answer = LAUNCHER_ELF_FOREIGN;
#endif
    if (answer == LAUNCHER_ELF_OK && !find_dynamic_section(out, &header))
        answer = LAUNCHER_ELF_FOREIGN;
    if (answer != LAUNCHER_ELF_OK)
        launcher_elf_close(out);
    return answer;
}

void launcher_elf_close(struct launcher_elf *elf) {
    if (elf->bytes != NULL)
        munmap((void *)elf->bytes, elf->size);
    memset(elf, 0, sizeof *elf);
}

const char *launcher_elf_next(const struct launcher_elf *elf, int64_t tag, size_t *cursor) {
    ElfW(Dyn) entry;
    while (dynamic_entry(elf, *cursor, &entry)) {
        (*cursor)++;
        if (entry.d_tag != tag)
            continue;
        const char *text = string_at(elf, elf->strings_offset, elf->strings_size, entry.d_un.d_val);
        if (text != NULL)
            return text;
    }
    return NULL;
}

bool launcher_elf_defines(const struct launcher_elf *elf, const char *name) {
    ElfW(Ehdr) header;
    if (!read_record(elf, 0, &header, sizeof header))
        return false;
    ElfW(Shdr) table, strings;
    for (unsigned i = 0; i < header.e_shnum && section_header(elf, &header, i, &table); i++) {
        if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
            table.sh_entsize != sizeof(ElfW(Sym)) || !lies_within(elf, table.sh_offset, table.sh_size) ||
            !section_header(elf, &header, table.sh_link, &strings))
            continue;
        ElfW(Sym) symbol;
        for (uint64_t at = 0; at + sizeof symbol <= table.sh_size; at += sizeof symbol) {
            if (!read_record(elf, table.sh_offset + at, &symbol, sizeof symbol))
                break;
            if (symbol.st_shndx == SHN_UNDEF || SYMBOL_TYPE(symbol.st_info) != STT_FUNC)
                continue;
            const char *text = string_at(elf, strings.sh_offset, strings.sh_size, symbol.st_name);
            if (text != NULL && strcmp(text, name) == 0)
                return true;
        }
    }
    return false;
}
