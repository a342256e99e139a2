/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_exchange.h"

#include "app_check.h"
#include "app_memory.h"
#include "app_notify.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Doubles per cache line: buffers and words of different partners do not share one. */
enum { LINE_DOUBLES = 8, SETS = 2 };

static bool absent(const struct app_exchange *exchange, int leg) {
    return exchange->legs[leg].partner == MPI_PROC_NULL;
}

static bool is_self(const struct app_exchange *exchange, int leg) {
    return exchange->legs[leg].partner == exchange->rank;
}

/* Where the incoming buffers of this round start. p2p and rma synchronise both sides, and need one set only.
 */
static size_t set_offset(const struct app_exchange *exchange) {
    bool two_sets = exchange->kind == APP_COMM_RMA_NB;
    return two_sets ? (size_t)(exchange->round % SETS) * exchange->set_doubles : 0;
}

/* The word of this round among the words of a leg, which are used in turn as the buffers are, for the same
 * reason. */
static MPI_Aint word_offset(const struct app_exchange *exchange) {
    return exchange->round % SETS * LINE_DOUBLES;
}

/* Tells every partner where the buffers and the words of its leg lie here, which need not be where they lie
 * there. */
static void learn_targets(struct app_exchange *exchange, size_t words_at) {
    MPI_Aint mine[APP_EXCHANGE_LEGS][3], theirs[APP_EXCHANGE_LEGS][3];
    MPI_Request requests[2 * APP_EXCHANGE_LEGS];
    for (int leg = 0; leg < exchange->leg_count; leg++) {
        const struct app_exchange_leg *to = &exchange->legs[leg];
        mine[leg][0] = (MPI_Aint)exchange->offset[leg];
        mine[leg][1] = (MPI_Aint)(words_at + (size_t)leg * SETS * LINE_DOUBLES);
        mine[leg][2] = (MPI_Aint)exchange->set_doubles;
        /* the tag is the number of the leg that sends the message */
        MPI_Irecv(theirs[leg], 3, MPI_AINT, to->partner, to->partner_leg, exchange->comm, &requests[2 * leg]);
        MPI_Isend(mine[leg], 3, MPI_AINT, to->partner, leg, exchange->comm, &requests[2 * leg + 1]);
    }
    MPI_Waitall(2 * exchange->leg_count, requests, MPI_STATUSES_IGNORE);
    for (int leg = 0; leg < exchange->leg_count; leg++) {
        if (absent(exchange, leg))
            continue;
        exchange->target[leg] = theirs[leg][0];
        exchange->target_words[leg] = theirs[leg][1];
        exchange->target_set[leg] = theirs[leg][2];
    }
}

/* The ranks that this one posts to and starts with: partners without itself, each once. */
static MPI_Group make_partners(const struct app_exchange *exchange) {
    int ranks[APP_EXCHANGE_LEGS], count = 0;
    for (int leg = 0; leg < exchange->leg_count; leg++) {
        bool known = absent(exchange, leg) || is_self(exchange, leg);
        for (int i = 0; i < count; i++)
            known = known || ranks[i] == exchange->legs[leg].partner;
        if (!known)
            ranks[count++] = exchange->legs[leg].partner;
    }
    MPI_Group all, partners;
    MPI_Comm_group(exchange->comm, &all);
    MPI_Group_incl(all, count, ranks, &partners);
    MPI_Group_free(&all);
    return partners;
}

