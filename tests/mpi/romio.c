/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective MPI-IO, whose two-phase exchange may use one-sided calls of the MPI library's own (ROMIO's
 * one-sided aggregation): every rank writes and reads an interleaved file through a view, and the bytes are
 * checked in both directions, while a window of the program is in use.
 *
 *   romio FILE
 */
#include "check.h"

enum { BLOCK = 1000, BLOCKS = 200, ROUNDS = 3 };

static MPI_Info hints(void) {
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "cb_nodes", "2");
    return info;
}

static unsigned char byte_at(int rank, size_t index, int round) {
    return (unsigned char)check_pattern((uint64_t)rank, index, (uint64_t)round);
}

/* Block i of rank r lies at (i * ranks + r) * BLOCK. */
static void write_and_read(const char *path, int round) {
    enum { SIZE = BLOCK * BLOCKS };
    unsigned char *data = malloc(SIZE);
    MPI_File file;
    MPI_Datatype blocks;
    MPI_Datatype view;
    MPI_Info info = hints();
    size_t wrong = 0;

    MPI_Type_vector(BLOCKS, BLOCK, BLOCK * check_ranks, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)SIZE * check_ranks, &view);
    MPI_Type_commit(&view);
    for (size_t i = 0; i < SIZE; i++) {
        data[i] = byte_at(check_rank, i, round);
    }
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
                MPI_SUCCESS);
    MPI_File_set_view(file, (MPI_Offset)check_rank * BLOCK, MPI_BYTE, view, "native", info);
    CHECK_CLASS(MPI_File_write_all(file, data, SIZE, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);

    /* What the next rank has written. */
    int next = (check_rank + 1) % check_ranks;
    memset(data, 0, SIZE);
    MPI_File_set_view(file, (MPI_Offset)next * BLOCK, MPI_BYTE, view, "native", info);
    CHECK_CLASS(MPI_File_read_all(file, data, SIZE, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (size_t i = 0; i < SIZE; i++) {
        wrong += data[i] != byte_at(next, i, round);
    }
    CHECK_THAT(!wrong, "round %d: %zu bytes of the file are wrong", round, wrong);
    MPI_File_close(&file);
    MPI_Type_free(&blocks);
    MPI_Type_free(&view);
    MPI_Info_free(&info);
    free(data);
}

int main(int argc, char **argv) {
    struct check_window window;

    check_begin(&argc, &argv);
    if (argc != 2) {
        CHECK_THAT(false, "usage: romio FILE");
        return check_finish();
    }
    check_window_make(&window, CHECK_ALLOCATE, 64, MPI_COMM_WORLD);
    MPI_Win_fence(0, window.win);
    for (int round = 0; round < ROUNDS; round++) {
        int next = (check_rank + 1) % check_ranks;
        uint64_t word = check_pattern((uint64_t)check_rank, (uint64_t)round, 9);
        MPI_Put(&word, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, window.win);
        write_and_read(argv[1], round);
        MPI_Win_fence(0, window.win);
        CHECK_SAME(
            *(uint64_t *)window.base,
            check_pattern((uint64_t)((check_rank + check_ranks - 1) % check_ranks), (uint64_t)round, 9));
        MPI_Barrier(MPI_COMM_WORLD); /* before the next put comes */
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
    check_window_free(&window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_File_delete(argv[1], MPI_INFO_NULL);
    }
    return check_finish();
}
