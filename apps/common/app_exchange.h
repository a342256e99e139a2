/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange with partners: every rank sends some doubles to each of its partners and receives some from each.
 * The halo faces of a decomposed grid are such an exchange, and so is one stage of a butterfly reduction. One
 * interface, three ways underneath (--comm):
 *
 *   p2p     MPI_Irecv and MPI_Isend between packed buffers, MPI_Waitall.
 *   rma     general active target (PSCW): MPI_Win_post/start, MPI_Put into the partner's buffer,
 *           MPI_Win_complete, MPI_Win_wait.
 *   rma-nb  puts leave as soon as a piece is packed, within one passive epoch that lasts for the life of the
 *           exchange; a notification per partner follows the data (app_notify.h). There are two sets of
 * receive buffers, used in turn, so that no rank ever asks whether a buffer is free: who has received its
 *           partner's message of round k-1 knows that the partner is done with the buffers of round k-2.
 *           (Tipparaju et al., Exploiting Nonblocking Remote Memory Access Communication in Scientific
 *           Benchmarks, HiPC 2003, use two sets likewise.)
 *
 * A round:
 *
 *     app_exchange_begin(x);
 *     fill app_exchange_outgoing(x, i); app_exchange_put(x, i, offset, count);   (as often as pieces are
 * ready) app_exchange_send(x);                                                      (nothing follows in this
 * round)
 *     ... work that needs none of it ...
 *     app_exchange_wait(x);
 *     use app_exchange_incoming(x, i), until the next app_exchange_begin(x)
 *
 * Several exchanges may have rounds open at the same time. Partnership is mutual: if my leg i sends to leg j
 * of rank r, then leg j of rank r sends to leg i of mine, and both take part in every round. Not thread-safe.
 */
#ifndef APP_EXCHANGE_H
#define APP_EXCHANGE_H

#include "app_options.h"
#include "app_timer.h"
#include "app_window.h"

#include <mpi.h>
#include <stdint.h>

enum { APP_EXCHANGE_LEGS = 6 }; /* the six faces of a box */

/* One partner. The same rank may be the partner of several legs, and a rank may be its own partner. */
struct app_exchange_leg {
    int partner;     /* rank within the communicator, or MPI_PROC_NULL: the leg is not there */
    int partner_leg; /* the partner's leg that receives what this one sends */
    size_t capacity; /* the most doubles sent in one round; the partner's leg must have the same */
};

struct app_exchange {
    enum app_comm kind;
    MPI_Comm comm;
    int rank;
    int leg_count;
    struct app_exchange_leg legs[APP_EXCHANGE_LEGS];
    struct app_timer *timer; /* may be NULL */
    int64_t round;           /* of the round that runs or ran last; the first is 1 */

    double *outgoing_memory;
    double *incoming_memory; /* p2p: malloc'ed; else the window's */
    size_t set_doubles;      /* length of one set of incoming buffers */
    size_t
        offset[APP_EXCHANGE_LEGS]; /* of a leg within outgoing_memory, and within a set of incoming_memory */
    size_t filled[APP_EXCHANGE_LEGS];   /* doubles that were put in this round */
    MPI_Aint target[APP_EXCHANGE_LEGS]; /* the offset of partner_leg within a set at the partner */

    MPI_Request requests[2 * APP_EXCHANGE_LEGS]; /* p2p */
    int request_count;
    struct app_window window; /* rma, rma-nb; displacements in doubles */
    MPI_Group partners;       /* rma */
    int64_t *words;           /* rma-nb: the notifications of each leg, at the end of the window */
    MPI_Aint target_words[APP_EXCHANGE_LEGS]; /* the displacement of the leg's words at the partner */
    MPI_Aint target_set[APP_EXCHANGE_LEGS];   /* the length of a set at the partner */
};

/*
 * Makes an exchange. Collective over `comm`, which is duplicated. Every rank gives `leg_count` legs
 * (at most APP_EXCHANGE_LEGS). Time within the calls below counts as communication in `timer`.
 */
void app_exchange_open(struct app_exchange *exchange, MPI_Comm comm, enum app_comm kind,
                       enum app_flavour flavour, int leg_count, const struct app_exchange_leg *legs,
                       struct app_timer *timer);

/* Frees all of it. Collective; no round may be open. */
void app_exchange_close(struct app_exchange *exchange);

/* The buffer to send leg `leg` from: `capacity` doubles, free to write between begin and the put of that
 * part. */
double *app_exchange_outgoing(const struct app_exchange *exchange, int leg);

/* What the partner of leg `leg` sent in this round, after app_exchange_wait. */
const double *app_exchange_incoming(const struct app_exchange *exchange, int leg);

/* Opens a round. */
void app_exchange_begin(struct app_exchange *exchange);

/*
 * `count` doubles at `offset` of the outgoing buffer are ready, and go to the same place of the partner's
 * incoming buffer. Pieces come in order of their offset and without gaps. Ignored for a leg that is not
 * there.
 */
void app_exchange_put(struct app_exchange *exchange, int leg, size_t offset, size_t count);

/* Says that all pieces of this round have been put. A leg without any piece is allowed. */
void app_exchange_send(struct app_exchange *exchange);

/* Waits for the pieces of all partners, and ends the round. */
void app_exchange_wait(struct app_exchange *exchange);

#endif
