/* SPDX-License-Identifier: BSD-3-Clause */
/* bfs: Graph500's breadth-first search. See README.md. */
#include "app_check.h"
#include "app_memory.h"
#include "app_options.h"
#include "app_report.h"
#include "app_timer.h"
#include "graph.h"
#include "search.h"
#include "statistics.h"
#include "validate.h"

#include <mpi.h>
#include <stdlib.h>

static long scale = 0; /* 0: the class's */
static const int class_scales[APP_CLASSES] = {10, 12, 16, 20};
static long edge_factor = 16;
static long root_count = 0; /* 0: the class's */
static const int class_roots[APP_CLASSES] = {4, 64, 64, 64};
static long seed = 1;
static bool self_test = false;

static const struct app_option own_options[] = {
    {.name = "scale",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &scale,
     .minimum = 2,
     .maximum = 25,
     .help = "2^N vertices (default S 10, W 12, A 16, B 20)"},
    {.name = "edge-factor",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &edge_factor,
     .minimum = 1,
     .maximum = 1024,
     .help = "edges per vertex (default 16)"},
    {.name = "roots",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &root_count,
     .minimum = 1,
     .maximum = 4096,
     .help = "searches (default 64; class S: 4)"},
    {.name = "seed",
     .kind = APP_OPTION_INTEGER,
     .value.integer = &seed,
     .minimum = 0,
     .maximum = 1000000000,
     .help = "of graph and roots (default 1); the result does not depend on the ranks"},
    {.name = "self-test",
     .kind = APP_OPTION_FLAG,
     .value.flag = &self_test,
     .help = "also show that the validation notices a broken tree, for each of its rules"},
};

static const struct app_description bfs = {
    .name = "bfs",
    .summary = "Graph500 breadth-first search on a Kronecker graph, level by level",
    .classes = "SWAB",
    .options = own_options,
    .option_count = sizeof own_options / sizeof own_options[0],
};

/* What the searches of all roots came to. */
struct outcome {
    int count;
    double *seconds, *teps;
    int64_t broken[RULES];
    int unnoticed; /* by the validation, of the self-test's broken trees */
    int64_t edges; /* traversed, by all searches */
};

/* Graph500's kernel 2 from every root, each validated. */
static void search_all(const struct graph *graph, const struct app_options *options, const int64_t *roots,
                       struct outcome *outcome, struct app_timer *timer) {
    struct search *search = search_create(graph, options->comm, options->flavour, timer);
    struct validator *validator = validator_create(graph);
    for (int i = 0; i < outcome->count; i++) {
        const double total_before = timer->elapsed[APP_PHASE_TOTAL];
        MPI_Barrier(graph->comm);
        app_timer_start(timer, APP_PHASE_TOTAL);
        const struct tree tree = search_run(search, roots[i]);
        app_timer_stop(timer, APP_PHASE_TOTAL);
        double seconds = timer->elapsed[APP_PHASE_TOTAL] - total_before;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, graph->comm);

        int64_t broken[RULES];
        const int64_t edges = validate(validator, roots[i], tree, broken);
        for (int rule = 0; rule < RULES; rule++)
            outcome->broken[rule] += broken[rule];
        outcome->seconds[i] = seconds;
        outcome->teps[i] = (double)edges / seconds;
        outcome->edges += edges;
        if (self_test && i == 0)
            outcome->unnoticed = validator_self_test(validator, roots[i], tree);
        app_progress(options, i + 1, outcome->count);
    }
    validator_destroy(validator);
    search_destroy(search);
}

static void report_all(struct app_report *report, const struct graph *graph, struct outcome *outcome) {
    app_report_integer(report, "scale", graph->scale);
    app_report_integer(report, "edge factor", edge_factor);
    app_report_integer(report, "searches", outcome->count);
    app_report_integer(report, "edges traversed", outcome->edges);
    const struct statistics time = statistics_of(outcome->seconds, outcome->count);
    app_report_figure(report, "time minimum", time.minimum, "s");
    app_report_figure(report, "time first quartile", time.first_quartile, "s");
    app_report_figure(report, "time median", time.median, "s");
    app_report_figure(report, "time third quartile", time.third_quartile, "s");
    app_report_figure(report, "time maximum", time.maximum, "s");
    app_report_figure(report, "time mean", time.mean, "s");
    app_report_figure(report, "time deviation", time.deviation, "s");
    const struct statistics teps = statistics_of(outcome->teps, outcome->count);
    app_report_figure(report, "TEPS minimum", teps.minimum, "1/s");
    app_report_figure(report, "TEPS first quartile", teps.first_quartile, "1/s");
    app_report_figure(report, "TEPS median", teps.median, "1/s");
    app_report_figure(report, "TEPS third quartile", teps.third_quartile, "1/s");
    app_report_figure(report, "TEPS maximum", teps.maximum, "1/s");
    app_report_figure(report, "TEPS harmonic mean", teps.harmonic_mean, "1/s");
    app_report_figure(report, "TEPS harmonic dev.", teps.harmonic_deviation, "1/s");
    for (int rule = 0; rule < RULES; rule++)
        app_report_verify_bound(report, rule_name((enum rule)rule), (double)outcome->broken[rule], 0);
    if (self_test)
        app_report_verify_bound(report, "self-test", outcome->unnoticed, 0);
}

static int run(const struct app_options *options) {
    const int problem = app_class_index(options);
    const int wanted_scale = scale > 0 ? (int)scale : class_scales[problem];
    const int wanted_roots = root_count > 0 ? (int)root_count : class_roots[problem];
    if (edge_factor > GRAPH_EDGES_MAX >> wanted_scale)
        return app_refuse("bfs: scale %d with edge factor %ld are more than %d edges", wanted_scale,
                          edge_factor, GRAPH_EDGES_MAX);
    struct graph graph;
    graph_generate(&graph, MPI_COMM_WORLD, wanted_scale, (int)edge_factor, (uint64_t)seed);
    MPI_Barrier(graph.comm);
    double construction = MPI_Wtime();
    graph_build(&graph);
    construction = MPI_Wtime() - construction;
    MPI_Allreduce(MPI_IN_PLACE, &construction, 1, MPI_DOUBLE, MPI_MAX, graph.comm);

    int64_t *roots = app_memory_allocate((size_t)wanted_roots, sizeof *roots);
    struct outcome outcome = {.count = graph_sample_roots(&graph, wanted_roots, roots),
                              .seconds = app_memory_allocate((size_t)wanted_roots, sizeof(double)),
                              .teps = app_memory_allocate((size_t)wanted_roots, sizeof(double))};
    int status;
    if (outcome.count == 0) {
        status = app_refuse("bfs: the graph of scale %d, edge factor %ld, seed %ld joins no two vertices",
                            wanted_scale, edge_factor, seed);
    } else {
        struct app_timer timer = {0};
        struct app_report report;
        search_all(&graph, options, roots, &outcome, &timer);
        app_report_begin(&report, options, graph.comm);
        app_report_figure(&report, "construction", construction, "s");
        report_all(&report, &graph, &outcome);
        status = app_report_end(&report, &timer);
    }
    free(outcome.seconds);
    free(outcome.teps);
    free(roots);
    graph_destroy(&graph);
    return status;
}

int main(int argc, char **argv) {
    return app_main(&bfs, argc, argv, run);
}
