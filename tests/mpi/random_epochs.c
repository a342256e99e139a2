/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs: the calls of one phase, and what they must have done. */
#include "random_programs.h"

enum { FLUSHES = 4 };

static MPI_Datatype basic_type(unsigned unit) {
    switch (unit) {
    case 1:
        return MPI_BYTE;
    case 4:
        return MPI_UINT32_T;
    default:
        return MPI_UINT64_T;
    }
}

/* One side of an operation: `count` elements, so many elements apart. */
struct side {
    int count;
    MPI_Datatype type;
    bool is_made;
};

static struct side make_side(const struct random_operation *operation, size_t apart) {
    const MPI_Datatype basic = basic_type(operation->unit);
    struct side side = {(int)operation->count, basic, false};

    if (apart > 1) {
        side.count = 1;
        side.is_made = true;
        MPI_Type_create_hvector((int)operation->count, 1, (MPI_Aint)(apart * operation->unit), basic,
                                &side.type);
        MPI_Type_commit(&side.type);
    }
    return side;
}

static void free_side(struct side *side) {
    if (side->is_made) {
        MPI_Type_free(&side->type);
    }
}

/* A request, or MPI_REQUEST_NULL where the call makes none. */
static MPI_Request transfer(struct random_operation *operation, const struct random_window *random) {
    const struct check_window *window = &random->window;
    const int target = random_rank(random, operation->target);
    unsigned char *given = random_in_buffer(operation, operation->given, 0);
    unsigned char *got = random_in_buffer(operation, operation->got, 0);
    const MPI_Aint place = check_disp(window, target, operation->at);
    struct side here = make_side(operation, operation->step);
    struct side there = make_side(operation, operation->stride);
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Op op = operation->op.op;

    if (operation->call == RANDOM_PUT && operation->by_request) {
        MPI_Rput(given, here.count, here.type, target, place, there.count, there.type, window->win, &request);
    } else if (operation->call == RANDOM_PUT) {
        MPI_Put(given, here.count, here.type, target, place, there.count, there.type, window->win);
    } else if (operation->call == RANDOM_GET && operation->by_request) {
        MPI_Rget(got, here.count, here.type, target, place, there.count, there.type, window->win, &request);
    } else if (operation->call == RANDOM_GET) {
        MPI_Get(got, here.count, here.type, target, place, there.count, there.type, window->win);
    } else if (operation->call == RANDOM_ACCUMULATE && operation->by_request) {
        MPI_Raccumulate(given, here.count, here.type, target, place, there.count, there.type, op, window->win,
                        &request);
    } else if (operation->call == RANDOM_ACCUMULATE) {
        MPI_Accumulate(given, here.count, here.type, target, place, there.count, there.type, op, window->win);
    } else if (operation->by_request) {
        MPI_Rget_accumulate(given, here.count, here.type, got, here.count, here.type, target, place,
                            there.count, there.type, op, window->win, &request);
    } else {
        MPI_Get_accumulate(given, here.count, here.type, got, here.count, here.type, target, place,
                           there.count, there.type, op, window->win);
    }
    free_side(&here);
    free_side(&there);
    return request;
}

static void flush(const struct random_operation *operation, const struct random_window *random) {
    const int target = random_rank(random, operation->target);
    const MPI_Win win = random->window.win;

    switch (operation->seed % FLUSHES) {
    case 0:
        MPI_Win_flush_all(win);
        break;
    case 1:
        MPI_Win_flush_local(target, win);
        MPI_Win_flush(target, win);
        break;
    default:
        MPI_Win_flush(target, win);
        break;
    }
}

