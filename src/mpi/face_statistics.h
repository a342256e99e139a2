/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_STATISTICS_H
#define TRMA_FACE_STATISTICS_H

#include <stdbool.h>

#include "face_window.h"

/*
 * TRUERMA_STATS: what every window was, how its targets were reached and why, what was done and where time
 * was spent waiting. `1` writes text to stderr, a path gets one JSON object per line, rank and window
 * (appended by single writes, so that ranks do not mix). TRUERMA_LOG=info tells a window's paths when it is
 * made.
 */
bool trma_statistics_are_wanted(void);

/* Says at info level how a new window reaches its targets. */
void trma_statistics_announce(const struct trma_win *window);

/* Reports one window, at its end; or all that are still alive, at MPI_Finalize. */
void trma_statistics_report(const struct trma_win *window);
void trma_statistics_report_all(void);

#endif
