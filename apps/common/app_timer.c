/* SPDX-License-Identifier: BSD-3-Clause */
#include "app_timer.h"

#include <stddef.h>

void app_timer_reset(struct app_timer *timer) {
    *timer = (struct app_timer){0};
}

static void enter(struct app_timer *timer, enum app_phase phase, double now) {
    if (timer->depth[phase]++ == 0)
        timer->started[phase] = now;
}

static void leave(struct app_timer *timer, enum app_phase phase, double now) {
    if (--timer->depth[phase] == 0)
        timer->elapsed[phase] += now - timer->started[phase];
}

void app_timer_start(struct app_timer *timer, enum app_phase phase) {
    if (timer == NULL)
        return;
    const double now = MPI_Wtime();
    enter(timer, phase, now);
    if (phase == APP_PHASE_WAITING)
        enter(timer, APP_PHASE_COMMUNICATION, now);
}

void app_timer_stop(struct app_timer *timer, enum app_phase phase) {
    if (timer == NULL)
        return;
    const double now = MPI_Wtime();
    leave(timer, phase, now);
    if (phase == APP_PHASE_WAITING)
        leave(timer, APP_PHASE_COMMUNICATION, now);
}

struct app_timing app_timer_collect(const struct app_timer *timer, MPI_Comm comm) {
    struct app_timing timing;
    int ranks;
    MPI_Comm_size(comm, &ranks);
    MPI_Allreduce(timer->elapsed, timing.maximum, APP_PHASES, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(timer->elapsed, timing.average, APP_PHASES, MPI_DOUBLE, MPI_SUM, comm);
    for (int phase = 0; phase < APP_PHASES; phase++)
        timing.average[phase] /= ranks;
    return timing;
}

const char *app_phase_name(enum app_phase phase) {
    static const char *const names[APP_PHASES] = {"total", "communication", "waiting"};
    return names[phase];
}
