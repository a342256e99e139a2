/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher.h"
#include "launcher_abi.h"
#include "launcher_become.h"

static const char usage[] =
    "usage: truerma run [--explain] [--] PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs an MPI program with TrueRMA under it: mpiexec -n 4 truerma run ./app\n"
    "\n"
    "  --explain   say which library would be put under it and why; do not run it\n"
    "  --help      this text\n"
    "\n"
    "TRUERMA_ABI=mpich|openmpi|abi (the MPI standard's own) says which MPI ABI the program uses where\n"
    "that cannot be told from the program; TRUERMA=off runs it on its MPI alone.\n";

/* What the command line asks for. */
struct request {
    bool explain;
    char **command; /* argv of the program */
};

/* Answers false when the launcher is to end with *exit_code. */
static bool parse_arguments(int argc, char **argv, struct request *request, int *exit_code) {
    static const struct option options[] = {
        {"explain", no_argument, NULL, 'e'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    *exit_code = LAUNCHER_USAGE;
    opterr = 0;
    for (int option = 0; (option = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
        switch (option) {
        case 'e':
            request->explain = true;
            break;
        case 'h':
            fputs(usage, stdout);
            *exit_code = LAUNCHER_OK;
            return false;
        default:
            launcher_say("run has no option %s: it takes --explain and --help", argv[optind - 1]);
            return false;
        }
    }
    if (optind == argc) {
        launcher_say("run what? usage: truerma run [--explain] PROGRAM [ARGUMENT]...");
        return false;
    }
    request->command = argv + optind;
    return true;
}

static void warn_of_unknown_knobs(void) {
    char name[128];
    for (size_t cursor = 0; trma_node_knob_next_unknown(&cursor, name, sizeof name);)
        launcher_say("%s is set but is no knob of TrueRMA: see truerma info", name);
}

int launcher_run(int argc, char **argv) {
    struct request request = {0};
    int exit_code = LAUNCHER_USAGE;
    if (!parse_arguments(argc, argv, &request, &exit_code))
        return exit_code;

    struct trma_knobs knobs;
    if (!launcher_become_knobs(&knobs))
        return LAUNCHER_USAGE;
    if (knobs.log >= TRMA_LOG_WARN && launcher_environment_is_first_rank())
        warn_of_unknown_knobs();
    if (!knobs.enabled && request.explain) {
        puts("host MPI alone: TRUERMA is off");
        return LAUNCHER_OK;
    }
    if (!knobs.enabled)
        return launcher_become(NULL, request.command);

    struct launcher_decision decision = launcher_abi_decide(request.command, (enum trma_knob_abi)knobs.abi);
    if (decision.exit_code != LAUNCHER_OK) {
        launcher_say("%s", decision.reason);
        return decision.exit_code;
    }
    const char *abi = launcher_abi_name(decision.abi);
    char *library = launcher_become_library(abi);
    if (library == NULL)
        return LAUNCHER_USAGE;
    if (request.explain) {
        printf("%s: %s\n%s\n", abi, decision.reason, library);
        return LAUNCHER_OK;
    }
    if (knobs.log >= TRMA_LOG_INFO && launcher_environment_is_first_rank())
        launcher_say("%s: %s", abi, decision.reason);
    return launcher_become(library, request.command);
}
