/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_host.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_visit.h"
#include "face_log.h"

/* The ABIs that a libmpi may have, one of which this library was built for. */
enum abi { ABI_ANY = -1, ABI_MPICH, ABI_OPENMPI, ABI_STANDARD };

static const struct {
    const char *name;
    const char *library;    /* of ours, that serves it */
    const char *sonames[2]; /* that a libmpi has */
} abis[] = {
    [ABI_MPICH] = {"the MPICH ABI", "libtruerma-mpich.so", {"libmpi.so.12", "libmpich.so.12"}},
    [ABI_OPENMPI] = {"Open MPI's ABI", "libtruerma-openmpi.so", {"libmpi.so.40"}},
    [ABI_STANDARD] = {"the MPI standard's ABI", "libtruerma-abi.so", {"libmpi_abi.so.1"}},
};

#if defined MPI_ABI
static const enum abi our_abi = ABI_STANDARD;
#elif defined OPEN_MPI
static const enum abi our_abi = ABI_OPENMPI;
struct trma_openmpi_symbols trma_openmpi;
#else
static const enum abi our_abi = ABI_MPICH;
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

/*
 * The ABI of a libmpi. MPI_Abi_get_version gives -1 where a library has another than the standard's (MPI-5.0,
 * Application Binary Interface), and may be called before MPI_Init. Every Open MPI has the data symbol, no
 * MPI of the MPICH ABI has.
 */
static enum abi abi_of(void *libmpi) {
    int (*get_version)(int *major, int *minor) = (int (*)(int *, int *))dlsym(libmpi, "PMPI_Abi_get_version");
    int major = -1;
    int minor = -1;

    if (get_version && get_version(&major, &minor) == MPI_SUCCESS && major > 0) {
        return ABI_STANDARD;
    }
    return dlsym(libmpi, "ompi_mpi_comm_world") ? ABI_OPENMPI : ABI_MPICH;
}

/* A loaded library that defines both symbols, has the ABI, and is not this one. */
struct search {
    const char *symbol;
    const char *also;
    enum abi abi;
    void *handle; /* found; kept open: the functions must stay */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *argument) {
    struct search *search = argument;
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
    if (defines(handle, info->dlpi_name, search->symbol) && defines(handle, info->dlpi_name, search->also) &&
        (search->abi == ABI_ANY || search->abi == abi_of(handle))) {
        search->handle = handle;
        return 1;
    }
    dlclose(handle);
    return 0;
}

void *trma_host_symbol(const char *symbol) {
    struct search search = {.symbol = symbol, .also = symbol, .abi = ABI_ANY};

    dl_iterate_phdr(look_at, &search);
    return search.handle ? dlsym(search.handle, symbol) : NULL;
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

/*
 * A program that was linked with this library in front of its MPI, and calls nothing that is not wrapped, has
 * lost its libmpi to the linker's --as-needed: it is loaded now, as the dynamic linker would have.
 */
static void *load_lost(void) {
    void *handle = NULL;

    for (size_t i = 0; i < sizeof abis[0].sonames / sizeof abis[0].sonames[0] && !handle; i++) {
        const char *soname = abis[our_abi].sonames[i];
        handle = soname ? dlopen(soname, RTLD_LAZY | RTLD_GLOBAL) : NULL;
    }
    return handle;
}

static void resolve_once(void) {
    struct search search = {.symbol = "PMPI_Win_create", .also = "PMPI_Comm_size", .abi = our_abi};
    char text[256];

    /* A library with the standard's ABI may stand on another libmpi: the one of our ABI is the program's. */
    dl_iterate_phdr(look_at, &search);
    void *libmpi = search.handle;
    if (!libmpi) {
        search.abi = ABI_ANY;
        dl_iterate_phdr(look_at, &search);
        libmpi = search.handle ? NULL : load_lost();
    }
    if (!libmpi) {
        if (!search.handle) {
            give_up("no MPI library is loaded in this process, but an MPI function was called");
        }
        enum abi found = abi_of(search.handle);
        snprintf(text, sizeof text,
                 "this is TrueRMA's library for %s, but the program's MPI has %s: preload %s",
                 abis[our_abi].name, abis[found].name, abis[found].library);
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

bool trma_host_has_world(void) {
    int initialized = 0;
    int finalized = 0;

    trma_host()->Initialized(&initialized);
    trma_host()->Finalized(&finalized);
    return initialized && !finalized;
}

static int tell_nothing(void *extra, MPI_Status *status) {
    (void)extra;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    trma_host()->Status_set_elements(status, MPI_BYTE, 0);
    return trma_host()->Status_set_cancelled(status, 0);
}

static int free_nothing(void *extra) {
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *extra, int complete) {
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

/* A request that needs no communicator. */
static int start_request(MPI_Request *request) {
    return trma_host()->Grequest_start(tell_nothing, free_nothing, cancel_nothing, NULL, request);
}

/* A program that has sessions only: MPI_COMM_WORLD and MPI_COMM_SELF do not exist. Asking after a request
 * that is not complete makes the host look for all others. */
static void progress_in_session(void) {
    MPI_Request request;
    int flag;

    if (start_request(&request) == MPI_SUCCESS) {
        trma_host()->Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        trma_host()->Grequest_complete(request);
        trma_host()->Request_free(&request);
    }
}

void trma_host_progress(void) {
    /* Who waits here may be the owner of a window that has earned its adoption meanwhile. */
    trma_visit();
    enum { UNLIKELY_TAG = 32603 };
    int flag;
    int me = 0;

    /* Looking for a message that nobody sends makes the host look for all others on its way. Not on
     * MPI_COMM_SELF nor on any communicator of one process: MPICH 4.0 makes no progress then. From oneself:
     * that queue is the shortest. */
    if (trma_host_has_world()) {
        trma_host()->Comm_rank(MPI_COMM_WORLD, &me);
        trma_host()->Iprobe(me, UNLIKELY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    } else {
        progress_in_session();
    }
}

bool trma_host_is_threaded(void) {
    int level =
        MPI_THREAD_MULTIPLE; /* in a program that has sessions only, each may have a level of its own */

    if (trma_host_has_world()) {
        trma_host()->Query_thread(&level);
    }
    return level == MPI_THREAD_MULTIPLE;
}

int trma_host_copy_nothing(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

int trma_host_completed_request(MPI_Request *request) {
    /* A send to nobody is complete from the start on every MPI, costs no allocation, and every Wait, Test,
     * Cancel and free takes it. MPI leaves all fields of the status but the error undefined (MPI-4.1
     * section 12.3.5). */
    if (!trma_host_has_world()) {
        int code = start_request(request);
        return code == MPI_SUCCESS ? trma_host()->Grequest_complete(*request) : code;
    }
    return trma_host()->Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
}
