/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints: what is in force is told, unknown keys are ignored, alignment is honoured, and windows work with all
 * of them. */
#include "check.h"

static bool has(MPI_Info info, const char *key, const char *expected) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;

    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found && strcmp(value, expected) == 0;
}

#define CHECK_HAS(info, key, expected) CHECK_THAT(has(info, key, expected), "%s is not %s", key, expected)

/* A number of everybody's is added on rank 0 under whatever hints the window has. */
static void use(MPI_Win win, const int64_t *base) {
    int64_t one = 1;
    int64_t old = -1;

    MPI_Win_fence(0, win);
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Get_accumulate(&one, 1, MPI_INT64_T, &old, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(old >= 0);
    if (check_rank == 0) {
        CHECK_SAME(base[0], 2 * check_ranks);
    }
}

static void defaults(void) {
    int64_t *base;
    MPI_Win win;
    MPI_Info got;

    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 64);
    MPI_Win_get_info(win, &got);
    CHECK_HAS(got, "no_locks", "false");
    CHECK_HAS(got, "accumulate_ordering", "rar,raw,war,waw");
    CHECK_HAS(got, "accumulate_ops", "same_op_no_op");
    CHECK_HAS(got, "same_size", "false");
    CHECK_HAS(got, "same_disp_unit", "false");
    MPI_Info_free(&got);
    use(win, base);
    MPI_Win_free(&win);
}

static void given(const char *const (*hints)[2], int n) {
    int64_t *base;
    MPI_Win win;
    MPI_Info info;
    MPI_Info got;

    MPI_Info_create(&info);
    for (int i = 0; i < n; i++) {
        MPI_Info_set(info, hints[i][0], hints[i][1]);
    }
    MPI_Info_set(info, "nobody_knows_this", "or that");
    MPI_Win_allocate(64, 8, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    memset(base, 0, 64);
    MPI_Win_get_info(win, &got);
    for (int i = 0; i < n; i++) {
        CHECK_HAS(got, hints[i][0], hints[i][1]);
    }
    MPI_Info_free(&got);
    use(win, base);
    MPI_Win_free(&win);
}

/* How ordinary memory may become mapped: told where TrueRMA is, kept as long as the window lives. */
static void adoption(const char *policy) {
    int64_t memory[8] = {0};
    MPI_Win win;
    MPI_Info info;
    MPI_Info got;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;

    MPI_Info_create(&info);
    MPI_Info_set(info, "truerma_adopt", policy);
    MPI_Win_create(memory, sizeof memory, 8, info, MPI_COMM_WORLD, &win);
    MPI_Info_set(info, "truerma_adopt", strcmp(policy, "never") == 0 ? "always" : "never");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &got);
    MPI_Info_get(got, "truerma_adopt", MPI_MAX_INFO_VAL, value, &found);
    CHECK_THAT(!found || !check_is_truerma() || strcmp(value, policy) == 0, "truerma_adopt is %s, not %s",
               value, policy);
    CHECK(found || !check_is_truerma());
    MPI_Info_free(&got);
    use(win, memory);
    MPI_Win_free(&win);
}

/* Hints may change while the window lives. */
static void changed(void) {
    int64_t *base;
    MPI_Win win;
    MPI_Info info;
    MPI_Info got;

    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 64);
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "mpi_accumulate_granularity", "8");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &got);
    CHECK_HAS(got, "no_locks", "true");
    CHECK_HAS(got, "accumulate_ordering", "none");
    CHECK_HAS(got, "accumulate_ops", "same_op_no_op");
    MPI_Info_free(&got);
    use(win, base);
    MPI_Win_free(&win);
}

static void alignment(void) {
    MPI_Info info;
    char *memory;
    MPI_Win win;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "1024");
    MPI_Alloc_mem(100, info, &memory);
    CHECK_SAME((uintptr_t)memory % 1024, 0);
    MPI_Free_mem(memory);
    for (int i = 0; i < 3; i++) {
        MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &memory, &win);
        CHECK_SAME((uintptr_t)memory % 1024, 0);
        MPI_Win_free(&win);
    }
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared(100, 1, info, MPI_COMM_WORLD, &memory, &win);
    CHECK_SAME((uintptr_t)memory % 1024, 0);
    MPI_Info got;
    MPI_Win_get_info(win, &got);
    CHECK_HAS(got, "alloc_shared_noncontig", "true");
    MPI_Info_free(&got);
    MPI_Win_free(&win);
    /* Nonsense is ignored. */
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "often");
    MPI_Alloc_mem(100, info, &memory);
    memset(memory, 1, 100);
    MPI_Free_mem(memory);
    MPI_Info_free(&info);
}

int main(int argc, char **argv) {
    static const char *const all[][2] = {{"no_locks", "true"},
                                         {"accumulate_ordering", "none"},
                                         {"accumulate_ops", "same_op"},
                                         {"same_size", "true"},
                                         {"same_disp_unit", "true"}};
    static const char *const some[][2] = {{"accumulate_ordering", "rar,waw"}};

    check_begin(&argc, &argv);
    defaults();
    given(all, 5);
    given(some, 1);
    changed();
    adoption("auto");
    adoption("always");
    adoption("never");
    alignment();
    return check_finish();
}
