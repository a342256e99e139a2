/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes, keyvals, names, error handlers, groups and hints of windows. */
#include "check.h"

static void predefined_of(const struct check_window *window) {
    bool is_dynamic = window->flavor == CHECK_DYNAMIC;
    static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED,
                                  MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_DYNAMIC,  MPI_WIN_FLAVOR_CREATE};
    void *base = NULL;
    void *value = NULL;
    int found = 0;

    MPI_Win_get_attr(window->win, MPI_WIN_BASE, &base, &found);
    CHECK(found);
    CHECK(base == (is_dynamic ? MPI_BOTTOM : window->base));
    MPI_Win_get_attr(window->win, MPI_WIN_SIZE, &value, &found);
    CHECK(found);
    CHECK_SAME(*(MPI_Aint *)value, is_dynamic ? 0 : window->bytes);
    MPI_Win_get_attr(window->win, MPI_WIN_DISP_UNIT, &value, &found);
    CHECK(found);
    CHECK_SAME(*(int *)value, 1);
    MPI_Win_get_attr(window->win, MPI_WIN_CREATE_FLAVOR, &value, &found);
    CHECK(found);
    CHECK_SAME(*(int *)value, flavors[window->flavor]);
    MPI_Win_get_attr(window->win, MPI_WIN_MODEL, &value, &found);
    CHECK(found);
    CHECK_SAME(*(int *)value, MPI_WIN_UNIFIED);
}

static int deleted;
static int passed_on;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra) {
    void *base;
    int found = 0;

    (void)keyval;
    passed_on += extra == &passed_on;
    deleted += (int)(intptr_t)value;
    /* Within the callback the window is still whole. */
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found);
    CHECK(found);
    return MPI_SUCCESS;
}

static void keyvals(struct check_window *window) {
    int keyval;
    int other;
    int found = 1;
    void *value = NULL;
    MPI_Win second;

    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, &passed_on);
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL);
    MPI_Win_get_attr(window->win, keyval, &value, &found);
    CHECK(!found);
    deleted = passed_on = 0;
    MPI_Win_set_attr(window->win, keyval, (void *)5);
    MPI_Win_set_attr(window->win, other, (void *)6);
    MPI_Win_get_attr(window->win, keyval, &value, &found);
    CHECK(found);
    CHECK_SAME((intptr_t)value, 5);
    MPI_Win_get_attr(window->win, other, &value, &found);
    CHECK_SAME((intptr_t)value, 6);
    MPI_Win_set_attr(window->win, keyval, (void *)7); /* deletes the 5 */
    CHECK_SAME(deleted, 5);
    MPI_Win_delete_attr(window->win, keyval); /* and the 7 */
    CHECK_SAME(deleted, 12);
    MPI_Win_get_attr(window->win, keyval, &value, &found);
    CHECK(!found);
    CHECK_SAME(passed_on, 2);
    /* Freeing a window deletes what is left. */
    char byte;
    MPI_Win_create(&byte, 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    MPI_Win_set_attr(second, keyval, (void *)100);
    MPI_Win_free(&second);
    CHECK_SAME(deleted, 112);
    CHECK(second == MPI_WIN_NULL);
    MPI_Win_free_keyval(&keyval);
    MPI_Win_free_keyval(&other);
    CHECK_SAME(keyval, MPI_KEYVAL_INVALID);
}

static void names(struct check_window *window) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;

    MPI_Win_set_name(window->win, "halo \"east\"");
    MPI_Win_get_name(window->win, name, &length);
    CHECK_SAME(strcmp(name, "halo \"east\""), 0);
    CHECK_SAME(length, 11);
}

static void group(struct check_window *window) {
    MPI_Group world;
    MPI_Group mine;
    int result;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_get_group(window->win, &mine);
    MPI_Group_compare(world, mine, &result);
    CHECK_SAME(result, MPI_IDENT);
    MPI_Group_free(&world);
    MPI_Group_free(&mine);
}

static int handled;

static void handler(MPI_Win *win, int *code, ...) {
    int class = 0;

    (void)win;
    MPI_Error_class(*code, &class);
    handled += class == MPI_ERR_RANK;
}

static void error_handlers(struct check_window *window) {
    MPI_Errhandler mine;
    MPI_Errhandler got;
    int word = 0;

    MPI_Win_get_errhandler(window->win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    MPI_Win_create_errhandler(handler, &mine);
    MPI_Win_set_errhandler(window->win, mine);
    MPI_Win_get_errhandler(window->win, &got);
    CHECK(got == mine);
    MPI_Errhandler_free(&got);
    handled = 0;
    MPI_Win_fence(0, window->win);
    MPI_Put(&word, 1, MPI_INT, check_ranks + 3, 0, 1, MPI_INT, window->win);
    CHECK_SAME(handled, 1);
    MPI_Win_fence(0, window->win);
    MPI_Win_call_errhandler(window->win, MPI_ERR_RANK);
    CHECK_SAME(handled, 2);
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&mine);
}

/* Handles go to Fortran and back: through integers, by the calls that the ABI has for that. */
static void handles(struct check_window *window) {
#ifdef MPI_ABI
    CHECK(MPI_Win_fromint(MPI_Win_toint(window->win)) == window->win);
#else
    CHECK(MPI_Win_f2c(MPI_Win_c2f(window->win)) == window->win);
#endif
}

static void all_of_it(struct check_window *window) {
    predefined_of(window);
    keyvals(window);
    names(window);
    group(window);
    error_handlers(window);
    handles(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_each_flavor(512, all_of_it);
    return check_finish();
}
