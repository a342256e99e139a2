/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"
#include "page.h"
#include "plan.h"
#include "turn.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double patience_ms; /* that is left */

static void end_with(int status) {
    MPI_Finalize();
    exit(status);
}

void bench_begin(struct bench *bench, const struct bench_program *program, int argc, char **argv,
                 int min_ranks, int max_ranks) {
    int level;
    /* Silently, for the level alone: who is to speak is known only with MPI. */
    bench_options_parse(&bench->options, program, argc, argv, false);
    if (bench_turn_begin(bench->options.turns) != 0)
        exit(2);
    MPI_Init_thread(&argc, &argv, bench->options.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->ranks);
    bool speak = bench->rank == 0;
    int status = bench_options_parse(&bench->options, program, argc, argv, speak);
    if (status != 0)
        end_with(status == 1 ? 0 : 2);
    if (bench->options.threads && level != MPI_THREAD_MULTIPLE) {
        if (speak)
            fprintf(stderr, "--threads: this MPI has no MPI_THREAD_MULTIPLE\n");
        end_with(2);
    }
    if (bench->ranks < min_ranks || bench->ranks > max_ranks) {
        if (speak)
            fprintf(stderr, "%s: runs with %d to %d ranks, not %d\n", program->name, min_ranks, max_ranks,
                    bench->ranks);
        end_with(2);
    }
    for (int i = 0; i < bench->options.sizes.count; i++) {
        if (bench->options.sizes.item[i] % 8 != 0 || bench->options.sizes.item[i] == 0) {
            if (speak)
                fprintf(stderr, "--size: %lld is not a multiple of 8\n", bench->options.sizes.item[i]);
            end_with(2);
        }
    }
    int failed = bench_pin(bench->options.pin, bench->rank) != 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed)
        end_with(2);
    bench->meeting = bench_page_map(bench->rank);
    patience_ms = bench->options.patience_ms;
}

int bench_end(void) {
    MPI_Finalize();
    return 0;
}

void bench_window_make(struct bench_window *window, const char *flavour, size_t bytes, MPI_Comm comm) {
    window->bytes = bytes;
    window->created = strcmp(flavour, "create") == 0;
    if (window->created) {
        window->base = bench_memory(bytes);
        MPI_Win_create(window->base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, comm, &window->win);
    } else {
        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, comm, &window->base, &window->win);
        if (bytes > 0)
            memset(window->base, 0, bytes);
    }
    MPI_Barrier(comm); /* nobody reads or writes what is still being zeroed */
}

void bench_window_free(struct bench_window *window) {
    MPI_Win_free(&window->win);
    if (window->created)
        free(window->base);
}

bool bench_is_crowded(const struct bench *bench) {
    return bench->ranks > sysconf(_SC_NPROCESSORS_ONLN);
}

/*
 * Waits for all ranks, and lets others have the CPU meanwhile. With more ranks than CPUs a host's barrier may
 * let its ranks go milliseconds apart, which is not what is measured; after it, all have left it.
 */
static void meet(const struct bench *bench) {
    unsigned ranks = (unsigned)bench->ranks;
    unsigned place = atomic_fetch_add(bench->meeting, 1);
    unsigned full = place - place % ranks + ranks;
    while ((int)(atomic_load(bench->meeting) - full) < 0)
        sched_yield();
}

/*
 * Nanoseconds that a word takes from rank 0's CPU to rank 1's and back, halved; 0 where they may share one.
 * The CPUs of a virtual machine may be moved about beneath it, and this time trebled, from one second to the
 * next: only what was measured at the same distance can be compared.
 */
static double ping(const struct bench *bench) {
    enum { rounds = 200, words_apart = 64 };
    if (bench_is_crowded(bench) || bench->ranks < 2)
        return 0;
    meet(bench);
    _Atomic unsigned *words = bench->meeting + words_apart;
    double begin = bench_now_us();
    for (unsigned i = 1; i <= rounds && bench->rank < 2; i++) {
        if (bench->rank == 0)
            atomic_store_explicit(&words[0], i, memory_order_release);
        /* A yield now and then: the two may have been confined to one CPU. */
        for (unsigned looks = 1;
             atomic_load_explicit(&words[bench->rank == 0 ? words_apart : 0], memory_order_acquire) != i;
             looks++)
            if (looks % 4096 == 0)
                sched_yield();
        if (bench->rank == 1)
            atomic_store_explicit(&words[words_apart], i, memory_order_release);
    }
    double ns = (bench_now_us() - begin) * 1e3 / (2 * rounds);
    meet(bench);
    if (bench->rank < 2)
        atomic_store(&words[bench->rank * words_apart], 0);
    meet(bench);
    return ns;
}

