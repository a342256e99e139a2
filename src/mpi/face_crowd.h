/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_CROWD_H
#define TRMA_FACE_CROWD_H

#include <stdbool.h>

#include "face_host.h"
#include "trma_hidden.h"

struct trma_team_card;

/*
 * Crowded nodes: more ranks than cores. A rank that waits in MPICH's blocking calls polls without ever giving
 * its core away, so that the rank it waits for has to wait for the end of its time slice: a barrier of 4
 * ranks on 2 cores takes 8 ms, and our windows do not help a program that meets in barriers. There the
 * host's blocking calls are replaced, in the table of host functions, by their nonblocking versions and a
 * wait that yields between two looks (Wait by Test, Barrier by Ibarrier and Test). Elsewhere nothing is
 * changed, nor in a program that makes no windows.
 *
 * A nonblocking collective does not match a blocking one (MPI-5.0 section 6.12): all members have to decide
 * alike, and all must run TrueRMA. Both are known when a team has been made (face_team.h): its communicator
 * is covered from then on. If it spans MPI_COMM_WORLD so is every communicator within that, but not with
 * MPI_THREAD_MULTIPLE, where another thread may be in a collective on it at that moment.
 *
 * From the program's point of view the calls are the same: same arguments, same classes of errors through the
 * same handlers; a reduction of floating-point numbers may add them in another order.
 */

/* The host's own blocking calls, once they have been replaced. */
extern TRMA_HIDDEN struct trma_host_table trma_crowd_blocking;

/* Whether the members of a team, with these cards, replace their blocking calls (TRUERMA_YIELD): the same for
 * all of them. */
bool trma_crowd_is_agreed(const struct trma_team_card *cards, int size, bool is_crowded);

/* From now on this communicator is covered. Collective, after the last collective call that makes its team.
 */
void trma_crowd_enter(MPI_Comm comm);

/* True if all members of the communicator replace their collectives. */
bool trma_crowd_covers(MPI_Comm comm);

/* Between two looks: lets another rank have the core. */
void trma_crowd_yield(void);

/* As MPI_Wait. */
int trma_crowd_wait(MPI_Request *request, MPI_Status *status);

/*
 * Waits until a message has come that a receive with these arguments, which are right, would take. False: the
 * host's own MPI_Recv is to take it, and will not have to wait: it does not fit, or there is an error. An
 * error of a receive belongs to its communicator, but MPICH 4.0's MPI_Test would raise it on MPI_COMM_WORLD.
 */
bool trma_crowd_await_message(MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm);

/* Starts a persistent request and waits for it. */
int trma_crowd_start(MPI_Request *request, MPI_Status *status);

/* As MPI_Waitall, one after the other: MPI_Testall of MPICH 5 calls a program's error handler again at every
 * look as long as one of the other requests is not complete. */
int trma_crowd_Waitall(int count, MPI_Request *requests, MPI_Status *statuses);

/* Puts the replacements into the table. Generated (host_crowd.c). */
void trma_crowd_replace(struct trma_host_table *table);

#endif
