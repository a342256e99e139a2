/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for interpose.sh: a window of each kind of synchronisation in a few calls, data checked; and how
 * many MPI libraries its processes have loaded.
 */
#include "check.h"

/* Different files that are a libmpi (MPICH's is libmpich on Debian, the standard ABI's libmpi_abi), as the
 * kernel has mapped them. */
static int count_libraries(void) {
    enum { MOST = 8 };
    char found[MOST][4096];
    char line[5000];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        const char *name = path ? strrchr(path, '/') + 1 : "";
        if (strncmp(name, "libmpi.so", 9) != 0 && strncmp(name, "libmpich.so", 11) != 0 &&
            strncmp(name, "libmpi_abi.so", 13) != 0) {
            continue;
        }
        path[strcspn(path, "\n")] = '\0';
        int i = 0;
        while (i < n && strcmp(found[i], path) != 0) {
            i++;
        }
        if (i == n && n < MOST) {
            snprintf(found[n++], sizeof found[0], "%s", path);
        }
    }
    if (maps) {
        fclose(maps);
    }
    return n;
}

static void all_modes(struct check_window *window) {
    int next = (check_rank + 1) % check_ranks;
    int64_t before = check_rank + 10;
    int64_t *mine = window->base;
    MPI_Group world;
    MPI_Request request;

    MPI_Win_fence(0, window->win);
    MPI_Put(&before, 1, MPI_INT64_T, next, check_disp(window, next, 0), 1, MPI_INT64_T, window->win);
    MPI_Win_fence(0, window->win);
    CHECK_SAME(mine[0], (check_rank + check_ranks - 1) % check_ranks + 10);
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, window->win);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_post(world, 0, window->win);
    MPI_Win_start(world, 0, window->win);
    for (int target = 0; target < check_ranks; target++) {
        int64_t one = 1;
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, check_disp(window, target, 8), 1, MPI_INT64_T, MPI_SUM,
                       window->win);
    }
    MPI_Win_complete(window->win);
    MPI_Win_wait(window->win);
    MPI_Group_free(&world);
    CHECK_SAME(mine[1], check_ranks);

    int64_t got = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window->win);
    MPI_Rget(&got, 1, MPI_INT64_T, next, check_disp(window, next, 8), 1, MPI_INT64_T, window->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(next, window->win);
    CHECK_SAME(got, check_ranks);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(64, all_modes);
    CHECK_SAME(count_libraries(), 1);
    return check_finish();
}