void app_exchange_open(struct app_exchange *exchange, MPI_Comm comm, enum app_comm kind,
                       enum app_flavour flavour, int leg_count, const struct app_exchange_leg *legs,
                       struct app_timer *timer) {
    if (leg_count > APP_EXCHANGE_LEGS)
        app_abort("an exchange has at most %d legs, not %d", APP_EXCHANGE_LEGS, leg_count);
    *exchange = (struct app_exchange){.kind = kind, .leg_count = leg_count, .timer = timer};
    MPI_Comm_dup(comm, &exchange->comm);
    MPI_Comm_rank(comm, &exchange->rank);
    size_t end = 0;
    for (int leg = 0; leg < leg_count; leg++) {
        exchange->legs[leg] = legs[leg];
        if (absent(exchange, leg))
            exchange->legs[leg].capacity = 0;
        exchange->offset[leg] = end;
        end += (exchange->legs[leg].capacity + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES;
    }
    exchange->set_doubles = end;
    exchange->outgoing_memory = app_memory_allocate(end, sizeof(double));

    size_t words_at = SETS * end;
    learn_targets(exchange, words_at);
    if (kind == APP_COMM_P2P) {
        exchange->incoming_memory = app_memory_allocate(end, sizeof(double));
        return;
    }
    size_t doubles = words_at + (size_t)leg_count * SETS * LINE_DOUBLES;
    app_window_make(&exchange->window, flavour, doubles * sizeof(double), sizeof(double), MPI_INFO_NULL,
                    exchange->comm);
    exchange->incoming_memory = exchange->window.base;
    exchange->words = (int64_t *)exchange->window.base + words_at;
    if (kind == APP_COMM_RMA)
        exchange->partners = make_partners(exchange);
    else
        MPI_Win_lock_all(MPI_MODE_NOCHECK, exchange->window.win);
}

void app_exchange_close(struct app_exchange *exchange) {
    if (exchange->kind == APP_COMM_P2P) {
        free(exchange->incoming_memory);
    } else {
        if (exchange->kind == APP_COMM_RMA)
            MPI_Group_free(&exchange->partners);
        else
            MPI_Win_unlock_all(exchange->window.win);
        app_window_free(&exchange->window);
    }
    free(exchange->outgoing_memory);
    MPI_Comm_free(&exchange->comm);
}

double *app_exchange_outgoing(const struct app_exchange *exchange, int leg) {
    return exchange->outgoing_memory + exchange->offset[leg];
}

const double *app_exchange_incoming(const struct app_exchange *exchange, int leg) {
    return exchange->incoming_memory + set_offset(exchange) + exchange->offset[leg];
}

void app_exchange_begin(struct app_exchange *exchange) {
    app_timer_start(exchange->timer, APP_PHASE_COMMUNICATION);
    exchange->round++;
    exchange->request_count = 0;
    memset(exchange->filled, 0, sizeof exchange->filled);
    if (exchange->kind == APP_COMM_RMA) {
        app_timer_start(exchange->timer, APP_PHASE_WAITING);
        MPI_Win_post(exchange->partners, 0, exchange->window.win);
        MPI_Win_start(exchange->partners, 0, exchange->window.win);
        app_timer_stop(exchange->timer, APP_PHASE_WAITING);
    } else if (exchange->kind == APP_COMM_P2P) {
        for (int leg = 0; leg < exchange->leg_count; leg++) {
            const struct app_exchange_leg *from = &exchange->legs[leg];
            if (absent(exchange, leg) || is_self(exchange, leg))
                continue;
            MPI_Irecv(exchange->incoming_memory + exchange->offset[leg], (int)from->capacity, MPI_DOUBLE,
                      from->partner, from->partner_leg, exchange->comm,
                      &exchange->requests[exchange->request_count++]);
        }
    }
    app_timer_stop(exchange->timer, APP_PHASE_COMMUNICATION);
}

void app_exchange_put(struct app_exchange *exchange, int leg, size_t offset, size_t count) {
    if (absent(exchange, leg) || count == 0)
        return;
    if (offset != exchange->filled[leg] || offset + count > exchange->legs[leg].capacity)
        app_abort("exchange: a piece of %zu doubles at %zu does not follow %zu of %zu doubles", count, offset,
                  exchange->filled[leg], exchange->legs[leg].capacity);
    app_timer_start(exchange->timer, APP_PHASE_COMMUNICATION);
    exchange->filled[leg] += count;
    const double *from = app_exchange_outgoing(exchange, leg) + offset;
    if (is_self(exchange, leg)) {
        size_t to = set_offset(exchange) + exchange->offset[exchange->legs[leg].partner_leg] + offset;
        memcpy(exchange->incoming_memory + to, from, count * sizeof(double));
    } else if (exchange->kind != APP_COMM_P2P) {
        MPI_Aint set =
            exchange->kind == APP_COMM_RMA_NB ? exchange->round % SETS * exchange->target_set[leg] : 0;
        MPI_Put(from, (int)count, MPI_DOUBLE, exchange->legs[leg].partner,
                set + exchange->target[leg] + (MPI_Aint)offset, (int)count, MPI_DOUBLE, exchange->window.win);
    }
    app_timer_stop(exchange->timer, APP_PHASE_COMMUNICATION);
}

/* Completes the data at all partners, then starts to notify each: in this order, as app_notify.h asks. */
static void notify(struct app_exchange *exchange) {
    MPI_Win_flush_all(exchange->window.win);
    for (int leg = 0; leg < exchange->leg_count; leg++)
        if (!absent(exchange, leg) && !is_self(exchange, leg))
            app_notify_send(exchange->window.win, exchange->legs[leg].partner,
                            exchange->target_words[leg] + word_offset(exchange), &exchange->round);
}

static void send_messages(struct app_exchange *exchange) {
    for (int leg = 0; leg < exchange->leg_count; leg++) {
        if (absent(exchange, leg) || is_self(exchange, leg))
            continue;
        MPI_Isend(app_exchange_outgoing(exchange, leg), (int)exchange->filled[leg], MPI_DOUBLE,
                  exchange->legs[leg].partner, leg, exchange->comm,
                  &exchange->requests[exchange->request_count++]);
    }
}

void app_exchange_send(struct app_exchange *exchange) {
    app_timer_start(exchange->timer, APP_PHASE_COMMUNICATION);
    if (exchange->kind == APP_COMM_P2P) {
        send_messages(exchange);
    } else {
        app_timer_start(exchange->timer, APP_PHASE_WAITING);
        if (exchange->kind == APP_COMM_RMA)
            MPI_Win_complete(exchange->window.win);
        else
            notify(exchange);
        app_timer_stop(exchange->timer, APP_PHASE_WAITING);
    }
    app_timer_stop(exchange->timer, APP_PHASE_COMMUNICATION);
}

void app_exchange_wait(struct app_exchange *exchange) {
    app_timer_start(exchange->timer, APP_PHASE_WAITING);
    switch (exchange->kind) {
    case APP_COMM_P2P:
        MPI_Waitall(exchange->request_count, exchange->requests, MPI_STATUSES_IGNORE);
        break;
    case APP_COMM_RMA:
        MPI_Win_wait(exchange->window.win);
        break;
    case APP_COMM_RMA_NB:
        MPI_Win_flush_all(exchange->window.win); /* the notifications that app_exchange_send started */
        for (int leg = 0; leg < exchange->leg_count; leg++)
            if (!absent(exchange, leg) && !is_self(exchange, leg))
                app_notify_wait(exchange->window.win,
                                &exchange->words[leg * SETS * LINE_DOUBLES + word_offset(exchange)],
                                exchange->round, exchange->comm);
        break;
    }
    app_timer_stop(exchange->timer, APP_PHASE_WAITING);
}
