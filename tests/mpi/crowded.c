/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocking calls of MPI, which TrueRMA replaces where ranks outnumber cores: collectives and messages of
 * all sizes and layouts on all kinds of communicators, statuses, requests, errors, and windows in between. To
 * the program nothing of the replacement may be seen. It begins with the program's first window.
 *
 *   crowded          all of it but the following
 *   crowded windows  only collectives and windows in turns, which is quick
 *   crowded errors   wrong arguments, for MPIs that check them
 *   crowded spawn    communicators with processes that are started later
 */
#include "crowded.h"

enum { CHILDREN = 2 };

/* --- an intercommunicator --- */

/* Each member's data go to the other side only. `side` tells the groups apart, so that their data differ. */
struct sides {
    struct team *team;
    int side;
    int their_size;
};

enum { WORDS = 600, PART = 10 };

/* Whose data are those of a member of one side. */
static int member_of(int side, int rank) {
    return side * MAX_RANKS + rank;
}

/* Before each member has a part for the other side, which gets them all. */
static void fresh_parts(const struct sides *sides, bool gets) {
    const struct team *team = sides->team;

    crowded_fresh(sides->team, WORDS);
    crowded_fill(team, crowded_out, &crowded_plain, member_of(sides->side, team->rank), 0, PART);
    for (int r = 0; gets && r < sides->their_size; r++) {
        crowded_fill(team, crowded_wanted + (size_t)r * PART, &crowded_plain, member_of(!sides->side, r), 0,
                     PART);
    }
}

/* Before the data of each side are reduced for the other. The sides are in rounds of their own. */
static void fresh_reduction(const struct sides *sides, bool gets) {
    crowded_fresh(sides->team, WORDS);
    struct team mine = *sides->team;
    struct team theirs = mine;
    mine.round = 2 * mine.round + (uint64_t)sides->side;
    theirs.round = 2 * theirs.round + (uint64_t)!sides->side;
    crowded_fill(&mine, crowded_out, &crowded_plain, mine.rank, 0, WORDS);
    if (gets) {
        crowded_reduced(&theirs, crowded_wanted, &crowded_sum, sides->their_size - 1, 0, WORDS);
    }
}

/* Before a message from the partner, the member of the same rank. */
static void fresh_partners(const struct sides *sides, int words) {
    const int rank = sides->team->rank;

    crowded_fresh_message(sides->team, member_of(sides->side, rank), member_of(!sides->side, rank), words);
}

/* From or to the first member of the side `sender`. */
static void rooted_between(const struct sides *sides, int sender) {
    struct team *team = sides->team;
    const bool sends = sides->side == sender;
    const bool is_root = sends && team->rank == 0;
    const int all = sends ? sides->their_size : team->size;
    const int root = is_root ? MPI_ROOT : sends ? MPI_PROC_NULL : 0;

    crowded_fresh(team, WORDS);
    crowded_fill(team, crowded_wanted, &crowded_plain, member_of(sender, 0), 0, WORDS);
    if (sends) {
        memcpy(crowded_in, crowded_wanted, WORDS * sizeof *crowded_in);
    }
    EITHER(Bcast, crowded_in, WORDS, MPI_UINT64_T, root, team->comm);
    crowded_look(team, "Bcast", WORDS);

    crowded_fresh(team, WORDS);
    crowded_fill(team, crowded_out, &crowded_plain, member_of(sender, 0), 0, PART * all);
    if (!sends) {
        crowded_fill(team, crowded_wanted, &crowded_plain, member_of(sender, 0), (size_t)team->rank * PART,
                     PART);
    }
    EITHER(Scatter, crowded_out, PART, MPI_UINT64_T, crowded_in, PART, MPI_UINT64_T, root, team->comm);
    crowded_look(team, "Scatter", WORDS);

    fresh_parts(sides, is_root);
    EITHER(Gather, crowded_out, PART, MPI_UINT64_T, crowded_in, PART, MPI_UINT64_T, root, team->comm);
    crowded_look(team, "Gather", WORDS);

    fresh_reduction(sides, is_root);
    EITHER(Reduce, crowded_out, crowded_in, WORDS, MPI_UINT64_T, MPI_SUM, root, team->comm);
    crowded_look(team, "Reduce", WORDS);
}