void bench_give_turn(const struct bench *bench, enum bench_turn_end end) {
    if (!bench_turn_is_taken())
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    meet(bench);
    bench_turn_give(end, bench->rank == 0);
}

/* Runs one sample of `iterations`; returns this rank's time per iteration. */
static double sample(const struct bench *bench, const struct bench_task *task, long iterations) {
    if (task->open != NULL)
        task->open(task->context);
    if (task->before > 0)
        task->run(task->context, task->before);
    MPI_Barrier(MPI_COMM_WORLD);
    meet(bench);
    double start = bench_now_us();
    task->run(task->context, iterations);
    double span[2] = {bench_now_us(), -start};
    MPI_Barrier(MPI_COMM_WORLD);
    if (task->together) /* the clock is the whole machine's */
        MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double us = (span[0] + span[1]) / (double)iterations;
    if (task->close != NULL)
        task->close(task->context);
    MPI_Barrier(MPI_COMM_WORLD);
    if (task->check != NULL)
        bench_verify(bench, task->check(task->context), "data");
    return us;
}

/* Runs the iterations without a pause, each timed; checks once. A rank may be epochs ahead of another one, as
 * in programs. */
static void sample_each(const struct bench *bench, const struct bench_task *task, long iterations,
                        struct bench_samples *samples) {
    MPI_Barrier(MPI_COMM_WORLD);
    meet(bench);
    for (long i = 0; i < iterations; i++) {
        double start = bench_now_us();
        task->run(task->context, 1);
        bench_sample(samples, bench_now_us() - start);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (task->check != NULL)
        bench_verify(bench, task->check(task->context), "data");
}

/* The slowest rank's `us`, known to all, so that all run the same number of iterations. */
static double slowest(double us) {
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return us;
}

/* bench_pace_ns of the slowest rank; 0 with more ranks than CPUs, whose turns it would measure. */
static double pace(const struct bench *bench) {
    return bench_is_crowded(bench) ? 0 : slowest(bench_pace_ns());
}

/* What the machine is like now: the same on all ranks. 0: unknown. Where one rank does everything, the
 * distance matters too: the other has looked at the data between samples, and what it has in its caches must
 * be fetched. */
struct machine {
    double ping_ns, pace_ns;
};

/* As it is at its best: as the command line tells, else as this program has seen it. */
static struct machine best;

/* How much worse is still the same (as in results.py). */
static const double near_enough = 1.5, fast_enough = 1.15;

static void remember(const struct bench *bench, const struct machine *now) {
    if (bench->options.best.count > 0) {
        best = (struct machine){(double)bench->options.best.item[0], (double)bench->options.best.item[1]};
    } else if (best.pace_ns == 0 || now->pace_ns * fast_enough < best.pace_ns) {
        best = *now; /* words between two CPUs of one core come soonest, and each is slow */
    } else if (now->pace_ns <= fast_enough * best.pace_ns && now->ping_ns > 0 &&
               (best.ping_ns == 0 || now->ping_ns < best.ping_ns)) {
        best.ping_ns = now->ping_ns;
    }
}

static struct machine look_at_machine(const struct bench *bench) {
    struct machine now = {.ping_ns = slowest(ping(bench)), .pace_ns = pace(bench)};
    remember(bench, &now);
    return now;
}

static bool is_near(const struct machine *now) {
    return best.ping_ns == 0 || now->ping_ns <= near_enough * best.ping_ns;
}

static bool is_fast(const struct machine *now) {
    return now->pace_ns <= fast_enough * best.pace_ns;
}

/* Spends so much patience: false when there is none left. All ranks have spent as much. */
static bool be_patient(double ms) {
    bool has_some = patience_ms > 0;
    patience_ms -= ms;
    return has_some;
}

/* Waits for the machine at its best while there is patience. */
static struct machine await_machine(const struct bench *bench) {
    enum { STEP_MS = 10 };
    struct machine now = look_at_machine(bench);
    while (!(is_near(&now) && is_fast(&now)) && be_patient(STEP_MS)) {
        const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
        nanosleep(&step, NULL);
        now = look_at_machine(bench);
    }
    return now;
}

/* How a task is repeated. */
struct plan {
    long iterations; /* per sample */
    int reps;        /* samples that its budget has room for */
};

/* What samples of a warm-up are taken of. */
struct warm_up {
    const struct bench *bench;
    const struct bench_task *task;
};

static double sample_slowest(void *context, long iterations) {
    const struct warm_up *warm_up = context;
    return slowest(sample(warm_up->bench, warm_up->task, iterations));
}

/* Warm, it may take a hundredth of what it took cold: as many iterations are wanted as of its like. */
static void use_for_a_while(struct warm_up *warm_up, const struct bench_plan_need *need, double us,
                            long iterations) {
    const int warm_samples = 16; /* each is checked, which may take as long as many iterations */
    const double wanted_us = warm_up->bench->options.warm_ms * 1e3;
    for (double taken_us = 0; taken_us < wanted_us;) {
        const long some = bench_plan_lasting(need, wanted_us / warm_samples, us, iterations);
        us = sample_slowest(warm_up, some);
        taken_us += us * (double)some;
    }
}

static struct plan plan_for(const struct bench *bench, const struct bench_task *task) {
    const struct bench_options *options = &bench->options;
    const double budget_us = options->budget_ms * 1e3;
    const struct bench_plan_need need = {.sample_us = budget_us / options->reps,
                                         .least = task->least > 0 ? task->least : 1,
                                         .most = task->most,
                                         .is_crowded = bench_is_crowded(bench)};
    struct warm_up warm_up = {bench, task};
    /* In turns with others all take as many: the machine is not the same for who takes some more. */
    const int fewest = bench_turn_is_taken() || options->reps < 5 ? options->reps : 5;

    double us;
    long iterations = bench_plan_grow(&need, sample_slowest, &warm_up, &us);
    if (task->warm) {
        use_for_a_while(&warm_up, &need, us, iterations);
        iterations = bench_plan_grow(&need, sample_slowest, &warm_up, &us);
    }
    struct plan plan;
    if (task->each) { /* one row of iterations */
        long epochs = (long)(budget_us / us);
        plan.iterations = epochs < 20 ? 20 : epochs;
        plan.reps = 1;
        return plan;
    }
    plan.iterations = bench_plan_lasting(&need, need.sample_us, us, us > 0 ? need.least : iterations);
    double possible = budget_us / (us * (double)plan.iterations);
    plan.reps = possible < options->reps * 0.99 ? (int)possible : options->reps;
    if (plan.reps < fewest)
        plan.reps = fewest;
    return plan;
}

static double worse(double a, double b) {
    return a > b ? a : b;
}

/* A sample of each task. Each begins in its turn, every other time the other way round: what a task finds in
 * the caches is what the one before it has left there. Where other programs have their turns, all are sampled
 * twice, and each comes after every other one as often. */
static void sample_all(const struct bench *bench, const struct bench_task *tasks, const struct plan *plans,
                       int count, int time, double *us) {
    for (int i = 0; i < count; i++) {
        int turn = (time / 2 + (time % 2 == 0 ? count - i : i)) % count;
        us[turn] = sample(bench, &tasks[turn], plans[turn].iterations);
    }
}

/*
 * Takes `reps` samples of each task, in turns, while the machine is at its best, as looks at it before and
 * after each turn tell: no other tenant slows a rank's core down, and the CPUs are near each other. Where it
 * is never at its best for so long, the last samples are kept whatever they are, with what tells it.
 *
 * Where other programs have their turns in between, they leave the caches full of their data: what each task
 * takes first is not kept.
 */
static void sample_quietly(const struct bench *bench, const struct bench_task *tasks,
                           const struct plan *plans, int count, int reps, struct bench_samples *samples) {
    static struct bench_samples pings, paces;
    const int most = 3 * reps;
    struct machine before = look_at_machine(bench);
    pings.count = paces.count = 0;
    for (int tries = 1; samples[0].count < reps; tries++) {
        double us[BENCH_MAX_TURNS];
        if (bench_turn_is_taken()) {
            bench_give_turn(bench, BENCH_TURN_SAMPLE);
            sample_all(bench, tasks, plans, count, tries, us);
            before = look_at_machine(bench);
        }
        sample_all(bench, tasks, plans, count, tries, us);
        const struct machine after = look_at_machine(bench);
        const struct machine meanwhile = {.ping_ns = worse(before.ping_ns, after.ping_ns),
                                          .pace_ns = worse(before.pace_ns, after.pace_ns)};
        bool taken = (is_near(&meanwhile) && is_fast(&meanwhile)) || reps - samples[0].count > most - tries;
        for (int i = 0; i < count && taken; i++)
            bench_sample(&samples[i], us[i]);
        if (taken) {
            bench_sample(&pings, meanwhile.ping_ns);
            bench_sample(&paces, meanwhile.pace_ns);
        }
        before = after;
    }
    for (int i = 0; i < count; i++) {
        samples[i].ping_ns = bench_median(&pings);
        samples[i].pace_ns = bench_median(&paces);
    }
}

/*
 * Tasks that take about as long get equally many iterations, in all programs that take turns: the first ones
 * in a sample, with caches full of what was checked before, cost more than the others. (Epochs of 16 times
 * 512 KiB from 7 origins took 4.6, 4.0, 3.1, 2.7, 2.5, 2.5 ms one after the other, on an Intel Xeon, whatever
 * the library, and the mean of three of them was compared with one of seven.)
 */
static void make_even(const struct bench *bench, struct plan *plans, int count) {
    long mine[BENCH_MAX_TURNS], chosen[BENCH_MAX_TURNS], others[BENCH_TURN_NUMBERS];
    int heard;
    _Static_assert((int)BENCH_MAX_TURNS <= (int)BENCH_TURN_NUMBERS, "all of them are told");
    for (int i = 0; i < count; i++)
        mine[i] = chosen[i] = plans[i].iterations;
    if (bench_turn_is_taken()) {
        bench_turn_tell(mine, count, bench->rank == 0);
        bench_give_turn(bench, BENCH_TURN_CELL);
        for (int other = 0; (heard = bench_turn_hear(other, others)) >= 0; other++)
            bench_plan_take_most(chosen, mine, count, others, heard);
    } else {
        bench_plan_take_most(chosen, mine, count, mine, count);
    }
    for (int i = 0; i < count; i++)
        plans[i].iterations = chosen[i];
}

void bench_run_in_turns(const struct bench *bench, const struct bench_task *tasks, int count,
                        struct bench_samples *samples) {
    struct plan plans[BENCH_MAX_TURNS];
    int reps = bench->options.reps;
    for (int i = 0; i < count; i++) {
        plans[i] = plan_for(bench, &tasks[i]);
        reps = plans[i].reps < reps ? plans[i].reps : reps;
    }
    make_even(bench, plans, count);
    struct machine now;
    do {
        for (int i = 0; i < count; i++)
            samples[i].count = 0;
        now = await_machine(bench);
        for (int i = 0; i < count; i++) {
            samples[i].iterations = tasks[0].each ? 1 : plans[i].iterations;
            samples[i].ping_ns = tasks[0].each ? now.ping_ns : 0;
            samples[i].pace_ns = 0;
        }
        if (tasks[0].each)
            sample_each(bench, &tasks[0], plans[0].iterations, &samples[0]);
        else
            sample_quietly(bench, tasks, plans, count, reps, samples);
        now.ping_ns = samples[0].ping_ns;
    } while (!is_near(&now) && be_patient(bench->options.budget_ms * count));
    bench_give_turn(bench, BENCH_TURN_CELL);
}

void bench_run(const struct bench *bench, const struct bench_task *task, struct bench_samples *samples) {
    bench_run_in_turns(bench, task, 1, samples);
}

void bench_verify(const struct bench *bench, long wrong, const char *what) {
    long most = wrong;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (most == 0)
        return;
    const char *name = bench->options.program->name;
    if (wrong != 0)
        printf("CHECK FAILED: %s: rank %d: %s: %ld wrong\n", name, bench->rank, what, wrong);
    fflush(stdout);
    end_with(1); /* not MPI_Abort, with which launchers lose what was printed last */
}

void bench_emit(const struct bench *bench, struct bench_cell *cell, struct bench_samples *samples, int from) {
    enum { tag = 4711 };
    if (from != 0 && bench->rank == from) {
        MPI_Send(&samples->count, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        MPI_Send(samples->us, samples->count, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
    }
    if (bench->rank != 0)
        return;
    static struct bench_samples received;
    if (from != 0) {
        MPI_Recv(&received.count, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(received.us, received.count, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        received.iterations = samples->iterations;
        received.ping_ns = samples->ping_ns;
        received.pace_ns = samples->pace_ns;
        samples = &received;
    }
    cell->bench = bench->options.program->name;
    cell->ranks = bench->ranks;
    cell->threads = bench->options.threads;
    cell->in_turns = bench_turn_is_taken();
    bench_print(cell, samples);
}

long long bench_largest(const struct bench_numbers *numbers) {
    long long largest = 0;
    for (int i = 0; i < numbers->count; i++)
        largest = numbers->item[i] > largest ? numbers->item[i] : largest;
    return largest;
}
