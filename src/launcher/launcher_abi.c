/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launcher_link.h"
#include "launcher_program.h"
#include "launcher_python.h"

/* A script's interpreter may be a script; the kernel gives up after a few, too. */
#define MAX_INTERPRETERS 6
/* How far into the arguments a program is looked for: options of wrappers come first. */
#define MAX_ARGUMENTS 32

#define HOW_TO_TELL "set TRUERMA_ABI to mpich, openmpi or abi"
#define HOW_TO_PASS "set TRUERMA=off to run it on the host MPI alone"

/* The ABIs that are served: what TRUERMA_ABI calls them, and the family of libraries that has them. */
static const struct {
    const char *name;
    enum launcher_family family;
} abis[] = {
    [TRMA_ABI_MPICH] = {"mpich", LAUNCHER_MPICH},
    [TRMA_ABI_OPENMPI] = {"openmpi", LAUNCHER_OPENMPI},
    [TRMA_ABI_STANDARD] = {"abi", LAUNCHER_STANDARD},
};
#define N_ABIS (sizeof abis / sizeof abis[0])

const char *launcher_abi_name(enum trma_knob_abi abi) {
    return abis[abi].name;
}

static struct launcher_decision decided(enum trma_knob_abi abi, char *reason) {
    return (struct launcher_decision){.exit_code = LAUNCHER_OK, .abi = abi, .reason = reason};
}

static struct launcher_decision refused(enum launcher_exit exit_code, char *reason) {
    return (struct launcher_decision){.exit_code = exit_code, .abi = TRMA_ABI_UNSET, .reason = reason};
}

/* The file that will really run: `path` itself, or the last one in its chain of interpreters. */
struct target {
    char *path;
    enum launcher_elf_status status; /* of `path` as ELF */
    struct launcher_link link;       /* valid when status is LAUNCHER_ELF_OK */
};

/* Follows scripts to what runs them. Takes `path` over. */
static struct target follow(char *path) {
    struct target target = {.path = path};
    for (int depth = 0;; depth++) {
        target.status = launcher_link_examine(target.path, &target.link);
        if (target.status != LAUNCHER_ELF_NOT_ELF || depth == MAX_INTERPRETERS)
            return target;
        char *next = launcher_python_is_name(target.path) ? launcher_python_behind_shim(target.path) : NULL;
        if (next == NULL) {
            char *name = launcher_program_interpreter(target.path);
            next = name == NULL ? NULL : launcher_program_find(name);
            free(name);
        }
        if (next == NULL)
            return target;
        free(target.path);
        target.path = next;
    }
}

static void free_target(struct target *target) {
    launcher_link_free(&target->link);
    free(target->path);
}

/* How a program comes to its MPI: "./app links libmpi.so.12 (through /opt/lib/libga.so)". */
static char *say_link(const char *path, const struct launcher_link *link, int family) {
    char *resolved = realpath(path, NULL);
    bool is_direct = resolved == NULL || strcmp(resolved, link->through[family]) == 0;
    char *text =
        launcher_text("%s links %s%s%s%s", path, link->library[family], is_direct ? "" : " (through ",
                      is_direct ? "" : link->through[family], is_direct ? "" : ")");
    free(resolved);
    return text;
}

static struct launcher_decision not_served(char *what) {
    struct launcher_decision decision = refused(
        LAUNCHER_USAGE, launcher_text("%s: an MPI that TrueRMA does not serve (MPICH's ABI .so.12, Open "
                                      "MPI's .so.40 and the MPI standard's libmpi_abi are); " HOW_TO_PASS,
                                      what));
    free(what);
    return decision;
}

static struct launcher_decision decide_by_family(enum launcher_family family, char *reason) {
    for (size_t abi = 0; abi < N_ABIS; abi++)
        if (abis[abi].family == family)
            return decided((enum trma_knob_abi)abi, reason);
    return not_served(reason);
}

/* For a program that links at least one MPI. */
static struct launcher_decision decide_by_link(const struct target *target) {
    const struct launcher_link *link = &target->link;
    int first = 0;
    while (!link->found[first])
        first++;
    if (link->n_found == 1)
        return decide_by_family((enum launcher_family)first, say_link(target->path, link, first));
    int second = first + 1;
    while (!link->found[second])
        second++;
    return refused(
        LAUNCHER_USAGE,
        launcher_text(
            "cannot tell which MPI %s uses: it links both %s (through %s) and %s (through %s); " HOW_TO_TELL,
            target->path, link->library[first], link->through[first], link->library[second],
            link->through[second]));
}

