/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_probe_doors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../mem/mem_adopt_guard.h"
#include "../mem/mem_backing.h"
#include "../mem/mem_door.h"
#include "../mem/mem_xpmem.h"
#include "node_peer_process.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER     0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

/* What the child tries on its parent: the relation that does not help it, as between two ranks. */
struct subject {
    pid_t owner;
    int descriptor; /* of a memfd of the owner, -1 when there is none */
    uint64_t inode;
    int memfd_error; /* 0: it is a memfd */
    uint64_t word;   /* in private memory of the owner */
};

#define SUBJECT_WORD 0x74727565726d61ULL

/* Each attempt gives 0, or an errno. */
struct trial {
    const char *name;
    int (*attempt)(struct subject *subject);
    bool in_child;
    const char *when_open;
    const char *when_refused; /* what would open it */
};

static int error_or_ok(bool is_ok) {
    return is_ok ? 0 : errno != 0 ? errno : EPERM;
}

static bool has_inode(int descriptor, uint64_t inode) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_ino == inode;
}

static int try_memfd(struct subject *subject) {
    return subject->memfd_error;
}

static int try_cma(struct subject *subject) {
    subject->word = 0; /* the child's copy: the owner still has the right one */
    struct iovec remote = {.iov_base = &subject->word, .iov_len = sizeof subject->word};
    uint64_t got = 0;
    struct iovec local = {.iov_base = &got, .iov_len = sizeof got};
    errno = 0;
    bool is_read = process_vm_readv(subject->owner, &local, 1, &remote, 1, 0) == (ssize_t)sizeof got;
    return error_or_ok(is_read && got == SUBJECT_WORD);
}

static int try_memory_file(struct subject *subject) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)subject->owner);
    subject->word = 0; /* as above */
    uint64_t got = 0;
    errno = 0;
    int opened = open(path, O_RDWR | O_CLOEXEC);
    bool is_read = opened >= 0 &&
                   pread(opened, &got, sizeof got, (off_t)(uintptr_t)&subject->word) == (ssize_t)sizeof got;
    int result = error_or_ok(is_read && got == SUBJECT_WORD);
    if (opened >= 0) {
        close(opened);
    }
    return result;
}

static int try_proc(struct subject *subject) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)subject->owner, subject->descriptor);
    errno = 0;
    int opened = open(path, O_RDWR | O_CLOEXEC);
    int result = error_or_ok(opened >= 0 && has_inode(opened, subject->inode));
    if (opened >= 0) {
        close(opened);
    }
    return result;
}

static int try_pidfd(struct subject *subject) {
    errno = 0;
    int process = (int)syscall(SYS_pidfd_open, subject->owner, 0);
    if (process < 0) {
        return errno;
    }
    close(process);
    return 0;
}

static int try_pidfd_getfd(struct subject *subject) {
    errno = 0;
    int process = (int)syscall(SYS_pidfd_open, subject->owner, 0);
    if (process < 0) {
        return errno;
    }
    int copy = (int)syscall(SYS_pidfd_getfd, process, subject->descriptor, 0);
    int result = error_or_ok(copy >= 0 && has_inode(copy, subject->inode));
    close(process);
    if (copy >= 0) {
        close(copy);
    }
    return result;
}

/* Sends a descriptor to itself. */
static int try_scm(struct subject *subject) {
    int ends[2];
    (void)subject;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno;
    }
    errno = 0;
    trma_mem_door_send(ends[0], SUBJECT_WORD, ends[0]);
    int copy = trma_mem_door_receive(ends[1], SUBJECT_WORD);
    int result = error_or_ok(copy >= 0);
    if (copy >= 0) {
        close(copy);
    }
    close(ends[0]);
    close(ends[1]);
    return result;
}

static int try_shm(struct subject *subject) {
    char name[TRMA_BACKING_NAME];
    (void)subject;
    trma_mem_backing_name((uint64_t)getpid(), 0, name);
    errno = 0;
    int descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (descriptor < 0) {
        return errno;
    }
    shm_unlink(name);
    /* A page that is really there: /dev/shm may be full. */
    int result = error_or_ok(ftruncate(descriptor, (off_t)trma_mem_page_size()) == 0 &&
                             fallocate(descriptor, 0, 0, (off_t)trma_mem_page_size()) == 0);
    close(descriptor);
    return result;
}

static int try_userfaultfd(struct subject *subject) {
    (void)subject;
    errno = 0;
    int descriptor = trma_mem_guard_open_userfault();
    if (descriptor < 0) {
        return error_or_ok(false);
    }
    close(descriptor);
    return 0;
}

static int try_xpmem(struct subject *subject) {
    (void)subject;
    return trma_mem_xpmem_try();
}

