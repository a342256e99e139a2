/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "launcher.h"
#include "node/node_knob.h"

/* The manual page, in the man(7) macros; the build writes it, the knobs come from their table. */

static const char head[] =
    ".TH TRUERMA 1 \"\" \"TrueRMA " TRMA_VERSION "\" \"User Commands\"\n"
    ".SH NAME\n"
    "truerma \\- truly one-sided MPI communication inside a node\n"
    ".SH SYNOPSIS\n"
    ".B mpiexec \\-n\n.I N\n.B truerma run\n.RB [ \\-\\-explain ]\n.I PROGRAM\n.RI [ ARGUMENT ]...\n.br\n"
    ".B truerma launch\n.I MPIEXEC\n.RI [ ARGUMENT ]...\n.br\n"
    ".B truerma info\n.br\n"
    ".B truerma bench\n.RB [ apps | \n.IR EXPERIMENT ...]\n.RI [ OPTION ]...\n.br\n"
    ".B truerma report\n.RI [ FILE ]...\n.br\n"
    ".B truerma \\-\\-version\n.RB | \\-\\-help\n"
    ".SH DESCRIPTION\n"
    "TrueRMA stands between an unmodified MPI program and its MPI. Put, get, accumulate, lock, flush and\n"
    "start/complete among ranks of one node finish without the target's help, whatever the target is doing.\n"
    "Everything else goes to the MPI that the program was built with.\n"
    ".SH COMMANDS\n"
    ".TP\n.B run\n"
    "Puts the library for the program's MPI (the MPICH ABI, Open MPI, or the MPI standard's own ABI,\n"
    ".IR libmpi_abi )\n"
    "at the end of LD_PRELOAD (profiling tools that are there stand above it) and becomes the program.\n"
    "Which library that is\n"
    "is told by what the program links, itself or through its libraries; for a script, by its interpreter; "
    "for a\n"
    "program that links no MPI (python3, env), by a program among its arguments, by the mpiexec that started "
    "it, or by\n"
    "what Python could import. With\n.B \\-\\-explain\nit says which library it would be and why, and runs "
    "nothing.\n"
    ".TP\n.B launch\n"
    "Runs an MPI's mpiexec so that the ranks that it starts on this node share a session, for jobs with\n"
    "more ranks than cores. MPICH's makes a session of each rank, and Linux may divide cores between\n"
    "sessions first, so that a rank that waits cannot hand its core to another one (\n.B truerma info\n"
    "says so). With Open MPI's and Intel MPI's, which make none, nothing changes.\n"
    ".TP\n.B info\n"
    "Prints what this node allows (each way of reaching another process's memory, open or refused and why), "
    "where\n"
    "the libraries are, and the knobs with their values.\n"
    ".TP\n.B bench\n"
    "Measures one experiment, some, or all of the suite, the host MPI alone and with TrueRMA in turns; with\n"
    ".B apps\n"
    "the scientific codes. Results go to build/bench in TrueRMA's source tree, which the suite belongs to.\n"
    ".TP\n.B report\n"
    "Makes one page with tables and plots from such results.\n"
    ".SH ENVIRONMENT\n";

static const char tail[] =
    ".SH EXIT STATUS\n"
    ".TP\n2\nwrong usage, a knob with a value that is not allowed, or no telling which MPI the program uses\n"
    ".TP\n126\nthe program cannot be run\n"
    ".TP\n127\nthe program is not there\n"
    ".P\nElse the program's own.\n"
    ".SH EXAMPLES\n"
    ".nf\nmpiexec \\-n 4 truerma run ./app\nmpiexec \\-n 4 truerma run python3 script.py\n"
    "truerma launch mpiexec \\-n 64 truerma run ./app\n"
    "TRUERMA_STATS=1 mpiexec \\-n 4 truerma run ./app\n.fi\n"
    ".SH SEE ALSO\n.BR mpiexec (1),\n.BR ld.so (8)\n";

/* Text between macros: a minus sign is a minus sign, a leading dot or quote no macro. */
static void print_escaped(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

int launcher_man(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs(head, stdout);
    size_t count = 0;
    const struct trma_knob_info *rows = trma_node_knob_rows(&count);
    for (size_t i = 0; i < count; i++) {
        printf(".TP\n.B %s\n", rows[i].name);
        print_escaped(rows[i].help);
        fputs(". Allowed: ", stdout);
        print_escaped(rows[i].allowed);
        fputs("; default: ", stdout);
        print_escaped(rows[i].default_text[0] == '\0' ? "not set" : rows[i].default_text);
        puts(".");
    }
    fputs(tail, stdout);
    return LAUNCHER_OK;
}
