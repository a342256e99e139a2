/* SPDX-License-Identifier: BSD-3-Clause */
/* A window is as new, whatever the user did to those that were freed before it: no name, no attributes, and
 * the error handler that windows begin with. */
#include "check.h"

static int deleted;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra) {
    (void)win;
    (void)keyval;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void check_new_windows(void) {
    enum { TOGETHER = 20, TIMES = 3 };
    static int64_t words[TOGETHER];
    int keyval;
    int expected = 0;

    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL);
    deleted = 0;
    for (int time = 0; time < TIMES; time++) {
        MPI_Win wins[TOGETHER];
        for (int i = 0; i < TOGETHER; i++) {
            char name[MPI_MAX_OBJECT_NAME] = "?";
            int length = -1;
            int found = 1;
            void *value;
            MPI_Errhandler got;
            MPI_Win_create(&words[i], sizeof words[i], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]);
            MPI_Win_get_name(wins[i], name, &length);
            CHECK_SAME(length, 0);
            CHECK_SAME(name[0], 0);
            MPI_Win_get_errhandler(wins[i], &got);
            CHECK(got == MPI_ERRORS_ARE_FATAL);
            MPI_Errhandler_free(&got);
            MPI_Win_get_attr(wins[i], keyval, &value, &found);
            CHECK(!found);
            MPI_Win_get_attr(wins[i], MPI_WIN_BASE, &value, &found);
            CHECK(found && value == &words[i]);
            MPI_Win_set_name(wins[i], "used");
            MPI_Win_set_errhandler(wins[i], MPI_ERRORS_RETURN);
            if (i % 3 == 0) {
                MPI_Win_set_attr(wins[i], keyval, (void *)1);
                expected++;
            }
        }
        for (int i = 0; i < TOGETHER; i++) {
            for (int j = 0; j < i; j++) {
                CHECK(wins[i] != wins[j]);
            }
        }
        for (int i = 0; i < TOGETHER; i++) {
            MPI_Win_free(&wins[i]);
            CHECK(wins[i] == MPI_WIN_NULL);
        }
        CHECK_SAME(deleted, expected);
    }
    MPI_Win_free_keyval(&keyval);
}

int main(int argc, char **argv) {
    check_begin(&argc, &argv);
    check_new_windows();
    return check_finish();
}
