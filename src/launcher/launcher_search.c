/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_search.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

/* What launcher_each hands on while it goes through the folders of one list. */
struct search {
    const char *name;
    const char *origin; /* folder of the file whose list it is, for $ORIGIN */
    char **path;
    struct launcher_elf *elf;
};

static bool try_file(const char *path, struct search *search) {
    if (launcher_elf_open(path, search->elf) != LAUNCHER_ELF_OK)
        return false; /* the loader skips libraries of other architectures as well */
    *search->path = launcher_text("%s", path);
    return true;
}

/* Replaces one of the loader's tokens, written $NAME or ${NAME}, wherever it stands. Frees `text`, answers a
 * new one. */
static char *replace_token(char *text, const char *token, const char *value) {
    char *forms[] = {launcher_text("${%s}", token), launcher_text("$%s", token)};
    for (size_t i = 0; i < 2; i++) {
        char *at = text;
        while ((at = strstr(at, forms[i])) != NULL) {
            size_t before = (size_t)(at - text);
            char *replaced = launcher_text("%.*s%s%s", (int)before, text, value, at + strlen(forms[i]));
            free(text);
            text = replaced;
            at = text + before + strlen(value);
        }
        free(forms[i]);
    }
    return text;
}

static bool try_folder(const char *folder, void *context) {
    struct search *search = context;
    char *expanded =
        replace_token(launcher_text("%s", folder[0] == '\0' ? "." : folder), "ORIGIN", search->origin);
    expanded = replace_token(expanded, "LIB", TRMA_MULTIARCH[0] != '\0' ? "lib/" TRMA_MULTIARCH : "lib64");
    char *path = launcher_text("%s/%s", expanded, search->name);
    bool found = try_file(path, search);
    free(path);
    free(expanded);
    return found;
}

static bool try_list(const char *list, const char *owner, struct search *search) {
    if (list == NULL || list[0] == '\0')
        return false;
    char *origin = launcher_dirname(owner);
    search->origin = origin;
    bool found = launcher_each(list, ":;", try_folder, search);
    free(origin);
    return found;
}

static const char *list_of(const struct launcher_linked *file, int64_t tag) {
    size_t cursor = 0;
    return launcher_elf_next(&file->elf, tag, &cursor);
}

/* The layout of /etc/ld.so.cache since glibc 2.2 (dl-cache.h): a header, entries, then strings, offsets from
 * the header. */
struct cache_header {
    char magic[20];
    uint32_t n_entries;
    uint32_t string_bytes;
    uint32_t rest[5];
};
struct cache_entry {
    int32_t flags;
    uint32_t name, path;
    uint32_t os_version;
    uint64_t capabilities;
};
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

static bool text_within(const char *bytes, size_t size, uint32_t offset) {
    return offset < size && memchr(bytes + offset, '\0', size - offset) != NULL;
}

static bool try_cache_bytes(const char *bytes, size_t size, struct search *search) {
    struct cache_header header;
    if (size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    for (uint32_t i = 0; i < header.n_entries; i++) {
        struct cache_entry entry;
        size_t at = sizeof header + (size_t)i * sizeof entry;
        if (at + sizeof entry > size)
            return false;
        memcpy(&entry, bytes + at, sizeof entry);
        if (text_within(bytes, size, entry.name) && text_within(bytes, size, entry.path) &&
            strcmp(bytes + entry.name, search->name) == 0 && try_file(bytes + entry.path, search))
            return true;
    }
    return false;
}

static bool try_cache(struct search *search) {
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct stat status;
    bool found = false;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            /* Older glibc puts a table in an older format in front of it. */
            const char *header = memmem(bytes, size, CACHE_MAGIC, strlen(CACHE_MAGIC));
            if (header != NULL)
                found = try_cache_bytes(header, size - (size_t)(header - bytes), search);
            munmap(bytes, size);
        }
    }
    close(fd);
    return found;
}

static bool try_default_folders(struct search *search) {
    static const char folders[] =
        "/lib/" TRMA_MULTIARCH ":/usr/lib/" TRMA_MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib";
    return launcher_each(folders, ":", try_folder, search);
}

bool launcher_search_library(const char *name, const struct launcher_linked *from, char **path,
                             struct launcher_elf *elf) {
    struct search search = {.name = name, .origin = ".", .path = path, .elf = elf};
    if (strchr(name, '/') != NULL)
        return try_file(name, &search);
    const char *runpath = from == NULL ? NULL : list_of(from, DT_RUNPATH);
    /* DT_RPATH counts for what the file's own libraries link as well, unless DT_RUNPATH has replaced it. */
    if (runpath == NULL)
        for (const struct launcher_linked *file = from; file != NULL; file = file->loader)
            if (list_of(file, DT_RUNPATH) == NULL && try_list(list_of(file, DT_RPATH), file->path, &search))
                return true;
    const char *program = from == NULL ? "." : from->path;
    return try_list(getenv("LD_LIBRARY_PATH"), program, &search) ||
           (runpath != NULL && try_list(runpath, from->path, &search)) || try_cache(&search) ||
           try_default_folders(&search);
}
