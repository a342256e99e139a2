/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine allows, without any MPI: two pinned processes by hand, over one shared mapping. What each
 * mode is stands in transfers.h, skew.h and overlap.h. */
#include "overlap.h"
#include "skew.h"
#include "transfers.h"

#include <stdio.h>
#include <string.h>

static const struct bench_program program = {
    .name = "limit",
    .summary = "the limits: by hand over shared memory, within one process, CMA",
    .modes = "exchange,exchange_places,memcpy,update,cma,skew,overlap",
    .ops = LIMIT_TRANSFER_OPS,
    .sizes = "8,64,512,1K,4K,8K,32K,64K,256K,1M,4M",
    .values = "0,32,64,128,256,512",
    .values_help = "n of skew, the order of the target's matrices; of overlap, T_comp in percent of T_comm",
    .budget_ms = 100};

/* Process 1 until the end. */
static void serve(struct limit_process *process) {
    for (int done = 0;; done++) {
        const struct limit_order *order = limit_order_wait(process, done);
        limit_place_choose(process, order->place);
        switch (order->task) {
        case LIMIT_EXCHANGE:
            limit_transfer_serve(process, order);
            break;
        case LIMIT_SKEW:
            limit_skew_serve(process, order);
            break;
        case LIMIT_OVERLAP:
            limit_overlap_serve(process, order);
            break;
        case LIMIT_END:
            return;
        }
    }
}

static void measure_transfers(struct limit_process *process, const struct bench_options *options,
                              const char *mode) {
    char op[32];
    for (int o = 0; bench_list_entry(options->ops, o, op, sizeof op); o++) {
        for (int s = 0; s < options->sizes.count; s++)
            limit_transfer_measure(process, options, mode, op, (size_t)options->sizes.item[s]);
    }
}

static void measure(struct limit_process *process, const struct bench_options *options, const char *mode) {
    if (strcmp(mode, "skew") == 0) {
        for (int v = 0; v < options->values.count; v++)
            limit_skew_measure(process, options, (int)options->values.item[v]);
    } else if (strcmp(mode, "overlap") == 0) {
        for (int s = 0; s < options->sizes.count; s++)
            limit_overlap_measure(process, options, (size_t)options->sizes.item[s]);
    } else {
        measure_transfers(process, options, mode);
    }
}

int main(int argc, char **argv) {
    struct bench_options options;
    int status = bench_options_parse(&options, &program, argc, argv, true);
    if (status != 0)
        return status == 1 ? 0 : 2;
    size_t bytes = LIMIT_SKEW_PUTS * LIMIT_SKEW_SIZE;
    for (int s = 0; s < options.sizes.count; s++) {
        if (options.sizes.item[s] % 8 != 0 || options.sizes.item[s] == 0) {
            fprintf(stderr, "--size: %lld is not a multiple of 8\n", options.sizes.item[s]);
            return 2;
        }
        if ((size_t)options.sizes.item[s] > bytes)
            bytes = (size_t)options.sizes.item[s];
    }
    struct limit_process process;
    char mode[32];
    limit_processes_begin(&process, bytes, options.pin, serve);
    for (int m = 0; bench_list_entry(options.modes, m, mode, sizeof mode); m++)
        measure(&process, &options, mode);
    limit_processes_end(&process);
    return 0;
}