static const struct trial trials[] = {
    {"memfd", try_memfd, false, "windows' memory without a limit but memory itself, nothing left behind",
     "needs memfd_create in the container's seccomp profile"},
    {"CMA", try_cma, true, "any memory of a peer is read and written by one system call",
     "needs process_vm_readv in the container's profile (Docker: --cap-add SYS_PTRACE), yama.ptrace_scope <= "
     "1"},
    {"/proc/<pid>/mem", try_memory_file, true, "the same, where the system calls of CMA are refused",
     "needs /proc mounted and visible, yama.ptrace_scope <= 1"},
    {"/proc/<pid>/fd", try_proc, true, "regions are passed to peers of the same user",
     "needs /proc mounted and visible (hidepid=0 or 1 for the same user)"},
    {"pidfd_getfd", try_pidfd_getfd, true, "regions are passed where /proc is hidden",
     "needs Linux 5.6 and pidfd_getfd in the container's profile"},
    {"SCM_RIGHTS", try_scm, false, "regions are passed by a socket, across pid namespaces",
     "needs Unix sockets"},
    {"POSIX shm", try_shm, false, "regions are passed by a name in /dev/shm",
     "needs a writable /dev/shm with space left"},
    {"pidfd", try_pidfd, true, "the end of a peer is noticed, whoever gets its pid",
     "needs Linux 5.3 and pidfd_open"},
    {"userfaultfd", try_userfaultfd, false,
     "pages in use can be moved into a region while threads write to them",
     "needs vm.unprivileged_userfaultfd=1, or access to /dev/userfaultfd"},
    {"XPMEM", try_xpmem, false, "any memory of a peer is mapped as it is, nothing needs to be adopted",
     "needs the kernel module xpmem, and /dev/xpmem to be opened by users; nothing depends on it"},
};

#define TRIALS (sizeof trials / sizeof trials[0])

_Static_assert(TRIALS <= TRMA_PROBE_DOORS, "there is room for every door");

/* Errors of the child's attempts; ECHILD where the child has not come that far. */
static void try_in_child(struct subject *subject, int errors[TRIALS]) {
    int *results =
        mmap(NULL, TRIALS * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < TRIALS; i++) {
        errors[i] = ECHILD;
    }
    if (results == MAP_FAILED) {
        return;
    }
    memcpy(results, errors, TRIALS * sizeof *results);
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < TRIALS; i++) {
            if (trials[i].in_child) {
                results[i] = trials[i].attempt(subject);
            }
        }
        _exit(0);
    }
    if (child > 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
        memcpy(errors, results, TRIALS * sizeof *results);
    }
    munmap(results, TRIALS * sizeof *results);
}

static void tell(struct trma_door *door, const struct trial *trial, int error) {
    door->name = trial->name;
    door->is_open = error == 0;
    if (error == 0) {
        snprintf(door->detail, sizeof door->detail, "%s", trial->when_open);
    } else {
        snprintf(door->detail, sizeof door->detail, "%s (%s)", trial->when_refused,
                 error == ECHILD ? "no child process could try it" : strerror(error));
    }
}

void trma_node_probe_doors(struct trma_probe *out) {
    struct trma_backing backing = {.descriptor = -1};
    struct subject subject = {.owner = getpid(), .word = SUBJECT_WORD};
    subject.descriptor = memfd_create("truerma-probe", MFD_CLOEXEC);
    subject.memfd_error = subject.descriptor >= 0 ? 0 : errno;
    if (subject.descriptor < 0 &&
        trma_mem_backing_create(trma_mem_page_size(), 0, false, &backing) == TRMA_OK) {
        subject.descriptor = backing.descriptor; /* the doors are tried with what there is */
    }
    struct stat status;
    if (subject.descriptor >= 0 && fstat(subject.descriptor, &status) == 0) {
        subject.inode = status.st_ino;
    }
    if (trma_node_process_yama_scope() > 0) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0UL, 0UL, 0UL); /* as every rank does */
    }
    int child_errors[TRIALS];
    try_in_child(&subject, child_errors);
    out->n_doors = TRIALS;
    for (size_t i = 0; i < TRIALS; i++) {
        int error = trials[i].in_child ? child_errors[i] : trials[i].attempt(&subject);
        tell(&out->doors[i], &trials[i], error);
    }
    if (subject.descriptor >= 0) {
        close(subject.descriptor);
    }
}

int trma_node_probe_huge_pages(void) {
    int descriptor = memfd_create("truerma-probe", MFD_CLOEXEC);
    if (descriptor < 0) {
        return errno;
    }
    int result = ENOMEM;
    void *memory = NULL;
    if (ftruncate(descriptor, (off_t)TRMA_HUGE_PAGE) == 0) {
        memory = trma_mem_backing_map(descriptor, TRMA_HUGE_PAGE, TRMA_HUGE_PAGE, false);
    }
    if (memory != NULL) {
        errno = 0;
        result = error_or_ok(madvise(memory, TRMA_HUGE_PAGE, MADV_POPULATE_WRITE) == 0 &&
                             madvise(memory, TRMA_HUGE_PAGE, MADV_COLLAPSE) == 0);
        munmap(memory, TRMA_HUGE_PAGE);
    }
    close(descriptor);
    return result;
}