static void all_between(const struct sides *sides) {
    struct team *team = sides->team;

    fresh_reduction(sides, true);
    EITHER(Allreduce, crowded_out, crowded_in, WORDS, MPI_UINT64_T, MPI_SUM, team->comm);
    crowded_look(team, "Allreduce", WORDS);

    fresh_parts(sides, true);
    EITHER(Allgather, crowded_out, PART, MPI_UINT64_T, crowded_in, PART, MPI_UINT64_T, team->comm);
    crowded_look(team, "Allgather", WORDS);

    crowded_fresh(team, WORDS);
    crowded_fill(team, crowded_out, &crowded_plain, member_of(sides->side, team->rank), 0,
                 PART * sides->their_size);
    for (int r = 0; r < sides->their_size; r++) {
        crowded_fill(team, crowded_wanted + (size_t)r * PART, &crowded_plain, member_of(!sides->side, r),
                     (size_t)team->rank * PART, PART);
    }
    EITHER(Alltoall, crowded_out, PART, MPI_UINT64_T, crowded_in, PART, MPI_UINT64_T, team->comm);
    crowded_look(team, "Alltoall", WORDS);
}

static void messages_between(const struct sides *sides) {
    struct team *team = sides->team;
    const int peer = team->rank;
    MPI_Status status;

    fresh_partners(sides, BIG);
    EITHER(Sendrecv, crowded_out, BIG, MPI_UINT64_T, peer, TAG, crowded_in, BIG, MPI_UINT64_T, peer, TAG,
           team->comm, &status);
    crowded_look_status(&status, peer, TAG, MPI_UINT64_T, BIG);
    crowded_look(team, "Sendrecv", BIG);

    fresh_partners(sides, PART);
    if (sides->side == 0) {
        EITHER(Send, crowded_out, PART, MPI_UINT64_T, peer, TAG, team->comm);
    }
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &status);
    crowded_look_status(&status, peer, TAG, MPI_UINT64_T, PART);
    EITHER(Recv, crowded_in, PART, MPI_UINT64_T, peer, TAG, team->comm, &status);
    crowded_look_status(&status, peer, TAG, MPI_UINT64_T, PART);
    crowded_look(team, "Recv", PART);
    if (sides->side == 1) {
        EITHER(Ssend, crowded_out, PART, MPI_UINT64_T, peer, TAG, team->comm);
    }
}

static void between(struct team *team, int side) {
    struct sides sides = {.team = team, .side = side};

    MPI_Comm_remote_size(team->comm, &sides.their_size);
    crowded_barrier(team);
    rooted_between(&sides, 0);
    rooted_between(&sides, 1);
    all_between(&sides);
    if (team->rank < sides.their_size) { /* else it has no partner */
        messages_between(&sides);
    }
}

/* --- windows in between --- */

enum { PUT_WORDS = 100 };

static void put_right(const struct team *team, const struct check_window *window) {
    const int right = crowded_right(team);

    MPI_Put(crowded_out, PUT_WORDS, MPI_UINT64_T, right, check_disp(window, right, 0), PUT_WORDS,
            MPI_UINT64_T, window->win);
}

static void look_put(const struct team *team, const char *what, const struct check_window *window) {
    memcpy(crowded_in, window->base, PUT_WORDS * sizeof *crowded_in);
    crowded_look_at(team, what, PUT_WORDS);
}

static void in_turns(struct team *team, enum check_flavor flavor) {
    enum { ROUNDS = 10 };
    struct check_window window;
    const int left = crowded_left(team);
    const int right = crowded_right(team);
    const uint64_t one = 1;
    uint64_t sum = 0;

    check_window_make(&window, flavor, PUT_WORDS * sizeof *crowded_in, team->comm);
    for (int i = 0; i < ROUNDS; i++) {
        crowded_fresh_message(team, team->rank, left, PUT_WORDS);
        MPI_Win_fence(0, window.win);
        put_right(team, &window);
        MPI_Win_fence(0, window.win);
        look_put(team, "Put and fence", &window);
        MPI_Allreduce(&one, &sum, 1, MPI_UINT64_T, MPI_SUM, team->comm);
        CHECK_SAME(sum, team->size);

        crowded_fresh_message(team, team->rank, left, PUT_WORDS);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window.win);
        put_right(team, &window);
        MPI_Win_unlock(right, window.win);
        MPI_Barrier(team->comm);
        MPI_Win_lock(MPI_LOCK_SHARED, team->rank, 0, window.win);
        look_put(team, "Put and unlock", &window);
        MPI_Win_unlock(team->rank, window.win);
        MPI_Barrier(team->comm);
        crowded_bcast(team, &crowded_gaps, 10);
        crowded_sendrecv(team, &crowded_plain, &crowded_gaps, 10, true, true);
    }
    check_window_free(&window);
}

