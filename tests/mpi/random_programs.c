/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: windows of all flavours, all kinds of epochs with random groups, and in them all calls
 * with all sizes and layouts, that do not conflict. All ranks draw the same program, and play it in a model;
 * each runs its own part. Results, and each window as a whole, must be what the model says after every epoch.
 * usage: random_programs [programs [seed [threads]]]; with "threads" MPI_THREAD_MULTIPLE is asked for
 */
#include "random_programs.h"

enum { WINDOWS = 3, PHASES = 16, ROOM = 64, COMMON = 8 /* numbers at the begin of each window */ };

static uint64_t state;
static MPI_Comm reversed; /* MPI_COMM_WORLD the other way round */

static unsigned pick(unsigned limit) {
    return check_random(&state, limit);
}

/* 0 to most: each power of two as often as the next. */
static size_t pick_size(size_t most) {
    size_t size = most;

    for (unsigned halves = pick(22); halves > 0; halves--) {
        size /= 2;
    }
    return size == 0 ? pick(2) * (most > 0) : size - pick((unsigned)size / 2 + 1);
}

int random_rank(const struct random_window *random, int rank) {
    return random->is_reversed ? check_ranks - 1 - rank : rank;
}

uint64_t random_element(const unsigned char *place, unsigned unit) {
    uint32_t four;
    uint64_t eight;

    switch (unit) {
    case 1:
        return *place;
    case 4:
        memcpy(&four, place, sizeof four);
        return four;
    default:
        memcpy(&eight, place, sizeof eight);
        return eight;
    }
}

void random_set_element(unsigned char *place, unsigned unit, uint64_t value) {
    const uint32_t four = (uint32_t)value;

    switch (unit) {
    case 1:
        *place = (unsigned char)value;
        break;
    case 4:
        memcpy(place, &four, sizeof four);
        break;
    default:
        memcpy(place, &value, sizeof value);
        break;
    }
}

uint64_t random_given(const struct random_operation *operation, size_t i) {
    const uint64_t value = check_pattern(operation->seed, i, 0) >> (64 - 8 * operation->unit);

    return operation->is_common ? value % 1000 : value;
}

size_t random_buffer_size(const struct random_operation *operation) {
    return 2 * ROOM + operation->count * operation->step * operation->unit;
}

unsigned char *random_in_buffer(const struct random_operation *operation, unsigned char *buffer, size_t i) {
    return buffer ? buffer + ROOM + i * operation->step * operation->unit : NULL;
}

static uint64_t combine_sum(uint64_t held, uint64_t given) {
    return held + given;
}

static uint64_t combine_replace(uint64_t held, uint64_t given) {
    (void)held;
    return given;
}

static uint64_t combine_no_op(uint64_t held, uint64_t given) {
    (void)given;
    return held;
}

static uint64_t combine_bxor(uint64_t held, uint64_t given) {
    return held ^ given;
}

static uint64_t combine_max(uint64_t held, uint64_t given) {
    return held > given ? held : given;
}

static uint64_t combine_band(uint64_t held, uint64_t given) {
    return held & given;
}

static struct random_op pick_op(void) {
    const struct random_op ops[] = {{MPI_SUM, combine_sum},
                                    {MPI_REPLACE, combine_replace},
                                    {MPI_BXOR, combine_bxor},
                                    {MPI_MAX, combine_max},
                                    {MPI_BAND, combine_band}};

    return ops[pick(sizeof ops / sizeof *ops)];
}

static const struct random_op sum = {MPI_SUM, combine_sum};

/* What is left of a part of the window that one origin has for itself, in one epoch or between two flushes.
 */
struct part {
    size_t begin;
    size_t end;
    size_t next;
    struct random_operation *last; /* an update, which may be followed by others of the same numbers */
};

static bool is_update(enum random_call call) {
    return call == RANDOM_ACCUMULATE || call == RANDOM_GET_ACCUMULATE || call == RANDOM_FETCH_AND_OP;
}

static bool gets_something(enum random_call call) {
    return call == RANDOM_GET || call == RANDOM_GET_ACCUMULATE || call == RANDOM_FETCH_AND_OP ||
           call == RANDOM_COMPARE_AND_SWAP;
}

