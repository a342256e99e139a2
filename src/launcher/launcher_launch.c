/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher.h"
#include "launcher_become.h"

static const char usage[] =
    "usage: truerma launch [--] MPIEXEC [ARGUMENT]...\n"
    "\n"
    "Runs an MPI's mpiexec so that the ranks that it starts on this node share a session, for jobs with\n"
    "more ranks than cores: truerma launch mpiexec -n 8 truerma run ./app\n"
    "\n"
    "MPICH's mpiexec makes a session of each rank, and Linux may divide cores between sessions first, so\n"
    "that a rank that waits cannot hand its core to another one (truerma info, \"yields\"). Open MPI's and\n"
    "Intel MPI's make none: with them nothing changes, nor for ranks that Slurm starts, or that are on\n"
    "other nodes.\n"
    "\n"
    "  --help      this text\n"
    "\n"
    "TRUERMA=off runs it as it is.\n";

int launcher_launch(int argc, char **argv) {
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    opterr = 0;
    int option = getopt_long(argc, argv, "+h", options, NULL);
    if (option == 'h') {
        fputs(usage, stdout);
        return LAUNCHER_OK;
    }
    if (option != -1) {
        launcher_say("launch has no option %s: it takes --help", argv[optind - 1]);
        return LAUNCHER_USAGE;
    }
    if (optind == argc) {
        launcher_say("launch what? usage: truerma launch MPIEXEC [ARGUMENT]...");
        return LAUNCHER_USAGE;
    }
    struct trma_knobs knobs;
    if (!launcher_become_knobs(&knobs))
        return LAUNCHER_USAGE;
    char *library = knobs.enabled ? launcher_become_library("session") : NULL;
    if (knobs.enabled && library == NULL)
        return LAUNCHER_USAGE;
    return launcher_become(library, argv + optind);
}
