/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_RAW_H
#define TRMA_MEM_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * System calls that go straight to the kernel, for the moment in which pages are exchanged. Communication
 * libraries (UCX, libfabric) put code of their own in front of mmap, munmap and madvise, which frees and
 * allocates: its blocks may lie on the very page. They learn of the exchange before or after it, by a call to
 * mmap that changes nothing (mem_adopt_pages.c).
 */
static inline void *trma_mem_raw_mmap(void *address, size_t size, int protection, int flags, int file,
                                      off_t offset) {
    return (void *)(uintptr_t)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

static inline int trma_mem_raw_madvise(void *address, size_t size, int advice) {
    return (int)syscall(SYS_madvise, address, size, advice);
}

static inline int trma_mem_raw_mprotect(void *address, size_t size, int protection) {
    return (int)syscall(SYS_mprotect, address, size, protection);
}

static inline int trma_mem_raw_munmap(void *address, size_t size) {
    return (int)syscall(SYS_munmap, address, size);
}

/* mremap that keeps the size; `flags` has MREMAP_FIXED. */
static inline void *trma_mem_raw_remap(void *from, size_t size, int flags, void *to) {
    return (void *)(uintptr_t)syscall(SYS_mremap, from, size, size, flags, to);
}

static inline ssize_t trma_mem_raw_pread(int file, void *to, size_t size, off_t offset) {
    return syscall(SYS_pread64, file, to, size, offset);
}

static inline ssize_t trma_mem_raw_pwrite(int file, const void *from, size_t size, off_t offset) {
    return syscall(SYS_pwrite64, file, from, size, offset);
}

#endif