static MPI_Request issue(const struct random_phase *phase, struct random_operation *operation) {
    const struct check_window *window = &phase->random->window;
    unsigned char *given = random_in_buffer(operation, operation->given, 0);
    unsigned char *got = random_in_buffer(operation, operation->got, 0);
    const int target = random_rank(phase->random, operation->target);
    const MPI_Aint place = check_disp(window, target, operation->at);
    const MPI_Datatype basic = basic_type(operation->unit);

    switch (operation->call) {
    case RANDOM_FETCH_AND_OP:
        MPI_Fetch_and_op(given, got, basic, target, place, operation->op.op, window->win);
        break;
    case RANDOM_COMPARE_AND_SWAP: {
        unsigned char *compare = given + operation->unit; /* in the room behind */
        random_set_element(compare, operation->unit, operation->compare);
        MPI_Compare_and_swap(given, compare, got, basic, target, place, window->win);
        break;
    }
    case RANDOM_STORE:
        memcpy((unsigned char *)window->base + operation->at, given, operation->count * operation->unit);
        if (random_is_passive(phase)) {
            MPI_Win_sync(window->win);
        }
        break;
    case RANDOM_FLUSH:
        flush(operation, phase->random);
        break;
    default:
        return transfer(operation, phase->random);
    }
    return MPI_REQUEST_NULL;
}

