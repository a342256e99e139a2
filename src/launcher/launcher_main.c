/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "launcher.h"

static const struct launcher_command commands[] = {
    {"run", launcher_run, "[--explain] PROGRAM [ARGUMENT]...", "run an MPI program with TrueRMA under it"},
    {"launch", launcher_launch, "MPIEXEC [ARGUMENT]...",
     "start MPICH's ranks in one session, for more ranks than cores"},
    {"info", launcher_info, "", "what this node can do, and the knobs"},
    {"bench", launcher_bench, "[apps | EXPERIMENT...] [OPTION]...", "measure; --list and --help tell more"},
    {"report", launcher_report, "[FILE]...", "one page from what was measured"},
    {"man-page", launcher_man, "", NULL},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(void) {
    puts("TrueRMA " TRMA_VERSION ": truly one-sided MPI communication inside a node.\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (commands[i].help != NULL)
            printf("  truerma %-6s %-36s %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    puts("  truerma --version\n  truerma --help\n\nExample: mpiexec -n 4 truerma run ./app");
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(name, "--version") == 0) {
        puts("truerma " TRMA_VERSION);
        return LAUNCHER_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help();
        return LAUNCHER_OK;
    }
    launcher_say("%s%s%s: the commands are run, launch, info, bench, report, --version and --help",
                 name[0] == '\0' ? "no command" : "'", name, name[0] == '\0' ? "" : "' is no command");
    return LAUNCHER_USAGE;
}
