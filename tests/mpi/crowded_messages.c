/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowded.h"

void crowded_look_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count) {
    int found = -1;

    CHECK_SAME(status->MPI_SOURCE, source);
    CHECK_SAME(status->MPI_TAG, tag);
    MPI_Get_count(status, type, &found);
    CHECK_SAME(found, count);
}

static void look_nobody(const MPI_Status *status) {
    crowded_look_status(status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
}

void crowded_sendrecv(struct team *team, const struct layout *from, const struct layout *to, int words,
                      bool is_ring, bool with_status) {
    const bool is_first = !is_ring && team->rank == 0;
    const bool is_last = !is_ring && team->rank == team->size - 1;
    const int left = is_first ? MPI_PROC_NULL : crowded_left(team);
    const int right = is_last ? MPI_PROC_NULL : crowded_right(team);
    const size_t room = crowded_span(to, words);
    MPI_Status status;

    crowded_fresh(team, room);
    crowded_fill(team, crowded_out, from, team->rank, 0, words);
    if (!is_first) {
        crowded_fill(team, crowded_wanted, to, left, 0, words);
    }
    /* Room for more than will come. */
    EITHER(Sendrecv, crowded_out, words / from->words, from->type, right, TAG + team->rank, crowded_in,
           words / to->words + 1, to->type, left, is_first ? TAG : TAG + left, team->comm,
           with_status ? &status : MPI_STATUS_IGNORE);
    crowded_look(team, "Sendrecv", room);
    if (with_status && is_first) {
        look_nobody(&status);
    } else if (with_status) {
        crowded_look_status(&status, left, TAG + left, to->type, words / to->words);
    }
}

/* MPI_BOTTOM with absolute addresses on both sides. */
static void absolute(struct team *team) {
    struct {
        int32_t small[3];
        uint64_t large;
    } sent, received;
    MPI_Datatype types[2] = {MPI_UINT64_T, MPI_INT32_T}; /* the second one first */
    int lengths[2] = {1, 2};
    MPI_Aint addresses[2];
    MPI_Datatype from;
    MPI_Datatype to;
    int left = crowded_left(team);

    team->round++;
    memset(&received, 0, sizeof received);
    sent.large = crowded_datum(team, team->rank, 0);
    for (int i = 0; i < 3; i++) {
        sent.small[i] = team->rank * 10 + i;
    }
    MPI_Get_address(&sent.large, &addresses[0]);
    MPI_Get_address(&sent.small[1], &addresses[1]);
    MPI_Type_create_struct(2, lengths, addresses, types, &from);
    MPI_Get_address(&received.large, &addresses[0]);
    MPI_Get_address(&received.small[0], &addresses[1]);
    MPI_Type_create_struct(2, lengths, addresses, types, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    EITHER(Sendrecv, MPI_BOTTOM, 1, from, crowded_right(team), TAG, MPI_BOTTOM, 1, to, left, TAG, team->comm,
           MPI_STATUS_IGNORE);
    CHECK(received.large == crowded_datum(team, left, 0));
    CHECK_SAME(received.small[0], left * 10 + 1);
    CHECK_SAME(received.small[1], left * 10 + 2);
    CHECK_SAME(received.small[2], 0);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

static void send(struct team *team, const struct layout *layout, int words, int to, bool synchronous) {
    crowded_fill(team, crowded_out, layout, team->rank, 0, words);
    if (synchronous) {
        EITHER(Ssend, crowded_out, words / layout->words, layout->type, to, TAG + team->rank, team->comm);
    } else {
        EITHER(Send, crowded_out, words / layout->words, layout->type, to, TAG + team->rank, team->comm);
    }
}

/* As nobody is answered before all has come, nobody is ahead. Each message has another length. */
void crowded_to_the_first(struct team *team, const struct layout *layout, int words, bool probes,
                          bool synchronous) {
    bool seen[MAX_RANKS] = {false};
    MPI_Status status;

    team->round++;
    if (team->rank > 0) {
        send(team, layout, words + 2 * team->rank, 0, synchronous);
        crowded_fresh(team, crowded_span(layout, words));
        crowded_fill(team, crowded_wanted, layout, 0, 0, words);
        EITHER(Recv, crowded_in, words / layout->words, layout->type, 0, TAG, team->comm, MPI_STATUS_IGNORE);
        crowded_look(team, "Recv", crowded_span(layout, words));
        return;
    }
    const uint64_t round = team->round;
    for (int i = 1; i < team->size; i++) {
        const size_t room = crowded_span(layout, words + 2 * team->size);
        int items = (int)room;
        int source = MPI_ANY_SOURCE;
        int tag = MPI_ANY_TAG;
        crowded_fresh(team, room);
        team->round = round;
        if (probes) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &status);
            source = status.MPI_SOURCE;
            tag = status.MPI_TAG;
            MPI_Get_count(&status, layout->type, &items);
        }
        EITHER(Recv, crowded_in, items, layout->type, source, tag, team->comm, &status);
        source = status.MPI_SOURCE;
        CHECK_THAT(source > 0 && source < team->size && !seen[source], "a message from %d", source);
        seen[source] = true;
        crowded_look_status(&status, source, TAG + source, layout->type,
                            (words + 2 * source) / layout->words);
        crowded_fill(team, crowded_wanted, layout, source, 0, words + 2 * source);
        crowded_look(team, "Recv", room);
    }
    team->round++;
    for (int r = 1; r < team->size; r++) {
        send(team, layout, words, r, synchronous);
    }
}

/* To oneself: what is sent has to be on its way before one waits for it. */
static void to_oneself(struct team *team, int words) {
    MPI_Request request;
    MPI_Status status;

    crowded_fresh_message(team, team->rank, team->rank, words);
    MPI_Isend(crowded_out, words, MPI_UINT64_T, team->rank, TAG, team->comm, &request);
    MPI_Probe(team->rank, TAG, team->comm, MPI_STATUS_IGNORE);
    MPI_Probe(team->rank, MPI_ANY_TAG, team->comm, &status);
    crowded_look_status(&status, team->rank, TAG, MPI_UINT64_T, words);
    EITHER(Recv, crowded_in, words, MPI_UINT64_T, team->rank, TAG, team->comm, &status);
    crowded_look_status(&status, team->rank, TAG, MPI_UINT64_T, words);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    crowded_look(team, "Recv from oneself", (size_t)words);
    crowded_fresh_message(team, team->rank, team->rank, words);
    MPI_Irecv(crowded_in, words, MPI_UINT64_T, team->rank, TAG, team->comm, &request);
    EITHER(Ssend, crowded_out, words, MPI_UINT64_T, team->rank, TAG, team->comm);
    MPI_Wait(&request, &status);
    crowded_look_status(&status, team->rank, TAG, MPI_UINT64_T, words);
    crowded_look(team, "Ssend to oneself", (size_t)words);
}

static void nobody(struct team *team) {
    MPI_Status status;
    MPI_Request request;

    crowded_fresh(team, 4);
    EITHER(Send, crowded_out, 4, MPI_UINT64_T, MPI_PROC_NULL, TAG, team->comm);
    EITHER(Ssend, crowded_out, 4, MPI_UINT64_T, MPI_PROC_NULL, TAG, team->comm);
    EITHER(Recv, crowded_in, 4, MPI_UINT64_T, MPI_PROC_NULL, TAG, team->comm, &status);
    look_nobody(&status);
    MPI_Probe(MPI_PROC_NULL, TAG, team->comm, &status);
    look_nobody(&status);
    EITHER(Sendrecv, crowded_out, 4, MPI_UINT64_T, MPI_PROC_NULL, TAG, crowded_in, 4, MPI_UINT64_T,
           MPI_PROC_NULL, TAG, team->comm, &status);
    look_nobody(&status);
    MPI_Irecv(crowded_in, 4, MPI_UINT64_T, MPI_PROC_NULL, TAG, team->comm, &request);
    MPI_Wait(&request, &status);
    look_nobody(&status);
    crowded_look(team, "MPI_PROC_NULL", 4);
}

void crowded_messages(struct team *team, int biggest) {
    static const int sizes[] = {0, 2, 10, LONG, 16384, BIG};
    const struct layout *layouts[] = {&crowded_plain, &crowded_gaps};

    for (int variant = 0; crowded_use_variant(variant); variant++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int bits = 0; sizes[i] <= biggest && bits < 4; bits++) {
                const struct layout *from = layouts[bits & 1];
                const struct layout *to = layouts[bits >> 1];
                crowded_sendrecv(team, from, to, sizes[i], true, bits != 0);
                crowded_sendrecv(team, from, to, sizes[i], false, bits != 1);
                crowded_to_the_first(team, from, sizes[i], bits & 2, (size_t)bits % 3 == 0);
            }
            if (sizes[i] <= biggest) {
                to_oneself(team, sizes[i]);
            }
        }
        absolute(team);
        nobody(team);
    }
}
