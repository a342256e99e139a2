/* SPDX-License-Identifier: BSD-3-Clause */
#include "face_hints.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "face_host.h"
#include "face_settings.h"

enum { PAGE = 4096, CACHE_LINE = 64, MAX_ALIGNMENT = 1 << 30 };

static bool is_boolean(const char *value) {
    return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

/* "none", or a list of pairs of read and write. */
static bool is_ordering(const char *value) {
    char text[TRMA_HINT_TEXT];
    char *rest = NULL;

    if (strcmp(value, "none") == 0) {
        return true;
    }
    strcpy(text, value);
    for (char *word = strtok_r(text, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        if (strcmp(word, "rar") != 0 && strcmp(word, "raw") != 0 && strcmp(word, "war") != 0 &&
            strcmp(word, "waw") != 0) {
            return false;
        }
    }
    return value[0] != '\0';
}

static bool is_ops(const char *value) {
    return strcmp(value, "same_op") == 0 || strcmp(value, "same_op_no_op") == 0;
}

static bool is_number(const char *value) {
    char *end = NULL;
    long number = strtol(value, &end, 10);

    return end != value && *end == '\0' && number > 0;
}

/* The words of TRUERMA_ADOPT. */
static const char *const policies[] = {
    [TRMA_ADOPT_AUTO] = "auto", [TRMA_ADOPT_ALWAYS] = "always", [TRMA_ADOPT_NEVER] = "never"};

/* The policy's number, or that of none. */
static size_t policy_of(const char *value) {
    size_t policy = 0;

    while (policy < sizeof policies / sizeof policies[0] && strcmp(policies[policy], value) != 0) {
        policy++;
    }
    return policy;
}

static bool is_policy(const char *value) {
    return policy_of(value) < sizeof policies / sizeof policies[0];
}

static const struct {
    const char *key;
    const char *initial;
    bool (*is_valid)(const char *value);
    bool is_of_memory; /* it is about how the window's memory is made */
} rows[TRMA_HINTS] = {
    [TRMA_HINT_NO_LOCKS] = {"no_locks", "false", is_boolean},
    [TRMA_HINT_ACCUMULATE_ORDERING] = {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
    [TRMA_HINT_ACCUMULATE_OPS] = {"accumulate_ops", "same_op_no_op", is_ops},
    [TRMA_HINT_ACCUMULATE_GRANULARITY] = {"mpi_accumulate_granularity", "0", is_number},
    [TRMA_HINT_SAME_SIZE] = {"same_size", "false", is_boolean},
    [TRMA_HINT_SAME_DISP_UNIT] = {"same_disp_unit", "false", is_boolean},
    [TRMA_HINT_NONCONTIGUOUS] = {"alloc_shared_noncontig", "false", is_boolean, true},
    [TRMA_HINT_ALIGNMENT] = {"mpi_minimum_memory_alignment", "64", is_number, true},
    [TRMA_HINT_ADOPT] = {"truerma_adopt", "auto", is_policy, true},
};

/* False when the key is not set, or to something that means nothing. */
static bool read_hint(MPI_Info info, enum trma_hint hint, char value[TRMA_HINT_TEXT]) {
    int found = 0;

    value[0] = '\0';
    if (info != MPI_INFO_NULL) {
        trma_host()->Info_get(info, rows[hint].key, TRMA_HINT_TEXT - 1, value, &found);
    }
    return found && rows[hint].is_valid(value);
}

void trma_hints_init(struct trma_hints *hints) {
    for (int i = 0; i < TRMA_HINTS; i++) {
        strcpy(hints->values[i], rows[i].initial);
    }
    strcpy(hints->values[TRMA_HINT_ADOPT], policies[trma_knobs()->adopt]);
}

void trma_hints_take(struct trma_hints *hints, MPI_Info info, bool is_new) {
    char value[TRMA_HINT_TEXT];

    for (int i = 0; i < TRMA_HINTS; i++) {
        if ((is_new || !rows[i].is_of_memory) && read_hint(info, (enum trma_hint)i, value)) {
            strcpy(hints->values[i], value);
        }
    }
}

static bool applies(enum trma_hint hint, int flavor) {
    if (hint == TRMA_HINT_NONCONTIGUOUS) {
        return flavor == MPI_WIN_FLAVOR_SHARED;
    }
    if (hint == TRMA_HINT_ADOPT) {
        return flavor == MPI_WIN_FLAVOR_CREATE || flavor == MPI_WIN_FLAVOR_DYNAMIC;
    }
    return hint != TRMA_HINT_ALIGNMENT || flavor == MPI_WIN_FLAVOR_SHARED ||
           flavor == MPI_WIN_FLAVOR_ALLOCATE;
}

int trma_hints_give(const struct trma_hints *hints, int flavor, MPI_Info *info) {
    int code = trma_host()->Info_create(info);

    for (int i = 0; i < TRMA_HINTS && code == MPI_SUCCESS; i++) {
        if (applies((enum trma_hint)i, flavor)) {
            code = trma_host()->Info_set(*info, rows[i].key, hints->values[i]);
        }
    }
    return code;
}

bool trma_hints_say(const struct trma_hints *hints, enum trma_hint hint) {
    return strcmp(hints->values[hint], "true") == 0;
}

enum trma_knob_adopt trma_hints_adopt(const struct trma_hints *hints) {
    return (enum trma_knob_adopt)policy_of(hints->values[TRMA_HINT_ADOPT]);
}

bool trma_hints_updates_are_small(const struct trma_hints *hints) {
    long granularity = strtol(hints->values[TRMA_HINT_ACCUMULATE_GRANULARITY], NULL, 10);

    return granularity > 0 && granularity <= (long)sizeof(uint64_t);
}

size_t trma_hints_alignment(MPI_Info info, size_t size) {
    char value[TRMA_HINT_TEXT];
    size_t alignment = size >= PAGE ? PAGE : CACHE_LINE;

    if (read_hint(info, TRMA_HINT_ALIGNMENT, value)) {
        size_t wanted = strtoul(value, NULL, 10);
        while (alignment < wanted && alignment < MAX_ALIGNMENT) {
            alignment *= 2;
        }
    }
    return alignment;
}
