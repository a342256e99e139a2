/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

bool launcher_program_is_executable(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    if (!S_ISREG(status.st_mode)) {
        errno = EACCES;
        return false;
    }
    return access(path, X_OK) == 0;
}

struct find {
    const char *name;
    char *found;
    int error; /* EACCES beats ENOENT: a file that is there but cannot be run is the better news */
};

static bool try_folder(const char *folder, void *context) {
    struct find *find = context;
    char *path = launcher_text("%s/%s", folder[0] == '\0' ? "." : folder, find->name);
    if (launcher_program_is_executable(path)) {
        find->found = path;
        return true;
    }
    if (errno == EACCES)
        find->error = EACCES;
    free(path);
    return false;
}

char *launcher_program_find(const char *name) {
    if (strchr(name, '/') != NULL)
        return launcher_program_is_executable(name) ? launcher_text("%s", name) : NULL;
    struct find find = {.name = name, .error = ENOENT};
    const char *path = getenv("PATH");
    if (name[0] != '\0')
        launcher_each(path != NULL ? path : "/bin:/usr/bin", ":", try_folder, &find);
    errno = find.error;
    return find.found;
}

/* The command among env's arguments: after its options and assignments. Cuts `arguments` into words. */
static char *command_of_env(char *arguments) {
    char *rest = NULL;
    for (char *word = strtok_r(arguments, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (strncmp(word, "-S", 2) == 0 && word[2] != '\0')
            return launcher_text("%s", word + 2);
        if (word[0] != '-' && strchr(word, '=') == NULL)
            return launcher_text("%s", word);
    }
    return NULL;
}

char *launcher_program_interpreter(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char line[1024]; /* the kernel looks at 256 bytes at most */
    ssize_t length = read(fd, line, sizeof line - 1);
    close(fd);
    if (length < 0)
        return NULL;
    line[length] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (strncmp(line, "#!", 2) != 0)
        return launcher_text("/bin/sh");
    char *interpreter = line + 2 + strspn(line + 2, " \t");
    char *after = interpreter + strcspn(interpreter, " \t");
    bool has_arguments = *after != '\0';
    *after = '\0';
    if (*interpreter == '\0')
        return NULL;
    if (strcmp(launcher_basename(interpreter), "env") == 0)
        return has_arguments ? command_of_env(after + 1) : NULL;
    return launcher_text("%s", interpreter);
}
