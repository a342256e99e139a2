/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program in which the kernel refuses some system calls, as containers' seccomp profiles do.
 *
 *   faults_refuse CALL[,CALL…] program arguments…     CALL: memfd process_vm pidfd userfaultfd membarrier
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static int refuse(long number) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        long numbers[2];
    } calls[] = {
        {"memfd", {SYS_memfd_create, SYS_memfd_create}},
        {"process_vm", {SYS_process_vm_readv, SYS_process_vm_writev}},
        {"pidfd", {SYS_pidfd_open, SYS_pidfd_getfd}},
        {"userfaultfd", {SYS_userfaultfd, SYS_userfaultfd}},
        {"membarrier", {SYS_membarrier, SYS_membarrier}},
    };

    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        fprintf(stderr, "usage: faults_refuse CALL[,CALL...] program arguments...\n");
        return 2;
    }
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
        size_t i = 0;
        while (i < sizeof calls / sizeof calls[0] && strcmp(calls[i].name, name) != 0) {
            i++;
        }
        if (i == sizeof calls / sizeof calls[0] || refuse(calls[i].numbers[0]) ||
            refuse(calls[i].numbers[1])) {
            fprintf(stderr, "faults_refuse: cannot refuse %s\n", name);
            return 2;
        }
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