/* Looks for a program that links MPI among the arguments of one that does not; false when there is none. */
static bool decide_by_arguments(char **arguments, struct launcher_decision *out) {
    for (int i = 0; i < MAX_ARGUMENTS && arguments[i] != NULL; i++) {
        char *path = arguments[i][0] == '-' ? NULL : launcher_program_find(arguments[i]);
        if (path == NULL)
            continue;
        struct target target = {.path = path};
        target.status = launcher_link_examine(path, &target.link);
        bool is_mpi = target.status == LAUNCHER_ELF_OK && target.link.n_found > 0;
        if (is_mpi)
            *out = decide_by_link(&target);
        free_target(&target);
        if (is_mpi)
            return true;
    }
    return false;
}

/* For a program that does not link MPI and is not known to start one that does. */
static struct launcher_decision decide_by_surroundings(const struct target *target) {
    bool is_python = launcher_python_is_name(target->path);
    char *reason = NULL;
    enum launcher_family family = is_python ? launcher_python_told(&reason) : LAUNCHER_FAMILIES;
    if (family != LAUNCHER_FAMILIES)
        return decide_by_family(family, reason);
    enum trma_knob_abi abi = launcher_environment_abi(&reason);
    if (abi != TRMA_ABI_UNSET)
        return decided(abi, reason);
    if (is_python)
        family = launcher_python_importable(target->path, &reason);
    if (family != LAUNCHER_FAMILIES)
        return decide_by_family(family, reason);
    return refused(
        LAUNCHER_USAGE,
        launcher_text("cannot tell which MPI %s uses: it links none, no mpiexec started it%s; " HOW_TO_TELL,
                      target->path, is_python ? " and no mpi4py with an MPI is importable" : ""));
}

/* TRUERMA_ABI wins; that the program links another MPI is worth a line. */
static struct launcher_decision decide_as_told(const struct target *target, enum trma_knob_abi told) {
    const struct launcher_link *link = &target->link;
    int other = 0;
    while (other < LAUNCHER_FAMILIES && !link->found[other])
        other++;
    if (target->status == LAUNCHER_ELF_OK && other < LAUNCHER_FAMILIES && !link->found[abis[told].family] &&
        launcher_environment_is_first_rank())
        launcher_say("TRUERMA_ABI is %s although %s links %s", launcher_abi_name(told), target->path,
                     link->library[other]);
    return decided(told, launcher_text("TRUERMA_ABI is %s", launcher_abi_name(told)));
}

static struct launcher_decision decide(const struct target *target, char **argv, enum trma_knob_abi told) {
    bool is_elf = target->status == LAUNCHER_ELF_OK;
    if (is_elf && target->link.holds_mpi)
        return refused(
            LAUNCHER_USAGE,
            launcher_text(
                "%s has MPI linked statically into it, where no library can stand between the two: link MPI "
                "dynamically, or " HOW_TO_PASS,
                target->path));
    if (told != TRMA_ABI_UNSET)
        return decide_as_told(target, told);
    if (is_elf && target->link.n_found > 0)
        return decide_by_link(target);
    struct launcher_decision decision;
    if (decide_by_arguments(argv + 1, &decision))
        return decision;
    if (is_elf && target->link.is_static)
        return refused(LAUNCHER_USAGE, launcher_text("%s is linked statically, no library can be put under "
                                                     "it: link MPI dynamically, or " HOW_TO_PASS,
                                                     target->path));
    return decide_by_surroundings(target);
}

struct launcher_decision launcher_abi_decide(char **argv, enum trma_knob_abi told) {
    char *path = launcher_program_find(argv[0]);
    if (path == NULL) {
        int error = errno;
        return refused(error == ENOENT || error == ENOTDIR ? LAUNCHER_NOT_FOUND : LAUNCHER_CANNOT_RUN,
                       launcher_text("cannot run %s: %s", argv[0], strerror(error)));
    }
    struct target target = follow(path);
    struct launcher_decision decision = decide(&target, argv, told);
    free_target(&target);
    return decision;
}
