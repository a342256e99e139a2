/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void trma_log(enum trma_knob_log level, const char *format, ...) {
    static const char *const words[] = {"error", "warning", "info", "debug"};
    char line[1024];
    va_list arguments;

    if ((int)level > trma_knobs()->log) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* One write per line, so that the ranks' lines do not mix. */
    fprintf(stderr, "truerma: [pid %d] %s: %s\n", (int)getpid(), words[level], line);
}
