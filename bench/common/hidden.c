/* SPDX-License-Identifier: BSD-3-Clause */
#include "hidden.h"

long bench_overlap_iterations(double comm_us, double comp_us) {
    enum { SAMPLE_US = 200, FEWEST = 4 };
    const long iterations = (long)(SAMPLE_US / (comm_us + comp_us));
    return iterations < FEWEST ? FEWEST : iterations;
}

struct bench_overlap bench_overlap_of(struct bench_samples samples[BENCH_OVERLAP_TASKS]) {
    static struct bench_samples overlaps;
    overlaps.count = 0;
    for (int i = 0; i < samples[BENCH_TOTAL].count; i++) {
        const double hidden =
            samples[BENCH_COMM].us[i] + samples[BENCH_COMP].us[i] - samples[BENCH_TOTAL].us[i];
        bench_sample(&overlaps, hidden / samples[BENCH_COMM].us[i]);
    }
    return (struct bench_overlap){.overlap = bench_median(&overlaps),
                                  .comm_us = bench_median(&samples[BENCH_COMM]),
                                  .comp_us = bench_median(&samples[BENCH_COMP])};
}

void bench_overlap_note(struct bench_cell *cell, double percent, const struct bench_overlap *overlap) {
    cell->extra[0].name = "comp_percent";
    cell->extra[0].value = percent;
    cell->extra[1].name = "comm_us";
    cell->extra[1].value = overlap->comm_us;
    cell->extra[2].name = "comp_us";
    cell->extra[2].value = overlap->comp_us;
    cell->extra[3].name = "overlap";
    cell->extra[3].value = overlap->overlap;
}
