/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_host.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "face_log.h"

#ifdef OPEN_MPI
static const char our_abi[] = "Open MPI";
struct trma_openmpi_symbols trma_openmpi;
#else
static const char our_abi[] = "MPICH";
#endif

struct trma_host_table trma_host_functions;
bool trma_host_is_known;

struct row {
    const char *symbol;
    size_t place;
    bool required;
};

static const struct row rows[] = {TRMA_HOST_TABLE_ROWS};

/* True when `symbol`, looked up through the library's handle, lies in that library itself and not in one it
 * depends on. */
static bool defines(void *handle, const char *path, const char *symbol) {
    Dl_info info;
    void *address = dlsym(handle, symbol);

    return address && dladdr(address, &info) && info.dli_fname && strcmp(info.dli_fname, path) == 0;
}

/* A library that defines PMPI_Win_create and is not this one. */
static int look_at(struct dl_phdr_info *info, size_t size, void *found) {
    Dl_info self;

    (void)size;
    if (!info->dlpi_name || !info->dlpi_name[0] || !dladdr(&trma_host_functions, &self) ||
        strcmp(info->dlpi_name, self.dli_fname) == 0) {
        return 0;
    }
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) {
        return 0;
    }
    if (defines(handle, info->dlpi_name, "PMPI_Win_create") &&
        defines(handle, info->dlpi_name, "PMPI_Comm_size")) {
        *(void **)found = handle; /* kept open: the functions must stay */
        return 1;
    }
    dlclose(handle);
    return 0;
}

static void give_up(const char *what) {
    fprintf(stderr, "truerma: %s (TRUERMA=off runs the program without TrueRMA)\n", what);
    exit(2);
}

#ifdef OPEN_MPI
/*
 * Data symbols are looked for in the program first: a program that names MPI_SUM has a copy of the symbol in
 * its own data (a copy relocation), libmpi itself uses that one, and its address is what the handle is. Where
 * libmpi was loaded locally the program has none.
 */
static void *find_data(void *libmpi, const char *symbol) {
    void *address = dlsym(RTLD_DEFAULT, symbol);

    return address ? address : dlsym(libmpi, symbol);
}
#endif

static void resolve_once(void) {
    void *libmpi = NULL;
    char text[256];

    dl_iterate_phdr(look_at, (void *)&libmpi);
    if (!libmpi) {
        give_up("no MPI library is loaded in this process, but an MPI function was called");
    }
    /* Every Open MPI has this data symbol, no MPI of the MPICH ABI has. */
    bool is_openmpi = dlsym(libmpi, "ompi_mpi_comm_world") != NULL;
    if (is_openmpi != (strcmp(our_abi, "Open MPI") == 0)) {
        snprintf(text, sizeof text, "this is TrueRMA's library for %s, but the program runs on %s", our_abi,
                 is_openmpi ? "Open MPI: preload libtruerma-openmpi.so"
                            : "an MPI of the MPICH ABI: preload libtruerma-mpich.so");
        give_up(text);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *address = dlsym(libmpi, rows[i].symbol);
        if (!address && rows[i].required) {
            snprintf(text, sizeof text, "the MPI library has no %s", rows[i].symbol);
            give_up(text);
        }
        memcpy((char *)&trma_host_functions + rows[i].place, (void *)&address, sizeof address);
    }
#ifdef OPEN_MPI
#define TRMA_OPENMPI_RESOLVE(symbol) trma_openmpi.symbol = find_data(libmpi, #symbol);
    TRMA_OPENMPI_SYMBOLS(TRMA_OPENMPI_RESOLVE)
#undef TRMA_OPENMPI_RESOLVE
#endif
    __atomic_store_n(&trma_host_is_known, true, __ATOMIC_RELEASE);
}

void trma_host_resolve(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, resolve_once);
}

int trma_host_lacks(const char *name) {
    trma_log(TRMA_LOG_ERROR, "the MPI library has no %s", name);
    return MPI_ERR_OTHER;
}

static bool is_world_alive(void) {
    int initialized = 0;
    int finalized = 0;

    trma_host()->Initialized(&initialized);
    trma_host()->Finalized(&finalized);
    return initialized && !finalized;
}

void trma_host_progress(void) {
    enum { UNLIKELY_TAG = 32603 };
    int flag;

    /* Looking for a message that nobody sends makes the host look for all others on its way. */
    if (is_world_alive()) {
        trma_host()->Iprobe(0, UNLIKELY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
}

int trma_host_completed_request(MPI_Request *request) {
    /* A send to nobody is complete from the start on every MPI, costs no allocation, and every Wait, Test,
     * Cancel and free takes it. MPI leaves all fields of the status but the error undefined (MPI-4.1
     * section 12.3.5). */
    return trma_host()->Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
}
