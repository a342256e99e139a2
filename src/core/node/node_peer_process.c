/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_peer_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Field 22 of /proc/<pid>/stat, counted from the state, which is field 3 and follows the name in parentheses.
 */
#define START_TIME_AFTER_STATE 19

/* Reads a small file of /proc as a string; false when it cannot be read. */
static bool read_text(const char *path, char *text, size_t room) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    ssize_t got = read(descriptor, text, room - 1);
    close(descriptor);
    if (got <= 0) {
        return false;
    }
    text[got] = '\0';
    return true;
}

uint64_t trma_node_process_host(void) {
    char text[256];
    if (!read_text("/proc/sys/kernel/random/boot_id", text, sizeof text) &&
        gethostname(text, sizeof text) != 0) {
        return 0;
    }
    text[sizeof text - 1] = '\0';
    /* FNV-1a: 64 bits, and boot ids are random. */
    uint64_t hash = 0xcbf29ce484222325U;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        hash = (hash ^ *at) * 0x100000001b3U;
    }
    return hash;
}

/* State letter and start time, from a "stat" file of /proc; false when it does not tell. */
static bool read_stat(const char *path, char *state, uint64_t *start_time) {
    char text[1024];
    if (!read_text(path, text, sizeof text)) {
        return false;
    }
    const char *at = strrchr(text, ')'); /* the name may hold parentheses and blanks itself */
    if (at == NULL || at[1] != ' ') {
        return false;
    }
    at += 2;
    *state = *at;
    for (int field = 0; field < START_TIME_AFTER_STATE; field++) {
        at = strchr(at, ' ');
        if (at == NULL) {
            return false;
        }
        at++;
    }
    *start_time = strtoull(at, NULL, 10);
    return true;
}

static bool read_process_stat(pid_t proc_pid, char *state, uint64_t *start_time) {
    char path[64] = "/proc/self/stat";
    if (proc_pid != 0) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)proc_pid);
    }
    return read_stat(path, state, start_time);
}

bool trma_node_process_owns_proc(void) {
    char number[32];
    ssize_t length = readlink("/proc/self", number, sizeof number - 1);
    if (length <= 0) {
        return false;
    }
    number[length] = '\0';
    return strtol(number, NULL, 10) == (long)getpid();
}

uint64_t trma_node_process_start_time(pid_t proc_pid) {
    char state;
    uint64_t start_time;
    return read_process_stat(proc_pid, &state, &start_time) ? start_time : 0;
}

uint64_t trma_node_process_thread_start_time(pid_t thread) {
    char path[64];
    char state;
    uint64_t start_time;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    return read_stat(path, &state, &start_time) ? start_time : 0;
}

static uint32_t namespace_of(const char *process) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%.16s/ns/pid", process);
    return stat(path, &status) == 0 ? (uint32_t)status.st_ino : 0;
}

uint32_t trma_node_process_pid_namespace(void) {
    return namespace_of("self");
}

int trma_node_process_yama_scope(void) {
    char text[16];
    return read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) ? (int)strtol(text, NULL, 10)
                                                                              : -1;
}

bool trma_node_process_has_autogroups(void) {
    char text[16];
    return read_text("/proc/sys/kernel/sched_autogroup_enabled", text, sizeof text) &&
           strtol(text, NULL, 10) != 0;
}

/* The pid of a process in its innermost pid namespace: the last number of NSpid in its status. */
static pid_t innermost_pid(const char *process) {
    char path[64];
    char text[4096];
    snprintf(path, sizeof path, "/proc/%.16s/status", process);
    if (!read_text(path, text, sizeof text)) {
        return 0;
    }
    const char *line = strstr(text, "\nNSpid:");
    long last = 0;
    if (line != NULL) {
        char *at = (char *)line + strlen("\nNSpid:");
        while (*at == '\t' || *at == ' ') {
            last = strtol(at, &at, 10);
        }
    }
    return (pid_t)last;
}

pid_t trma_node_process_find(pid_t pid, uint32_t pid_namespace) {
    DIR *directory = opendir("/proc");
    if (directory == NULL) {
        return 0;
    }
    pid_t found = 0;
    const struct dirent *entry;
    while (found == 0 && (entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) && innermost_pid(entry->d_name) == pid &&
            namespace_of(entry->d_name) == pid_namespace) {
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        }
    }
    closedir(directory);
    return found;
}

bool trma_node_process_is_alive(pid_t pid, pid_t proc_pid, uint64_t start_time) {
    char state = '?';
    uint64_t started = 0;
    bool is_told = proc_pid != 0 && read_process_stat(proc_pid, &state, &started);
    if (is_told && (state == 'Z' || state == 'X' || (start_time != 0 && started != start_time))) {
        return false;
    }
    /* /proc may be hidden, or the process may have ended since: ask for the process itself. */
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process >= 0) {
        struct pollfd event = {.fd = process, .events = POLLIN};
        bool has_ended = poll(&event, 1, 0) > 0;
        close(process);
        return !has_ended;
    }
    if (errno == ESRCH) {
        return false;
    }
    /* No pidfd to be had (seccomp, descriptors): a signal 0 tells the living and zombies from the rest. */
    return kill(pid, 0) == 0 || errno != ESRCH;
}
