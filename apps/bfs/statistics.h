/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures that Graph500 wants of a series of searches (specification, section "Computing and Outputting
 * Performance Information"). */
#ifndef BFS_STATISTICS_H
#define BFS_STATISTICS_H

/* Of a sample; quartiles by linear interpolation between the sorted values. */
struct statistics {
    double minimum, first_quartile, median, third_quartile, maximum;
    double mean, deviation;                   /* arithmetic; deviation of the sample, 0 for a single value */
    double harmonic_mean, harmonic_deviation; /* the right mean of rates; its deviation by the delta method */
};

/* Of `count` values, at least one, all above 0; sorts them. */
struct statistics statistics_of(double *values, int count);

#endif
