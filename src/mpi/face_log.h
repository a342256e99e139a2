/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_LOG_H
#define TRMA_FACE_LOG_H

#include "face_settings.h"

/* Writes one line to stderr when TRUERMA_LOG asks for this level (error, warn, info, debug). Thread-safe. */
__attribute__((format(printf, 2, 3))) void trma_log(enum trma_knob_log level, const char *format, ...);

#endif
