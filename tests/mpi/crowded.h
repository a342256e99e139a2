/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_TEST_CROWDED_H
#define TRMA_TEST_CROWDED_H

#include "check.h"

/* The parts of the test program crowded.c. Words are of 8 bytes: MPI_UINT64_T. */
enum {
    BIG = (1 << 20) / 8,
    ROOM = 4 * BIG, /* words of each buffer */
    LONG = 1400,
    MARGIN = 8, /* words behind the received ones that must not change */
    MAX_RANKS = 64,
    TAG = 7
};

/* --- data (crowded_data.c) --- */

/* The large-count twins have parameters of other types, but the same arguments serve both. */
#if MPI_VERSION >= 4 && !defined OPEN_MPI
enum { VARIANTS = 2 };
#define EITHER(name, ...) (crowded_is_large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
enum { VARIANTS = 1 };
#define EITHER(name, ...) MPI_##name(__VA_ARGS__)
#endif

/* A communicator, and a number that all its members count alike, so that no two calls carry the same data. */
struct team {
    const char *name;
    MPI_Comm comm;
    int rank;
    int size;
    uint64_t round;
};

struct layout {
    MPI_Datatype type;
    int words;  /* of data in one item */
    int extent; /* words from one item to the next */
    int step;   /* words from one word of data to the next within an item */
};

struct reduction {
    const struct layout *layout;
    MPI_Op op;
    bool composes; /* instead of adding */
};

extern const uint64_t crowded_blank;
extern bool crowded_is_large; /* whether EITHER takes the large-count twin */
extern const struct layout crowded_plain;
extern struct layout crowded_pairs;
extern struct layout crowded_gaps;
extern const struct reduction crowded_sum; /* of plain words */
extern MPI_Op crowded_compose;             /* of pairs of words, with or without gaps; does not commute */
extern uint64_t *crowded_out;
extern uint64_t *crowded_in;
extern uint64_t *crowded_wanted; /* what crowded_in has to be after the call */

/* Makes the buffers, the layouts and the operation. */
void crowded_begin(void);
/* Frees what crowded_begin has made. */
void crowded_end(void);
/* Makes EITHER take one variant of the calls; when there is none of this number, false and the first again.
 */
bool crowded_use_variant(int variant);
/* A team in its first round. */
struct team crowded_make_team(const char *name, MPI_Comm comm);
/* The member after this one, round the ring. */
int crowded_right(const struct team *team);
/* The member before this one, round the ring. */
int crowded_left(const struct team *team);
/* Word `k` of a member's data in this round. */
uint64_t crowded_datum(const struct team *team, int member, size_t k);
/* Words of memory that so many words of data span. */
size_t crowded_span(const struct layout *layout, int words);
/* Puts a member's data from the word `first` on into the buffer. */
void crowded_fill(const struct team *team, uint64_t *buffer, const struct layout *layout, int member,
                  size_t first, int words);
/* The next round, before a call that may write so many words: all of them are blank. */
void crowded_fresh(struct team *team, size_t words);
/* As crowded_fresh before plain words of `source` are received, while those of `member` are sent. */
void crowded_fresh_message(struct team *team, int member, int source, int words);
/* Checks that so many words have come as they are wanted. */
void crowded_look_at(const struct team *team, const char *what, size_t words);
/* As crowded_look_at, with the margin that lies behind. */
void crowded_look(const struct team *team, const char *what, size_t words);
/* What the data of members 0 to `last` give together, from the word `first` on. */
void crowded_reduced(const struct team *team, uint64_t *result, const struct reduction *how, int last,
                     size_t first, int words);

/* --- collectives (crowded_collectives.c) --- */

/* Nobody leaves a barrier before all have entered. */
void crowded_barrier(struct team *team);
/* Broadcasts from each member. */
void crowded_bcast(struct team *team, const struct layout *layout, int words);
/* Each collective with each layout, in place and not, with this many words. */
void crowded_collectives_of_size(struct team *team, int words);
/* The collectives with all sizes up to this one, and their large-count twins. */
void crowded_collectives(struct team *team, int biggest);
/* A collective of each kind, once. */
void crowded_few_collectives(struct team *team);

/* --- messages (crowded_messages.c) --- */

/* Checks what a status tells. */
void crowded_look_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count);
/* Sendrecv round the ring, or along the line, whose ends have nobody beside them. */
void crowded_sendrecv(struct team *team, const struct layout *from, const struct layout *to, int words,
                      bool is_ring, bool with_status);
/* All others send to the first member, which takes what comes, and answers when all has come. */
void crowded_to_the_first(struct team *team, const struct layout *layout, int words, bool probes,
                          bool synchronous);
/* Blocking messages of all sizes up to this one, and the large-count twins. */
void crowded_messages(struct team *team, int biggest);

/* --- requests (crowded_requests.c) --- */

/* Many at once, received in another order than sent, of sizes on both sides of what a host buffers. */
void crowded_many(struct team *team, bool with_statuses);
/* Wait, Waitall and Waitany with requests of all kinds. */
void crowded_requests(struct team *team);
/* What was begun goes on while one waits in another call; takes two members. */
void crowded_progress(struct team *team);

/* --- errors (crowded_errors.c) --- */

/* Receives of less than comes, with errors returned and with a handler. */
void crowded_truncated(void);
/* Wrong arguments, with a handler. */
void crowded_wrong(void);

#endif
