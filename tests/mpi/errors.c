/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments and calls out of place: the standard's error class, once, through the window's handler;
 * then all goes on. */
#include "check.h"

static int handled;
static int handled_class;
static MPI_Win handled_window;

static void count(MPI_Win *win, int *code, ...) {
    handled++;
    handled_window = *win;
    MPI_Error_class(*code, &handled_class);
}

/* The call fails with this class, which the handler has seen exactly once, with this window. */
static void expect(int code, int class, struct check_window *window, int line, const char *text) {
    int returned = MPI_SUCCESS;

    MPI_Error_class(code, &returned);
    check_one(returned == class, __FILE__, line, "%s: %s gives class %d, expected %d",
              check_flavor_name(window->flavor), text, returned, class);
    check_one(handled == 1 && handled_class == class && handled_window == window->win, __FILE__, line,
              "%s: after %s the handler was called %d times, last with class %d",
              check_flavor_name(window->flavor), text, handled, handled_class);
    handled = 0;
}

#define EXPECT(class, call) expect((call), (class), window, __LINE__, #call)
#define FINE(call)          CHECK_CLASS(call, MPI_SUCCESS)

static int word[4] = {1, 2, 3, 4};
static int result[4];

/* Arguments of put and get, within a lock epoch on oneself. */
static void arguments(struct check_window *window) {
    MPI_Win win = window->win;
    int me = check_rank;
    MPI_Aint place = check_disp(window, me, 0);

    FINE(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    EXPECT(MPI_ERR_RANK, MPI_Put(word, 1, MPI_INT, check_ranks, place, 1, MPI_INT, win));
    EXPECT(MPI_ERR_RANK, MPI_Get(word, 1, MPI_INT, -77, place, 1, MPI_INT, win));
    EXPECT(MPI_ERR_RANK, MPI_Accumulate(word, 1, MPI_INT, check_ranks + 1, place, 1, MPI_INT, MPI_SUM, win));
    EXPECT(MPI_ERR_RANK, MPI_Fetch_and_op(word, result, MPI_INT, check_ranks, place, MPI_SUM, win));
    EXPECT(MPI_ERR_RANK, MPI_Compare_and_swap(word, word, result, MPI_INT, check_ranks, place, win));
    EXPECT(MPI_ERR_COUNT, MPI_Put(word, -1, MPI_INT, me, place, 1, MPI_INT, win));
    EXPECT(MPI_ERR_COUNT, MPI_Get(word, 1, MPI_INT, me, place, -1, MPI_INT, win));
    EXPECT(MPI_ERR_COUNT, MPI_Put(word, -1, MPI_BYTE, me, place, -1, MPI_BYTE, win));
    EXPECT(MPI_ERR_TYPE, MPI_Put(word, 1, MPI_DATATYPE_NULL, me, place, 1, MPI_INT, win));
    EXPECT(MPI_ERR_TYPE, MPI_Get(word, 1, MPI_INT, me, place, 1, MPI_DATATYPE_NULL, win));
    EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(word, word, result, MPI_DOUBLE, me, place, win));
    EXPECT(MPI_ERR_OP, MPI_Accumulate(word, 1, MPI_INT, me, place, 1, MPI_INT, MPI_OP_NULL, win));
    EXPECT(MPI_ERR_OP, MPI_Accumulate(word, 1, MPI_INT, me, place, 1, MPI_INT, MPI_MAXLOC, win));
    EXPECT(MPI_ERR_OP, MPI_Accumulate(word, 1, MPI_FLOAT, me, place, 1, MPI_FLOAT, MPI_BAND, win));
    EXPECT(MPI_ERR_OP, MPI_Accumulate(word, 1, MPI_INT, me, place, 1, MPI_INT, MPI_NO_OP, win));
    EXPECT(MPI_ERR_OP, MPI_Accumulate(word, 2, MPI_INT, me, place, 2, MPI_INT, MPI_NO_OP, win));
    FINE(MPI_Fetch_and_op(NULL, result, MPI_INT, me, place, MPI_NO_OP, win));
    FINE(MPI_Put(word, 1, MPI_INT, me, place, 1, MPI_INT, win));
    FINE(MPI_Win_unlock(me, win));
    CHECK_SAME(*(int *)window->base, 1);
}

