/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem_adopt_query.h"

/* VmFlags of smaps (proc(5)) that matter here. */
enum vma_flag {
    FLAG_GROWS_DOWN = 1U << 0,
    FLAG_LOCKED = 1U << 1,
    FLAG_HUGETLB = 1U << 2,
    FLAG_DONT_FORK = 1U << 3,
    FLAG_WIPE_ON_FORK = 1U << 4,
    FLAG_DEVICE = 1U << 5,
    FLAG_USERFAULT = 1U << 6,
    FLAG_HUGE = 1U << 7,
    FLAG_NO_HUGE = 1U << 8,
    FLAG_NO_RESERVE = 1U << 9,
    FLAG_DONT_DUMP = 1U << 10,
    FLAG_MERGEABLE = 1U << 11
};

static const struct {
    char name[3];
    enum vma_flag flag;
} flag_names[] = {
    {"gd", FLAG_GROWS_DOWN},   {"lo", FLAG_LOCKED},     {"ht", FLAG_HUGETLB},   {"dc", FLAG_DONT_FORK},
    {"wf", FLAG_WIPE_ON_FORK}, {"io", FLAG_DEVICE},     {"pf", FLAG_DEVICE},    {"mm", FLAG_DEVICE},
    {"um", FLAG_USERFAULT},    {"uw", FLAG_USERFAULT},  {"ui", FLAG_USERFAULT}, {"hg", FLAG_HUGE},
    {"nh", FLAG_NO_HUGE},      {"nr", FLAG_NO_RESERVE}, {"dd", FLAG_DONT_DUMP}, {"mg", FLAG_MERGEABLE},
};

#define KIND_FLAGS (FLAG_HUGE | FLAG_NO_HUGE | FLAG_NO_RESERVE | FLAG_DONT_DUMP | FLAG_MERGEABLE)

struct vma {
    uintptr_t low;
    uintptr_t high;
    char permissions[4]; /* as in maps: rwxp */
    uint64_t inode;
    bool is_stack;
    bool is_asynchronous; /* rings of io_uring or aio: the kernel writes whenever it likes */
    unsigned flags;       /* smaps only */
};

/* Reads a file of /proc line by line through a buffer on the stack. */
struct line_reader {
    int descriptor;
    size_t filled;
    size_t used;
    char buffer[8192];
};

/* The next line, without its end, cut to what fits; NULL at the end of the file. */
static char *next_line(struct line_reader *reader) {
    for (;;) {
        char *start = reader->buffer + reader->used;
        char *end = memchr(start, '\n', reader->filled - reader->used);
        if (end != NULL) {
            *end = '\0';
            reader->used = (size_t)(end + 1 - reader->buffer);
            return start;
        }
        memmove(reader->buffer, start, reader->filled - reader->used);
        reader->filled -= reader->used;
        reader->used = 0;
        if (reader->filled == sizeof reader->buffer) {
            reader->filled =
                sizeof reader->buffer / 2; /* no line of interest is so long: its middle may go */
        }
        ssize_t got;
        do {
            got = read(reader->descriptor, reader->buffer + reader->filled,
                       sizeof reader->buffer - reader->filled);
        } while (got < 0 && errno == EINTR);
        if (got <= 0) {
            return NULL;
        }
        reader->filled += (size_t)got;
    }
}

static bool is_ring(const char *name) {
    return strstr(name, "anon_inode:[io_uring]") != NULL || strstr(name, "/[aio]") != NULL;
}

/* "low-high rwxp offset major:minor inode   path"; false for the other lines of smaps. */
static bool parse_vma(char *line, struct vma *vma) {
    char *at = line;
    *vma = (struct vma){0};
    vma->low = strtoull(at, &at, 16);
    if (at == line || *at != '-') {
        return false;
    }
    vma->high = strtoull(at + 1, &at, 16);
    if (*at != ' ') {
        return false;
    }
    memcpy(vma->permissions, at + 1, sizeof vma->permissions);
    at += 1 + sizeof vma->permissions;
    (void)strtoull(at, &at, 16);     /* offset */
    (void)strtoull(at, &at, 16);     /* device, major */
    (void)strtoull(at + 1, &at, 16); /* and minor, after a colon */
    vma->inode = strtoull(at, &at, 10);
    vma->is_stack = strstr(at, "[stack") != NULL;
    vma->is_asynchronous = is_ring(at);
    return true;
}

