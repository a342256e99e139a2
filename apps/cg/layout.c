/* SPDX-License-Identifier: BSD-3-Clause */
#include "layout.h"

enum { RANKS_MAX = 1 << 16 };

bool layout_possible(int ranks) {
    return ranks <= RANKS_MAX && (ranks & (ranks - 1)) == 0;
}

struct range range_part(struct range range, int part, int parts) {
    long length = range_length(range);
    return (struct range){.first = range.first + (int)(length * part / parts),
                          .end = range.first + (int)(length * (part + 1) / parts)};
}

struct range layout_segment(const struct layout *layout, int segment) {
    return range_part((struct range){0, layout->n}, segment, layout->columns);
}

int layout_rank(const struct layout *layout, int row, int column) {
    return row * layout->columns + column;
}

struct layout layout_make(MPI_Comm comm, int n) {
    struct layout layout = {.n = n, .rows = 1, .columns = 1};
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    while (layout.rows * layout.columns < ranks) {
        if (layout.columns == layout.rows)
            layout.columns *= 2;
        else
            layout.rows *= 2;
    }
    layout.row = rank / layout.columns;
    layout.column = rank % layout.columns;
    layout.halved = layout.columns > layout.rows;
    layout.block_columns = layout_segment(&layout, layout.column);
    layout.block_rows = layout_segment(&layout, layout.row);
    if (layout.halved) {
        layout.block_rows.first = layout_segment(&layout, 2 * layout.row).first;
        layout.block_rows.end = layout_segment(&layout, 2 * layout.row + 1).end;
    }
    return layout;
}
