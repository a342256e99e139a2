/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>

int check_rank;
int check_ranks;

static atomic_int passed;
static atomic_int failed;

static void find_place(void) {
    static char buffer[BUFSIZ];

    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_ranks);
    /* MPICH 5 takes the buffer away, and the lines of several ranks would mix. */
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
}

void check_begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    find_place();
}

void check_begin_threads(int *argc, char ***argv, int level) {
    int provided = -1;

    MPI_Init_thread(argc, argv, level, &provided);
    find_place();
    CHECK_THAT(provided >= level, "thread level %d is provided, %d is needed", provided, level);
}

void check_counts(int counts[2]) {
    counts[0] = passed;
    counts[1] = failed;
}

typedef int (*get_path)(MPI_Win win, int rank, const char **path, const char **reason);

/* Found at run time: the same program runs on the host alone. */
static get_path find_get_path(void) {
    return (get_path)dlsym(RTLD_DEFAULT, "TRMA_Win_get_path");
}

bool check_is_truerma(void) {
    return find_get_path() != NULL;
}

const char *check_path(MPI_Win win, int rank) {
    const char *path = "alone";
    get_path ask = find_get_path();

    if (ask) {
        ask(win, rank, &path, NULL);
    }
    return path;
}

int check_finish(void) {
    int mine[2];
    int all[2] = {0, 0};

    check_counts(mine);
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (check_rank == 0) {
        printf("%d passed, %d failed\n", all[0], all[1]);
    }
    MPI_Finalize();
    /* A test that checked nothing has not passed. */
    return all[1] != 0 || all[0] == 0;
}

void check_one(bool ok, const char *file, int line, const char *format, ...) {
    enum { MAX_TOLD = 20 };
    char text[512];
    va_list arguments;

    if (ok) {
        passed++;
        return;
    }
    if (failed++ < MAX_TOLD) {
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        fprintf(stderr, "%s:%d: rank %d: FAILED: %s\n", file, line, check_rank, text);
    }
}

void check_same(long long actual, long long expected, const char *file, int line, const char *text) {
    check_one(actual == expected, file, line, "%s is %lld, expected %lld", text, actual, expected);
}

void check_class(int code, int expected, const char *file, int line, const char *text) {
    int class = MPI_SUCCESS;

    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
    }
    check_one(class == expected, file, line, "%s gives error class %d, expected %d", text, class, expected);
}

const char *check_flavor_name(enum check_flavor flavor) {
    static const char *const names[] = {
        "create",  "allocate",        "allocate_shared",        "create on alloc_mem",
        "dynamic", "create, adopted", "allocate, small updates"};

    return names[flavor];
}

void check_window_make(struct check_window *window, enum check_flavor flavor, size_t size, MPI_Comm comm) {
    MPI_Aint mine = 0;

    *window = (struct check_window){.flavor = flavor, .size = size, .bytes = size};
    MPI_Comm_size(comm, &window->ranks);
    window->origins = calloc((size_t)window->ranks, sizeof *window->origins);
    switch (flavor) {
    case CHECK_CREATE:
        window->base = calloc(size + 1, 1);
        MPI_Win_create(window->base, (MPI_Aint)size, 1, MPI_INFO_NULL, comm, &window->win);
        break;
    case CHECK_ALLOC_MEM:
        MPI_Alloc_mem((MPI_Aint)size + 1, MPI_INFO_NULL, &window->base);
        MPI_Win_create(window->base, (MPI_Aint)size, 1, MPI_INFO_NULL, comm, &window->win);
        break;
    case CHECK_ALLOCATE:
        MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, comm, &window->base, &window->win);
        break;
    case CHECK_SMALL_UPDATES: {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_accumulate_granularity", "8");
        MPI_Win_allocate((MPI_Aint)size, 1, info, comm, &window->base, &window->win);
        MPI_Info_free(&info);
        break;
    }
    case CHECK_SHARED:
        MPI_Win_allocate_shared((MPI_Aint)size, 1, MPI_INFO_NULL, comm, &window->base, &window->win);
        break;
    case CHECK_ADOPTED: {
        /* Whole pages in front of and behind the bytes that are used, and a ragged start. */
        enum { PAGE = 4096, RAGGED = 48 };
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "truerma_adopt", "always");
        window->memory = calloc(size + 2 * PAGE + RAGGED, 1);
        window->base = (char *)window->memory + RAGGED;
        window->bytes = size + 2 * PAGE;
        MPI_Win_create(window->base, (MPI_Aint)window->bytes, 1, info, comm, &window->win);
        MPI_Info_free(&info);
        break;
    }
    case CHECK_DYNAMIC:
    default:
        window->base = calloc(size + 1, 1);
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window->win);
        MPI_Win_attach(window->win, window->base, (MPI_Aint)size);
        MPI_Get_address(window->base, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, window->origins, 1, MPI_AINT, comm);
        break;
    }
    memset(window->base, 0, size);
    MPI_Barrier(comm);
}

void check_window_free(struct check_window *window) {
    if (window->flavor == CHECK_DYNAMIC) {
        /* No rank may detach while another still has an operation under way. */
        MPI_Win_fence(0, window->win);
        MPI_Win_detach(window->win, window->base);
    }
    MPI_Win_free(&window->win);
    if (window->flavor == CHECK_ADOPTED) {
        free(window->memory);
    } else if (window->flavor == CHECK_CREATE || window->flavor == CHECK_DYNAMIC) {
        free(window->base);
    } else if (window->flavor == CHECK_ALLOC_MEM) {
        MPI_Free_mem(window->base);
    }
    free(window->origins);
}

MPI_Aint check_disp(const struct check_window *window, int rank, size_t offset) {
    return window->origins[rank] + (MPI_Aint)offset;
}

void check_one_flavor(enum check_flavor flavor, size_t size, void (*body)(struct check_window *window)) {
    struct check_window window;

    check_window_make(&window, flavor, size, MPI_COMM_WORLD);
    body(&window);
    check_window_free(&window);
}

void check_each_flavor(size_t size, void (*body)(struct check_window *window)) {
    for (int flavor = 0; flavor < CHECK_FLAVORS; flavor++) {
        check_one_flavor((enum check_flavor)flavor, size, body);
    }
}

uint64_t check_pattern(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xbf58476d1ce4e5b9) +
                 c * UINT64_C(0x94d049bb133111eb);

    x ^= x >> 29;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

int check_neighbour(int step) {
    return ((check_rank + step) % check_ranks + check_ranks) % check_ranks;
}

unsigned check_random(uint64_t *state, unsigned limit) {
    *state = check_pattern(*state, 77, 78) + 1;
    return limit ? (unsigned)((*state >> 20) % limit) : 0;
}
