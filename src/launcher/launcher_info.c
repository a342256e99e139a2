/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher.h"
#include "launcher_abi.h"
#include "launcher_preload.h"
#include "node/node_knob.h"
#include "node/node_probe.h"
#include "node/node_probe_topology.h"

static const char usage[] = "usage: truerma info\n\nPrints what this node can do, where the libraries are, "
                            "and the knobs with their values.\n";

static void print_library(const char *name) {
    char *library = launcher_preload_library(name);
    printf("  %-10s %s\n", name, library != NULL ? library : "not installed");
    free(library);
}

static void print_libraries(void) {
    puts("libraries");
    for (int abi = TRMA_ABI_MPICH; abi <= TRMA_ABI_STANDARD; abi++) {
        print_library(launcher_abi_name((enum trma_knob_abi)abi));
    }
    print_library("session"); /* truerma launch */
}

/* A number of bytes in the largest unit that keeps it at 1 or more; (size_t)-1 is no limit. */
static void print_bytes(const char *label, size_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    double value = (double)bytes;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    if (bytes == (size_t)-1)
        printf("  %-22s unlimited\n", label);
    else
        printf("  %-22s %.4g %s\n", label, value, units[unit]);
}

static void print_node(void) {
    static struct trma_probe probe;
    trma_node_probe_set_topology(trma_node_probe_topology);
    trma_node_probe_run(&probe, true);
    puts("\nnode");
    printf("  %-22s %u of %u\n", "cores allowed", probe.cores_allowed, probe.cores_online);
    if (probe.topology[0] != '\0')
        printf("  %-22s %s\n", "topology", probe.topology);
    if (probe.yama_scope >= 0)
        printf("  %-22s ptrace_scope %d\n", "yama", probe.yama_scope);
    else
        printf("  %-22s not in this kernel\n", "yama");
    print_bytes("/dev/shm free", probe.shm_bytes_free);
    if (probe.descriptor_limit == (size_t)-1)
        printf("  %-22s unlimited\n", "file descriptors");
    else
        printf("  %-22s %zu\n", "file descriptors", probe.descriptor_limit);
    print_bytes("lockable memory", probe.lock_limit);
    printf("  %-22s %s\n", "huge pages", probe.huge_pages);
    printf("  %-22s %s\n", "yields", probe.yields);
    puts("\ndoors to a peer's memory");
    for (size_t i = 0; i < probe.n_doors; i++)
        printf("  %-22s %-8s %s\n", probe.doors[i].name, probe.doors[i].is_open ? "open" : "refused",
               probe.doors[i].detail);
}

static void print_knobs(void) {
    size_t count = 0;
    const struct trma_knob_info *rows = trma_node_knob_rows(&count);
    puts("\nknobs (environment variables)");
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(rows[i].name);
        bool is_set = value != NULL && value[0] != '\0';
        const char *standard = rows[i].default_text[0] == '\0' ? "-" : rows[i].default_text;
        printf("  %-19s %-8s%s %s (%s)\n", rows[i].name, is_set ? value : standard, is_set ? " (set)" : "",
               rows[i].help, rows[i].allowed);
    }
    char name[128];
    for (size_t cursor = 0; trma_node_knob_next_unknown(&cursor, name, sizeof name);)
        printf("  %-19s is set but is no knob\n", name);
}

int launcher_info(int argc, char **argv) {
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return LAUNCHER_OK;
    }
    if (argc > 1) {
        launcher_say("info takes no arguments, got %s", argv[1]);
        return LAUNCHER_USAGE;
    }
    struct trma_knobs knobs;
    char problem[512];
    enum trma_status status = trma_node_knob_load(&knobs, problem, sizeof problem);
    puts("TrueRMA " TRMA_VERSION "\n");
    print_libraries();
    print_node();
    print_knobs();
    if (status != TRMA_OK) {
        fflush(stdout);
        launcher_say("%s", problem);
        return LAUNCHER_USAGE;
    }
    return LAUNCHER_OK;
}