static size_t round_up(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Takes the next piece of the part, as many elements as are drawn. */
static void place_operation(struct random_operation *operation, struct part *part) {
    static const unsigned units[] = {1, 4, 8};
    const bool is_single =
        operation->call == RANDOM_FETCH_AND_OP || operation->call == RANDOM_COMPARE_AND_SWAP;
    const bool is_plain = operation->call == RANDOM_PUT || operation->call == RANDOM_GET;

    operation->unit = units[is_plain ? pick(3) : 1 + pick(2)];
    operation->at = round_up(part->next + pick(2) * pick(80), operation->unit);
    operation->stride = is_single || operation->call == RANDOM_STORE || pick(4) ? 1 : 2 + pick(4);
    operation->step = is_single || operation->call == RANDOM_STORE || pick(4) ? 1 : 2 + pick(3);
    if (operation->at > part->end) {
        operation->at = part->end;
    }
    const size_t most = (part->end - operation->at) / (operation->unit * operation->stride);
    operation->count = is_single ? most > 0 : pick_size(most);
    if (is_single && most == 0) {
        operation->call = RANDOM_GET;
    }
    part->next = operation->at + operation->count * operation->stride * operation->unit;
}

/* The same numbers as the last update's, by the same operation or by none: those of one origin keep their
 * order. */
static void follow_update(struct random_operation *operation, const struct random_operation *last) {
    const bool only_reads = operation->call != RANDOM_ACCUMULATE && pick(4) == 0;

    operation->unit = last->unit;
    operation->at = last->at;
    operation->stride = last->stride;
    operation->step = last->step;
    operation->op = last->op;
    operation->count = operation->call == RANDOM_FETCH_AND_OP ? last->count > 0 : last->count;
    if (operation->call == RANDOM_FETCH_AND_OP && last->count == 0) {
        operation->call = RANDOM_GET_ACCUMULATE;
    }
    if (operation->call == RANDOM_FETCH_AND_OP) {
        operation->step = 1;
        operation->stride = 1;
    }
    if (only_reads) {
        operation->op = (struct random_op){MPI_NO_OP, combine_no_op};
    }
}

static unsigned char *make_buffer(const struct random_operation *operation) {
    const size_t size = random_buffer_size(operation);

    return memset(malloc(size), 0xee, size);
}

/* What the call does to the model. Its result, where it is this rank's, is what is there before. */
static void play(struct random_operation *operation, unsigned char *model) {
    unsigned char *place = model + operation->at;
    const size_t apart = operation->stride * operation->unit;

    for (size_t i = 0; i < operation->count; i++, place += apart) {
        const uint64_t held = random_element(place, operation->unit);
        const uint64_t given = random_given(operation, i);
        if (operation->expected) {
            random_set_element(random_in_buffer(operation, operation->expected, i), operation->unit, held);
        }
        if (operation->call == RANDOM_PUT || operation->call == RANDOM_STORE) {
            random_set_element(place, operation->unit, given);
        } else if (is_update(operation->call)) {
            random_set_element(place, operation->unit, operation->op.combine(held, given));
        } else if (operation->call == RANDOM_COMPARE_AND_SWAP && held == operation->compare) {
            random_set_element(place, operation->unit, given);
        }
    }
}

static void make_buffers(struct random_operation *operation) {
    operation->given = make_buffer(operation);
    for (size_t i = 0; i < operation->count; i++) {
        random_set_element(random_in_buffer(operation, operation->given, i), operation->unit,
                           random_given(operation, i));
    }
    if (gets_something(operation->call)) {
        operation->got = make_buffer(operation);
        operation->expected = make_buffer(operation);
    }
}

bool random_is_passive(const struct random_phase *phase) {
    return phase->epoch == RANDOM_LOCK || phase->epoch == RANDOM_LOCK_ALL;
}

static void draw_call(struct random_phase *phase, struct random_operation *operation, struct part *part) {
    operation->call = (enum random_call)pick(RANDOM_COMPARE_AND_SWAP + 1);
    if (operation->origin == operation->target && pick(3) == 0) {
        operation->call = RANDOM_STORE;
    } else if (random_is_passive(phase) && pick(6) == 0) {
        operation->call = RANDOM_FLUSH;
        part->next = part->begin;
        part->last = NULL;
        return;
    }
    if (part->last && is_update(operation->call) && pick(2)) {
        follow_update(operation, part->last);
    } else {
        operation->op = pick_op();
        place_operation(operation, part);
        part->last = is_update(operation->call) ? operation : NULL;
    }
    operation->by_request = random_is_passive(phase) && pick(3) == 0;
}

static void draw_common(struct random_operation *operation) {
    operation->is_common = true;
    operation->call = pick(2) ? RANDOM_FETCH_AND_OP : RANDOM_ACCUMULATE;
    operation->op = sum;
    operation->unit = 8;
    operation->stride = 1;
    operation->step = 1;
    operation->count = 1;
}

static void draw_operation(struct random_phase *phase, int origin, int target, struct part *part,
                           const uint64_t *common) {
    struct random_operation *operation = &phase->operations[phase->count++];
    unsigned char *model = phase->random->model[target];

    *operation =
        (struct random_operation){.origin = origin, .target = target, .seed = check_pattern(state, 1, 2)};
    if (pick(5) == 0) {
        const size_t which = pick(COMMON);
        draw_common(operation);
        operation->at = 8 * which;
        operation->compare = common[which];
    } else {
        draw_call(phase, operation, part);
    }
    if (operation->call == RANDOM_FLUSH) {
        return;
    }
    if (operation->call == RANDOM_COMPARE_AND_SWAP) {
        operation->compare = random_element(model + operation->at, operation->unit) + pick(2);
    }
    if (origin == check_rank) {
        make_buffers(operation);
    }
    play(operation, model);
    phase->is_updated[target] |= operation->call != RANDOM_GET && operation->call != RANDOM_STORE;
}

/* Cuts a window into a part for each origin, of random sizes, some of them empty; all begin and end with a
 * number. */
static void cut(struct part *parts, size_t size) {
    size_t cuts[RANDOM_RANKS + 1];

    cuts[0] = COMMON * 8;
    cuts[check_ranks] = size;
    for (int i = 1; i < check_ranks; i++) {
        const size_t share = (size - cuts[i - 1]) / (unsigned)(check_ranks - i);
        cuts[i] = cuts[i - 1] + share * pick(9) / 64 * 8;
    }
    for (int i = 0; i < check_ranks; i++) {
        parts[i] = (struct part){.begin = cuts[i], .end = cuts[i + 1], .next = cuts[i]};
    }
}

static void draw_operations(struct random_phase *phase) {
    const size_t size = phase->random->window.size;
    struct part parts[RANDOM_RANKS][RANDOM_RANKS];
    uint64_t common[RANDOM_RANKS][COMMON];

    for (int target = 0; target < check_ranks; target++) {
        cut(parts[target], size);
        memcpy(common[target], phase->random->model[target], sizeof common[target]);
    }
    for (int origin = 0; origin < check_ranks; origin++) {
        for (int left = (int)pick(RANDOM_EACH + 1); left > 0; left--) {
            const int target = (int)pick((unsigned)check_ranks);
            if (phase->reaches[origin][target]) {
                draw_operation(phase, origin, target, &parts[target][origin], common[target]);
            }
        }
    }
}

static void draw_phase(struct random_phase *phase, struct random_window *random) {
    const bool all_reach = pick(2) == 0;

    memset(phase, 0, sizeof *phase);
    phase->random = random;
    phase->seed = state;
    phase->epoch = (enum random_epoch)pick(RANDOM_EPOCHS);
    phase->fence_asserts = pick(2) ? MPI_MODE_NOSUCCEED : 0;
    phase->is_posted_before = pick(3) == 0;
    phase->has_messages = pick(2);
    phase->is_tested = pick(3) == 0;
    for (int origin = 0; origin < check_ranks; origin++) {
        phase->is_exclusive[origin] = pick(2);
        phase->busy_us[origin] = pick(2) * pick(300);
        for (int target = 0; target < check_ranks; target++) {
            phase->reaches[origin][target] =
                all_reach || phase->epoch == RANDOM_FENCE || phase->epoch == RANDOM_LOCK_ALL || pick(2);
        }
    }
    draw_operations(phase);
}

static void free_operations(struct random_phase *phase) {
    for (int i = 0; i < phase->count; i++) {
        free(phase->operations[i].given);
        free(phase->operations[i].got);
        free(phase->operations[i].expected);
    }
}

static void make_window(struct random_window *random) {
    const size_t size = ((size_t)8 << 10 << pick(check_ranks > 2 ? 8 : 10)) - 8 * pick(200);

    random->is_reversed = pick(3) == 0;
    check_window_make(&random->window, (enum check_flavor)pick(CHECK_SMALL_UPDATES + 1), size,
                      random->is_reversed ? reversed : MPI_COMM_WORLD);
    for (int rank = 0; rank < check_ranks; rank++) {
        random->model[rank] = calloc(size, 1);
    }
}

static void free_window(struct random_window *random) {
    for (int rank = 0; rank < check_ranks; rank++) {
        free(random->model[rank]);
    }
    check_window_free(&random->window);
}

/* A phase, and now and then another one of another window within. */
static void run_phase(struct random_window *windows) {
    static struct random_phase outer;
    static struct random_phase inner;
    const unsigned which = pick(WINDOWS);

    draw_phase(&outer, &windows[which]);
    if (pick(3) == 0) {
        draw_phase(&inner, &windows[(which + 1) % WINDOWS]);
        outer.inner = &inner;
    }
    random_run(&outer);
    free_operations(&outer);
    if (outer.inner) {
        free_operations(&inner);
    }
}

static void run_program(void) {
    struct random_window windows[WINDOWS];

    for (int i = 0; i < WINDOWS; i++) {
        make_window(&windows[i]);
    }
    for (int i = 0; i < PHASES; i++) {
        run_phase(windows);
    }
    for (int i = 0; i < WINDOWS; i++) {
        free_window(&windows[i]);
    }
}

int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[3], "threads") == 0) {
        check_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
    } else {
        check_begin(&argc, &argv);
    }
    const long programs = argc > 1 ? strtol(argv[1], NULL, 10) : 40;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    CHECK(check_ranks <= RANDOM_RANKS);
    if (check_ranks > RANDOM_RANKS) {
        return check_finish();
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed);
    for (long i = 0; i < programs; i++) {
        state = check_pattern(seed, (uint64_t)i, 3);
        run_program();
    }
    MPI_Comm_free(&reversed);
    return check_finish();
}
