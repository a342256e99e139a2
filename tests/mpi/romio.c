/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective MPI-IO: every rank writes and reads an interleaved file through a view, and the bytes are
 * checked in both directions, while a window of the program is in use.
 *
 * ROMIO's one-sided aggregation (ROMIO_WRITE_AGGMETHOD=2) is in its drivers for Lustre and GPFS only, which
 * none of the MPIs here is built with ("lustre:" in front of a file's name is refused). So its calls are made
 * here as ROMIO makes them: the collective buffers of the aggregators are created windows that live as long
 * as the file, every round each rank puts all its pieces of an aggregator's stretch by one derived type and
 * adds their amount, both under shared locks, and the aggregators write.
 *
 *   romio FILE
 */
#include "check.h"

enum { BLOCK = 1000, BLOCKS = 200, ROUNDS = 3, SIZE = BLOCK * BLOCKS, BUFFER = 65536, MOST_AGGREGATORS = 2 };

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
static MPI_Datatype view_of_blocks(void) {
    MPI_Datatype blocks;
    MPI_Datatype view;

    MPI_Type_vector(BLOCKS, BLOCK, BLOCK * check_ranks, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)SIZE * check_ranks, &view);
    MPI_Type_commit(&view);
    MPI_Type_free(&blocks);
    return view;
}

static void fill(unsigned char *data, int round) {
    for (size_t i = 0; i < SIZE; i++) {
        data[i] = byte_at(check_rank, i, round);
    }
}

/* The windows that ROMIO keeps with a file. */
struct aggregation {
    unsigned char *buffer;
    int amount;
    MPI_Win buffer_window;
    MPI_Win amount_window;
    int aggregators;
};

static void open_aggregation(struct aggregation *io) {
    io->buffer = calloc(1, BUFFER);
    io->amount = 0;
    io->aggregators = check_ranks < MOST_AGGREGATORS ? check_ranks : MOST_AGGREGATORS;
    MPI_Win_create(io->buffer, BUFFER, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &io->buffer_window);
    MPI_Win_create(&io->amount, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &io->amount_window);
}

static void close_aggregation(struct aggregation *io) {
    MPI_Win_free(&io->buffer_window);
    MPI_Win_free(&io->amount_window);
    free(io->buffer);
}

/* This rank's pieces of the stretch [low, high) of the file go to the aggregator's buffer. */
static void put_pieces(struct aggregation *io, const unsigned char *data, int aggregator, long low,
                       long high) {
    int lengths[BLOCKS];
    MPI_Aint from[BLOCKS];
    MPI_Aint to[BLOCKS];
    MPI_Datatype from_type;
    MPI_Datatype to_type;
    int pieces = 0;
    int bytes = 0;

    for (long i = 0; i < BLOCKS; i++) {
        long begin = (i * check_ranks + check_rank) * BLOCK;
        long first = begin > low ? begin : low;
        long last = begin + BLOCK < high ? begin + BLOCK : high;
        if (first < last) {
            from[pieces] = i * BLOCK + (first - begin);
            to[pieces] = first - low;
            lengths[pieces++] = (int)(last - first);
            bytes += (int)(last - first);
        }
    }
    if (pieces == 0) {
        return;
    }
    MPI_Type_create_hindexed(pieces, lengths, from, MPI_BYTE, &from_type);
    MPI_Type_create_hindexed(pieces, lengths, to, MPI_BYTE, &to_type);
    MPI_Type_commit(&from_type);
    MPI_Type_commit(&to_type);
    MPI_Win_lock(MPI_LOCK_SHARED, aggregator, 0, io->buffer_window);
    CHECK_CLASS(MPI_Put(data, 1, from_type, aggregator, 0, 1, to_type, io->buffer_window), MPI_SUCCESS);
    MPI_Win_unlock(aggregator, io->buffer_window);
    MPI_Type_free(&from_type);
    MPI_Type_free(&to_type);
    MPI_Win_lock(MPI_LOCK_SHARED, aggregator, 0, io->amount_window);
    CHECK_CLASS(MPI_Accumulate(&bytes, 1, MPI_INT, aggregator, 0, 1, MPI_INT, MPI_SUM, io->amount_window),
                MPI_SUCCESS);
    MPI_Win_unlock(aggregator, io->amount_window);
}

/* What has arrived in this rank's buffer, which is the stretch at `low` of the file, is written. */
static void write_stretch(struct aggregation *io, MPI_File file, long low, long high) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, io->amount_window);
    CHECK_SAME(io->amount, high - low);
    io->amount = 0;
    MPI_Win_unlock(check_rank, io->amount_window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, io->buffer_window);
    CHECK_CLASS(MPI_File_write_at(file, low, io->buffer, (int)(high - low), MPI_BYTE, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
    MPI_Win_unlock(check_rank, io->buffer_window);
}

static void write_by_puts(MPI_File file, const unsigned char *data, struct aggregation *io) {
    const long domain = (long)SIZE * check_ranks / io->aggregators;

    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    for (long done = 0; done < domain; done += BUFFER) {
        long size = done + BUFFER < domain ? BUFFER : domain - done;
        for (int aggregator = 0; aggregator < io->aggregators; aggregator++) {
            long low = domain * aggregator + done;
            put_pieces(io, data, aggregator, low, low + size);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank < io->aggregators) {
            long low = domain * check_rank + done;
            write_stretch(io, file, low, low + size);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* What the next rank has written. */
static void check_next(MPI_File file, MPI_Datatype view, unsigned char *data, int round) {
    int next = (check_rank + 1) % check_ranks;
    size_t wrong = 0;

    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    memset(data, 0, SIZE);
    MPI_File_set_view(file, (MPI_Offset)next * BLOCK, MPI_BYTE, view, "native", MPI_INFO_NULL);
    CHECK_CLASS(MPI_File_read_all(file, data, SIZE, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (size_t i = 0; i < SIZE; i++) {
        wrong += data[i] != byte_at(next, i, round);
    }
    CHECK_THAT(!wrong, "round %d: %zu bytes of the file are wrong", round, wrong);
}

static void write_and_read(const char *path, int round) {
    unsigned char *data = malloc(SIZE);
    MPI_File file;
    MPI_Datatype view = view_of_blocks();
    MPI_Info info = hints();
    struct aggregation io;

    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
                MPI_SUCCESS);
    MPI_File_set_view(file, (MPI_Offset)check_rank * BLOCK, MPI_BYTE, view, "native", info);
    fill(data, 2 * round);
    CHECK_CLASS(MPI_File_write_all(file, data, SIZE, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    check_next(file, view, data, 2 * round);

    open_aggregation(&io);
    fill(data, 2 * round + 1);
    write_by_puts(file, data, &io);
    check_next(file, view, data, 2 * round + 1);
    close_aggregation(&io);
    MPI_File_close(&file);
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
