/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mem_tracker.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3: memory that can never be executed; older kernels answer EINVAL */
#endif

static _Atomic uint64_t backing_nonce;
static atomic_bool memfd_is_allowed = true;

size_t trma_mem_page_size(void) {
    static atomic_size_t known;
    size_t size = atomic_load_explicit(&known, memory_order_relaxed);
    if (size == 0) {
        size = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, size, memory_order_relaxed);
    }
    return size;
}

size_t trma_mem_round_up(size_t value, size_t unit) {
    if (value > SIZE_MAX - (unit - 1)) {
        return 0;
    }
    return (value + unit - 1) & ~(unit - 1);
}

void trma_mem_backing_set_nonce(uint64_t nonce) {
    atomic_store(&backing_nonce, nonce);
}

uint64_t trma_mem_backing_nonce(void) {
    return atomic_load(&backing_nonce);
}

void trma_mem_backing_allow_memfd(bool allow) {
    atomic_store(&memfd_is_allowed, allow);
}

void trma_mem_backing_name(uint64_t nonce, uint64_t serial, char *name) {
    snprintf(name, TRMA_BACKING_NAME, TRMA_TRACKER_PREFIX "%016llx-%llu", (unsigned long long)nonce,
             (unsigned long long)serial);
}

/* A kernel that promises no more than it has (vm.overcommit_memory = 2) refuses pages of a memfd late, by
 * SIGBUS. */
static bool overcommit_is_strict(void) {
    static atomic_int known = -1;
    int strict = atomic_load_explicit(&known, memory_order_relaxed);
    if (strict < 0) {
        char digit = '0';
        int descriptor = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
        if (descriptor >= 0) {
            if (read(descriptor, &digit, 1) != 1) {
                digit = '0';
            }
            close(descriptor);
        }
        strict = digit == '2';
        atomic_store_explicit(&known, strict, memory_order_relaxed);
    }
    return strict;
}

static int make_memfd(void) {
    int descriptor = memfd_create("truerma", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (descriptor < 0 && errno == EINVAL) {
        descriptor = memfd_create("truerma", MFD_CLOEXEC);
    }
    return descriptor;
}

/* A POSIX object that loses its name at once. The name is random: nothing of the process need be known yet.
 */
static int make_nameless_object(void) {
    for (int attempt = 0; attempt < 8; attempt++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            random = ((uint64_t)getpid() << 40) ^ (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 30);
        }
        char name[TRMA_BACKING_NAME];
        trma_mem_backing_name(random, 0, name);
        int descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
        if (descriptor >= 0) {
            shm_unlink(name);
            return descriptor;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return -1;
}

static int make_named_object(uint64_t serial) {
    if (!trma_mem_tracker_start(trma_mem_backing_nonce())) {
        return -1;
    }
    char name[TRMA_BACKING_NAME];
    trma_mem_backing_name(trma_mem_backing_nonce(), serial, name);
    return shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
}

static bool is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC;
}

/* A file beyond the limit for files (ulimit -f) would not only fail: it would raise SIGXFSZ. */
static bool exceeds_file_limit(size_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur;
}

enum trma_status trma_mem_backing_create(size_t size, uint64_t serial, bool named, struct trma_backing *out) {
    *out = (struct trma_backing){.descriptor = -1};
    if (exceeds_file_limit(size)) {
        return TRMA_ERR_NO_MEMORY;
    }
    if (named) {
        out->descriptor = make_named_object(serial);
        out->is_named = out->descriptor >= 0;
        out->is_limited = true;
    } else {
        bool allowed = atomic_load(&memfd_is_allowed);
        errno = EPERM;
        out->descriptor = allowed ? make_memfd() : -1;
        out->is_limited = overcommit_is_strict();
        if (out->descriptor < 0 && !is_shortage(errno)) {
            out->descriptor = make_nameless_object();
            out->is_limited = true;
        }
    }
    if (out->descriptor < 0) {
        return is_shortage(errno) ? TRMA_ERR_NO_MEMORY : TRMA_ERR_REFUSED;
    }
    struct stat status;
    if (ftruncate(out->descriptor, (off_t)size) != 0 || fstat(out->descriptor, &status) != 0) {
        trma_mem_backing_destroy(out, serial);
        return TRMA_ERR_NO_MEMORY;
    }
    out->inode = status.st_ino;
    return TRMA_OK;
}

void trma_mem_backing_unname(struct trma_backing *backing, uint64_t serial) {
    if (backing->is_named) {
        char name[TRMA_BACKING_NAME];
        trma_mem_backing_name(trma_mem_backing_nonce(), serial, name);
        shm_unlink(name);
        backing->is_named = false;
    }
}

void trma_mem_backing_destroy(struct trma_backing *backing, uint64_t serial) {
    trma_mem_backing_unname(backing, serial);
    if (backing->descriptor >= 0) {
        close(backing->descriptor);
        backing->descriptor = -1;
    }
}

bool trma_mem_backing_reserve(const struct trma_backing *backing, size_t offset, size_t size) {
    size_t page = trma_mem_page_size();
    size_t low = offset & ~(page - 1);
    size_t high = trma_mem_round_up(offset + size, page);
    int result;
    do {
        result = fallocate(backing->descriptor, 0, (off_t)low, (off_t)(high - low));
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

void trma_mem_backing_punch(const struct trma_backing *backing, size_t offset, size_t size) {
    size_t page = trma_mem_page_size();
    size_t low = trma_mem_round_up(offset, page);
    size_t high = (offset + size) & ~(page - 1);
    if (low < high) {
        /* Best effort: a kernel that refuses only keeps the pages for longer. */
        (void)fallocate(backing->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)low,
                        (off_t)(high - low));
    }
}

static void *map_anywhere(int descriptor, size_t size) {
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return base == MAP_FAILED ? NULL : base;
}

void *trma_mem_backing_map(int descriptor, size_t size, size_t alignment, bool is_wish) {
    if (alignment <= trma_mem_page_size()) {
        return map_anywhere(descriptor, size);
    }
    /* Reserve more than is needed, map in the aligned middle, cut the rest off. */
    size_t room = size + alignment;
    char *reserved = room < size
                         ? MAP_FAILED
                         : mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        if (is_wish) {
            return map_anywhere(descriptor, size);
        }
        errno = ENOMEM;
        return NULL;
    }
    char *base = (char *)(((uintptr_t)reserved + alignment - 1) & ~((uintptr_t)alignment - 1));
    char *end = reserved + room;
    if (mmap(base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
        int error = errno;
        munmap(reserved, room);
        errno = error;
        return NULL;
    }
    if (base > reserved) {
        munmap(reserved, (size_t)(base - reserved));
    }
    if (end > base + size) {
        munmap(base + size, (size_t)(end - (base + size)));
    }
    return base;
}