static unsigned parse_flags(const char *names) {
    unsigned flags = 0;
    for (const char *at = names; at[0] != '\0' && at[1] != '\0'; at++) {
        for (size_t i = 0; i < sizeof flag_names / sizeof flag_names[0]; i++) {
            if (at[-1] == ' ' && at[0] == flag_names[i].name[0] && at[1] == flag_names[i].name[1]) {
                flags |= flag_names[i].flag;
            }
        }
    }
    return flags;
}

struct data_segment {
    uintptr_t low;
    uintptr_t high;
    bool contains; /* all of it */
    bool touches;  /* a part of it */
};

static int find_data_segment(struct dl_phdr_info *info, size_t size, void *context) {
    struct data_segment *wanted = context;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t low = (info->dlpi_addr + header->p_vaddr) & ~(page - 1);
        uintptr_t high = (info->dlpi_addr + header->p_vaddr + header->p_memsz + page - 1) & ~(page - 1);
        if (header->p_type == PT_LOAD && (header->p_flags & PF_W) != 0) {
            wanted->contains = wanted->contains || (wanted->low >= low && wanted->high <= high);
            wanted->touches = wanted->touches || (wanted->low < high && wanted->high > low);
        }
    }
    return 0;
}

/* Private pages of a file are adopted only where they are the data segment of a loaded object. */
static bool is_static_data(const struct vma *vma) {
    struct data_segment wanted = {.low = vma->low, .high = vma->high};
    dl_iterate_phdr(find_data_segment, &wanted);
    return wanted.contains;
}

bool trma_mem_maps_is_static_data(uintptr_t low, uintptr_t high) {
    struct data_segment wanted = {.low = low, .high = high};
    dl_iterate_phdr(find_data_segment, &wanted);
    return wanted.touches;
}

static const char *judge_vma(const struct vma *vma) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (vma->permissions[3] != 'p') {
        return "the memory is a shared mapping already";
    }
    if (vma->permissions[0] != 'r' || vma->permissions[1] != 'w') {
        return "the memory is not readable and writable";
    }
    if (vma->permissions[2] == 'x') {
        return "the memory is executable";
    }
    if (vma->is_stack || (vma->flags & FLAG_GROWS_DOWN) != 0 || (here >= vma->low && here < vma->high)) {
        return "the memory is a stack";
    }
    if ((vma->flags & FLAG_HUGETLB) != 0) {
        return "the memory lies on reserved huge pages (hugetlb)";
    }
    if ((vma->flags & FLAG_LOCKED) != 0) {
        return "the memory is locked (mlock)";
    }
    if ((vma->flags & FLAG_DEVICE) != 0) {
        return "the memory belongs to a device";
    }
    if ((vma->flags & (FLAG_DONT_FORK | FLAG_WIPE_ON_FORK)) != 0) {
        return "the memory is registered with a device or not inherited over fork (MADV_DONTFORK, "
               "MADV_WIPEONFORK)";
    }
    if ((vma->flags & FLAG_USERFAULT) != 0) {
        return "the program handles faults on this memory itself (userfaultfd)";
    }
    if (vma->inode != 0 && !is_static_data(vma)) {
        return "the memory is a mapped file";
    }
    return NULL;
}

static void describe_kind(const struct vma *vma, struct trma_memory_kind *kind) {
    *kind = (struct trma_memory_kind){.is_file_backed = vma->inode != 0,
                                      .wants_huge = (vma->flags & FLAG_HUGE) != 0,
                                      .refuses_huge = (vma->flags & FLAG_NO_HUGE) != 0,
                                      .is_unreserved = (vma->flags & FLAG_NO_RESERVE) != 0,
                                      .is_undumped = (vma->flags & FLAG_DONT_DUMP) != 0,
                                      .is_mergeable = (vma->flags & FLAG_MERGEABLE) != 0};
}

static bool open_reader(struct line_reader *reader, const char *path) {
    reader->filled = 0;
    reader->used = 0;
    reader->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    return reader->descriptor >= 0;
}

/*
 * Calls `visit` for each shared mapping that reaches beyond `low`, in the order of their addresses, until it
 * answers false; false when /proc does not tell.
 */
