/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows made and freed in great numbers: one after the other, many alive at once, on many communicators.
 * What the process has afterwards must not have grown: memory, descriptors, mappings.
 *
 *   lifecycle one-by-one|alive|communicators|unfreed N
 */
#include <dirent.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 256 };

struct footprint {
    long resident_kib;
    long descriptors;
    long mappings;
};

static long count_lines(const char *path) {
    FILE *file = fopen(path, "r");
    long lines = 0;

    for (int c = 0; file && (c = fgetc(file)) != EOF;) {
        lines += c == '\n';
    }
    if (file) {
        fclose(file);
    }
    return lines;
}

static long count_entries(const char *path) {
    DIR *folder = opendir(path);
    long entries = 0;

    while (folder && readdir(folder)) {
        entries++;
    }
    if (folder) {
        closedir(folder);
    }
    return entries;
}

static struct footprint footprint_now(void) {
    struct footprint now = {0};
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "VmRSS: %ld", &now.resident_kib);
    }
    if (status) {
        fclose(status);
    }
    now.descriptors = count_entries("/proc/self/fd");
    now.mappings = count_lines("/proc/self/maps");
    return now;
}

/* `windows` were made and freed between the two: room for what allocators keep, none for a leak per window.
 */
static void check_growth(struct footprint before, long windows) {
    enum { SLACK_KIB = 2048, SLACK_MAPPINGS = 8, SLACK_DESCRIPTORS = 4, LEAK_BYTES = 40 };
    struct footprint after = footprint_now();
    long kib = after.resident_kib - before.resident_kib;

    CHECK_THAT(kib <= SLACK_KIB + windows * LEAK_BYTES / 1024, "%ld windows left %ld KiB", windows, kib);
    CHECK_THAT(after.descriptors - before.descriptors <= SLACK_DESCRIPTORS,
               "%ld windows left %ld descriptors", windows, after.descriptors - before.descriptors);
    CHECK_THAT(after.mappings - before.mappings <= SLACK_MAPPINGS, "%ld windows left %ld mappings", windows,
               after.mappings - before.mappings);
    if (check_rank == 0) {
        printf("%ld windows: %ld KiB, %ld descriptors, %ld mappings more\n", windows, kib,
               after.descriptors - before.descriptors, after.mappings - before.mappings);
    }
}

/* One put to the next rank of the window, seen there. */
static void use(struct check_window *window, uint64_t salt, MPI_Comm comm) {
    int me;
    int ranks;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    int next = (me + 1) % ranks;
    uint64_t word = check_pattern(salt, (uint64_t)me, 1);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window->win);
    MPI_Put(&word, 8, MPI_BYTE, next, check_disp(window, next, 8), 8, MPI_BYTE, window->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
    CHECK_SAME(((uint64_t *)window->base)[1], check_pattern(salt, (uint64_t)((me + ranks - 1) % ranks), 1));
}

static void make_and_free(long windows) {
    for (long i = 0; i < windows; i++) {
        struct check_window window;
        check_window_make(&window, (enum check_flavor)(i % CHECK_FLAVORS), BYTES, MPI_COMM_WORLD);
        if (i % 8 == 0) {
            use(&window, (uint64_t)i, MPI_COMM_WORLD);
        }
        check_window_free(&window);
    }
}

static void one_by_one(long windows) {
    make_and_free(windows / 10 + CHECK_FLAVORS);
    struct footprint before = footprint_now();
    make_and_free(windows);
    check_growth(before, windows);
}

/* Frees in an order of its own: every third first, then the rest from the end. */
static void fill_and_empty(long windows) {
    struct check_window *all = calloc((size_t)windows, sizeof *all);

    for (long i = 0; i < windows; i++) {
        check_window_make(&all[i], (enum check_flavor)(i % CHECK_FLAVORS), BYTES, MPI_COMM_WORLD);
    }
    for (long i = 0; i < windows; i += 7) {
        use(&all[i], (uint64_t)i, MPI_COMM_WORLD);
    }
    for (long i = 0; i < windows; i += 3) {
        check_window_free(&all[i]);
    }
    for (long i = windows - 1; i >= 0; i--) {
        if (i % 3) {
            check_window_free(&all[i]);
        }
    }
    free(all);
}

static void alive(long windows) {
    /* The shared heap's blocks find other places in the second round than in the first. */
    for (int round = 0; round < 2; round++) {
        fill_and_empty(windows);
    }
    struct footprint before = footprint_now();
    fill_and_empty(windows);
    check_growth(before, windows);
}

/* Windows on duplicates and parts of the world; communicators are freed before, between and after their
 * windows. */
static void weave(long rounds) {
    enum { COMMS = 4 };

    for (long round = 0; round < rounds; round++) {
        MPI_Comm comms[COMMS];
        struct check_window windows[2 * COMMS];
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
        MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comms[1]);
        MPI_Comm_split(comms[0], 0, -check_rank, &comms[2]);      /* the other way round */
        MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &comms[3]); /* alone */
        for (int i = 0; i < 2 * COMMS; i++) {
            check_window_make(&windows[i], (enum check_flavor)((round + i) % CHECK_FLAVORS), BYTES,
                              comms[i % COMMS]);
            use(&windows[i], (uint64_t)(round + i), comms[i % COMMS]);
        }
        /* The uses above need the communicator, the windows below do not. */
        MPI_Comm_free(&comms[0]);
        MPI_Comm_free(&comms[2]);
        for (int i = 2 * COMMS - 1; i >= 0; i -= 2) {
            check_window_free(&windows[i]);
        }
        MPI_Comm_free(&comms[1]);
        for (int i = 0; i < 2 * COMMS; i += 2) {
            if (i % COMMS == 0) { /* a duplicate of the world has its ranks */
                use(&windows[i], (uint64_t)(round - i), MPI_COMM_WORLD);
            }
            check_window_free(&windows[i]);
        }
        MPI_Comm_free(&comms[3]);
    }
}

static void communicators(long rounds) {
    weave(rounds / 10 + 2);
    struct footprint before = footprint_now();
    weave(rounds);
    check_growth(before, 8 * rounds);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(long);
    } parts[] = {{"one-by-one", one_by_one}, {"alive", alive}, {"communicators", communicators}};
    const char *part = argc == 3 ? argv[1] : "";
    long count = argc == 3 ? atol(argv[2]) : 0;

    check_begin(&argc, &argv);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(part, parts[i].name) == 0) {
            parts[i].run(count);
            return check_finish();
        }
    }
    if (strcmp(part, "unfreed") == 0) {
        /* The program ends with windows alive, which MPI does not allow but people do. */
        for (long i = 0; i < count; i++) {
            struct check_window window;
            check_window_make(&window, (enum check_flavor)(i % CHECK_FLAVORS), BYTES, MPI_COMM_WORLD);
            use(&window, (uint64_t)i, MPI_COMM_WORLD);
            free(window.origins);
        }
        return check_finish();
    }
    CHECK_THAT(false, "usage: lifecycle one-by-one|alive|communicators|unfreed N");
    return check_finish();
}
