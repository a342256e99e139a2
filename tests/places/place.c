/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a command in a locked-down place, for tests (as root):
 *
 *   place [what...] -- command args...
 *
 *   --refuse NAMES   these system calls fail with EPERM, as container profiles do it; commas in between
 *   --apart          a Landlock domain of its own: no other process may be traced from here, and none but
 *                    children of it from outside that is apart as well
 *   --user UID       as this user, without groups and capabilities
 *   --small-shm      /dev/shm has 1 MiB
 *   --hidepid        /proc shows other users' processes to nobody
 *   --own-pid RANK   the MPI process of this rank has a pid namespace of its own
 *   --own-ipc RANK   likewise an IPC namespace
 *
 * Exit code 77 when this machine cannot make the place, with a line that says why.
 */
#include <errno.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77 };

static void need(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "place: cannot %s: %s\n", what, strerror(errno));
        exit(SKIP);
    }
}

static void refuse(char *names) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    need(filter != NULL, "make a seccomp filter");
    for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
        int number = seccomp_syscall_resolve_name(name);
        if (number == __NR_SCMP_ERROR || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0) != 0) {
            fprintf(stderr, "place: %s is no system call that can be refused\n", name);
            exit(2);
        }
    }
    need(seccomp_load(filter) == 0, "load a seccomp filter");
    seccomp_release(filter);
}

static void go_apart(void) {
    /* Something must be governed; nobody here makes block devices. */
    struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    need(ruleset >= 0, "make a Landlock ruleset");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "give up new privileges");
    need(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0, "enter a Landlock domain");
    close(ruleset);
}

static void become(uid_t user) {
    need(setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0, "become another user");
    /* Cleared by the change of user; without it not even one's own processes may be looked at before exec. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void own_mounts(void) {
    need(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
         "make a mount namespace");
}

/* True when this is the process of that rank, as the launchers of the MPIs tell it. */
static int is_rank(const char *rank) {
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *mine = getenv(names[i]);
        if (mine != NULL) {
            return strcmp(mine, rank) == 0;
        }
    }
    fprintf(stderr, "place: no launcher has told a rank\n");
    exit(2);
}

/* The command becomes the first process of the namespace; this one hands its end on. */
static void own_pids(void) {
    need(unshare(CLONE_NEWPID) == 0, "make a pid namespace");
    pid_t child = fork();
    need(child >= 0, "fork");
    if (child > 0) {
        int status;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
}

static char *value_of(char ***argument) {
    if (*++*argument == NULL) {
        fprintf(stderr, "place: a value is missing\n");
        exit(2);
    }
    return **argument;
}

int main(int argc, char **argv) {
    char *refused = NULL;
    const char *user = NULL;
    int is_apart = 0;
    (void)argc;
    for (argv++; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        if (strcmp(*argv, "--refuse") == 0) {
            refused = value_of(&argv);
        } else if (strcmp(*argv, "--apart") == 0) {
            is_apart = 1;
        } else if (strcmp(*argv, "--user") == 0) {
            user = value_of(&argv);
        } else if (strcmp(*argv, "--small-shm") == 0) {
            own_mounts();
            need(mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m,mode=1777") == 0, "mount /dev/shm");
        } else if (strcmp(*argv, "--hidepid") == 0) {
            own_mounts();
            need(mount("proc", "/proc", "proc", 0, "hidepid=2") == 0, "mount /proc");
        } else if (strcmp(*argv, "--own-pid") == 0) {
            if (is_rank(value_of(&argv))) {
                own_pids();
            }
        } else if (strcmp(*argv, "--own-ipc") == 0) {
            if (is_rank(value_of(&argv))) {
                need(unshare(CLONE_NEWIPC) == 0, "make an IPC namespace");
            }
        } else {
            fprintf(stderr, "place: unknown: %s\n", *argv);
            return 2;
        }
    }
    if (*argv == NULL || argv[1] == NULL) {
        fprintf(stderr, "place: no command after --\n");
        return 2;
    }
    /* Restrictions last: they would keep the rest from being set up. */
    if (user != NULL) {
        become((uid_t)strtoul(user, NULL, 10));
    }
    if (is_apart) {
        go_apart();
    }
    if (refused != NULL) {
        refuse(refused);
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "place: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
