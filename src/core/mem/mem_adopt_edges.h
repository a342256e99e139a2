/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_MEM_ADOPT_EDGES_H
#define TRMA_MEM_ADOPT_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The pages at the edges of a range hold bytes of strangers: other data of this process. Adopting them is
 * safe when nobody can write to a stranger while the pages are exchanged, and nobody can reach it through the
 * new mapping who could not before:
 *  - peers map the page, but write only what the window has;
 *  - the caller is the only thread, or the others are trusted (mem_adopt.h) and userfaultfd holds them back.
 *    The program's own threads may hold the lock of an open FILE, which the child of a fork in a process with
 *    several threads resets before any handler runs; the host's helper threads have no FILE on the heap. Or
 *    the strangers are known: of a big block of glibc's malloc, which has pages of its own, they are the
 *    block's header;
 *  - the page is no static data, where libraries may have variables that the exchange itself needs;
 *  - the page is not the first one of a further arena of glibc's malloc (a multiple of 64 MiB), whose lock a
 *    fork releases in the child before any handler runs;
 *  - the allocator never gives the whole page up while it holds a byte of a block in use; a stranger is freed
 *    and allocated again by plain stores; a mutex or a condition in private memory is found by its address.
 */
struct trma_page_range {
    uintptr_t low;
    uintptr_t high;     /* page boundaries; == low: nothing */
    bool has_strangers; /* that trusted threads may write to: they are held back as well */
};

/* The whole pages within [address, address + size). */
struct trma_page_range trma_mem_edges_inner(uintptr_t address, size_t size);

/* The pages that may be adopted for [address, address + size): those it touches, but for edges that are not
 * safe. */
struct trma_page_range trma_mem_edges_choose(uintptr_t address, size_t size);

#endif
