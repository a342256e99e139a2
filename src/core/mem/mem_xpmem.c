/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_xpmem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "mem_backing.h"
#include "mem_region.h"

/*
 * The kernel module's interface: numbers and layouts of the commands, as its user library passes them. A
 * result comes back in the last field of a command.
 */
enum { PERMIT_MODE = 1, READ_AND_WRITE = 2, SAME_USER = 0600 };

#define COMMAND_VERSION _IO('x', 0)
#define COMMAND_MAKE    _IO('x', 1)
#define COMMAND_GET     _IO('x', 3)
#define COMMAND_RELEASE _IO('x', 4)
#define COMMAND_ATTACH  _IO('x', 5)
#define COMMAND_DETACH  _IO('x', 6)

/* Size of a segment that is the whole address space. */
#define ALL_MEMORY SIZE_MAX

struct make {
    uint64_t address;
    size_t size;
    int permit_type;
    uint64_t permit_value;
    int64_t segment;
};

struct get {
    int64_t segment;
    int flags;
    int permit_type;
    uint64_t permit_value;
    int64_t access;
};

struct release {
    int64_t access;
};

struct attach {
    int64_t access;
    off_t offset;
    size_t size;
    uint64_t address; /* where it is wanted, 0: anywhere; then where it is */
    int unused[2];
};

struct detach {
    uint64_t address;
};

static atomic_bool is_allowed = true;

/* Guarded by device_lock. The device is of the process that opened it: the module tells processes apart. */
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int device = -1;
static int64_t offered;

static void before_fork(void) {
    pthread_mutex_lock(&device_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&device_lock);
}

static void after_fork_in_child(void) {
    if (device >= 0) {
        close(device);
    }
    device = -1;
    offered = 0;
    pthread_mutex_unlock(&device_lock);
}

static void install_fork_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void trma_mem_xpmem_allow(bool allow) {
    atomic_store(&is_allowed, allow);
}

/* The device, opened at the first use; -1 with errno set when there is none. */
static int open_device(void) {
    pthread_once(&fork_once, install_fork_handlers);
    if (!atomic_load(&is_allowed)) {
        errno = EACCES;
        return -1;
    }
    pthread_mutex_lock(&device_lock);
    if (device < 0) {
        device = open("/dev/xpmem", O_RDWR | O_CLOEXEC);
        /* Something else may have that name. */
        if (device >= 0 && ioctl(device, COMMAND_VERSION, 0) < 0) {
            int error = errno;
            close(device);
            device = -1;
            errno = error;
        }
    }
    int opened = device;
    pthread_mutex_unlock(&device_lock);
    return opened;
}

static bool command(unsigned long request, void *argument) {
    int opened = open_device();
    return opened >= 0 && ioctl(opened, request, argument) == 0;
}

int trma_mem_xpmem_try(void) {
    return open_device() >= 0 ? 0 : errno;
}

int64_t trma_mem_xpmem_offer(void) {
    struct make make = {.size = ALL_MEMORY, .permit_type = PERMIT_MODE, .permit_value = SAME_USER};
    pthread_mutex_lock(&device_lock);
    int64_t segment = offered;
    pthread_mutex_unlock(&device_lock);
    if (segment == 0 && command(COMMAND_MAKE, &make)) {
        pthread_mutex_lock(&device_lock);
        segment = offered = make.segment;
        pthread_mutex_unlock(&device_lock);
    }
    return segment;
}

int64_t trma_mem_xpmem_access(int64_t segment) {
    struct get get = {
        .segment = segment, .flags = READ_AND_WRITE, .permit_type = PERMIT_MODE, .permit_value = SAME_USER};
    return segment != 0 && command(COMMAND_GET, &get) ? get.access : 0;
}

void trma_mem_xpmem_end_access(int64_t access) {
    struct release release = {access};
    if (access != 0) {
        (void)command(COMMAND_RELEASE, &release);
    }
}

enum trma_status trma_mem_xpmem_attach(int64_t access, uint64_t address, uint64_t size, void **base) {
    struct attach attach = {.access = access, .offset = (off_t)address, .size = size, .unused = {-1, 0}};
    if (access == 0 || !command(COMMAND_ATTACH, &attach)) {
        return TRMA_ERR_REFUSED;
    }
    *base = (void *)(uintptr_t)attach.address;
    return TRMA_OK;
}

void trma_mem_xpmem_detach(void *base) {
    struct detach detach = {(uint64_t)(uintptr_t)base};
    (void)command(COMMAND_DETACH, &detach);
}

void trma_mem_xpmem_describe(const void *address, size_t size, struct trma_share *share) {
    uintptr_t page = trma_mem_page_size();
    uintptr_t low = (uintptr_t)address / page * page;
    uintptr_t high = ((uintptr_t)address + size + page - 1) / page * page;
    *share = (struct trma_share){
        .address = (uintptr_t)address,
        .size = size,
        .mapped_low = (uintptr_t)address,
        .mapped_high = (uintptr_t)address + size,
        .offset = (uintptr_t)address - low,
        .ticket = {.size = high - low, .inode = low, .descriptor = -1, .flags = TRMA_TICKET_IS_XPMEM}};
    trma_mem_region_lock();
    share->ticket.serial = trma_mem_region_next_serial();
    trma_mem_region_unlock();
}
