/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *format_text(const char *format, va_list arguments) {
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        fputs("truerma: out of memory\n", stderr);
        exit(LAUNCHER_USAGE);
    }
    return text;
}

void launcher_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    char *line = launcher_text("truerma: %s\n", text);
    fputs(line, stderr);
    free(line);
    free(text);
}

char *launcher_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    return text;
}

const char *launcher_basename(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

char *launcher_dirname(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return launcher_text(".");
    return launcher_text("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

bool launcher_each(const char *list, const char *separators, bool (*use)(const char *entry, void *context),
                   void *context) {
    if (list == NULL)
        return false;
    for (const char *at = list;;) {
        size_t length = strcspn(at, separators);
        char *entry = launcher_text("%.*s", (int)length, at);
        bool done = use(entry, context);
        free(entry);
        if (done)
            return true;
        if (at[length] == '\0')
            return false;
        at += length + 1;
    }
}
