/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_CROWD_H
#define TRMA_FACE_CROWD_H

#include <stdbool.h>

#include "face_host.h"

/*
 * Crowded nodes: more ranks than cores. A rank that waits in MPICH's blocking calls polls without ever giving
 * its core away, so that the rank it waits for has to wait for the end of its time slice: a barrier of 4
 * ranks on 2 cores takes 16 ms, and our windows do not help a program that meets in barriers. There the
 * host's blocking calls are replaced, in the table of host functions, by their nonblocking versions and a
 * wait that yields between two looks (Wait by Test, Barrier by Ibarrier and Test). Elsewhere nothing is
 * changed.
 *
 * A nonblocking collective does not match a blocking one (MPI-5.0 section 6.12): all members have to decide
 * alike. MPI_COMM_WORLD decides at its start, and only communicators that lie within it follow.
 *
 * From the program's point of view the calls are the same: same arguments, same errors through the same
 * handlers; a reduction of floating-point numbers may add them in another order.
 */

/* The host's own blocking calls. */
extern struct trma_host_table trma_crowd_blocking;

/* Decides with all of MPI_COMM_WORLD whether blocking calls are replaced (TRUERMA_YIELD), and does it.
 * Collective, at the end of MPI_Init, before any other thread makes MPI calls. */
void trma_crowd_begin(void);

/* Puts the replacements into the table; those whose nonblocking version the host lacks stay. Generated. */
void trma_crowd_replace(struct trma_host_table *table);

/* True if all members of the communicator replace their collectives. */
bool trma_crowd_covers(MPI_Comm comm);

/* Between two looks: lets another rank have the core. */
void trma_crowd_yield(void);

/* As MPI_Wait. */
int trma_crowd_wait(MPI_Request *request, MPI_Status *status);

/* A receive that was begun and that nothing will be sent to. */
void trma_crowd_take_back(MPI_Request *receive);

#endif
