/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_LAUNCHER_H
#define TRMA_LAUNCHER_H

#include <stdbool.h>

/*
 * The launcher `truerma`: one process, one thread, lives for some milliseconds before it becomes the program.
 * Memory that it allocates is freed where that is simple; what an exec or an exit is about to drop is left to
 * them.
 */

/* Exit codes; the last two are the shell's for a command that cannot be run or is not there. */
enum launcher_exit {
    LAUNCHER_OK = 0,
    LAUNCHER_USAGE = 2,
    LAUNCHER_CANNOT_RUN = 126,
    LAUNCHER_NOT_FOUND = 127
};

/* A subcommand: argv[0] is its own name; the answer is the exit code. */
struct launcher_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments; /* for the usage line */
    const char *help;      /* NULL: not shown */
};

int launcher_run(int argc, char **argv);
int launcher_launch(int argc, char **argv);
int launcher_info(int argc, char **argv);
int launcher_bench(int argc, char **argv);
int launcher_report(int argc, char **argv);
int launcher_man(int argc, char **argv);

/* Prints "truerma: ", the text and a newline to stderr, at once, so that lines of several ranks do not mix.
 */
void launcher_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* snprintf's result in memory of its own; ends the process with a message when there is no memory. Caller
 * frees. */
char *launcher_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The part of a path after its last slash; points into `path`. */
const char *launcher_basename(const char *path);

/* The part of a path before its last slash, "." without one, "/" for what lies in the root. Caller frees. */
char *launcher_dirname(const char *path);

/*
 * Calls `use(entry, context)` for each entry of a list like PATH (parts between the characters of
 * `separators`) until one answers true, and answers whether one did. Empty entries are given as they are. A
 * NULL list has no entries.
 */
bool launcher_each(const char *list, const char *separators, bool (*use)(const char *entry, void *context),
                   void *context);

#endif