/* Memory outside of the window, of any kind. */
static void ranges(struct check_window *window) {
    MPI_Win win = window->win;
    int me = check_neighbour(1);
    MPI_Aint size = (MPI_Aint)window->bytes;
    MPI_Aint start = check_disp(window, me, 0);
    MPI_Datatype wide;

    MPI_Type_vector(2, 1, (int)window->bytes, MPI_BYTE, &wide);
    MPI_Type_commit(&wide);
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(word, 1, MPI_INT, me, start + size, 1, MPI_INT, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(word, 1, MPI_INT, me, start + size - 3, 1, MPI_INT, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(word, 2, MPI_BYTE, me, start, 1, wide, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Accumulate(word, 1, MPI_INT, me, start + size, 1, MPI_INT, MPI_SUM, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(word, result, MPI_INT, me, start + size, MPI_SUM, win));
    int before = window->flavor == CHECK_DYNAMIC ? MPI_ERR_RMA_RANGE : MPI_ERR_DISP;
    EXPECT(before, MPI_Get(word, 1, MPI_INT, me, start - 1, 1, MPI_INT, win));
    EXPECT(before, MPI_Compare_and_swap(word, word, result, MPI_INT, me, start - 4, win));
    if (window->flavor != CHECK_DYNAMIC) {
        EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(word, 1, MPI_INT, me, INT64_MAX, 1, MPI_INT, win));
        EXPECT(MPI_ERR_DISP, MPI_Put(word, 1, MPI_INT, me, INT64_MIN, 1, MPI_INT, win));
    }
    FINE(MPI_Put(word, 0, MPI_INT, me, start + size, 0, MPI_INT, win));
    FINE(MPI_Put(word, 1, MPI_INT, me, start + size - 4, 1, MPI_INT, win));
    FINE(MPI_Win_unlock(me, win));
    MPI_Type_free(&wide);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_SAME(((int *)window->base)[window->bytes / 4 - 1], 1);
}

/* Operations and flushes without an epoch, or towards a target that is not part of it. */
static void outside_of_epochs(struct check_window *window) {
    MPI_Win win = window->win;
    int me = check_rank;
    int right = check_neighbour(1);
    MPI_Aint place = check_disp(window, me, 0);
    MPI_Request request;
    MPI_Group world;
    MPI_Group mine;

    EXPECT(MPI_ERR_RMA_SYNC, MPI_Put(word, 1, MPI_INT, me, place, 1, MPI_INT, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Get(word, 1, MPI_INT, me, place, 1, MPI_INT, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Accumulate(word, 1, MPI_INT, me, place, 1, MPI_INT, MPI_SUM, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Rput(word, 1, MPI_INT, me, place, 1, MPI_INT, win, &request));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush(me, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(me, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(me, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    int flag = 1;
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));

    FINE(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    if (right != me) {
        EXPECT(MPI_ERR_RMA_SYNC,
               MPI_Put(word, 1, MPI_INT, right, check_disp(window, right, 0), 1, MPI_INT, win));
        EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush(right, win));
        EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    }
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    FINE(MPI_Win_unlock(me, win));

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &me, &mine);
    FINE(MPI_Win_post(mine, 0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_post(mine, 0, win));
    FINE(MPI_Win_start(mine, 0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_start(mine, 0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush(me, win));
    if (right != me) {
        EXPECT(MPI_ERR_RMA_SYNC,
               MPI_Put(word, 1, MPI_INT, right, check_disp(window, right, 0), 1, MPI_INT, win));
    }
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Rput(word, 1, MPI_INT, me, place, 1, MPI_INT, win, &request));
    FINE(MPI_Win_complete(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FINE(MPI_Win_wait(win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
}

/* Arguments of the synchronisation calls. */
static void synchronisation(struct check_window *window) {
    enum { NONSENSE = 1 << 20 };
    MPI_Win win = window->win;
    MPI_Group world;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    EXPECT(MPI_ERR_ASSERT, MPI_Win_fence(NONSENSE, win));
    EXPECT(MPI_ERR_ASSERT, MPI_Win_post(world, NONSENSE, win));
    EXPECT(MPI_ERR_ASSERT, MPI_Win_start(world, NONSENSE, win));
    EXPECT(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, NONSENSE, win));
    EXPECT(MPI_ERR_ASSERT, MPI_Win_lock_all(NONSENSE, win));
    EXPECT(MPI_ERR_LOCKTYPE, MPI_Win_lock(12345, 0, 0, win));
    EXPECT(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, check_ranks, 0, win));
    EXPECT(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, -99, 0, win));
    EXPECT(MPI_ERR_RANK, MPI_Win_unlock(check_ranks, win));
    EXPECT(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));
    EXPECT(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, win));
    MPI_Group_free(&world);
}

/* What only one flavour has. */
static void flavors(struct check_window *window) {
    char memory[64] = {0};
    MPI_Win win = window->win;

    if (window->flavor != CHECK_DYNAMIC) {
        EXPECT(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, memory, sizeof memory));
        EXPECT(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(win, memory));
        return;
    }
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, memory));
    EXPECT(MPI_ERR_RMA_ATTACH,
           MPI_Win_attach(win, (char *)window->base + 8, 8)); /* lies within what is attached */
    EXPECT(MPI_ERR_SIZE, MPI_Win_attach(win, memory, -1));
    FINE(MPI_Win_attach(win, memory, sizeof memory));
    FINE(MPI_Win_detach(win, memory));
    /* Detached memory is out of reach. */
    MPI_Aint address;
    MPI_Get_address(memory, &address);
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(word, 1, MPI_INT, check_rank, address, 1, MPI_INT, win));
    FINE(MPI_Win_unlock(check_rank, win));
}

/* A window with an open epoch cannot be freed; it works on. */
static void free_too_early(struct check_window *window) {
    MPI_Win copy = window->win;

    FINE(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, window->win));
    EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&window->win));
    CHECK(window->win == copy);
    FINE(MPI_Win_unlock(check_rank, window->win));
}

