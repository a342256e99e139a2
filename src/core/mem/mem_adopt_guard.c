/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_adopt_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int trma_mem_guard_open_userfault(void) {
    int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
        if (device >= 0) {
            descriptor = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
            close(device);
        }
    }
    if (descriptor < 0) {
        return -1;
    }
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
    if (ioctl(descriptor, UFFDIO_API, &api) != 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

const char *trma_mem_guard_open(struct trma_guard *guard, bool has_threads) {
    guard->userfault = -1;
    if (has_threads) {
        guard->userfault = trma_mem_guard_open_userfault();
        if (guard->userfault < 0) {
            return "other threads are running, and the kernel does not let us hold their writes back "
                   "(vm.unprivileged_userfaultfd=1 or access to /dev/userfaultfd would)";
        }
    }
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &guard->signals);
    return NULL;
}

void trma_mem_guard_close(struct trma_guard *guard) {
    if (guard->userfault >= 0) {
        close(guard->userfault); /* ends every registration and wakes every waiter */
    }
    pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
}

bool trma_mem_guard_is_possible(bool has_threads) {
    struct trma_guard guard;
    if (trma_mem_guard_open(&guard, has_threads) != NULL) {
        return false;
    }
    trma_mem_guard_close(&guard);
    return true;
}

bool trma_mem_guard_hold(struct trma_guard *guard, uintptr_t low, uintptr_t high) {
    if (guard->userfault < 0) {
        return true;
    }
    /* MISSING too: a first touch during the copy would make a page that the copy has not seen. */
    struct uffdio_register range = {.range = {.start = low, .len = high - low},
                                    .mode = UFFDIO_REGISTER_MODE_WP | UFFDIO_REGISTER_MODE_MISSING};
    if (ioctl(guard->userfault, UFFDIO_REGISTER, &range) != 0) {
        return false;
    }
    struct uffdio_writeprotect protect = {.range = range.range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    int result;
    do {
        result = ioctl(guard->userfault, UFFDIO_WRITEPROTECT, &protect);
    } while (result != 0 && errno == EAGAIN);
    if (result != 0) {
        trma_mem_guard_let_go(guard, low, high);
    }
    return result == 0;
}

void trma_mem_guard_let_go(struct trma_guard *guard, uintptr_t low, uintptr_t high) {
    if (guard->userfault < 0) {
        return;
    }
    /* Where the old mapping is still there it loses its protection; where it has been replaced, nothing is
     * registered any more. */
    struct uffdio_range range = {.start = low, .len = high - low};
    (void)ioctl(guard->userfault, UFFDIO_UNREGISTER, &range);
    (void)ioctl(guard->userfault, UFFDIO_WAKE, &range);
}
