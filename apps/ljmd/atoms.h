/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The atoms of a run and how they are dealt out: N atoms in blocks of equal size (the last may be smaller),
 * each rank the owner of a run of consecutive blocks, as even as possible. A rank may own no block at all.
 *
 * Everywhere, block b holds 3n doubles (n of x, n of y, n of z), and blocks follow one another; see lj.h.
 */
#ifndef LJMD_ATOMS_H
#define LJMD_ATOMS_H

#include <stddef.h>

struct atoms {
    int natoms;       /* all atoms of the run */
    int block;        /* atoms in every block but the last */
    int nblocks;      /* all blocks */
    int nranks, rank; /* of the communicator */
    int first, end;   /* this rank owns blocks [first, end) */
    int nown;         /* atoms in them */
    double box;       /* edge of the cubic box */
    double *velocity; /* 3 * nown, like the coordinates */
};

/* 4 cells^3 atoms at density 0.8442, in blocks of `block`, as seen by rank `rank` of `nranks`. */
void atoms_open(struct atoms *atoms, int cells, int block, int nranks, int rank);
void atoms_close(struct atoms *atoms);

/* Own coordinates (3 * nown doubles at x) on a face-centred cubic lattice; own velocities at temperature
 * 0.72, the total momentum zero. The same for any number of ranks. */
void atoms_place(struct atoms *atoms, double *x);

/* How many atoms block b holds, and which rank owns it. */
int atoms_in_block(const struct atoms *atoms, int b);
int atoms_owner(const struct atoms *atoms, int b);

/* The first block that belongs to rank r; r may be nranks. */
int atoms_first_block(const struct atoms *atoms, int r);

/* Where block b begins, in doubles from the beginning of its owner's blocks. */
size_t atoms_offset(const struct atoms *atoms, int b);

#endif