static void still_works(struct check_window *window) {
    int right = check_neighbour(1);
    int left = check_neighbour(-1);
    uint64_t mark = (uint64_t)check_rank + 4711;

    handled = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    FINE(MPI_Win_fence(0, window->win));
    FINE(MPI_Put(&mark, 8, MPI_BYTE, right, check_disp(window, right, 16), 8, MPI_BYTE, window->win));
    FINE(MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win));
    CHECK_SAME(((uint64_t *)window->base)[2], left + 4711);
    CHECK_SAME(handled, 0);
}

/* No window at all: the error is the host's to raise. */
static void no_window(void) {
    MPI_Win none = MPI_WIN_NULL;
    int flag;

    CHECK_CLASS(MPI_Put(word, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_free(&none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_test(MPI_WIN_NULL, &flag), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_flush_all(MPI_WIN_NULL), MPI_ERR_WIN);
}

/* Nor a communicator. */
static void no_communicator(void) {
    CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
}

/* Constructors with wrong arguments fail on the communicator; the next one works. */
static void constructors(void) {
    char memory[64] = {0};
    void *base;
    MPI_Win win = MPI_WIN_NULL;

    CHECK_CLASS(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_create(memory, 64, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Win_allocate(64, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Win_allocate(-64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_SUCCESS);
    FINE(MPI_Win_free(&win));
}

static void all_of_it(struct check_window *window) {
    void (*const parts[])(struct check_window *) = {arguments,       ranges,  outside_of_epochs,
                                                    synchronisation, flavors, free_too_early};
    MPI_Errhandler counting;

    MPI_Win_create_errhandler(count, &counting);
    MPI_Win_set_errhandler(window->win, counting);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        handled = 0;
        parts[i](window);
        still_works(window);
    }
    /* And with the handler that only returns. */
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Put(word, 1, MPI_INT, 0, check_disp(window, 0, 0), 1, MPI_INT, window->win),
                MPI_ERR_RMA_SYNC);
    still_works(window);
    MPI_Errhandler_free(&counting);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_each_flavor(256, all_of_it);
    no_window();
    no_communicator();
    constructors();
    return check_finish();
}
