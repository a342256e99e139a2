/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRMA_NODE_KNOB_H
#define TRMA_NODE_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trma_status.h"
#include "node_knob_table.h"

/* Knobs: the environment variables of node_knob_table.h, read into a typed record. */

/* Longest text of a TEXT knob with its terminating zero: a path. */
#define TRMA_KNOB_TEXT 4096

/* Values of the CHOICE knobs, in the order of the table's words. */
enum trma_knob_abi { TRMA_ABI_UNSET = -1, TRMA_ABI_MPICH, TRMA_ABI_OPENMPI, TRMA_ABI_STANDARD };
enum trma_knob_log { TRMA_LOG_ERROR, TRMA_LOG_WARN, TRMA_LOG_INFO, TRMA_LOG_DEBUG };
enum trma_knob_adopt { TRMA_ADOPT_AUTO, TRMA_ADOPT_ALWAYS, TRMA_ADOPT_NEVER };
enum trma_knob_yield { TRMA_YIELD_AUTO, TRMA_YIELD_ALWAYS, TRMA_YIELD_NEVER };

enum trma_knob_kind {
    TRMA_KNOB_SWITCH,
    TRMA_KNOB_CHOICE,
    TRMA_KNOB_COUNT,
    TRMA_KNOB_SIZE,
    TRMA_KNOB_TEXT_KIND
};

#define TRMA_KNOB_FIELD_SWITCH(field) bool field;
#define TRMA_KNOB_FIELD_CHOICE(field) int field;
#define TRMA_KNOB_FIELD_COUNT(field)  uint64_t field;
#define TRMA_KNOB_FIELD_SIZE(field)   uint64_t field;
#define TRMA_KNOB_FIELD_TEXT(field)   char field[TRMA_KNOB_TEXT];
#define TRMA_KNOB_FIELD(kind, field, name, default_text, allowed, minimum, maximum, help)                    \
    TRMA_KNOB_FIELD_##kind(field)

struct trma_knobs {
    TRMA_KNOB_TABLE(TRMA_KNOB_FIELD)
};

/* One row of the table, for those who print it. All texts are static. */
struct trma_knob_info {
    enum trma_knob_kind kind;
    const char *name;
    const char *default_text;
    const char *allowed;
    uint64_t minimum, maximum;
    const char *help;
    size_t offset; /* of the field in struct trma_knobs */
};

/* The rows, in the table's order; *count says how many. Static memory. Thread-safe. */
const struct trma_knob_info *trma_node_knob_rows(size_t *count);

/*
 * Fills *out from the environment; a variable that is not set or empty has its default. Answers
 * TRMA_ERR_ARGUMENT for the first value that is not allowed, with one line without newline in err[errlen]
 * that names the knob, the value and what is allowed; that knob and those after it in the table have their
 * defaults then. Reads the environment: not to be called while another thread changes it.
 */
enum trma_status trma_node_knob_load(struct trma_knobs *out, char *err, size_t errlen);

/*
 * Goes through the environment's names that start with TRUERMA and are no knob (misspelled ones, most
 * likely): *cursor starts at 0, each call gives the next one, written into name[size] and cut there, or false
 * when there is none. Not to be called while another thread changes the environment.
 */
bool trma_node_knob_next_unknown(size_t *cursor, char *name, size_t size);

#endif