/* This rank's operations, to one target or (-1) to all. */
static void issue_all(struct random_phase *phase, int target) {
    MPI_Request requests[RANDOM_OPERATIONS];
    int count = 0;

    for (int i = 0; i < phase->count; i++) {
        struct random_operation *operation = &phase->operations[i];
        if (operation->origin == check_rank && (target < 0 || operation->target == target)) {
            requests[count] = issue(phase, operation);
            if (operation->seed % 3 == 0) {
                MPI_Wait(&requests[count], MPI_STATUS_IGNORE);
            }
            count += requests[count] != MPI_REQUEST_NULL;
        }
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* What the program does otherwise: computes, has an epoch of another window, sends messages. */
static void do_other_things(const struct random_phase *phase) {
    const double end = MPI_Wtime() + 1e-6 * phase->busy_us[check_rank];
    uint64_t sent = check_pattern(phase->seed, (uint64_t)check_rank, 1);
    uint64_t received = 0;

    while (MPI_Wtime() < end) {
    }
    if (phase->inner) {
        random_run(phase->inner);
    }
    if (phase->has_messages) {
        MPI_Sendrecv(&sent, 1, MPI_UINT64_T, check_neighbour(1), 7, &received, 1, MPI_UINT64_T,
                     check_neighbour(-1), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_SAME(received, check_pattern(phase->seed, (uint64_t)check_neighbour(-1), 1));
    }
}

static void run_fence(struct random_phase *phase) {
    const MPI_Win win = phase->random->window.win;

    MPI_Win_fence(phase->is_updated[check_rank] ? 0 : MPI_MODE_NOPUT, win);
    issue_all(phase, -1);
    do_other_things(phase);
    MPI_Win_fence(phase->fence_asserts, win);
}

/* The ranks that this one reaches (`by_targets` false: that reach this one), as a group. */
static MPI_Group make_group(const struct random_phase *phase, bool by_targets) {
    int ranks[RANDOM_RANKS];
    int count = 0;
    MPI_Group all;
    MPI_Group group;

    for (int i = check_ranks - 1; i >= 0; i--) {
        if (by_targets ? phase->reaches[check_rank][i] : phase->reaches[i][check_rank]) {
            ranks[count++] = i;
        }
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, ranks, &group);
    MPI_Group_free(&all);
    return group;
}

static void await_origins(const struct random_phase *phase) {
    const MPI_Win win = phase->random->window.win;

    if (phase->is_tested) {
        for (int done = 0; !done;) {
            MPI_Win_test(win, &done);
        }
    } else {
        MPI_Win_wait(win);
    }
}

static void run_pscw(struct random_phase *phase) {
    const MPI_Win win = phase->random->window.win;
    const int asserts = phase->is_posted_before ? MPI_MODE_NOCHECK : 0;
    MPI_Group origins = make_group(phase, false);
    MPI_Group targets = make_group(phase, true);

    MPI_Win_post(origins, asserts | (phase->is_updated[check_rank] ? 0 : MPI_MODE_NOPUT), win);
    if (phase->is_posted_before) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_start(targets, asserts, win);
    issue_all(phase, -1);
    do_other_things(phase);
    MPI_Win_complete(win);
    await_origins(phase);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

static void run_lock(struct random_phase *phase) {
    const MPI_Win win = phase->random->window.win;

    for (int i = 0; i < check_ranks; i++) {
        const int target = check_neighbour(i);
        const int rank = random_rank(phase->random, target);
        if (phase->reaches[check_rank][target]) {
            MPI_Win_lock(phase->is_exclusive[check_rank] ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, rank, 0,
                         win);
            issue_all(phase, target);
            MPI_Win_unlock(rank, win);
        }
    }
    do_other_things(phase);
}

static void run_lock_all(struct random_phase *phase) {
    const MPI_Win win = phase->random->window.win;

    MPI_Win_lock_all(phase->is_posted_before ? MPI_MODE_NOCHECK : 0, win);
    issue_all(phase, -1);
    do_other_things(phase);
    MPI_Win_unlock_all(win);
}

/* Several origins count on common numbers: what each gets lies between what was there before and what all
 * make of it. */
static bool is_in_common_range(const struct random_phase *phase, const struct random_operation *operation) {
    uint64_t most = 0;

    for (int i = 0; i < phase->count; i++) {
        const struct random_operation *other = &phase->operations[i];
        if (other->is_common && other->target == operation->target) {
            most += random_given(other, 0);
        }
    }
    const uint64_t got = random_element(random_in_buffer(operation, operation->got, 0), operation->unit);
    return got - operation->compare <= most - random_given(operation, 0);
}

static void look_at_result(const struct random_phase *phase, const struct random_operation *operation,
                           size_t size) {
    const bool as_expected = operation->is_common ? is_in_common_range(phase, operation)
                                                  : memcmp(operation->got, operation->expected, size) == 0;

    CHECK_THAT(as_expected, "phase %llx, epoch %d, %s: call %d of %zu x %u bytes at %zu of rank %d",
               (unsigned long long)phase->seed, (int)phase->epoch,
               check_flavor_name(phase->random->window.flavor), (int)operation->call, operation->count,
               operation->unit, operation->at, operation->target);
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t size) {
    size_t i = 0;

    while (i < size && a[i] == b[i]) {
        i++;
    }
    return i;
}

static void compare_window(const struct random_phase *phase) {
    const struct check_window *window = &phase->random->window;
    const unsigned char *model = phase->random->model[check_rank];
    const size_t same = memcmp(window->base, model, window->size) == 0
                            ? window->size
                            : first_difference(window->base, model, window->size);

    CHECK_THAT(same == window->size, "phase %llx, epoch %d, %s: byte %zu of %zu of the window",
               (unsigned long long)phase->seed, (int)phase->epoch, check_flavor_name(window->flavor), same,
               window->size);
}

void random_run(struct random_phase *phase) {
    static void (*const run[RANDOM_EPOCHS])(struct random_phase *) = {
        [RANDOM_FENCE] = run_fence,
        [RANDOM_PSCW] = run_pscw,
        [RANDOM_LOCK] = run_lock,
        [RANDOM_LOCK_ALL] = run_lock_all,
    };
    const MPI_Win win = phase->random->window.win;

    /* Nobody reads the window any more, as who posts or calls fence tells by that. */
    if (random_is_passive(phase)) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    run[phase->epoch](phase);
    for (int i = 0; i < phase->count; i++) {
        const struct random_operation *operation = &phase->operations[i];
        if (operation->expected) {
            look_at_result(phase, operation, random_buffer_size(operation));
        }
    }
    if (random_is_passive(phase)) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, random_rank(phase->random, check_rank), 0, win);
        compare_window(phase);
        MPI_Win_unlock(random_rank(phase->random, check_rank), win);
    } else {
        compare_window(phase);
    }
}