static bool visit_shared(uintptr_t low, bool (*visit)(const struct vma *vma, void *context), void *context) {
    struct line_reader reader;
    if (!open_reader(&reader, "/proc/self/maps")) {
        return false;
    }
    struct trma_query_mapping mapping = {.high = low};
    enum trma_query_answer answer;
    bool go_on = true;
    while (go_on &&
           (answer = trma_mem_query_shared(reader.descriptor, mapping.high, &mapping)) == TRMA_QUERY_FOUND) {
        struct vma vma = {.low = mapping.low,
                          .high = mapping.high,
                          .inode = mapping.inode,
                          .is_asynchronous = is_ring(mapping.name)};
        go_on = visit(&vma, context);
    }
    if (go_on && answer == TRMA_QUERY_UNKNOWN) {
        struct vma vma;
        for (char *line = next_line(&reader); line != NULL && go_on; line = next_line(&reader)) {
            if (parse_vma(line, &vma) && vma.high > low && vma.permissions[3] == 's') {
                go_on = visit(&vma, context);
            }
        }
    }
    close(reader.descriptor);
    return true;
}

static bool is_no_ring(const struct vma *vma, void *context) {
    bool *has_ring = context;
    *has_ring = vma->is_asynchronous;
    return !*has_ring;
}

/* A ring anywhere in the process means that the kernel may write to any of its memory at any moment. */
static const char *judge_process(void) {
    bool has_ring = false;
    if (!visit_shared(0, is_no_ring, &has_ring)) {
        return "/proc/self/maps cannot be read";
    }
    return has_ring ? "the program uses asynchronous input and output (io_uring or aio), which may write at "
                      "any moment"
                    : NULL;
}

/* Walks the mappings that overlap [low, high), flags included. */
static const char *judge_range(struct line_reader *reader, uintptr_t low, uintptr_t high,
                               struct trma_memory_kind *kind) {
    uintptr_t judged = low; /* all below is good */
    bool is_inside = false;
    unsigned kind_flags = 0;
    struct vma vma = {0};
    for (char *line = next_line(reader); line != NULL && judged < high; line = next_line(reader)) {
        struct vma next;
        if (strncmp(line, "VmFlags:", 8) == 0) {
            vma.flags = parse_flags(line + 8);
            if (vma.high <= judged) {
                continue;
            }
            /* The last line of a mapping: all about it is known. */
            const char *reason = vma.low > judged ? "not all of it is mapped" : judge_vma(&vma);
            if (reason != NULL) {
                return reason;
            }
            unsigned flags = (vma.flags & KIND_FLAGS) | (vma.inode != 0 ? 1U << 31 : 0);
            if (is_inside && flags != kind_flags) {
                return "it is made of memory of different kinds";
            }
            describe_kind(&vma, kind);
            kind_flags = flags;
            is_inside = true;
            judged = vma.high;
        } else if (parse_vma(line, &next)) {
            vma = next;
        }
    }
    return judged >= high ? NULL : "not all of it is mapped";
}

const char *trma_mem_maps_judge(uintptr_t low, uintptr_t high, struct trma_memory_kind *kind) {
    const char *reason = judge_process();
    if (reason != NULL) {
        return reason;
    }
    struct line_reader reader;
    *kind = (struct trma_memory_kind){0};
    if (!open_reader(&reader, "/proc/self/smaps")) {
        return "/proc/self/smaps cannot be read";
    }
    reason = judge_range(&reader, low, high, kind);
    close(reader.descriptor);
    return reason;
}

/* Parts of [low, high) that a file is mapped to. */
struct file_parts {
    uintptr_t low;
    uintptr_t high;
    uint64_t inode;
    size_t n;
    struct {
        uintptr_t low;
        uintptr_t high;
    } parts[64];
};

static bool collect_part(const struct vma *vma, void *context) {
    struct file_parts *found = context;
    if (vma->low >= found->high) {
        return false;
    }
    if (vma->inode == found->inode && found->n < sizeof found->parts / sizeof found->parts[0]) {
        found->parts[found->n].low = vma->low > found->low ? vma->low : found->low;
        found->parts[found->n].high = vma->high < found->high ? vma->high : found->high;
        found->n++;
    }
    return true;
}

bool trma_mem_maps_visit_file(uintptr_t low, uintptr_t high, uint64_t inode,
                              void (*visit)(void *context, uintptr_t low, uintptr_t high), void *context) {
    struct file_parts found = {.low = low, .high = high, .inode = inode};
    if (!visit_shared(low, collect_part, &found)) {
        return false;
    }
    /* Found first, visited then: a visitor may change the mappings. */
    for (size_t i = 0; i < found.n; i++) {
        visit(context, found.parts[i].low, found.parts[i].high);
    }
    return true;
}