static void windows(struct team *team) {
    in_turns(team, CHECK_ALLOCATE);
    in_turns(team, CHECK_CREATE);
    in_turns(team, CHECK_ADOPTED);
}

/* --- communicators --- */

static void all_of_it(const char *name, MPI_Comm comm, int biggest) {
    struct team team = crowded_make_team(name, comm);

    crowded_collectives(&team, biggest);
    crowded_messages(&team, biggest);
    crowded_requests(&team);
    if (team.size > 1) {
        crowded_progress(&team);
    }
}

static void halves(void) {
    const int side = check_rank < check_ranks / 2 ? 0 : 1;
    MPI_Comm half;
    MPI_Comm inter;
    MPI_Comm merged;

    MPI_Comm_split(MPI_COMM_WORLD, side, check_rank, &half);
    all_of_it("a half", half, LONG);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : check_ranks / 2, TAG, &inter);
    struct team team = crowded_make_team("an intercommunicator", inter);
    for (int variant = 0; crowded_use_variant(variant); variant++) {
        between(&team, side);
    }
    MPI_Intercomm_merge(inter, !side, &merged); /* the other half comes first */
    all_of_it("a merged communicator", merged, LONG);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void everything(struct team *world) {
    MPI_Comm duplicate;

    all_of_it("the world", MPI_COMM_WORLD, BIG);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    all_of_it("a duplicate", duplicate, LONG);
    MPI_Comm_free(&duplicate);
    all_of_it("oneself", MPI_COMM_SELF, LONG);
    if (check_ranks > 1) {
        halves();
    }
    crowded_truncated();
    windows(world);
}

/* --- processes that are started later --- */

/* Every call takes long while more ranks than cores spin on the host alone. */
static void few_of_each(const char *name, MPI_Comm comm) {
    struct team team = crowded_make_team(name, comm);

    crowded_few_collectives(&team);
    crowded_sendrecv(&team, &crowded_plain, &crowded_gaps, LONG, true, true);
    crowded_to_the_first(&team, &crowded_gaps, 10, true, true);
    crowded_many(&team, true);
}

/* Both worlds may have decided differently; what reaches into both has to work all the same. */
static void both_worlds(MPI_Comm inter, int side) {
    struct team apart = crowded_make_team("an intercommunicator of two worlds", inter);
    int mine[2];
    int failed = 0;
    MPI_Comm merged;
    MPI_Comm part;

    between(&apart, side);
    MPI_Intercomm_merge(inter, side, &merged);
    few_of_each("two worlds, merged", merged);
    few_of_each("the world", MPI_COMM_WORLD);
    /* Of one world each, but made from both. */
    MPI_Comm_split(merged, side, 0, &part);
    few_of_each("one of two worlds", part);
    MPI_Comm_free(&part);
    /* Nobody looks at the children's exit codes. */
    check_counts(mine);
    MPI_Allreduce(&mine[1], &failed, 1, MPI_INT, MPI_SUM, merged);
    CHECK_SAME(failed, 0);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
}

/* The launcher does not know what `truerma run` has set. */
static void spawn(const char *program) {
    const char *preload = getenv("LD_PRELOAD");
    char setting[4096];
    char child[] = "child";
    char own[4096];
    char *arguments[] = {setting, own, child, NULL};
    char command[] = "env";
    int codes[CHILDREN];
    MPI_Comm inter;

    snprintf(setting, sizeof setting, "LD_PRELOAD=%s", preload ? preload : "");
    snprintf(own, sizeof own, "%s", program);
    MPI_Comm_spawn(command, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    both_worlds(inter, 0);
}

static void make_first_window(void) {
    struct check_window window;

    check_window_make(&window, CHECK_ALLOCATE, 8, MPI_COMM_WORLD);
    check_window_free(&window);
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "everything";
    MPI_Comm parent = MPI_COMM_NULL;

    check_begin(&argc, &argv);
    crowded_begin();
    few_of_each("the world before any window", MPI_COMM_WORLD);
    make_first_window();
    struct team world = crowded_make_team("the world", MPI_COMM_WORLD);
    if (strcmp(part, "child") == 0) {
        MPI_Comm_get_parent(&parent);
        both_worlds(parent, 1);
    } else if (strcmp(part, "spawn") == 0) {
        spawn(argv[0]);
    } else if (strcmp(part, "errors") == 0) {
        crowded_wrong();
    } else if (strcmp(part, "windows") == 0) {
        windows(&world);
    } else {
        everything(&world);
    }
    crowded_end();
    return check_finish();
}
