/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_statistics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "face_host.h"
#include "face_log.h"

bool trma_statistics_are_wanted(void) {
    return trma_knobs()->stats[0] != '\0';
}

static const char *flavor_name(int flavor) {
    switch (flavor) {
    case MPI_WIN_FLAVOR_CREATE:
        return "create";
    case MPI_WIN_FLAVOR_ALLOCATE:
        return "allocate";
    case MPI_WIN_FLAVOR_SHARED:
        return "allocate_shared";
    case MPI_WIN_FLAVOR_DYNAMIC:
        return "dynamic";
    default:
        return "unknown";
    }
}

/* Windows may have any name; the report wants text that JSON can hold. */
static void find_name(const struct trma_win *window, char name[MPI_MAX_OBJECT_NAME]) {
    int length = 0;

    name[0] = '\0';
    trma_host()->Win_get_name(window->host.win, name, &length);
    for (char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') {
            *c = '_';
        }
    }
}

void trma_statistics_announce(const struct trma_win *window) {
    if (trma_knobs()->log < TRMA_LOG_INFO) {
        return;
    }
    for (uint32_t i = 0; i < window->size; i++) {
        const char *reason = window->core->targets[i].path_reason;
        trma_log(TRMA_LOG_INFO, "window %" PRIu64 " (%s, %ld bytes): rank %u is reached by %s%s%s",
                 window->serial, flavor_name(window->flavor), (long)window->bytes, i,
                 trma_win_target_path_name(window->core, i), reason ? ": " : "", reason ? reason : "");
    }
}

static void print_counts_json(FILE *out, const struct trma_target_counts *counts) {
    const char *separator = "";

    for (int kind = 0; kind < TRMA_COUNT_KINDS; kind++) {
        uint64_t operations = atomic_load_explicit(&counts->operations[kind], memory_order_relaxed);
        if (operations) {
            fprintf(out, "%s\"%s\": {\"operations\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", separator,
                    trma_win_count_name((enum trma_count_kind)kind), operations,
                    atomic_load_explicit(&counts->bytes[kind], memory_order_relaxed));
            separator = ", ";
        }
    }
}

static void print_json(FILE *out, const struct trma_win *window) {
    const struct trma_window *core = window->core;
    char name[MPI_MAX_OBJECT_NAME];
    const char *separator = "";

    find_name(window, name);
    fprintf(out,
            "{\"rank\": %u, \"ranks\": %u, \"pid\": %d, \"window\": %" PRIu64
            ", \"name\": \"%s\", \"flavour\": \"%s\", \"bytes\": %ld, \"disp_unit\": %d, \"targets\": [",
            core->me, core->size, (int)getpid(), window->serial, name, flavor_name(window->flavor),
            (long)window->bytes, window->disp_unit);
    for (uint32_t i = 0; i < core->size; i++) {
        const struct trma_target *target = &core->targets[i];
        fprintf(out,
                "%s{\"rank\": %u, \"path\": \"%s\", \"why\": \"%s\", \"deferred\": %" PRIu64
                ", \"helped\": %" PRIu64 ", \"operations\": {",
                i ? ", " : "", i, trma_win_target_path_name(core, i),
                target->path_reason ? target->path_reason : "",
                atomic_load_explicit(&target->counts.deferred, memory_order_relaxed),
                atomic_load_explicit(&target->counts.helped, memory_order_relaxed));
        print_counts_json(out, &target->counts);
        fprintf(out, "}}");
    }
    fprintf(out, "], \"waits\": {");
    for (int kind = 0; kind < TRMA_WAIT_KINDS; kind++) {
        if (core->waits.calls[kind]) {
            fprintf(out, "%s\"%s\": {\"calls\": %" PRIu64 ", \"seconds\": %.9f}", separator,
                    trma_win_wait_name((enum trma_wait_kind)kind), core->waits.calls[kind],
                    (double)core->waits.nanoseconds[kind] * 1e-9);
            separator = ", ";
        }
    }
    fprintf(out, "}}\n");
}

static void print_text(FILE *out, const struct trma_win *window) {
    const struct trma_window *core = window->core;
    char name[MPI_MAX_OBJECT_NAME];

    find_name(window, name);
    fprintf(out, "truerma: rank %u of %u, window %" PRIu64 "%s%s: %s, %ld bytes, unit %d\n", core->me,
            core->size, window->serial, name[0] ? " " : "", name, flavor_name(window->flavor),
            (long)window->bytes, window->disp_unit);
    for (uint32_t i = 0; i < core->size; i++) {
        const struct trma_target *target = &core->targets[i];
        fprintf(out, "truerma:   to rank %u by %s%s%s%s:", i, trma_win_target_path_name(core, i),
                target->path_reason ? " (" : "", target->path_reason ? target->path_reason : "",
                target->path_reason ? ")" : "");
        for (int kind = 0; kind < TRMA_COUNT_KINDS; kind++) {
            uint64_t operations =
                atomic_load_explicit(&target->counts.operations[kind], memory_order_relaxed);
            if (operations) {
                fprintf(out, " %s %" PRIu64 " (%" PRIu64 " bytes)",
                        trma_win_count_name((enum trma_count_kind)kind), operations,
                        atomic_load_explicit(&target->counts.bytes[kind], memory_order_relaxed));
            }
        }
        uint64_t helped = atomic_load_explicit(&target->counts.helped, memory_order_relaxed);
        if (helped) {
            fprintf(out, "; %" PRIu64 " pieces by the target itself while it waited", helped);
        }
        fprintf(out, "\n");
    }
    for (int kind = 0; kind < TRMA_WAIT_KINDS; kind++) {
        if (core->waits.calls[kind]) {
            fprintf(out, "truerma:   %s: %" PRIu64 " calls, %.6f s waiting\n",
                    trma_win_wait_name((enum trma_wait_kind)kind), core->waits.calls[kind],
                    (double)core->waits.nanoseconds[kind] * 1e-9);
        }
    }
}

static void append(const char *path, const char *text, size_t length) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (file < 0 || write(file, text, length) != (ssize_t)length) {
        trma_log(TRMA_LOG_ERROR, "TRUERMA_STATS: cannot write to %s: %s", path, strerror(errno));
    }
    if (file >= 0) {
        close(file);
    }
}

void trma_statistics_report(const struct trma_win *window) {
    bool to_stderr = strcmp(trma_knobs()->stats, "1") == 0;
    char *text = NULL;
    size_t length = 0;

    if (!trma_statistics_are_wanted()) {
        return;
    }
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        return;
    }
    if (to_stderr) {
        print_text(out, window);
    } else {
        print_json(out, window);
    }
    fclose(out);
    if (to_stderr) {
        fwrite(text, 1, length, stderr);
    } else {
        append(trma_knobs()->stats, text, length);
    }
    free(text);
}

static void report_one(struct trma_handle *object) {
    trma_statistics_report((const struct trma_win *)object);
}

void trma_statistics_report_all(void) {
    if (trma_statistics_are_wanted()) {
        trma_handle_visit(&trma_windows, report_one);
    }
}
