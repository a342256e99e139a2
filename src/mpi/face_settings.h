/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_FACE_SETTINGS_H
#define TRMA_FACE_SETTINGS_H

#include "node/node_knob.h"

/*
 * The settings of this process (TRUERMA_*), read from the environment at the first call, which also passes on
 * to the core what concerns it. A wrong value ends the program with one line. Thread-safe.
 */
const struct trma_knobs *trma_knobs(void);

#endif
