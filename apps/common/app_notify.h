/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notification: a word in the target's window that says "what you wait for is there".
 *
 * The origin puts its data, completes it (MPI_Win_flush), then writes the word; the target looks at the word
 * in its own memory. Why that is right (MPI-4.1, section 12.7, rules for the unified memory model): the flush
 * has brought the data into the target's memory before the word starts to be written; a location that is
 * being updated may be polled for a particular value; and the MPI_Win_sync after the poll orders the loads of
 * the data behind it. The word is written by an accumulate with MPI_REPLACE, which is atomic for an element.
 *
 * The caller keeps a passive-target epoch open on the window (MPI_Win_lock_all).
 */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

#include <mpi.h>
#include <stdint.h>

/*
 * Starts to write `value` into the word at displacement `at` (the word is an int64_t, aligned) of `target`.
 * `*value` must stay until a flush of the target. Data put before must have been completed by MPI_Win_flush.
 * Completes with the next flush of the target, which the caller owes.
 */
void app_notify_send(MPI_Win win, int target, MPI_Aint at, const int64_t *value);

/*
 * Waits until `*word`, in this rank's window memory, equals `value`; then what the notifier put before is
 * visible. Words must step through values that each differ from the one before, and nobody may write the next
 * value before this one was seen. While it waits it calls MPI now and then (MPI_Iprobe on `comm`), since an
 * MPI without a progress thread moves the data of others only within its calls, and yields the processor,
 * since there may be more ranks than cores.
 */
void app_notify_wait(MPI_Win win, const int64_t *word, int64_t value, MPI_Comm comm);

/* The same without waiting: 1 when the word has the value, else 0 after one look into MPI. */
int app_notify_test(MPI_Win win, const int64_t *word, int64_t value, MPI_Comm comm);

#endif
